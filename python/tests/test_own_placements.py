"""Tests of placements written in Python, compared with the same placements in Rust."""

import numpy as np
import pytest

import wearwell as ww

HOT_COLD = {"kind": "hot_cold", "hot_writes": 0.9, "hot_space": 0.1, "trim_ratio": 0.02}


class Double:
    streams = 2

    def place(self, page):
        return int(page.moved)


class AgeClasses:
    """SepBIT as in `age_classes`, implemented from its documentation."""

    streams = 6
    bounds = (4.0, 16.0)

    def begin(self, store):
        self.unit = max(1, -(-store.logical_pages // 65536))
        self.last_write = [None] * store.logical_pages
        self.lifespans = []
        self.threshold = np.inf

    def place(self, page):
        before = self.last_write[page.page]
        age = np.inf if before is None else page.now // self.unit - before
        if not page.moved:
            self.last_write[page.page] = page.now // self.unit
            return 0 if before is not None and age * self.unit < self.threshold else 1
        if page.from_stream == 0:
            return 2
        return 3 + sum(age * self.unit >= bound * self.threshold for bound in self.bounds)

    def reclaimed(self, stream, opened_at, now, valid_pages):
        if stream == 0:
            self.lifespans.append(now - opened_at)
            if len(self.lifespans) == 16:
                self.threshold = sum(self.lifespans) / 16
                self.lifespans = []

    def trimmed(self, page):
        self.last_write[page] = None


def counted(result):
    return {key: value for key, value in result.summary().items() if key != "warnings"}


@pytest.fixture
def mixed(small):
    scenario = {**small.to_dict(), "workload": HOT_COLD}
    scenario["device"] |= {"blocks_per_plane": 128, "spare_factor": 0.3}
    return scenario


@pytest.mark.parametrize(("own", "name"), [(Double, "double"), (AgeClasses, "age_classes")])
def test_python_placement_equals_rust_placement(mixed, own, name):
    theirs = ww.run(mixed, placement=name)
    for given in (own, own(), lambda: own()):
        result = ww.run(mixed, placement=given)
        assert counted(result) == counted(theirs)
        assert result.windows.equals(theirs.windows)
        assert result.layers.equals(theirs.layers)
    assert any("the placement was the program's own" in warning for warning in result.warnings)


@pytest.mark.parametrize("structure", ["dftl", "gecko"])
def test_python_placement_equals_rust_placement_on_other_ftls(mixed, structure):
    mixed["device"] |= {"spare_factor": 0.4, "blocks_per_plane": 256}
    mixed["ftl"] = {"structure": structure}
    assert counted(ww.run(mixed, placement=Double)) == counted(ww.run(mixed, placement="double"))


def test_python_placement_equals_rust_placement_with_timing_and_wear_levelling(mixed):
    timing = {"read_us": 50, "program_us": 600, "erase_us": 3000, "channel_mb_per_s": 400}
    given = {"timing": timing, "ftl__wear": {"kind": "scan", "scans_per_write": 3, "threshold": 0}}
    own, theirs = (ww.run(mixed, placement=placement, **given) for placement in (AgeClasses, "age_classes"))
    assert counted(own) == counted(theirs)
    assert own.timeline.equals(theirs.timeline)


def test_a_placement_and_a_policy_and_a_workload_together(small):
    class Fifo:
        def begin(self, store):
            assert repr(store) == "Store(blocks=64, pages_per_block=32, logical_pages=1638, seed=5)"
            self.queue = []

        def closed(self, block):
            self.queue.append(block)

        def select(self, blocks):
            return self.queue.pop(0)

    def sequential(pages):
        return [np.arange(pages)]

    own = ww.run(small, victim=Fifo, placement=Double, workload=sequential, seed=5)
    theirs = ww.run(small, victim="fifo", placement="double", workload="sequential", seed=5)
    leave_out = {"warnings", "final_draw"}
    assert {k: v for k, v in own.summary().items() if k not in leave_out} == {
        k: v for k, v in theirs.summary().items() if k not in leave_out
    }
    assert len(own.warnings) == 3 + len(theirs.warnings)


def test_placement_receives_the_pages(mixed):
    seen = []

    class Watching(Double):
        def place(self, page):
            seen.append((page.page, page.moved, page.cause, page.now, page.from_stream, page.hint))
            return super().place(page)

    ww.run(mixed, placement=Watching)
    assert {moved: {each[2] for each in seen if each[1] == moved} for moved in (False, True)} == {
        False: {"host"},
        True: {"cleaning"},
    }
    assert {each[4] for each in seen if not each[1]} == {None}
    assert {each[4] for each in seen if each[1]} == {0, 1}
    now = [each[3] for each in seen]
    assert now == sorted(now)
    assert max(each[0] for each in seen) == 2866


def without(name):
    return type("Without", (), {key: value for key, value in vars(Double).items() if key != name})


def returning(value):
    return type("Wrong", (), {"streams": 2, "place": lambda self, page: value})


@pytest.mark.parametrize(
    ("placement", "error", "message"),
    [
        (without("place"), TypeError, r"the placement Without has no method place\(page\)"),
        (without("streams"), TypeError, "the placement Without has no attribute streams"),
        (type("Few", (Double,), {"streams": 0}), ValueError, "Few.streams is 0; a placement has 1 to 255"),
        (type("Many", (Double,), {"streams": 256}), ValueError, "Many.streams is 256"),
        (type("Odd", (Double,), {"streams": 2.0}), TypeError, r"Odd.streams is 2\.0; it must be a whole number"),
        (type("Set", (Double,), {"place": 3}), TypeError, "Set.place, of a placement, is no method but 3"),
        (returning(2), ww.RunError, "Wrong.place returned 2; it must return the number of a stream, 0 to 1"),
        (returning(-1), ww.RunError, "Wrong.place returned -1"),
        (returning(None), ww.RunError, "Wrong.place returned None"),
        (returning("0"), ww.RunError, "Wrong.place returned '0'"),
        (returning(float("nan")), ww.RunError, "Wrong.place returned nan"),
        (returning(np.zeros(1000)), ww.RunError, r"Wrong.place returned array\(.*\.\.\. \(a ndarray\)"),
        (17, TypeError, r"the placement int has no method place\(page\)"),
    ],
)
def test_invalid_placements_are_errors(small, placement, error, message):
    with pytest.raises(error, match=message):
        ww.run(small, placement=placement)


@pytest.mark.parametrize("method", ["begin", "place", "reclaimed", "trimmed"])
def test_placement_exceptions_have_a_note_with_its_name(mixed, method):
    def fail(self, *arguments):
        raise LookupError("my own mistake")

    with pytest.raises(LookupError, match="my own mistake") as caught:
        ww.run(mixed, placement=type("Failing", (Double,), {method: fail}))
    assert caught.value.__notes__ == [f"in Failing.{method}, the placement of this run"]


@pytest.mark.parametrize(
    ("given", "key", "message"),
    [
        ({"ftl__structure": "fast"}, "ftl.placement", "means nothing with a hybrid FTL"),
        ({"ftl__structure": "zones", "device__spare_factor": None}, "ftl.placement", "means nothing on a zoned drive"),
        ({"ftl__reclaim": "in_place"}, "ftl.reclaim", "single and the double frontier only"),
        ({"power__at_end": True}, "power", "can be built anew after a cut"),
    ],
)
def test_placement_is_refused_for_ftl_without_placement(small, given, key, message):
    with pytest.raises(ww.ScenarioError, match=message) as caught:
        ww.run(small, placement=Double, **given)
    assert caught.value.key == key


def test_scenario_names_only_used_placements(small):
    # The unused placement `oracle` would be refused for a workload without temperatures.
    own = ww.run(small, placement=Double, ftl__reclaim="free_pool")
    assert counted(own) == counted(ww.run({**small.to_dict(), "ftl": {"placement": "oracle"}}, placement=Double))
