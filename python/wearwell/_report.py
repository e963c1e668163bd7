"""HTML pages of results."""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from ._means import means, settings_of
from ._page import run_document, write_page
from ._study import DOCUMENTS
from .result import Result

if TYPE_CHECKING:
    import pandas as pd

_TABLES = ["wearwell.sweep", *DOCUMENTS.values()]
EXPECTED_ARGUMENTS = f"a result, or a table of {', '.join(_TABLES[:-1])} or {_TABLES[-1]}, is wanted"

Reportable: TypeAlias = Union[Result, "pd.DataFrame"]


def report(path: str | os.PathLike[str], *found: Reportable, title: str | None = None) -> None:
    """Draw results, sweeps, advice and limits on a page for a browser.

    The page has figures, their data as tables, warnings and scenarios.

    The page is a self-contained file below 2 MB, like that of ``wearwell report``. It is written completely or
    not at all.

    Parameters
    ----------
    path : str or PathLike
        File of the page.
    *found : Result or pandas.DataFrame
        Results of `run`, or tables of `sweep`, `advise` and `limit`. Several results are shown side by side first.
    title : str
        Title of the page; derived from its contents unless given.

    Raises
    ------
    TypeError
        If an argument is neither a result nor a table of `sweep`, `advise` or `limit`.
    """
    if not found:
        raise TypeError(f"found: {EXPECTED_ARGUMENTS}")
    documents = [_document(each, at) for at, each in enumerate(found, start=1)]
    write_page(path, title, documents)


def _document(found: Reportable, at: int) -> tuple[str, str]:
    """Return the name and the JSON of a document."""
    if isinstance(found, Result):
        return run_document(found.to_dict(), at)
    attrs = getattr(found, "attrs", {})
    for document in DOCUMENTS:
        if document in attrs:
            return f"{document.capitalize()} {at}", str(attrs[document])
    if "replica" not in getattr(found, "columns", ()):
        raise TypeError(f"found: {EXPECTED_ARGUMENTS}, not {type(found).__name__}")
    return f"Sweep {at}", json.dumps(_sweep(found))


def _sweep(table: pd.DataFrame) -> dict[str, Any]:
    """Return a row per combination of settings, as the command line does, and the errors."""
    settings = settings_of(table)
    good = table[table["error"].isna()] if "error" in table else table
    failures = [str(error) for error in table["error"].dropna()] if "error" in table else []
    rows = []
    intervals: list[float] = means(good)["write_amplification_ci95"].tolist() if len(good) else []
    groups: dict[tuple[str, ...], list[int]] = {}
    for position, values in enumerate(good[settings].itertuples(index=False, name=None)):
        # A setting may be a table, which is compared by its text.
        groups.setdefault(tuple(map(repr, values)), []).append(position)
    for positions, interval in zip(groups.values(), intervals, strict=True):
        group = good.iloc[positions]
        row = {
            str(name): _combine_replicas(group[name].tolist())
            for name in group.columns
            if name not in {"replica", "error"}
        }
        row |= {name: _to_json_value(group[name].iloc[0]) for name in settings}
        row |= {"replicas": len(group), "write_amplification_ci95": _to_json_value(float(interval))}
        rows.append(row)
    return {"axes": settings, "rows": rows, "failures": failures}


def _combine_replicas(values: list[Any]) -> Any:
    """Combine the values of all replicas: booleans by "and", numbers by their mean, texts by joining them."""
    plain = [_to_json_value(value) for value in values]
    if all(isinstance(value, bool) for value in plain):
        return all(plain)
    if all(isinstance(value, int | float) for value in plain):
        return plain[0] if len(set(plain)) == 1 else sum(plain) / len(plain)
    texts = dict.fromkeys(value for value in plain if isinstance(value, str) and value)
    return "; ".join(texts) if texts else plain[0]


def _to_json_value(value: Any) -> Any:
    """Return a value that JSON can represent; NaN and infinity become None."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
