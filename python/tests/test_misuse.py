"""Tests of typical mistakes: each raises a documented exception that explains the mistake."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import wearwell as ww
from wearwell import trace

WITHOUT_END = {"warm_up": 0, "drive_writes": 1e9, "window": 1e6}


class Greedy:
    def select(self, blocks):
        return np.where(blocks.candidates, blocks.valid_pages, 1 << 30).argmin()


@pytest.mark.parametrize(
    ("scenario", "error", "message"),
    [
        (None, TypeError, "not a NoneType"),
        (3, TypeError, "not a int"),
        (b"x", TypeError, "not a bytes"),
        (np.array([1]), TypeError, "not a ndarray"),
        ({}, ww.ScenarioError, "missing field `device`"),
        ("", ww.ScenarioError, "empty text"),
        ("no-such.toml", FileNotFoundError, "no-such"),
        ("x = 1", ww.ScenarioError, "x: unknown field `x`"),
        ({"device": 3}, ww.ScenarioError, "device: invalid type: integer `3`"),
    ],
)
def test_non_scenario_values_are_refused(scenario, error, message):
    with pytest.raises(error, match=message):
        ww.run(scenario)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seed": 1 << 64}, r"^seed: has 65 bits; numbers have at most 64"),
        ({"device__spare_factor": 10**400}, r"^device\.spare_factor: has 1329 bits"),
        ({"device__spare_factor": np.array([0.2])}, "expected f64"),
        ({"device__spare_factor": 1 + 2j}, r"^device\.spare_factor: a complex has no place"),
        ({"device__spare_factor": -np.inf}, r"^device\.spare_factor: is -inf"),
        ({"name": "\ud800"}, "^name: is no text that could be written"),
        ({"device__spare_factr": 0.2}, "did you mean `spare_factor`"),
        ({"victim": "greddy"}, "did you mean `greedy`"),
        ({"victim": {"policy": "d_choices", "chioces": 3}}, "unknown field `chioces`, expected `choices`"),
        ({"placement": "duoble"}, "did you mean `double`"),
        ({"workload": "unifrom"}, "did you mean `uniform`"),
        ({"device__preset": "TLC"}, '"TLC" is unknown; one of slc, mlc, tlc'),
        ({"device__preset": "tlcc"}, "did you mean `tlc`"),
        ({"messure": {}}, "did you mean `measure`"),
    ],
)
def test_invalid_settings_are_refused(small, given, message):
    with pytest.raises(ww.ScenarioError, match=message) as caught:
        ww.run(small, **given)
    assert caught.value.key is not None
    with pytest.raises(ww.ScenarioError, match="did you mean `capacity`"):
        ww.Scenario.from_dict({"device": {"capcity": 3}})


def test_invalid_results_are_refused(small, tmp_path):
    path = tmp_path / "a.json"
    for text in ("", "{", "[]", "3", "{}", '{"scenario": 1}'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"a\.json: is no result of Wearwell"):
            ww.Result.from_json(path)
    for text, message in [("{", "is no JSON"), ("[]", "neither a scenario nor a result")]:
        path.write_text(text)
        with pytest.raises(ww.ScenarioError, match=message):
            ww.run(path)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: ww.sweep(s, None), TypeError, "vary: a dictionary"),
        (lambda s: ww.sweep(s, {"victim": "fifo"}), TypeError, "victim: a list of the values that it takes is wanted"),
        (lambda s: ww.sweep(s, {"seed": 3}), TypeError, "seed: a list"),
        (lambda s: ww.sweep(s, {3: [1]}), TypeError, "3 is no key"),
        (lambda s: ww.sweep(s, {"seed": range(10**12)}), ww.ScenarioError, "at most 1000000"),
        (lambda s: ww.sweep(s, {"seed": iter(int, 1)}), ww.ScenarioError, "at most 1000000"),
        (lambda s: ww.sweep(s, {}, replicas=0), ValueError, "replicas: is 0; it must be at least 1"),
        (lambda s: ww.sweep(s, {}, replicas=2.0), TypeError, "replicas: a float is no whole number"),
        (lambda s: ww.sweep(s, {}, threads=0), ValueError, "threads: is 0"),
        (lambda s: ww.sweep(s, {}, threads=True), TypeError, "threads: a bool"),
        (lambda s: ww.sweep(s, {}, progress=3), TypeError, "progress: True or a function is wanted, not 3"),
        (lambda s: ww.sweep(s, {}, path="/no/such/folder/x"), ww.StoreError, "folder/x: No such file"),
        (lambda s: ww.sweep(s, {}, store="/x", path="/x"), TypeError, "give one of them"),
        (lambda s: ww.sweep(s, {}, threads=1, executor="tcp://x"), TypeError, "threads: .* give one of them"),
        (lambda s: ww.sweep(s, {}, executor=3), TypeError, "executor: a concurrent.futures.Executor.*, not a int"),
        (lambda s: ww.advise(s, threads=1, executor="tcp://x"), TypeError, "threads: .* give one of them"),
        (lambda s: ww.run(s, progress="yes"), TypeError, "progress: True or a function"),
        (lambda s: ww.advise(s, only="victim"), TypeError, "only: a list of names is wanted, not 'victim'"),
        (lambda s: ww.advise(s, replicas=-1), ValueError, "replicas: is -1"),
        (lambda s: ww.advise(s, depth=1.5), TypeError, "depth: a float"),
        (lambda _: trace.open("x", "msr", batch_requests=1 << 99), ValueError, "batch_requests: is of 100 bits"),
        (lambda _: trace.describe(__file__, "msr", page_bytes=1.5), TypeError, "page_bytes: a float"),
        (lambda s: ww.LiveDevice(s, max_bytes=-1), ValueError, "max_bytes: is -1"),
        (lambda s: ww.LiveDevice(s).write(0, 4096), TypeError, "bytes-like object is required, not 'int'"),
        (lambda s: ww.LiveDevice(s).write(0, "a" * 4096), TypeError, "bytes-like object is required, not 'str'"),
        (lambda s: ww.LiveDevice(s).write(0, [0] * 4096), TypeError, "bytes-like object is required, not 'list'"),
        (lambda s: ww.LiveDevice(s).write(0, np.zeros((2, 2048), np.uint8)[:, ::2]), ValueError, "2048 bytes are no"),
        (lambda s: ww.LiveDevice(s).read(10**30), IndexError, "no such page"),
        (lambda s: ww.LiveDevice(s).trim(0, 10**30), IndexError, "no such page"),
    ],
)
def test_invalid_arguments_are_refused(small, call, error, message):
    with pytest.raises(error, match=message):
        call(small)


@pytest.mark.parametrize(
    ("item", "error", "message"),
    [
        (np.zeros((3, 4), int), ValueError, r"not of shape \(3, 4\)"),
        (np.ones(3, bool), TypeError, "must be integers, not bool"),
        (np.array([1, 2], object), TypeError, "not object"),
        (np.array([np.nan]), TypeError, "not float64"),
        (np.array(["2020"], "M8[D]"), TypeError, "not datetime64"),
        (np.ma.array([1, 2], mask=[0, 1]), ValueError, "some are masked"),
        (np.array([1 << 63], np.uint64), ww.RunError, "yielded page 9223372036854775808"),
        (np.array([-5], np.int8), ww.RunError, "yielded page -5"),
        ("abc", TypeError, "must be integers"),
        (None, TypeError, "must be integers"),
        ([[1], [1, 2]], ValueError, "inhomogeneous"),
        ((), TypeError, "not 0 items"),
        (("WRITE", [1]), ValueError, "'WRITE' is no operation"),
        ((None, [1]), ValueError, "None is no operation"),
        (("write", [1], -1), ValueError, "the hint of a workload must be 0 to 65535, not -1"),
        (("write", [1], 1 << 16), ValueError, "not 65536"),
    ],
)
def test_invalid_items_of_a_workload_are_refused(small, item, error, message):
    def own(_):
        yield item

    with pytest.raises(error, match=message) as caught:
        ww.run(small, workload=own)
    assert caught.value.__notes__ == ["in own, the workload of this run"]


@pytest.mark.parametrize("item", [[], ("flush", []), ("read", [])])
def test_workload_without_pages_ends_with_error(small, item):
    def endless(_):
        while True:
            yield item

    with pytest.raises(ww.RunError, match="endless yielded 100000 items in a row without a page"):
        ww.run(small, workload=endless)


def arrays(pages):
    whole = np.arange(pages)
    yield np.arange(2 * pages)[: 2 * pages : 2] // 2
    yield whole[::-1][::-1]
    yield whole.astype(">i8")
    yield np.asfortranarray(whole.astype(np.uint16))
    yield list(range(pages))
    yield np.uint32(0)
    yield np.arange(1, pages)


def test_arrays_of_any_type_and_layout_give_equal_pages(small):
    own, plain = (ww.run(small, workload=each) for each in (arrays, np.arange(1638)))
    assert own.nand == plain.nand
    assert own.windows.equals(plain.windows)


def test_later_changes_of_yielded_arrays_have_no_effect(small):
    def one_array(pages):
        array = np.empty(100, np.int64)
        for start in range(0, pages - 100, 100):
            array[:] = np.arange(start, start + 100)
            yield array
            array[:] = -1

    def many_arrays(pages):
        for start in range(0, pages - 100, 100):
            yield np.arange(start, start + 100)

    assert ww.run(small, workload=one_array).nand == ww.run(small, workload=many_arrays).nand


def test_infinitely_recursive_policy_is_an_error(small):
    class Endless(Greedy):
        def select(self, blocks):
            return self.select(blocks)

    with pytest.raises(RecursionError) as caught:
        ww.run(small, victim=Endless)
    assert caught.value.__notes__ == ["in Endless.select, the victim policy of this run"]


def test_nested_run_is_possible(small):
    class Nested(Greedy):
        inner = None

        def select(self, blocks):
            self.inner = self.inner or ww.run(small, victim=Greedy)
            return super().select(blocks)

    policy = Nested()
    result = ww.run(small, victim=policy)
    assert result.nand == policy.inner.nand


def test_policy_lives_as_long_as_its_run(small):
    import gc
    import weakref

    seen = []

    def make():
        policy = Greedy()
        seen.append(weakref.ref(policy))
        return policy

    ww.run(small, victim=make)
    gc.collect()
    assert [each() for each in seen] == [None]


def test_exception_in_a_part_constructor_is_raised_with_a_note(small):
    class PolicyWithParameters(Greedy):
        def __init__(self, size):
            self.size = size

    with pytest.raises(TypeError, match="size") as caught:
        ww.run(small, victim=PolicyWithParameters)
    assert "in PolicyWithParameters(), which is to make a victim" in caught.value.__notes__[0]
    assert ww.run(small, victim=lambda: PolicyWithParameters(3)).nand == ww.run(small, victim=Greedy).nand


def test_sweep_accepts_custom_parts(small, tmp_path):
    def quarter(pages, seed):
        random = np.random.default_rng(seed)
        while True:
            yield random.integers(pages // 4, size=500)

    vary = {"victim": ["greedy", Greedy], "workload": ["uniform", quarter]}
    table = ww.sweep(small, vary, replicas=2, threads=2)
    assert list(table.victim) == ["greedy"] * 4 + ["Greedy"] * 4
    assert list(table.workload) == ["uniform", "uniform", "quarter", "quarter"] * 2
    assert table.error.isna().all()
    # Each replica draws different random numbers.
    assert table.programs.nunique() == 8
    one = ww.run(small, victim=Greedy, workload=quarter, seed=int(table.seed.iloc[-1]))
    assert one.nand.programs == table.programs.iloc[-1]
    assert table.equals(ww.sweep(small, vary, replicas=2, threads=1))
    with pytest.raises(ww.ScenarioError, match="victim: the runs would share one Greedy; give the class"):
        ww.sweep(small, {"victim": [Greedy()]}, replicas=2)
    with pytest.raises(ww.ScenarioError, match="workload: the runs would share one quarter"):
        ww.sweep(small, {"seed": [1, 2]}, workload=quarter(1000, 1))
    with pytest.raises(ww.ScenarioError, match="are not kept in a file"):
        ww.sweep(small, vary, path=tmp_path / "x")
    assert len(ww.sweep(small, {"seed": [1, 2]}, victim=Greedy, device__spare_factor=0.3)) == 2


def test_an_exception_in_one_run_ends_the_sweep(small):
    class FailingPolicy(Greedy):
        def select(self, blocks):
            raise LookupError("my own mistake")

    endless = {**small.to_dict(), "measure": WITHOUT_END}
    with pytest.raises(LookupError, match="my own mistake"):
        ww.sweep(endless, {"victim": ["greedy", FailingPolicy]}, threads=2)


def test_runs_in_threads_are_concurrent(small):
    """Each run waits for the other one in the middle, so neither may block the other."""
    meet = threading.Barrier(2, timeout=300)
    scenario = {**small.to_dict(), "measure": {"warm_up": 0.0, "drive_writes": 1000.0, "window": 10.0}}

    def run(seed):
        waits = iter([meet.wait])
        return ww.run(scenario, seed=seed, progress=lambda _: next(waits, int)())

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(run, [1, 1])
    assert first == second


def test_custom_parts_in_threads_are_independent(small):
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda seed: ww.run(small, victim=Greedy, seed=seed % 2), range(8)))
    assert all(result == results[at % 2] for at, result in enumerate(results))


SCENARIO = """
import wearwell as ww
import numpy as np
import sys, time
from wearwell import theory, trace
scenario = {
    "device": {"blocks_per_plane": 64, "spare_factor": 0.2, "pages_per_block": 32, "page_size": 4096},
    "workload": "uniform",
    "measure": {"warm_up": 1, "drive_writes": 1},
}
endless = scenario | {"measure": {"warm_up": 0, "drive_writes": 1e9, "window": 1e6}}
class Greedy:
    def select(self, blocks):
        return np.where(blocks.candidates, blocks.valid_pages, 1 << 30).argmin()
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_results_are_equal_in_other_processes(method, tmp_path):
    program = f"""{SCENARIO}
import multiprocessing, warnings
warnings.simplefilter("ignore")
def work(seed):
    curve = theory.double(16, np.linspace(0.1, 0.3, 8))
    return ww.run(scenario, seed=seed), ww.sweep(scenario, {{"seed": [seed]}}), curve
if __name__ == "__main__":
    here = work(1)
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        there = pool.map(work, [1, 2])
    assert there[0][0] == here[0] != there[1][0]
    assert there[0][1].equals(here[1])
    assert (there[1][2] == here[2]).all()
    print("equal")
"""
    path = tmp_path / "program.py"
    path.write_text(program)
    run = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=600, check=False)
    assert run.stdout == "equal\n", run.stderr


ENDLESS = {
    "policy": """
class Stuck(Greedy):
    def select(self, blocks):
        while True:
            pass
call = lambda: ww.run(scenario, victim=Stuck)
""",
    "placement": """
class Slow:
    streams = 2
    def place(self, page):
        return int(page.moved)
call = lambda: ww.run(endless, placement=Slow)
""",
    "workload": """
def stuck(pages):
    while True:
        time.sleep(0)
    yield [1]
call = lambda: ww.run(scenario, workload=stuck)
""",
    "sweep of own parts": """
class Stuck(Greedy):
    def select(self, blocks):
        while True:
            pass
call = lambda: ww.sweep(scenario, {"victim": [Stuck, "greedy", Stuck]}, threads=3)
""",
    "advise": """
call = lambda: ww.advise(endless, only=["victim"])
""",
    "limit": """
call = lambda: ww.limit(endless, victims=[])
""",
    "an empty pipe": """
import os, tempfile, threading
path = os.path.join(tempfile.mkdtemp(), "pipe")
os.mkfifo(path)
held = os.open(path, os.O_RDWR)
call = lambda: trace.describe(path, "wearwell-csv")
""",
    "a run of an empty pipe": """
import os, tempfile
path = os.path.join(tempfile.mkdtemp(), "pipe")
os.mkfifo(path)
held = os.open(path, os.O_RDWR)
replay = {key: value for key, value in scenario.items() if key != "workload"} | {"trace": {"path": path}}
call = lambda: ww.run(replay)
""",
    "a run of a pipe that nobody opens, with a policy of one's own": """
import os, tempfile
path = os.path.join(tempfile.mkdtemp(), "pipe")
os.mkfifo(path)
replay = {key: value for key, value in scenario.items() if key != "workload"} | {"trace": {"path": path}}
call = lambda: ww.run(replay, victim=Greedy)
""",
    "a run that begins a pipe again": """
import os, tempfile, threading
path = os.path.join(tempfile.mkdtemp(), "pipe")
os.mkfifo(path)
replay = {key: value for key, value in endless.items() if key != "workload"} | {"trace": {"path": path}}
def say():
    with open(path, "w") as pipe:
        pipe.write("time_ns,op,volume,offset_bytes,length_bytes,hint\\n1,W,0,0,4096,0\\n")
threading.Thread(target=say).start()
call = lambda: ww.run(replay)
""",
    "a sweep over an empty pipe": """
import os, tempfile
path = os.path.join(tempfile.mkdtemp(), "pipe")
os.mkfifo(path)
replay = {key: value for key, value in scenario.items() if key != "workload"} | {"trace": {"path": path}}
call = lambda: ww.sweep(replay, {"victim": ["greedy", Greedy]}, threads=2)
""",
    "a drive that is to fit an empty pipe": """
import os, tempfile
path = os.path.join(tempfile.mkdtemp(), "pipe")
os.mkfifo(path)
device = {"fit": True, "spare_factor": 0.2, "pages_per_block": 32, "page_size": 4096}
call = lambda: ww.sweep({"device": device, "trace": {"path": path}}, {"victim": ["greedy", "fifo"]})
""",
    "advise on an empty pipe": """
import os, tempfile
path = os.path.join(tempfile.mkdtemp(), "pipe")
os.mkfifo(path)
replay = {key: value for key, value in scenario.items() if key != "workload"} | {"trace": {"path": path}}
call = lambda: ww.advise(replay, only=["victim"])
""",
    "a pipe with a line": """
import os, tempfile, threading
path = os.path.join(tempfile.mkdtemp(), "pipe")
os.mkfifo(path)
held = os.open(path, os.O_RDWR)
os.write(held, b"time_ns,op,volume,offset_bytes,length_bytes,hint\\n1,W,0,0,4096,0\\n")
call = lambda: trace.convert(path, path + ".out", "wearwell-csv", format="wearwell-csv")
""",
    "convert": """
def lines():
    for at in range(1 << 40):
        yield f"{at},W,0,0,4096,0\\n"
import os, tempfile, threading
path = os.path.join(tempfile.mkdtemp(), "trace.csv")
with open(path, "w") as file:
    file.write("time_ns,op,volume,offset_bytes,length_bytes,hint\\n")
    file.write("1,W,0,0,4096,0\\n" * 500_000)
call = lambda: [trace.convert(path, path + ".out", "wearwell-csv", format="wearwell-csv") for _ in range(100)]
""",
}


@pytest.mark.parametrize("what", ENDLESS)
def test_ctrl_c_ends_call_within_a_second(what):
    program = (
        textwrap.dedent(SCENARIO)
        + ENDLESS[what]
        + """
# The signal may be set to be ignored, if the tests run in the background.
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    print("started", flush=True)
    call()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline() == "started\n"
        time.sleep(0.7)
        before = os.times()
        process.send_signal(signal.SIGINT)
        try:
            assert process.communicate(timeout=300)[0] == "interrupted\n"
        finally:
            process.kill()
        # The limit is generous, because wall-clock time is measured on a busy machine.
        assert os.times().elapsed - before.elapsed < 30
    assert process.returncode == 0


def test_package_works_in_locale_without_unicode(tmp_path):
    path = tmp_path / "scenario.toml"
    program = f"""{SCENARIO}
import pathlib
path = pathlib.Path({str(path)!r})
text = ww.Scenario.from_dict(scenario | {{"name": "Zürich ± µs"}}).to_toml()
path.write_text(text, encoding="utf-8")
result = ww.run(path)
result.to_json(path.with_suffix(".json"))
assert ww.Result.from_json(path.with_suffix(".json")).scenario.name == "Zürich ± µs"
assert "Zürich" in result._repr_html_()
ww.sweep(path, {{"name": ["ä"]}}, store=path.with_suffix(".runs"))
try:
    ww.run(path, name="ö", device__preset="ß")
except ww.ScenarioError as error:
    assert "ß" in str(error)
print(str(result).splitlines()[1][:19])
"""
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    run = subprocess.run(
        [sys.executable, script], capture_output=True, env=environment, timeout=300, check=False
    )  # fmt: skip
    assert run.stdout == b"write amplification\n", run.stderr
