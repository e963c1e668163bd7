"""Many runs over a grid of settings."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from . import _core
from ._errors import RunError, ScenarioError, TraceError
from ._plain import plain
from ._progress import bar
from ._source import SHORT, ScenarioLike, blame, scenario_dict
from .result import Result

if TYPE_CHECKING:
    import pandas as pd

MOST_POINTS = 1_000_000


@dataclass(frozen=True)
class _Point:
    settings: dict[str, Any]
    replica: int
    scenario: str  # resolved, as JSON: says all about the run


class _Stopped(Exception):  # noqa: N818 - no error, but a request
    """The sweep ends; this run is to end as well."""


def sweep(
    scenario: ScenarioLike,
    vary: Mapping[str, Sequence[Any]],
    *,
    replicas: int = 1,
    threads: int | None = None,
    path: str | os.PathLike[str] | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> pd.DataFrame:
    """Run a scenario for all combinations of some settings, in parallel.

    Parameters
    ----------
    scenario : Scenario, dict, Result, path or TOML text
        What to run.
    vary : dict of str to sequence
        Keys of the scenario, such as ``"device.spare_factor"`` or ``"victim"``, and the values each one takes. The
        last key varies fastest.
    replicas : int
        Runs of each combination; each has a seed of its own, and replica 0 that of the scenario.
    threads : int
        Runs at a time; as many as there are cores unless given. No result depends on it.
    path : str or PathLike
        A file in which finished runs are kept. Runs found there are not repeated, so that an interrupted sweep goes
        on where it stopped.
    progress : bool or callable
        ``True`` shows a bar; a callable is called with the numbers of runs finished and of all runs.

    Returns
    -------
    pandas.DataFrame
        One row a run, in the order of the grid: the settings, ``replica``, the figures of `Result.summary`, and
        ``error``, which holds the message of a run that failed (for example because its drive died).

    Raises
    ------
    ScenarioError
        If a combination cannot be run; all are checked before the first one starts.
    """
    import pandas as pd

    with blame(scenario):
        points = _plan(scenario, vary, replicas)
    with ExitStack() as stack:
        journal = stack.enter_context(_Journal(path)) if path is not None else None
        report: Callable[[int, int], object] | None = progress if callable(progress) else None
        if progress is True:
            show = stack.enter_context(bar(len(points), "runs"))
            report = lambda finished, _: show(finished, "sweep")  # noqa: E731
        rows = _Crew(points, journal, report).work(threads)
    return pd.DataFrame(rows)


def _plan(scenario: ScenarioLike, vary: Mapping[str, Sequence[Any]], replicas: int) -> list[_Point]:
    axes = [(key, list(values)) for key, values in vary.items()]
    names = [SHORT.get(key, key).replace("__", ".") for key, _ in axes]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ScenarioError(f"{twice[0]} is varied twice", twice[0])
    count = replicas
    for _, values in axes:
        count *= len(values)
    if not 0 < count <= MOST_POINTS:
        raise ScenarioError(f"a sweep of {count} runs; it must have at least one and at most {MOST_POINTS}")
    points = []
    for chosen in itertools.product(*(values for _, values in axes)):
        settings = {key: plain(value, key) for (key, _), value in zip(axes, chosen, strict=True)}
        try:
            resolved = json.loads(_core.resolve(json.dumps(scenario_dict(scenario, settings))))
        except ScenarioError as error:
            pairs = ", ".join(f"{key}={value}" for key, value in settings.items())
            raise ScenarioError(f"with {pairs}: {error}" if pairs else str(error), error.key) from None
        for replica in range(replicas):
            seeded = resolved | {"seed": _core.replica_seed(resolved["seed"], replica)}
            points.append(_Point(settings, replica, json.dumps(seeded)))
    return points


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

    def work(self, threads: int | None) -> list[dict[str, Any]]:
        with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
            try:
                futures = [pool.submit(self._row, point) for point in self._points]
                self._watch(futures)
                return [future.result() for future in futures]
            except BaseException:
                # Ctrl-C comes to this thread alone; the runs ask for it at their next report.
                self._stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _watch(self, futures: list[Future[dict[str, Any]]]) -> None:
        pending, finished = set(futures), -1
        while pending:
            _, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
            done = sum(future.done() for future in futures)
            if any(future.done() and future.exception() is not None for future in futures):
                return
            if self._report is not None and done != finished:
                self._report(done, len(futures))
            finished = done

    def _row(self, point: _Point) -> dict[str, Any]:
        row = {**point.settings, "replica": point.replica}
        try:
            return row | self._result(point).summary() | {"error": None}
        except (RunError, TraceError, ScenarioError) as error:
            return row | {"error": str(error)}

    def _result(self, point: _Point) -> Result:
        known = self._journal.find(point) if self._journal else None
        if known is not None:
            return known
        self._heed()
        result = Result._of_text(_core.run(point.scenario, progress=self._heed))  # noqa: SLF001
        if self._journal:
            self._journal.append(point, result)
        return result

    def _heed(self, *_: object) -> None:
        if self._stop.is_set():
            raise _Stopped
