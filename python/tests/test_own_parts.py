from collections import deque

import numpy as np
import pytest

import wearwell as ww


class Fifo:
    def __init__(self):
        self.queue = deque()

    def closed(self, block):
        self.queue.append(block)

    def taken(self, block):
        self.queue.remove(block)

    def select(self, blocks):
        return self.queue.popleft()


class Greedy:
    def select(self, blocks):
        return np.where(blocks.candidates, blocks.valid_pages, 1 << 30).argmin()


def figures(result):
    return {key: value for key, value in result.summary().items() if key != "warnings"}


def test_python_fifo_equals_built_in_fifo(small):
    own, built_in = ww.run(small, victim=Fifo()), ww.run(small, victim="fifo")
    assert figures(own) == figures(built_in)
    assert own.windows.equals(built_in.windows)
    assert any("program's own" in warning for warning in own.warnings)


@pytest.mark.parametrize("placement", ["single", "double"])
@pytest.mark.parametrize("reclaim", ["free_pool", "in_place"])
def test_python_fifo_equals_built_in_fifo_in_other_stacks(small, placement, reclaim):
    own = ww.run(small, victim=Fifo(), placement=placement, ftl__reclaim=reclaim)
    built_in = ww.run(small, victim="fifo", placement=placement, ftl__reclaim=reclaim)
    assert figures(own) == figures(built_in)


def test_policy_is_notified_of_blocks_taken_by_wear_levelling(small):
    class Counting(Fifo):
        taken_blocks = 0

        def taken(self, block):
            Counting.taken_blocks += 1
            super().taken(block)

    wear = {"kind": "scan", "scans_per_write": 3, "threshold": 0}
    own = ww.run(small, victim=Counting(), ftl__wear=wear)
    assert figures(own) == figures(ww.run(small, victim="fifo", ftl__wear=wear))
    assert Counting.taken_blocks > 0


def test_policy_reads_the_block_table(small):
    class Watching(Greedy):
        def __init__(self):
            self.calls, self.deaths, self.seen = 0, 0, {}

        def invalidated(self, block, valid):
            self.deaths += 1
            self.seen[block] = valid

        def select(self, blocks):
            self.calls += 1
            assert len(blocks) == 64
            assert blocks.pages_per_block == 32
            assert blocks.logical_pages == round(64 * 32 * 0.8)
            for column in (blocks.valid_pages, blocks.candidates, blocks.age, blocks.erases):
                assert column.shape == (64,)
            assert blocks.now > 0
            assert blocks.age.max() <= blocks.now
            for block, valid in self.seen.items():
                assert blocks.valid_pages[block] == valid
            self.seen.clear()
            self.blocks = blocks
            return super().select(blocks)

    policy = Watching()
    result = ww.run(small, victim=policy)
    assert result.write_amplification == pytest.approx(ww.run(small, victim="greedy").write_amplification, rel=0.05)
    assert policy.calls >= result.layer("ftl").victims
    assert policy.deaths > 0
    with pytest.raises(RuntimeError, match="only during the call"):
        _ = policy.blocks.valid_pages


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda _: 64, "returned 64, and blocks go from 0 to 63"),
        (lambda _: -1, "returned -1"),
        (lambda _: None, "returned None; it must return the number of a candidate block"),
        (lambda _: 1.5, "returned 1.5"),
        (lambda blocks: int((~blocks.candidates).argmax()), "which is erased, open or bad"),
    ],
)
def test_invalid_victim_is_an_error(small, answer, message):
    class InvalidVictimPolicy:
        def select(self, blocks):
            return answer(blocks)

    with pytest.raises(ww.RunError, match=f"InvalidVictimPolicy.select .*{message}"):
        ww.run(small, victim=InvalidVictimPolicy())


@pytest.mark.parametrize("method", ["select", "closed", "invalidated"])
def test_exceptions_in_a_policy_end_the_run(small, method):
    class Failing(Greedy):
        pass

    calls = []

    def fail(self, *arguments):
        calls.append(arguments)
        raise LookupError("my own mistake")

    setattr(Failing, method, fail)
    with pytest.raises(LookupError, match="my own mistake"):
        ww.run(small, victim=Failing())
    assert len(calls) == 1


def test_non_policy_object_is_refused(small):
    with pytest.raises(TypeError, match="object has no method select"):
        ww.run(small, victim=object())


def uniform(pages):
    random = np.random.default_rng(1)
    while True:
        yield random.integers(pages, size=1000)


def test_a_workload_in_python(small):
    own = ww.run(small, workload=uniform)
    assert own.write_amplification == pytest.approx(ww.run(small).write_amplification, rel=0.05)
    assert own == ww.run(small, workload=uniform)
    assert "workload" not in own.scenario
    assert any("workload was the program's own" in warning for warning in own.warnings)


def test_python_workload_equals_built_in_workload(small):
    own = ww.run(small, workload=lambda pages: [np.arange(pages)])
    built_in = ww.run(small, workload="sequential")
    leave_out = {"warnings", "final_draw"}
    assert {k: v for k, v in figures(own).items() if k not in leave_out} == {
        k: v for k, v in figures(built_in).items() if k not in leave_out
    }


def test_a_workload_of_several_operations(small):
    def mixed(pages):
        yield np.arange(pages, dtype=np.uint32)
        yield ("read", [1, 2, 3])
        yield (2, np.arange(4))
        yield ("flush", [])
        yield ("write", 5, 1)

    result = ww.run(small, workload=mixed)
    incoming = result.layer("ftl").incoming
    assert incoming.read % 3 == 0
    assert incoming.trim == 4 * incoming.flush
    assert min(incoming.values()) > 0


@pytest.mark.parametrize(
    ("workload", "error", "message"),
    [
        (lambda pages: [[pages]], ww.RunError, r"yielded page 1638; the stack has pages 0 to 1637"),
        (lambda _: [[-1]], ww.RunError, "yielded page -1"),
        (lambda _: [[0.5]], TypeError, "must be integers, not float64"),
        (lambda _: [("wipe", [1])], ValueError, "'wipe' is no operation; one of read, write"),
        (lambda _: [("write",)], TypeError, "not 1 items"),
        (lambda _: [], ww.RunError, "yields nothing"),
        (lambda _: 7, TypeError, "found int"),
        (iter([[1, 2, 3]]), ww.RunError, "ended before the run did"),
    ],
)
def test_invalid_workloads_are_errors(small, workload, error, message):
    with pytest.raises(error, match=message):
        ww.run(small, workload=workload)


def test_exceptions_in_a_workload_end_the_run(small):
    def failing(_):
        yield [1]
        raise LookupError("my own mistake")

    with pytest.raises(LookupError, match="my own mistake"):
        ww.run(small, workload=failing)


class WindowedGreedy(Fifo):
    """Selects the block with the fewest valid pages among the ten blocks closed longest ago; for equal
    numbers, the block closed first."""

    def select(self, blocks):
        window = list(self.queue)[:10]
        block = window[int(np.argmin(blocks.valid_pages[window]))]
        self.queue.remove(block)
        return block


class CostBenefit:
    """Selects the first block with the lowest ratio of cost to benefit."""

    def select(self, blocks):
        valid, whole = blocks.valid_pages.astype(float), blocks.pages_per_block
        with np.errstate(divide="ignore"):
            cost = (whole + valid) / ((whole - valid) * (blocks.age + 1.0))
        return np.where(blocks.candidates, cost, np.inf).argmin()


@pytest.mark.parametrize(
    ("own", "built_in"),
    [(WindowedGreedy, {"policy": "windowed_greedy", "window": 10}), (CostBenefit, "cost_benefit")],
)
@pytest.mark.parametrize("wear", ["none", {"kind": "scan", "scans_per_write": 3, "threshold": 0}])
def test_python_policies_equal_rust_policies(small, own, built_in, wear):
    given = {"workload": {"kind": "hot_cold", "hot_writes": 0.8, "hot_space": 0.2}, "ftl__wear": wear}
    ours, theirs = (ww.run(small, victim=victim, **given) for victim in (own, built_in))
    leave_out = {"warnings", "final_draw"}
    assert {k: v for k, v in ours.summary().items() if k not in leave_out} == {
        k: v for k, v in theirs.summary().items() if k not in leave_out
    }
    assert ours.windows.equals(theirs.windows)


class Xoshiro:
    """Xoshiro256++ started by SplitMix64 (Blackman and Vigna 2021), from a seed split by names with FNV-1a."""

    MASK = (1 << 64) - 1

    def __init__(self, seed, *names):
        for name in names:
            begin = seed * 0x9E3779B97F4A7C15 & self.MASK
            seed = 0xCBF29CE484222325 ^ begin
            for byte in name.encode():
                seed = (seed ^ byte) * 0x100000001B3 & self.MASK
        self.state = []
        for _ in range(4):
            seed = seed + 0x9E3779B97F4A7C15 & self.MASK
            word = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 & self.MASK
            word = (word ^ word >> 27) * 0x94D049BB133111EB & self.MASK
            self.state.append(word ^ word >> 31)

    def turned(self, word, places):
        return word << places & self.MASK | word >> 64 - places

    def draw(self):
        a, b, c, d = self.state
        drawn = self.turned(a + d & self.MASK, 23) + a & self.MASK
        c, d = c ^ a, d ^ b
        self.state = [a ^ d, b ^ c, c ^ b << 17 & self.MASK, self.turned(d, 45)]
        return drawn


@pytest.mark.parametrize("seed", [1, 99])
def test_python_workload_equals_rust_workload(small, seed):
    def drawn(pages, seed):
        random = Xoshiro(seed, "workload", "addresses")
        while True:
            yield [random.draw() * pages >> 64 for _ in range(333)]

    ours, theirs = (ww.run(small, workload=workload, seed=seed) for workload in (drawn, "uniform"))
    leave_out = {"warnings", "final_draw"}
    assert {k: v for k, v in ours.summary().items() if k not in leave_out} == {
        k: v for k, v in theirs.summary().items() if k not in leave_out
    }
    assert ours.windows.equals(theirs.windows)
