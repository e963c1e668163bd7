"""Execution of runs by an executor, or by the workers of a Dask cluster."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures import BrokenExecutor as Broken
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeAlias

from . import _core, _program
from ._custom_parts import part_for_run
from ._errors import ExecutorError, RunError, ScenarioError, TraceError
from ._extras import import_extra

ExecutorLike: TypeAlias = "Executor | Any | str"
"""A `concurrent.futures.Executor`, a `distributed.Client`, or the address of a Dask scheduler."""

MAX_PENDING_RUNS = 1000
"""Largest number of runs submitted at a time: as many as clusters have threads, but limited to save memory."""

POLL_INTERVAL_S = 0.1
"""Interval between checks for a request to end, in seconds."""

CONNECT_TIMEOUT_S = 10
"""Timeout for the connection to a scheduler, in seconds."""


Outcome: TypeAlias = tuple[int, str | None, str | None]
"""A run that has ended: its number, its result as JSON, and its error, which a repetition would give again."""

Outcomes: TypeAlias = Generator[Outcome | None, None, None]
"""Runs as they end, in any order; ``None`` at intervals in which no run ends."""


def refuse_threads_with_executor(threads: object, executor: object) -> None:
    """Refuse a number of threads if an executor is given, too."""
    if threads is not None and executor is not None:
        raise TypeError("threads: these are of this process, and executor names another place; give one of them")


class Work(Protocol):
    """Unit of work: a run, or a point of a reproduction."""

    @property
    def number(self) -> int:
        """Identify the result of the unit."""

    def attempt(self) -> Outcome:
        """Execute the unit in this process."""


class Job(NamedTuple):
    """A run to execute."""

    number: int
    scenario: str
    custom_parts: dict[str, Any]
    seed: int
    windows: bool = False

    def attempt(self, progress: Callable[..., object] | None = None) -> Outcome:
        """Execute the run in this process."""
        try:
            parts = {role: part_for_run(role, part, self.seed) for role, part in self.custom_parts.items()}
            return self.number, _core.run(self.scenario, progress=progress, windows=self.windows, **parts), None
        except (RunError, TraceError, ScenarioError) as error:
            return self.number, None, str(error)


def execute_checked(version: str, job: Work) -> Outcome | str:
    """Execute a job on a worker of the same build; return the worker's build if it differs."""
    return job.attempt() if _core.__build__ == version else _core.__build__


def version() -> str:
    """Return the version and build of a worker."""
    return _core.__build__


@contextmanager
def open_executor(executor: ExecutorLike, build: str | None = None) -> Iterator[RunExecutor]:
    """Yield an executor of runs, which has programs of a build if needed, and close it at the end."""
    if isinstance(executor, str):
        distributed = import_extra("distributed", "dask")
        try:
            connected = distributed.Client(executor, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ExecutorError(f"there is no Dask scheduler at {executor}: {_first_line(error)}") from None
        with connected, open_executor(connected, build) as crew:
            yield crew
    elif hasattr(executor, "get_executor"):
        client: Any = executor
        _check_workers(client, build)
        cluster = client.get_executor(pure=False)
        try:
            yield RunExecutor(cluster, lambda: client.status in {"running", "connecting"}, _size(client))
        finally:
            # The results of these runs are no longer needed.
            cluster.shutdown(wait=False)
    elif callable(getattr(executor, "submit", None)):
        yield RunExecutor(executor, lambda: True, None)
    else:
        wanted = "a concurrent.futures.Executor, a distributed.Client or the address of a Dask scheduler"
        raise TypeError(f"executor: {wanted} is wanted, not a {type(executor).__name__}")


def _check_workers(client: Any, build: str | None) -> None:
    """Refuse a cluster with workers of another version or build, or without workers that have the package."""
    builds = client.run(version, on_error="return")
    for address, found in builds.items():
        if isinstance(found, ImportError | AttributeError):
            raise ExecutorError(f"the worker {address} has no wearwell {_core.__build__}: {found}")
        if isinstance(found, BaseException):
            raise ExecutorError(f"the worker {address} does not answer: {_first_line(found)}")
        if found != _core.__build__:
            raise ExecutorError(f"the worker {address} has {_version_mismatch(found)}")
    if build is None:
        return
    for address, found in client.run(_program.build, on_error="return").items():
        if isinstance(found, BaseException):
            raise ExecutorError(f"the worker {address} answers no points: {_first_line(found)}")
        if found != build:
            raise ExecutorError(f"the worker {address} has {_program.other_build(found, build)}")


def _version_mismatch(found: str) -> str:
    return f"wearwell {found}, and this is {_core.__build__}: install the same version everywhere"


def _size(client: Any) -> tuple[int, int]:
    cores = client.ncores()
    return len(cores), sum(cores.values())


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class RunExecutor:
    """Executes runs by means of an executor."""

    def __init__(self, executor: Any, is_connected: Callable[[], bool], size: tuple[int, int] | None) -> None:
        self._executor = executor
        self._is_there = is_connected
        self.size = size

    def outcomes(self, jobs: Iterable[Work]) -> Outcomes:
        """Execute runs, and yield each as it ends, in any order; yield ``None`` at intervals in which no run ends."""
        remaining = iter(jobs)
        pending: dict[Future[Outcome | str], int] = {}
        try:
            while True:
                for job in itertools.islice(remaining, MAX_PENDING_RUNS - len(pending)):
                    pending[self._submit(job)] = job.number
                if not pending:
                    return
                done, _ = wait(pending, timeout=POLL_INTERVAL_S, return_when=FIRST_COMPLETED)
                for future in done:
                    yield self._outcome_of(future, pending.pop(future))
                if not done:
                    if not self._is_there():
                        raise ExecutorError("the connection to the Dask scheduler is lost")
                    yield None
        finally:
            for future in pending:
                future.cancel()

    def _submit(self, job: Work) -> Future[Outcome | str]:
        try:
            return self._executor.submit(execute_checked, _core.__build__, job)  # type: ignore[no-any-return]
        except (Broken, RuntimeError) as error:
            raise ExecutorError(f"the executor takes no runs: {_first_line(error)}") from error

    def _outcome_of(self, future: Future[Outcome | str], number: int) -> Outcome:
        try:
            found = future.result()
        except CancelledError:
            raise ExecutorError("runs were cancelled: the executor was shut down, or its scheduler is lost") from None
        except Broken as error:
            raise ExecutorError(f"a worker has died: {_first_line(error)}") from error
        except ImportError as error:
            raise ExecutorError(f"a worker has no wearwell {_core.__build__}: {error}") from error
        except Exception as error:
            if type(error).__module__.partition(".")[0] == "distributed":
                raise ExecutorError(f"the cluster gave up run {number}: {_first_line(error)}") from error
            raise
        if isinstance(found, str):
            raise ExecutorError(f"a worker has {_version_mismatch(found)}")
        return found


def run_function(executor: ExecutorLike) -> Callable[[list[tuple[int, str]]], Outcomes]:
    """Return the function that the core calls with the numbers and scenarios of the runs of each round."""

    def execute(jobs: list[tuple[int, str]]) -> Outcomes:
        with open_executor(executor) as crew:
            yield from crew.outcomes(Job(number, scenario, {}, 0) for number, scenario in jobs)

    return execute


def message_line(**message: Any) -> str:
    """Return a message for the command line as one line of text."""
    return json.dumps(message, separators=(",", ":"))
