"""Comparison of a drive with the lower bound on write amplification."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._executors import ExecutorLike
from ._plain import MAX_COUNT, checked_integer
from ._source import ScenarioLike
from ._study import run_study

if TYPE_CHECKING:
    import pandas as pd


def limit(
    scenario: ScenarioLike,
    *,
    placements: Sequence[str | Mapping[str, Any]] | None = None,
    victims: Sequence[str | Mapping[str, Any]] | None = None,
    all_pairs: bool = False,
    replicas: int = 1,
    quick: bool = False,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    store: str | os.PathLike[str] | None = None,
    executor: ExecutorLike | None = None,
) -> pd.DataFrame:
    """Compare a drive, and every placement and victim policy, with the lower bound on write amplification.

    Parameters
    ----------
    scenario : Scenario, dict, Result, path or TOML text
        Drive and its writes. Layers, deduplication, power cuts and tenants are not supported.
    placements, victims : sequence of str or mapping
        Parts to compare with the bound, names or tables; all available ones unless given.
    all_pairs : bool
        Run each placement with each victim policy, not only with that of the scenario.
    replicas : int
        Number of runs of each pair, with different seeds that are the same for all pairs.
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
        A row for each placement and victim policy, that of the scenario first; a single row for a drive that has
        neither. ``lower_bound`` is a proven bound for the same writes. ``offline_write_amplification`` is the best
        result of policies that know the future. ``above_lower_bound`` and ``above_offline`` are the distances from
        both, in pages per host page. ``lost_by_placement``, ``lost_by_victim`` and ``lost_by_block_size`` add up to
        all rewritten pages. ``problem`` is the reason why a row was not run. With several seeds,
        ``write_amplification_ci95`` and ``above_offline_ci95`` are half-widths of 95 % intervals. `report` draws
        the table on a page.

    Raises
    ------
    ScenarioError
        If the scenario cannot be run or has no bound, or a name is neither a placement nor a victim policy.
    RunError
        If the run of the unchanged drive cannot be completed.
    ExecutorError
        If `executor` cannot execute the runs.
    StoreError
        If finished runs cannot be stored.
    """
    table, _ = run_study(
        _core.limit,
        "limit",
        scenario,
        lambda: {
            "placements": _as_json_list("placements", placements),
            "victims": _as_json_list("victims", victims),
            "all_pairs": bool(all_pairs),
            "replicas": checked_integer("replicas", replicas, most=MAX_COUNT),
        },
        quick=quick,
        threads=threads,
        progress=progress,
        store=store,
        executor=executor,
    )
    return table


def _as_json_list(name: str, values: Sequence[str | Mapping[str, Any]] | None) -> str | None:
    """Return names and tables as JSON."""
    if values is None:
        return None
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"{name}: a list of names and tables is wanted, not {values!r}")
    listed = list(values)
    for value in listed:
        if not isinstance(value, str | Mapping):
            raise TypeError(f"{name}: {value!r} is neither a name nor a table")
    return json.dumps([value if isinstance(value, str) else dict(value) for value in listed])
