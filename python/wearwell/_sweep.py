"""Execution of a scenario over a grid of settings."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._custom_parts import CUSTOM_PART_KEYS, is_custom_part, is_made_per_run, name_of
from ._errors import ScenarioError
from ._executors import ExecutorLike, Job, Outcome, Outcomes, open_executor, refuse_threads_with_executor
from ._plain import checked_integer, to_plain
from ._progress import bar
from ._source import ScenarioLike, add_origin, full_key, scenario_dict
from .result import Result

if TYPE_CHECKING:
    import pandas as pd

MAX_POINTS = 1_000_000


@dataclass(frozen=True)
class _Point:
    settings: dict[str, Any]
    replica: int
    scenario: str  # resolved, as JSON: says all about the run but for its own parts
    seed: int
    custom_parts: dict[str, Any]


class _Stopped(BaseException):
    """Raised in a run that must end because its sweep ends."""


def sweep(
    scenario: ScenarioLike,
    vary: Mapping[str, Sequence[Any]],
    *,
    replicas: int = 1,
    threads: int | None = None,
    path: str | os.PathLike[str] | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
    store: str | os.PathLike[str] | None = None,
    executor: ExecutorLike | None = None,
    **overrides: Any,
) -> pd.DataFrame:
    """Run a scenario for all combinations of some settings, in parallel.

    Parameters
    ----------
    scenario : Scenario, dict, Result, path or TOML text
        Scenario to run.
    vary : dict of str to sequence
        Keys of the scenario, such as ``"device.spare_factor"`` or ``"victim"``, with the values of each. The last key
        varies fastest. For ``victim``, ``placement`` and ``workload`` a value may be your own part, as in `run`. An
        object that only one run can use must be given as a class, or as a function that makes one.
    replicas : int
        Runs of each combination. Each replica has a different seed; replica 0 has that of the scenario.
    threads : int
        Number of runs at a time; by default the number of cores. No result depends on it.
    path : str or PathLike
        Earlier name of `store`.
    progress : bool or callable
        ``True`` shows a bar; a callable is called with the number of finished runs, and of all runs.
    store : str or PathLike
        Folder of Parquet files in which finished runs are stored. Runs found there are not repeated, so an interrupted
        sweep continues where it stopped; several sweeps may use the folder, even at the same time. `read_store` reads
        it.
    executor : concurrent.futures.Executor, distributed.Client or str
        Executor of the runs, instead of threads of this process: any executor, a client of a Dask cluster, or the
        address of its scheduler, such as ``"tcp://scheduler:8786"``. No result depends on it.
    **overrides
        Keys of the scenario to replace in all runs, as in `run`.

    Returns
    -------
    pandas.DataFrame
        One row per run, in the order of the grid: the settings, ``replica``, the figures of `Result.summary`, and
        ``error``, the message of a run that failed (for example because its drive is worn out). `means` combines the
        replicas of a combination into one row.

    Raises
    ------
    ScenarioError
        If a combination cannot be run; all are checked before the first one starts.
    ExecutorError
        If `executor` cannot execute the runs: a worker ended or has another version, or the scheduler is lost.
    StoreError
        If finished runs cannot be stored. Runs stored earlier are kept.

    Warns
    -----
    UserWarning
        For damaged files in the store, and for runs of another version: both are repeated.

    See Also
    --------
    read_store : All runs that a store holds. means : Means over the replicas, with their confidence intervals.
    wearwell.plot.sweep : The table as a figure.
    """
    import pandas as pd

    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError(f"progress: True or a function is wanted, not {progress!r}")
    refuse_threads_with_executor(threads, executor)
    if path is not None and store is not None:
        raise TypeError("path: is the same as store by its earlier name; give one of them")
    workers = checked_integer("threads", threads) if threads is not None else os.cpu_count() or 1
    with add_origin(scenario):
        points = _plan(scenario, vary, checked_integer("replicas", replicas), overrides)
    place = store if store is not None else path
    if place is not None and any(point.custom_parts for point in points):
        name = "store" if store is not None else "path"
        problem = "parts written in Python are not kept in a file, which could not tell one from another"
        raise ScenarioError(f"{name}: {problem}; leave it out", name)
    with ExitStack() as stack:
        report: Callable[[int, int], object] | None = progress if callable(progress) else None
        crew = _Threads(workers) if executor is None else stack.enter_context(open_executor(executor))
        kept = open_store(place, [point.settings for point in points]) if place is not None else None
        if progress is True:
            show = stack.enter_context(bar(len(points), "runs"))
            report = lambda finished, _: show(finished, "sweep")  # noqa: E731
        rows = _rows(points, crew.outcomes, kept, report)
    return pd.DataFrame(rows)


def open_store(
    path: str | os.PathLike[str], settings: Iterable[Mapping[str, Any]] = (), stacklevel: int = 3
) -> _core.ResultStore:
    """Open a store, and warn about its unusable files and runs."""
    store = _core.ResultStore(os.fspath(path))
    for complaint in store.complaints():
        warnings.warn(complaint, stacklevel=stacklevel)
    store.expect([json.dumps(each) for each in settings])
    return store


def _rows(
    points: list[_Point],
    outcomes_of: Callable[[list[Job]], Outcomes],
    store: _core.ResultStore | None,
    report: Callable[[int, int], object] | None,
) -> list[dict[str, Any]]:
    """Return a row for each point, in order, with any executor."""
    stored = [store.find(point.scenario) if store is not None else None for point in points]
    rows = [_row(point, text, None) if text is not None else {} for point, text in zip(points, stored, strict=True)]
    new = [number for number, text in enumerate(stored) if text is None]
    finished = len(points) - len(new)
    if report is not None:
        report(finished, len(points))
    jobs = [Job(number, points[number].scenario, points[number].custom_parts, points[number].seed) for number in new]
    try:
        with closing(outcomes_of(jobs)) as outcomes:
            for outcome in outcomes:
                if outcome is None:
                    continue
                number, text, error = outcome
                point = points[number]
                if store is not None and text is not None:
                    store.keep(json.dumps(point.settings), point.replica, text)
                rows[number] = _row(point, text, error)
                finished += 1
                if report is not None:
                    report(finished, len(points))
    finally:
        if store is not None:
            store.flush()
    return rows


def _row(point: _Point, text: str | None, error: str | None) -> dict[str, Any]:
    row = {**point.settings, "replica": point.replica}
    if text is None:
        return row | {"error": error}
    return row | Result._of_text(text).summary() | {"error": None}  # noqa: SLF001 - results are made here as well


def _axes(vary: Mapping[str, Sequence[Any]], replicas: int) -> dict[str, list[Any]]:
    """Return the values of each key, after a check of the number of runs."""
    if not isinstance(vary, Mapping):
        raise TypeError(f"vary: a dictionary of keys and their values is wanted, not a {type(vary).__name__}")
    axes: dict[str, list[Any]] = {}
    count = replicas
    for key, values in vary.items():
        if not isinstance(key, str):
            raise TypeError(f"vary: {key!r} is no key of a scenario, which is text")
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise TypeError(f"{key}: a list of the values that it takes is wanted, not {values!r}")
        # If the length is unknown or too large, only as many values are read as the error needs.
        axes[key] = list(itertools.islice(values, MAX_POINTS + 1))
        count *= len(axes[key])
    if not 0 < count <= MAX_POINTS:
        raise ScenarioError(f"a sweep of {count} runs; it must have at least one and at most {MAX_POINTS}")
    names = [full_key(key) for key in axes]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ScenarioError(f"{twice[0]} is varied twice", twice[0])
    return axes


def _plan(
    scenario: ScenarioLike, vary: Mapping[str, Sequence[Any]], replicas: int, overrides: Mapping[str, Any]
) -> list[_Point]:
    axes = _axes(vary, replicas)
    points = []
    for combination in itertools.product(*axes.values()):
        settings = dict(zip(axes, combination, strict=True))
        plain_settings, custom_parts = _separate_custom_parts(overrides, settings)
        shown_settings = {key: _shown_value(key, value) for key, value in settings.items()}
        if "workload" in custom_parts:
            # The run replaces this value; without it, the scenario would be refused.
            plain_settings["workload"] = "uniform"
        try:
            resolved = json.loads(_core.resolve(json.dumps(scenario_dict(scenario, plain_settings))))
        except ScenarioError as error:
            pairs = ", ".join(f"{key}={value}" for key, value in shown_settings.items())
            raise ScenarioError(f"with {pairs}: {error}" if pairs else str(error), error.key) from None
        for replica in range(replicas):
            seed = _core.replica_seed(resolved["seed"], replica)
            points.append(_Point(shown_settings, replica, json.dumps(resolved | {"seed": seed}), seed, custom_parts))
    if len(points) > 1:
        _refuse_shared(points)
    return points


def _separate_custom_parts(
    overrides: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate plain settings of the scenario from parts that the calling program wrote."""
    all_settings = {full_key(key): value for key, value in [*overrides.items(), *settings.items()]}
    custom_parts = {CUSTOM_PART_KEYS[key]: value for key, value in all_settings.items() if is_custom_part(key, value)}
    return {key: value for key, value in all_settings.items() if not is_custom_part(key, value)}, custom_parts


def _shown_value(key: str, value: Any) -> Any:
    return name_of(value) if is_custom_part(full_key(key), value) else to_plain(value, key)


def _refuse_shared(points: list[_Point]) -> None:
    """Refuse an object that several runs would share, because each run changes its state."""
    users = Counter((role, id(part)) for point in points for role, part in point.custom_parts.items())
    for role, part in (item for point in points for item in point.custom_parts.items()):
        is_used_up = isinstance(part, Iterator) if role == "workload" else not is_made_per_run(role, part)
        if is_used_up and users[role, id(part)] > 1:
            problem = f"the runs would share one {name_of(part)}; give the class, or a function that makes one for each"
            raise ScenarioError(f"{role}: {problem}", role)


class _Threads:
    """Executor with threads of this process, which can be interrupted in the middle of a run."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._stop = threading.Event()
        self._in_python: set[int] = set()

    def outcomes(self, jobs: list[Job]) -> Outcomes:
        """Execute runs, and yield each as it ends, in any order; yield ``None`` at intervals in which no run ends."""
        with ThreadPoolExecutor(self._count) as pool:
            try:
                pending = {pool.submit(self._run_job, job) for job in jobs}
                while pending:
                    done, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield future.result()
                    if not done:
                        yield None
            except BaseException:
                # Only the calling thread receives Ctrl-C; the runs check for the event at their next progress report.
                self._stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                self._stop_custom_parts()
                pool.shutdown(wait=True)
                raise

    def _stop_custom_parts(self) -> None:
        """End endless parts written in Python, and thereby the runs that wait for these parts."""
        stop = ctypes.py_object(_Stopped)
        while self._in_python:
            for thread in list(self._in_python):
                # If the number is unknown, the thread has already ended.
                if ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), stop) == 0:
                    self._in_python.discard(thread)
            time.sleep(0.05)

    def _run_job(self, job: Job) -> Outcome:
        thread = threading.get_ident()
        try:
            if job.custom_parts:
                self._in_python.add(thread)
            # This check comes after the thread is registered, so that the thread stops either here or from outside.
            self._check_stop()
            return job.attempt(self._check_stop)
        finally:
            self._in_python.discard(thread)

    def _check_stop(self, *_: object) -> None:
        if self._stop.is_set():
            raise _Stopped
