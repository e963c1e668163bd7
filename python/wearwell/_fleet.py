"""Predictions for fleets of drives: when drives wear out, what each tenant costs, and the effect of changes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from . import _core
from ._plain import checked_integer, to_plain
from ._record import Record

if TYPE_CHECKING:
    import pandas as pd

MAX_DRIVES = 100_000
MAX_BLOCKS = 1_000_000
TABLES = ("years", "life", "groups", "tenants", "what_if", "basis")


def fleet(
    fleet: Mapping[str, Any] | str | os.PathLike[str],
    *,
    check: int | None = None,
    check_blocks: int | Literal["all"] = 1000,
    tolerance: float = 0.03,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Record:
    """Predict a fleet of drives, by theory where a model exists.

    Parameters
    ----------
    fleet : dict or path
        Groups of drives, tenants and what-ifs, or the file that describes them. Paths of SMART report tables are
        relative to the file, or to the current folder for a dictionary.
    check : int
        Number of drives that are simulated, and compared with theory.
    check_blocks : int
        Number of blocks of the small drives that represent them; ``"all"`` simulates whole drives.
    tolerance : float
        Largest relative error at which theory is trusted.
    threads : int
        Number of threads; by default the number of cores. No result depends on it.
    progress : callable
        Called with the number of simulated drives that are finished, and of all simulated drives.

    Returns
    -------
    Record
        Data frames ``years``, ``life``, ``groups``, ``tenants``, ``what_if``, ``basis`` and, if requested, ``check``;
        each figure has its interval in columns ``_ci95``, ``_low`` and ``_high``. ``drives`` is the number of drives,
        ``share_by_theory`` the share of them that was calculated by theory, ``fleet`` the fleet with every default.

    Raises
    ------
    ScenarioError
        If the description of the fleet is invalid; names the key, and the line of a file.
    RunError
        If there is no model for some of the drives, and simulation is not allowed.
    """
    if not 0 < float(tolerance) < 1:
        raise ValueError(f"tolerance: is {tolerance}; it must be between 0 and 1")
    is_path = isinstance(fleet, str | os.PathLike)
    if not is_path and not isinstance(fleet, Mapping):
        raise TypeError(f"a fleet is a dictionary or a path, not a {type(fleet).__name__}")
    text = _core.fleet(
        os.fspath(fleet) if isinstance(fleet, str | os.PathLike) else None,
        "" if is_path else json.dumps(to_plain(fleet, "")),
        check=None if check is None else checked_integer("check", check, most=MAX_DRIVES),
        check_blocks=None
        if check_blocks == "all"
        else checked_integer("check_blocks", check_blocks, least=64, most=MAX_BLOCKS),
        tolerance=float(tolerance),
        threads=None if threads is None else checked_integer("threads", threads),
        progress=progress,
    )
    found = json.loads(text)
    tables: dict[str, pd.DataFrame | None] = {name: _table(found[name]) for name in TABLES}
    tables["check"] = None if found["check"] is None else _table(found["check"]["rows"])
    return Record({name: found[name] for name in ("drives", "share_by_theory", "fleet")} | tables)


def _table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([dict(pair for name, value in row.items() for pair in _flatten(name, value)) for row in rows])


def _flatten(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return a figure with its interval as columns; the column of the mean has the name of the figure."""
    if isinstance(value, dict):
        return [(name if inner == "mean" else f"{name}_{inner}", each) for inner, each in value.items()]
    if isinstance(value, list):
        return [(name, "; ".join(value))]
    return [(name, value)]
