"""How far a drive is from the best possible."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._executors import ExecutorLike, making, one_place
from ._plain import MOST, whole
from ._source import ScenarioLike, blame, scenario_dict
from ._sweep import open_store

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
    """Hold a drive, and every placement and victim policy, against the best possible.

    Parameters
    ----------
    scenario : Scenario, dict, Result, path or TOML text
        The drive and what it is written. Layers, deduplication, power cuts and tenants have no limit.
    placements, victims : sequence of str or mapping
        What to hold against the limit, names or tables; all there are unless given.
    all_pairs : bool
        Run each placement with each victim policy, and not only with that of the scenario.
    replicas : int
        Runs of each with different seeds, the same for all.
    quick : bool
        Shorter runs, for a rough answer.
    threads : int
        Runs at a time; as many as there are cores unless given. No result depends on it.
    progress : callable
        Called with the numbers of runs finished and of all runs planned so far.
    store : str or PathLike
        A folder in which finished runs are kept and found, as in `sweep`.
    executor : concurrent.futures.Executor, distributed.Client or str
        Who makes the runs, in place of threads of this process, as in `sweep`.

    Returns
    -------
    pandas.DataFrame
        A row for each placement and victim policy, that of the scenario first; of a drive that has neither, one for
        itself. ``lower_bound`` is what nothing that writes the same gets below, ``foreseeing_write_amplification`` the
        best of what knows the future, ``above_lower_bound`` and ``above_foreseeing`` the distances from both, in pages
        for each of the host's; ``lost_by_placement``, ``lost_by_victim`` and ``lost_by_block_size`` add up to all that
        is rewritten. ``problem`` says why a row was not run. With several seeds, ``write_amplification_ci95`` and
        ``above_foreseeing_ci95`` are half-widths of 95 % intervals over them. `report` draws the table on a page.

    Raises
    ------
    ScenarioError
        If the scenario cannot be run or has no limit, or something is no placement and no victim policy.
    RunError
        If the drive as it is cannot be run to its end.
    ExecutorError
        If `executor` cannot make the runs.
    StoreError
        If finished runs cannot be kept.
    """
    import pandas as pd

    one_place(threads, executor)
    with blame(scenario):
        text = _core.limit(
            json.dumps(scenario_dict(scenario)),
            placements=_listed("placements", placements),
            victims=_listed("victims", victims),
            all_pairs=bool(all_pairs),
            replicas=whole("replicas", replicas, most=MOST),
            quick=bool(quick),
            threads=None if threads is None else whole("threads", threads),
            progress=progress,
            store=None if store is None else open_store(store),
            executor=None if executor is None else making(executor),
        )
    found = json.loads(text)
    table = pd.DataFrame(found["rows"], columns=found["columns"])
    # A text, for pandas copies what is in it with each table that is made of this one.
    table.attrs["limit"] = json.dumps(found["limit"])
    return table


def _listed(name: str, values: Sequence[str | Mapping[str, Any]] | None) -> str | None:
    """Give names and tables as JSON."""
    if values is None:
        return None
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"{name}: a list of names and tables is wanted, not {values!r}")
    listed = list(values)
    for value in listed:
        if not isinstance(value, str | Mapping):
            raise TypeError(f"{name}: {value!r} is neither a name nor a table")
    return json.dumps([value if isinstance(value, str) else dict(value) for value in listed])
