"""Parts of a run that are written in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from . import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class VictimPolicy(Protocol):
    """A victim policy written in Python.

    ``begin(store)``, ``closed(block)``, ``invalidated(block, valid)`` and ``taken(block)`` are optional. A policy that
    keeps a list of closed blocks needs both ``closed`` and ``taken``.
    """

    def select(self, blocks: _core.Blocks, /) -> int:
        """Return the number of the block to clean next, one of ``blocks.candidates``."""


class Placement(Protocol):
    """A placement written in Python.

    ``begin(store)``, ``reclaimed(stream, opened_at, now, valid_pages)`` and ``trimmed(page)`` are optional.
    """

    @property
    def streams(self) -> int:
        """Number of streams, 1 to 255."""

    def place(self, page: _core.PageContext, /) -> int:
        """Return the number of the page's stream, below ``streams``."""


Item: TypeAlias = "NDArray[np.integer[Any]] | Iterable[int] | tuple[Any, ...]"
"""Item of a workload: page numbers to write, or a tuple of operation, pages and optionally a hint."""

VictimLike: TypeAlias = str | Mapping[str, Any] | VictimPolicy | Callable[[], VictimPolicy] | None
PlacementLike: TypeAlias = str | Mapping[str, Any] | Placement | Callable[[], Placement] | None
WorkloadLike: TypeAlias = str | Mapping[str, Any] | Iterable[Item] | Callable[[int], Iterable[Item]] | None

CUSTOM_PART_KEYS = {"ftl.victim": "victim", "ftl.placement": "placement", "workload": "workload"}
"""Keys of the scenario that an object may replace, with the names of the arguments for the run."""

PART_METHODS = {"victim": "select", "placement": "place"}
"""Method that identifies an object as a part; a callable without this method is called to make a part."""


def is_custom_part(key: str, value: object) -> bool:
    """Return whether the value is an object that replaces a part of the scenario."""
    return key in CUSTOM_PART_KEYS and value is not None and not isinstance(value, str | Mapping)


def name_of(part: object) -> str:
    """Return the name of a part: the name of its class or, if the part is a function, the name of the function."""
    return getattr(part, "__name__", None) or type(part).__name__


def is_made_per_run(role: str, part: object) -> bool:
    """Return whether each run gets a separate part: true for a class, or for a function that makes a part."""
    if role == "workload":
        return callable(part)
    return isinstance(part, type) or (callable(part) and not hasattr(part, PART_METHODS[role]))


def part_for_run(role: str, part: Any, seed: int) -> Any:
    """Return the part for one run; calls classes and functions. A function for a workload is called by the run."""
    if role == "workload":
        return _workload(part, seed)
    if not is_made_per_run(role, part):
        return part
    try:
        return part()
    except Exception as error:
        error.add_note(f"in {name_of(part)}(), which is to make a {role}; one with parameters is given as a function")
        raise


def _workload(part: Any, seed: int) -> Any:
    if callable(part) and _takes_seed(part):

        def workload_with_seed(pages: int) -> Any:
            return part(pages, seed=seed)

        workload_with_seed.__name__ = name_of(part)
        return workload_with_seed
    # A one-dimensional array is a single item.
    return [part] if getattr(part, "ndim", None) == 1 else part


def _takes_seed(part: Any) -> bool:
    try:
        return "seed" in inspect.signature(part).parameters
    except (TypeError, ValueError):
        return False
