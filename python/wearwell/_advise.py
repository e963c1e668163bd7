"""Changes that reduce the write amplification of a stack."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._executors import ExecutorLike
from ._plain import MAX_COUNT, checked_integer, checked_names
from ._source import ScenarioLike
from ._study import run_study

if TYPE_CHECKING:
    import pandas as pd


def advise(
    scenario: ScenarioLike,
    *,
    only: Sequence[str] = (),
    replicas: int = 5,
    depth: int = 2,
    quick: bool = False,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    store: str | os.PathLike[str] | None = None,
    executor: ExecutorLike | None = None,
) -> pd.DataFrame:
    """Try changes to a scenario, alone and together, and rank them by the flash wear that they save.

    Parameters
    ----------
    scenario : Scenario, dict, Result, path or TOML text
        Stack to improve.
    only : sequence of str
        Families of changes to try, such as ``"segments"``; all if empty.
    replicas : int
        Runs of each change. Each replica has a different seed, which is the same for all changes.
    depth : int
        Largest number of changes to combine; with 1, no combinations are tried.
    quick : bool
        Shorter runs, for a rough answer.
    threads : int
        Number of runs at a time; by default the number of cores. No result depends on it.
    progress : callable
        Called with the number of finished runs, and of all runs planned so far.
    store : str or PathLike
        Folder in which finished runs are stored and found, as in `sweep`.
    executor : concurrent.futures.Executor, distributed.Client or str
        Executor of the runs, instead of threads of this process, as in `sweep`.

    Returns
    -------
    pandas.DataFrame
        A row for the unchanged stack, then the changes, best first, then the combinations. ``saving`` is a share of
        write amplification, ``saving_family_ci95`` the half-width of intervals that hold for all changes at once,
        ``verdict`` the conclusion, and ``settings`` the overrides that make the change. ``price`` is the cost of the
        change besides wear. ``options`` is the same change as a diff of the options of RocksDB, F2FS, NILFS2 or
        fatcache. ``reference_write_amplification`` is the reference value for a change that reduces the capacity.
        ``attrs["skipped"]`` lists the changes that do not fit the stack, with their reasons. `report` draws the table
        on a page.

    Raises
    ------
    ScenarioError
        If the scenario cannot be run, or there is no such family.
    ExecutorError
        If `executor` cannot execute the runs.
    StoreError
        If finished runs cannot be stored.
    """
    import pandas as pd

    table, found = run_study(
        _core.advise,
        "advice",
        scenario,
        lambda: {
            "only": checked_names("only", only),
            "replicas": checked_integer("replicas", replicas, least=0, most=MAX_COUNT),
            "depth": checked_integer("depth", depth, least=0, most=MAX_COUNT),
        },
        quick=quick,
        threads=threads,
        progress=progress,
        store=store,
        executor=executor,
    )
    settings: list[dict[str, Any]] = [{}]
    settings += [{each["key"]: each["value"] for each in change} for change in found["settings"]]
    table["settings"] = pd.Series(settings, dtype=object)
    table.attrs["skipped"] = found["document"]["skipped"]
    return table
