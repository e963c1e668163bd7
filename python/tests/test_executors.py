"""Tests of executors: threads, processes, a Dask cluster and the command line give the same table; lost workers and
schedulers."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import wearwell as ww
from wearwell import _executors

ROOT = Path(__file__).parents[2]
VARY = {"device.spare_factor": [0.2, 0.3], "victim": ["greedy", "fifo"]}

# Dask emits warnings that do not concern this package.
dasks = pytest.mark.filterwarnings("default")


def text(table):
    return table.to_csv(index=False)


@pytest.fixture
def expected(small):
    return text(ww.sweep(small, VARY, replicas=2, threads=1))


@pytest.fixture
def long(small):
    """A scenario whose dozen runs take several times as long as the work that a kill may lose, on any machine."""
    return small.to_dict() | {"measure": {"warm_up": 2.0, "drive_writes": 3200.0}}


def processes(count):
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"))


class Cluster:
    """A scheduler and workers in separate processes."""

    def __init__(self, folder, workers):
        pytest.importorskip("distributed")
        self.file = folder / "scheduler.json"
        self.log = (folder / "dask.log").open("w")
        self.scheduler = self._start("scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard")
        self.workers = [
            self._start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard") for _ in range(workers)
        ]
        self._wait_for(self.file.exists)
        self.address = json.loads(self.file.read_text())["address"]

    def _start(self, command, *options):
        words = [sys.executable, "-m", "dask", command, "--scheduler-file", str(self.file), *options]
        return subprocess.Popen(words, stdout=self.log, stderr=self.log)

    def _wait_for(self, condition):
        begin = time.monotonic()
        while not condition():
            assert time.monotonic() - begin < 300, "the cluster does not come up"
            time.sleep(0.05)

    @contextlib.contextmanager
    def client(self):
        from distributed import Client

        with Client(self.address, timeout=120, set_as_default=False) as client:
            client.wait_for_workers(len(self.workers), timeout=300)
            yield client

    def close(self):
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()
        self.log.close()


@contextlib.contextmanager
def started(folder, workers=2):
    cluster = Cluster(folder, workers)
    try:
        with cluster.client():
            pass
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def cluster(tmp_path):
    with started(tmp_path) as cluster:
        yield cluster


class ActionAfterRuns:
    """Progress callback that runs an action when a number of runs is finished."""

    def __init__(self, finished, action):
        self.finished, self.action, self.done = finished, action, False

    def __call__(self, finished, _points):
        if finished >= self.finished and not self.done:
            self.done = True
            self.action()


def test_processes_give_equal_table(small, expected):
    for executor in (processes(1), processes(2), ThreadPoolExecutor(3)):
        with executor:
            assert text(ww.sweep(small, VARY, replicas=2, executor=executor)) == expected
    assert text(ww.sweep(small, VARY, replicas=2, threads=2)) == expected


def test_failed_run_is_a_row_with_any_executor(small, samples):
    trace = {"path": str(samples / "no-such-file"), "format": "msr"}
    scenario = {**small.to_dict(), "workload": None, "trace": trace}
    with processes(1) as executor:
        table = ww.sweep(scenario, {"seed": [1, 2]}, executor=executor)
    assert table.equals(ww.sweep(scenario, {"seed": [1, 2]}))
    assert table.error.str.contains("no-such-file").all()


@dasks
def test_cluster_gives_equal_table(small, expected, cluster):
    with cluster.client() as client:
        assert text(ww.sweep(small, VARY, replicas=2, executor=client)) == expected
        assert text(ww.sweep(small, VARY, replicas=2, executor=client.get_executor(pure=False))) == expected
    assert text(ww.sweep(small, VARY, replicas=2, executor=cluster.address)) == expected


@dasks
def test_local_process_cluster_gives_equal_table(small, expected):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        assert text(ww.sweep(small, VARY, replicas=2, executor=client)) == expected


@dasks
def test_killed_cluster_worker_loses_no_runs(long, tmp_path, cluster):
    seeds = {"seed": list(range(1, 13))}
    kill = ActionAfterRuns(3, lambda: cluster.workers[0].send_signal(signal.SIGKILL))
    table = ww.sweep(long, seeds, executor=cluster.address, store=tmp_path / "store", progress=kill)
    assert kill.done
    assert cluster.workers[0].wait(60) == -signal.SIGKILL
    assert text(table) == text(ww.sweep(long, seeds))
    assert len(ww.read_store(tmp_path / "store")) == 12


@dasks
def test_lost_scheduler_is_reported_and_sweep_continues_locally(long, tmp_path, cluster):
    seeds, store = {"seed": list(range(1, 13))}, tmp_path / "store"
    kill = ActionAfterRuns(3, lambda: cluster.scheduler.send_signal(signal.SIGKILL))
    begin = time.monotonic()
    with pytest.raises(ww.ExecutorError, match="scheduler"):
        ww.sweep(long, seeds, executor=cluster.address, store=store, progress=kill)
    assert time.monotonic() - begin < 600
    kept = len(ww.read_store(store))
    assert 3 <= kept < 12
    finished = []
    table = ww.sweep(long, seeds, store=store, progress=lambda done, _: finished.append(done))
    assert finished[0] == kept
    assert text(table) == text(ww.sweep(long, seeds))


def test_killed_process_is_reported_and_sweep_continues(long, tmp_path):
    seeds, store = {"seed": list(range(1, 9))}, tmp_path / "store"
    with processes(2) as executor:
        executor.submit(os.getpid).result()
        kill = ActionAfterRuns(2, lambda: os.kill(next(iter(executor._processes)), signal.SIGKILL))
        with pytest.raises(ww.ExecutorError, match="a worker has died"):
            ww.sweep(long, seeds, executor=executor, store=store, progress=kill)
    assert 2 <= len(ww.read_store(store)) < 8
    with processes(2) as executor:
        table = ww.sweep(long, seeds, executor=executor, store=store)
    assert text(table) == text(ww.sweep(long, seeds))


def test_closed_executor_is_reported(small):
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(ww.ExecutorError, match="takes no runs"):
        ww.sweep(small, VARY, executor=executor)


class OtherVersionExecutor(ThreadPoolExecutor):
    """Executor whose workers receive work for another version of the package."""

    def submit(self, work, version, *more):
        return super().submit(work, "9.9.9", *more)


def test_workers_of_other_version_run_nothing(small):
    with (
        OtherVersionExecutor(1) as executor,
        pytest.raises(ww.ExecutorError, match=f"a worker has wearwell {ww.__version__}"),
    ):
        ww.sweep(small, VARY, executor=executor)


@dasks
def test_cluster_of_other_version_runs_nothing(small, cluster, monkeypatch):
    monkeypatch.setattr(_executors, "version", lambda: "0.0.9")
    with pytest.raises(ww.ExecutorError, match=r"the worker tcp://.* has wearwell 0\.0\.9, and this is"):
        ww.sweep(small, VARY, executor=cluster.address)


@dasks
def test_missing_scheduler_is_reported(small, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(_executors, "CONNECT_TIMEOUT_S", 1)
    with pytest.raises(ww.ExecutorError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:1"):
        ww.sweep(small, VARY, executor="tcp://127.0.0.1:1")


def test_advice_is_equal_for_any_executor(small, tmp_path):
    options = {"only": ["victim"], "replicas": 2, "depth": 1, "quick": True}
    here = ww.advise(small, **options)
    with processes(2) as executor:
        there = ww.advise(small, **options, executor=executor, store=tmp_path / "store")
    assert text(there) == text(here)
    kept = len(ww.read_store(tmp_path / "store"))
    assert kept > 4
    # All runs are in the store, so the closed executor is not used.
    assert text(ww.advise(small, **options, executor=executor, store=tmp_path / "store")) == text(here)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ww.ExecutorError, match="takes no runs"):
        ww.advise(small, **options, executor=executor, store=tmp_path / "empty")


def test_concurrent_writers_fill_one_store(small, tmp_path):
    seeds = [list(range(first, first + 8)) for first in (1, 5, 9)]
    threads = [
        threading.Thread(target=ww.sweep, args=(small, {"seed": each}), kwargs={"store": tmp_path / "store"})
        for each in seeds
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    table = ww.read_store(tmp_path / "store")
    assert list(table.seed) == list(range(1, 17))
    assert json.loads(table.result[0])["scenario"]["seed"] == 1


def test_stores_are_readable_by_other_programs(small, tmp_path):
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    store = tmp_path / "store"
    vary = {"device.spare_factor": [0.2, 0.3], "victim": ["greedy", {"policy": "d_choices", "choices": 3}]}
    expected = ww.sweep(small, vary, replicas=2, store=store)
    # This adds a file of another study.
    ww.sweep(small, {"seed": [7]}, store=store)
    files = f"{store}/*.parquet"
    rows = f"read_parquet('{files}', union_by_name = true)"
    query = f"select write_amplification from {rows} where victim is not null order by 1"
    assert [value for (value,) in duckdb.sql(query).fetchall()] == sorted(expected.write_amplification)
    frame = polars.scan_parquet(files, missing_columns="insert", extra_columns="ignore").collect()
    assert frame.height == 9
    assert frame["replica"].dtype == polars.UInt64
    assert len(set(frame["point"])) == 9


def test_damaged_files_cause_a_warning_and_runs_are_repeated(small, tmp_path):
    store = tmp_path / "store"
    table = ww.sweep(small, VARY, store=store)
    [file] = store.glob("*.parquet")
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.warns(UserWarning, match=rf"{file.name}: is damaged: its 1000 bytes"):
        assert ww.sweep(small, VARY, store=store).equals(table)
    with pytest.warns(UserWarning, match="is damaged"):
        assert len(ww.read_store(store)) == 4


@pytest.fixture
def program():
    built = [ROOT / "target" / profile / "wearwell" for profile in ("release", "debug")]
    there = [path for path in built if path.exists()]
    if not there:
        pytest.skip("the command line is not built")
    return str(max(there, key=lambda path: path.stat().st_mtime))


def command(program, *words):
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run([program, *map(str, words)], env=environment, capture_output=True, text=True, check=False)


POWER = """
ftl = "dftl"
[device]
blocks_per_plane = 40
pages_per_block = 8
load = 0.5
page_size = 4096
[workload]
kind = "uniform"
[measure]
warm_up = 0.2
drive_writes = 0.2
"""
SWEEP = ["--vary", "seed=1:6:1", "--vary", "ftl.victim=greedy,fifo", "--format", "csv"]


@dasks
def test_command_line_gives_equal_table_on_cluster(small, tmp_path, cluster, program):
    scenario = tmp_path / "small.toml"
    scenario.write_text(small.to_toml())
    here = command(program, "sweep", scenario, *SWEEP)
    there = command(program, "sweep", scenario, *SWEEP, "--dask", cluster.address, "--store", tmp_path / "store")
    assert (here.returncode, there.returncode) == (0, 0), here.stderr + there.stderr
    assert there.stdout == here.stdout
    assert "2 workers, 2 runs at a time" in there.stderr
    assert len(ww.read_store(tmp_path / "store")) == 12
    scenario.write_text(POWER)
    power = ["power", scenario, "--exhaustive", "--format", "json"]
    here, there = command(program, *power), command(program, *power, "--dask", cluster.address)
    assert (here.returncode, there.returncode) == (0, 0), here.stderr + there.stderr
    assert json.loads(here.stdout)["cuts"] > 100
    assert here.stdout == there.stdout


@dasks
def test_command_line_resumes_after_lost_scheduler(long, tmp_path, cluster, program):
    scenario, store = tmp_path / "long.json", tmp_path / "store"
    scenario.write_text(json.dumps(long))
    words = ["sweep", scenario, *SWEEP, "--store", store]

    def kill():
        begin = time.monotonic()
        while not list(store.glob("*.parquet")) and time.monotonic() - begin < 600:
            time.sleep(0.02)
        cluster.scheduler.send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    lost = command(program, *words, "--dask", cluster.address)
    killer.join()
    assert lost.returncode == 1, lost.stderr
    assert "scheduler" in lost.stderr
    assert " of 12 runs were finished" in lost.stderr
    kept = len(ww.read_store(store))
    assert 1 <= kept < 12
    resumed = command(program, *words)
    shutil.rmtree(store)
    assert resumed.stdout == command(program, *words).stdout
