"""Old names of the fields of results: readers of older files rename them, and old attributes give a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_RESULT_FIELDS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    ((), "course", "phases"),
    ((), "limit", "lower_bound"),
    ((), "worn_out", "measured_life"),
    ((), "heat", "erase_heat_map"),
    (("lower_bound",), "least_rewrites", "min_rewrites"),
    (("lower_bound",), "foreseeing", "offline"),
    (("erase_heat_map",), "windows_in_stretch", "windows_per_interval"),
    (("layers", "*", "dedup"), "died_by_references", "invalidated_by_references"),
)
"""Renamed fields of a run's result: path of the objects (``*`` for each item of a list), old name, new name."""

NEW_NAMES = {old: new for _, old, new in _RESULT_FIELDS} | {"law": "model", "by": "method"}
"""New names of all renamed fields, by their old names; the last are of `wearwell.drive`."""

_PACKAGE = Path(__file__).parent


def rename_old_fields(result: dict[str, Any]) -> None:
    """Rename the fields of a run's result, as written by an earlier version, to their present names."""
    for path, old, new in _RESULT_FIELDS:
        for found in _objects(result, path):
            if old in found and new not in found:
                # The order of the fields does not change.
                pairs = [(new if name == old else name, value) for name, value in found.items()]
                found.clear()
                found.update(pairs)


def warn_of_old_name(old: str, new: str) -> None:
    """Warn the caller of the package that a field has a new name."""
    level, frame = 1, sys._getframe()  # noqa: SLF001 - warnings have no other way to skip a package before Python 3.12
    while frame.f_back is not None and Path(frame.f_code.co_filename).parent == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(f"the field {old!r} is now {new!r}", DeprecationWarning, stacklevel=level)


def _objects(value: Any, path: Sequence[str]) -> Iterator[dict[str, Any]]:
    if not path:
        if isinstance(value, dict):
            yield value
    elif path[0] == "*":
        for item in value if isinstance(value, list) else []:
            yield from _objects(item, path[1:])
    elif isinstance(value, dict) and path[0] in value:
        yield from _objects(value[path[0]], path[1:])
