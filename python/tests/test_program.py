"""Tests of reproductions on a cluster: the programs of the workers give the same tables; failures of programs."""

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from test_executors import command, dasks, program, started

import wearwell as ww
from wearwell import _program

__all__ = ["program"]

ITEM = "geckoftl/checkpoints"
WORDS = ["reproduce", ITEM, "--quick", "--set", "log2_blocks=11"]
JOURNAL = "finished/gecko_checkpoints.jsonl"


@pytest.fixture
def fake_program(tmp_path, program, monkeypatch):
    """A cluster whose workers have the program."""
    monkeypatch.setenv(_program.PROGRAM, program)
    with started(tmp_path) as cluster:
        yield cluster


def left(output):
    """Return the outputs of an item, without the record of its cost."""
    files = sorted(path for path in (output / ITEM).iterdir() if path.name != "item.json")
    return {path.name: path.read_bytes() for path in files}


def claims(output):
    return json.loads((output / ITEM / "item.json").read_text())["claims"]


def points(output):
    journal = output / JOURNAL
    lines = journal.read_text().splitlines() if journal.exists() else []
    return [json.loads(line)["point"] for line in lines if line.endswith("}")]


@contextlib.contextmanager
def when_points_exist(count, output, action):
    """Run an action when a number of points is stored."""

    def wait():
        begin = time.monotonic()
        while len(points(output)) < count and time.monotonic() - begin < 600:
            time.sleep(0.01)
        action()

    thread = threading.Thread(target=wait)
    thread.start()
    yield
    thread.join()


@dasks
def test_cluster_with_killed_worker_gives_equal_results(tmp_path, fake_program, program):
    here, there = tmp_path / "here", tmp_path / "there"
    alone = command(program, *WORDS, "--output", here)
    with when_points_exist(2, there, lambda: fake_program.workers[0].send_signal(signal.SIGKILL)):
        spread = command(program, *WORDS, "--output", there, "--dask", fake_program.address)
    assert (alone.returncode, spread.returncode) == (0, 0), alone.stderr + spread.stderr
    assert fake_program.workers[0].wait(60) == -signal.SIGKILL
    assert spread.stderr.count("2 workers, 2 runs at a time") == 1
    assert spread.stdout.replace(str(there), "") == alone.stdout.replace(str(here), "")
    assert left(there) == left(here)
    assert claims(there) == claims(here)
    kept = points(there)
    assert len(kept) > 3
    assert sorted(kept) == sorted(points(here))


@dasks
def test_same_command_continues_locally_after_a_lost_scheduler(tmp_path, fake_program, program):
    there, words = tmp_path / "there", [*WORDS, "--output", tmp_path / "there"]
    with when_points_exist(2, there, lambda: fake_program.scheduler.send_signal(signal.SIGKILL)):
        lost = command(program, *words, "--dask", fake_program.address)
    assert lost.returncode == 1, lost.stdout
    assert f"{ITEM}: --dask {fake_program.address}: " in lost.stderr
    assert "scheduler" in lost.stderr
    assert "points are finished and kept" in lost.stderr
    assert not (there / ITEM).exists()
    kept = points(there)
    assert len(kept) >= 2
    resumed = command(program, *words)
    assert resumed.returncode == 0, resumed.stderr
    assert points(there)[: len(kept)] == kept
    assert len(set(points(there))) == len(points(there))
    alone = command(program, *WORDS, "--output", tmp_path / "here")
    assert alone.returncode == 0, alone.stderr
    assert left(there) == left(tmp_path / "here")


def script(folder, text):
    """Write a script that acts as the program."""
    path = folder / "wearwell"
    path.write_text(f"#!{sys.executable}\nimport os, sys, time\n{text}\n")
    path.chmod(0o755)
    return path


SAYS = 'print(\'{"build": "0.0.9 ab"}\', flush=True)\nsys.stdin.readline()\n'


@dasks
def test_workers_with_other_build_compute_nothing(tmp_path, program, monkeypatch):
    monkeypatch.setenv(_program.PROGRAM, str(script(tmp_path, SAYS)))
    with started(tmp_path, 1) as cluster:
        refused = command(program, *WORDS, "--output", tmp_path / "there", "--dask", cluster.address)
    assert refused.returncode == 1
    assert "has the program wearwell 0.0.9 ab, and this is" in refused.stderr
    assert "the worker tcp://" in refused.stderr
    assert points(tmp_path / "there") == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sys.exit('no such option')", "ended with code 1: no such option"),
        ("print('hello')", "said what is not understood: 'hello"),
        ("print('[]')", r"said what is not understood: '\[\]"),
        ("print('{}')", "is no wearwell that answers points"),
        (SAYS + "os.kill(os.getpid(), 9)", "was ended by signal 9: has it enough memory?"),
        (SAYS + "print('{\"found\"', end='')", "ended with code 0"),
        (SAYS, "ended with code 0"),
    ],
)
def test_error_output_of_a_failed_program_is_reported(text, problem, tmp_path, monkeypatch):
    path = script(tmp_path, text)
    monkeypatch.setenv(_program.PROGRAM, str(path))
    with pytest.raises(ww.ExecutorError, match=problem) as told:
        _program.Point(0, "{}", "0.0.9 ab").attempt()
    assert str(path) in str(told.value)


def test_answer_of_the_program_is_passed_on_unchanged(tmp_path, monkeypatch):
    answer = '{"found":{"x":1e-07,"y":18446744073709551615},"core_seconds":0.10}'
    monkeypatch.setenv(_program.PROGRAM, str(script(tmp_path, f"{SAYS}print({answer!r})")))
    assert _program.Point(3, "{}", "0.0.9 ab").attempt() == (3, answer, None)
    monkeypatch.setenv(_program.PROGRAM, str(script(tmp_path, f'{SAYS}print(\'{{"error": "too small"}}\')')))
    assert _program.Point(3, "{}", "0.0.9 ab").attempt() == (3, None, "too small")
    with pytest.raises(ww.ExecutorError, match=r"a worker has the program wearwell 0\.0\.9 ab, and this is 1 c"):
        _program.Point(3, "{}", "1 c").attempt()


def test_missing_program_is_reported_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(_program.PROGRAM, raising=False)
    with pytest.raises(ww.ExecutorError, match=r"there is no program wearwell on .*, or WEARWELL_PROGRAM name it"):
        _program.build()


def is_alive(process):
    """Return whether a process still runs or has not ended yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_program_ends_with_killed_worker(program, monkeypatch):
    monkeypatch.setenv(_program.PROGRAM, program)
    version, _, digest = _program.build().partition(" ")
    assert version == ww.__version__
    assert len(digest) == 16
    settings = {"log2_blocks": 18}
    kind = {"ftl": "dftl", "checkpoints": False, "late": False, "cleans_metadata": True}
    point = settings | {"kind": kind, "run": {"warm_up": 1.0, "measured": 0.25}}
    way = {"program": "gecko_checkpoints", "settings": settings, "assumptions": {}, "traces": None, "earlier": []}
    identity = f"FTL with and without checkpoints {json.dumps(point, separators=(',', ':'))}"
    asked = json.dumps({"way": way, "point": identity})
    attempt = f"from wearwell import _program as p; print(p.Point(0, {asked!r}, p.build()).attempt())"
    worker = subprocess.Popen([sys.executable, "-c", attempt])
    children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children")
    seen, since = "", time.monotonic()
    # The first process only reports its build. On a busy machine, it may start late.
    while not seen or time.monotonic() - since < 4:
        assert worker.poll() is None
        if (now := children.read_text().strip()) != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.05)
    assert is_alive(seen)
    worker.kill()
    worker.wait()
    begin = time.monotonic()
    while is_alive(seen) and time.monotonic() - begin < 120:
        time.sleep(0.05)
    assert not is_alive(seen)
