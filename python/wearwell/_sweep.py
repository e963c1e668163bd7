"""Many runs over a grid of settings."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from . import _core
from ._errors import RunError, ScenarioError, TraceError
from ._own import KEYS, is_made_anew, is_own, made, name_of
from ._plain import plain, whole
from ._progress import bar
from ._source import ScenarioLike, blame, full_key, scenario_dict
from .result import Result

if TYPE_CHECKING:
    import pandas as pd

MOST_POINTS = 1_000_000


@dataclass(frozen=True)
class _Point:
    settings: dict[str, Any]
    replica: int
    scenario: str  # resolved, as JSON: says all about the run but for its own parts
    seed: int
    own: dict[str, Any]


class _Stopped(BaseException):
    """The sweep ends; this run is to end as well."""


def sweep(
    scenario: ScenarioLike,
    vary: Mapping[str, Sequence[Any]],
    *,
    replicas: int = 1,
    threads: int | None = None,
    path: str | os.PathLike[str] | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
    **overrides: Any,
) -> pd.DataFrame:
    """Run a scenario for all combinations of some settings, in parallel.

    Parameters
    ----------
    scenario : Scenario, dict, Result, path or TOML text
        What to run.
    vary : dict of str to sequence
        Keys of the scenario, such as ``"device.spare_factor"`` or ``"victim"``, and the values each one takes. The
        last key varies fastest. Of ``victim``, ``placement`` and ``workload`` a value may be one of your own, as in
        `run`, but for objects that only one run can use: give the class, or a function that makes one.
    replicas : int
        Runs of each combination; each has a seed of its own, and replica 0 that of the scenario.
    threads : int
        Runs at a time; as many as there are cores unless given. No result depends on it.
    path : str or PathLike
        A file in which finished runs are kept. Runs found there are not repeated, so that an interrupted sweep goes
        on where it stopped.
    progress : bool or callable
        ``True`` shows a bar; a callable is called with the numbers of runs finished and of all runs.
    **overrides
        Keys of the scenario to replace in all runs, as in `run`.

    Returns
    -------
    pandas.DataFrame
        One row a run, in the order of the grid: the settings, ``replica``, the figures of `Result.summary`, and
        ``error``, which holds the message of a run that failed (for example because its drive died). `means` makes one
        row of the replicas of a combination.

    Raises
    ------
    ScenarioError
        If a combination cannot be run; all are checked before the first one starts.

    See Also
    --------
    means : Means over the replicas, with their confidence intervals.
    wearwell.plot.sweep : The table as a figure.
    """
    import pandas as pd

    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError(f"progress: True or a function is wanted, not {progress!r}")
    workers = whole("threads", threads) if threads is not None else os.cpu_count() or 1
    with blame(scenario):
        points = _plan(scenario, vary, whole("replicas", replicas), overrides)
    if path is not None and any(point.own for point in points):
        problem = "parts written in Python are not kept in a file, which could not tell one from another"
        raise ScenarioError(f"path: {problem}; leave it out", "path")
    with ExitStack() as stack:
        journal = stack.enter_context(_Journal(path)) if path is not None else None
        report: Callable[[int, int], object] | None = progress if callable(progress) else None
        if progress is True:
            show = stack.enter_context(bar(len(points), "runs"))
            report = lambda finished, _: show(finished, "sweep")  # noqa: E731
        rows = _Crew(points, journal, report).work(workers)
    return pd.DataFrame(rows)


def _axes(vary: Mapping[str, Sequence[Any]], replicas: int) -> dict[str, list[Any]]:
    """Give the values of each key, after a look at how many runs that makes."""
    if not isinstance(vary, Mapping):
        raise TypeError(f"vary: a dictionary of keys and their values is wanted, not a {type(vary).__name__}")
    axes: dict[str, list[Any]] = {}
    count = replicas
    for key, values in vary.items():
        if not isinstance(key, str):
            raise TypeError(f"vary: {key!r} is no key of a scenario, which is text")
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise TypeError(f"{key}: a list of the values that it takes is wanted, not {values!r}")
        # Of what has no length, or too many values, no more than is needed to say so.
        axes[key] = list(itertools.islice(values, MOST_POINTS + 1))
        count *= len(axes[key])
    if not 0 < count <= MOST_POINTS:
        raise ScenarioError(f"a sweep of {count} runs; it must have at least one and at most {MOST_POINTS}")
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
    for chosen in itertools.product(*axes.values()):
        settings = dict(zip(axes, chosen, strict=True))
        named, own = _split(overrides, settings)
        shown = {key: _shown(key, value) for key, value in settings.items()}
        if "workload" in own:
            # The run takes it away again; without one a scenario would be refused.
            named["workload"] = "uniform"
        try:
            resolved = json.loads(_core.resolve(json.dumps(scenario_dict(scenario, named))))
        except ScenarioError as error:
            pairs = ", ".join(f"{key}={value}" for key, value in shown.items())
            raise ScenarioError(f"with {pairs}: {error}" if pairs else str(error), error.key) from None
        for replica in range(replicas):
            seed = _core.replica_seed(resolved["seed"], replica)
            points.append(_Point(shown, replica, json.dumps(resolved | {"seed": seed}), seed, own))
    if len(points) > 1:
        _refuse_shared(points)
    return points


def _split(overrides: Mapping[str, Any], settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tell what the scenario can say from parts of the program's own."""
    given = {full_key(key): value for key, value in [*overrides.items(), *settings.items()]}
    own = {KEYS[key]: value for key, value in given.items() if is_own(key, value)}
    return {key: value for key, value in given.items() if not is_own(key, value)}, own


def _shown(key: str, value: Any) -> Any:
    return name_of(value) if is_own(full_key(key), value) else plain(value, key)


def _refuse_shared(points: list[_Point]) -> None:
    """Refuse objects that several runs would use, each of which leaves them as no other expects them."""
    users = Counter((role, id(part)) for point in points for role, part in point.own.items())
    for role, part in (item for point in points for item in point.own.items()):
        is_used_up = isinstance(part, Iterator) if role == "workload" else not is_made_anew(role, part)
        if is_used_up and users[role, id(part)] > 1:
            problem = f"the runs would share one {name_of(part)}; give the class, or a function that makes one for each"
            raise ScenarioError(f"{role}: {problem}", role)


class _Journal:
    """Finished runs on disk, one JSON line each."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._known: dict[str, Result] = {}
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        whole = self._read()
        self._file = self._path.open("ab")
        # What an interruption left of a line goes away.
        self._file.truncate(whole)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def _read(self) -> int:
        """Take note of all results, and give the length of the whole lines."""
        whole = 0
        if not self._path.exists():
            return whole
        with self._path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    entry = json.loads(line)
                    result = Result._of_text(json.dumps(entry["result"]))  # noqa: SLF001
                    known = json.dumps(result.to_dict()["scenario"])
                except (ValueError, KeyError, TypeError, AttributeError):
                    if not line.endswith(b"\n") and line.startswith(b'{"settings":'[: len(line)]):
                        break
                    raise ValueError(
                        f"{self._path}: line {number} is no result of a sweep; name another file"
                    ) from None
                if not line.endswith(b"\n"):
                    break
                # Another version may count differently.
                if result.version == _core.__version__:
                    self._known[known] = result
                whole += len(line)
        return whole

    def find(self, point: _Point) -> Result | None:
        return self._known.get(json.dumps(json.loads(point.scenario)))

    def append(self, point: _Point, result: Result) -> None:
        # The time series of many runs is more than anybody wants to keep.
        data = result.to_dict() | {"windows": []}
        entry = {"settings": point.settings, "replica": point.replica, "result": data}
        with self._lock:
            assert self._file is not None
            self._file.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
            self._file.flush()


class _Crew:
    """The threads of a sweep, and what they share."""

    def __init__(
        self,
        points: list[_Point],
        journal: _Journal | None,
        report: Callable[[int, int], object] | None,
    ) -> None:
        self._points = points
        self._journal = journal
        self._report = report
        self._stop = threading.Event()
        self._in_python: set[int] = set()

    def work(self, threads: int) -> list[dict[str, Any]]:
        with ThreadPoolExecutor(threads) as pool:
            try:
                futures = [pool.submit(self._row, point) for point in self._points]
                self._watch(futures)
                return [future.result() for future in futures]
            except BaseException:
                # Ctrl-C comes to this thread alone; the runs ask for it at their next report.
                self._stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                self._end_own_parts()
                pool.shutdown(wait=True)
                raise

    def _watch(self, futures: list[Future[dict[str, Any]]]) -> None:
        pending, finished = set(futures), -1
        while pending:
            _, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
            done = sum(future.done() for future in futures)
            for future in futures:
                if future.done() and not future.cancelled() and (error := future.exception()) is not None:
                    raise error
            if self._report is not None and done != finished:
                self._report(done, len(futures))
            finished = done

    def _end_own_parts(self) -> None:
        """End parts written in Python that go on for ever, and with them the runs that wait for them."""
        stop = ctypes.py_object(_Stopped)
        while self._in_python:
            for thread in list(self._in_python):
                # No thread of that number is one that has come to its end already.
                if ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), stop) == 0:
                    self._in_python.discard(thread)
            time.sleep(0.05)

    def _row(self, point: _Point) -> dict[str, Any]:
        row = {**point.settings, "replica": point.replica}
        thread = threading.get_ident()
        try:
            if point.own:
                self._in_python.add(thread)
            # Asked after the thread is known, so that it is either stopped here or from outside.
            self._heed()
            return row | self._result(point).summary() | {"error": None}
        except (RunError, TraceError, ScenarioError) as error:
            return row | {"error": str(error)}
        finally:
            self._in_python.discard(thread)

    def _result(self, point: _Point) -> Result:
        known = self._journal.find(point) if self._journal else None
        if known is not None:
            return known
        self._heed()
        parts = {role: made(role, part, point.seed) for role, part in point.own.items()}
        result = Result._of_text(_core.run(point.scenario, progress=self._heed, **parts))  # noqa: SLF001
        if self._journal:
            self._journal.append(point, result)
        return result

    def _heed(self, *_: object) -> None:
        if self._stop.is_set():
            raise _Stopped
