"""Means over the replicas of a sweep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

SINGLE_RUN_INTERVALS = {"write_amplification": "write_amplification_ci95"}
"""Figures for which each single run has an interval by batch means."""


def settings_of(table: pd.DataFrame) -> list[str]:
    """Return the columns of a sweep's table that have varied settings: those in front of ``replica``."""
    columns = [str(column) for column in table.columns]
    if "replica" not in columns:
        raise ParameterError("table: has no column replica; a table of wearwell.sweep is wanted", "table")
    return columns[: columns.index("replica")]


def figures_of(table: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the names of the figures, after checking that all are numeric columns."""
    from pandas.api.types import is_numeric_dtype

    settings = settings_of(table)
    numeric = [str(name) for name in table.columns if is_numeric_dtype(table[name]) and str(name) not in settings]
    for name in names:
        if name not in numeric:
            raise ParameterError(f"there is no figure {name!r} in the table; there are {', '.join(numeric)}", "figures")
    return list(names)


def means(table: pd.DataFrame, *figures: str) -> pd.DataFrame:
    """Return means over the replicas of each combination in a sweep's table, with confidence intervals.

    Parameters
    ----------
    table : pandas.DataFrame
        A table of `sweep`, or some of its rows.
    *figures : str
        Columns of figures; ``"write_amplification"`` unless given.

    Returns
    -------
    pandas.DataFrame
        One row per combination of settings, in the order of the table; the settings are the first columns. Each figure
        has its mean and, with ``_ci95`` after its name, the half-width of the 95 % confidence interval by Student's t;
        for a single run, that of its batch means, if there is one. ``runs`` is the number of runs in the means; failed
        runs are excluded.

    Raises
    ------
    ParameterError
        If the table is not that of a sweep, or has no such figure.
    """
    import pandas as pd

    names = figures_of(table, figures or ("write_amplification",))
    settings = settings_of(table)
    groups: dict[tuple[str, ...], tuple[list[Any], list[int]]] = {}
    for at, values in enumerate(table[settings].itertuples(index=False, name=None)):
        # A setting may be a table, which is compared by its text.
        groups.setdefault(tuple(map(repr, values)), (list(values), []))[1].append(at)
    rows = []
    for settings_values, positions in groups.values():
        group = table.iloc[positions]
        row: dict[str, Any] = dict(zip(settings, settings_values, strict=True))
        for name in names:
            row[name], row[f"{name}_ci95"] = _mean(group, name)
        rows.append(row | {"runs": int(group[names[0]].notna().sum())})
    columns = [*settings, *(column for name in names for column in (name, f"{name}_ci95")), "runs"]
    return pd.DataFrame(rows, columns=columns)


def _mean(group: pd.DataFrame, name: str) -> tuple[float, float]:
    """Return the mean and the half-width of its interval; NaN if there is no interval."""
    values = [float(value) for value in group[name] if value is not None and not math.isnan(value)]
    if not values:
        return math.nan, math.nan
    half_width = _core.ci95_half_width(values)
    if half_width is None and name in SINGLE_RUN_INTERVALS and SINGLE_RUN_INTERVALS[name] in group:
        batch_interval = group[SINGLE_RUN_INTERVALS[name]].dropna()
        half_width = float(batch_interval.iloc[0]) if len(batch_interval) else None
    return sum(values) / len(values), math.nan if half_width is None else half_width
