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
        """Name the block to be cleaned next, one of ``blocks.candidates``."""


class Placement(Protocol):
    """A placement written in Python.

    ``begin(store)``, ``reclaimed(stream, opened_at, now, valid_pages)`` and ``trimmed(page)`` are optional.
    """

    @property
    def streams(self) -> int:
        """Number of streams, 1 to 255."""

    def place(self, page: _core.PageContext, /) -> int:
        """Name the stream that the page goes to, 0 to one below ``streams``."""


Item: TypeAlias = "NDArray[np.integer[Any]] | Iterable[int] | tuple[Any, ...]"
"""What a workload yields: page numbers to write, or a tuple of operation, pages and perhaps a hint."""

VictimLike: TypeAlias = str | Mapping[str, Any] | VictimPolicy | Callable[[], VictimPolicy] | None
PlacementLike: TypeAlias = str | Mapping[str, Any] | Placement | Callable[[], Placement] | None
WorkloadLike: TypeAlias = str | Mapping[str, Any] | Iterable[Item] | Callable[[int], Iterable[Item]] | None

KEYS = {"ftl.victim": "victim", "ftl.placement": "placement", "workload": "workload"}
"""Keys of the scenario that an object may take the place of, and what the run calls it."""

METHODS = {"victim": "select", "placement": "place"}
"""What makes an object such a part; what has no such method, and can be called, makes one."""


def is_own(key: str, value: object) -> bool:
    """Tell whether the value is an object that takes the place of what the scenario names."""
    return key in KEYS and value is not None and not isinstance(value, str | Mapping)


def name_of(part: object) -> str:
    """Give the name of a part: that of its class, or of the function that it is."""
    return getattr(part, "__name__", None) or type(part).__name__


def is_made_anew(role: str, part: object) -> bool:
    """Tell whether each run has a part of its own: a class, or a function that makes it."""
    if role == "workload":
        return callable(part)
    return isinstance(part, type) or (callable(part) and not hasattr(part, METHODS[role]))


def made(role: str, part: Any, seed: int) -> Any:
    """Give the part for one run; classes and functions make one. A workload's is called by the run, with its pages."""
    if role == "workload":
        return _workload(part, seed)
    if not is_made_anew(role, part):
        return part
    try:
        return part()
    except Exception as error:
        error.add_note(f"in {name_of(part)}(), which is to make a {role}; one with parameters is given as a function")
        raise


def _workload(part: Any, seed: int) -> Any:
    if callable(part) and _takes_seed(part):

        def seeded(pages: int) -> Any:
            return part(pages, seed=seed)

        seeded.__name__ = name_of(part)
        return seeded
    # One array is one item, and not one for each of its numbers.
    return [part] if getattr(part, "ndim", None) == 1 else part


def _takes_seed(part: Any) -> bool:
    try:
        return "seed" in inspect.signature(part).parameters
    except (TypeError, ValueError):
        return False
