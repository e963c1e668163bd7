"""Running one scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from . import _core
from ._plain import named
from ._progress import ProgressLike, reporting
from ._source import ScenarioLike, blame, scenario_dict
from .result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    from numpy.typing import NDArray


class VictimPolicy(Protocol):
    """A victim policy written in Python.

    ``closed(block)``, ``invalidated(block, valid)`` and ``taken(block)`` are optional. A policy that keeps a list of
    closed blocks needs both ``closed`` and ``taken``.
    """

    def select(self, blocks: _core.Blocks, /) -> int:
        """Name the block to be cleaned next, one of ``blocks.candidates``."""


def run(
    scenario: ScenarioLike,
    *,
    progress: ProgressLike = None,
    victim: str | Mapping[str, Any] | VictimPolicy | None = None,
    workload: (
        str
        | Mapping[str, Any]
        | Iterable[NDArray[np.integer[Any]] | tuple[Any, ...]]
        | Callable[[int], Iterable[Any]]
        | None
    ) = None,
    **overrides: Any,
) -> Result:
    """Run a scenario: on the clock if it has ``timing``, else counting alone.

    Other threads go on meanwhile, and Ctrl-C ends the run with ``KeyboardInterrupt``.

    Parameters
    ----------
    scenario : Scenario, dict, Result, path or TOML text
        What to run.
    progress : bool or callable
        ``True`` shows a bar; a callable is called with a `Progress` about once for every million pages, and may
        raise an exception to end the run.
    victim : str, dict or object with a method ``select``
        The FTL's victim policy: one of `list_victims`, or one of your own, for prototyping. ``select(blocks)`` is
        passed a `Blocks` and returns the number of a candidate block. If the object has them, ``closed(block)`` is
        called for every block that becomes a candidate, ``invalidated(block, valid)`` for every page that dies,
        leaving its block with so many valid pages, and ``taken(block)`` for every candidate that the drive empties for
        a reason of its own, as wear levelling does: it is none any more.
    workload : str, dict, iterable or callable
        One of `list_workloads`, or one of your own: arrays of page numbers to write, one page each, or tuples
        ``(op, pages)`` and ``(op, pages, hint)`` with ``op`` one of read, write, trim and flush. A function is called
        with the number of logical pages and returns the iterable; it is called again at its end.
    **overrides
        Keys of the scenario to replace. Two underscores stand for the dot: ``device__spare_factor=0.2``. ``placement``
        is short for ``ftl.placement``.

    Returns
    -------
    Result

    Raises
    ------
    ScenarioError
        If the scenario cannot be run.
    TraceError
        If its trace cannot be read, or does not fit on the drive.
    RunError
        If the run cannot go on, or a policy of your own names a block that is no candidate.

    Notes
    -----
    Parts written in Python are slow: the engine calls back into the interpreter for every victim, every closed block
    and, if the policy has ``invalidated``, every page written. They are for prototypes; a policy that proves its
    worth belongs into a file of ``crates/engine/src/victim``.
    """
    own_victim = victim if victim is not None and not isinstance(victim, str | Mapping) else None
    own_workload = workload if workload is not None and not isinstance(workload, str | Mapping) else None
    if victim is not None and own_victim is None:
        overrides["victim"] = victim
    if workload is not None and own_workload is None:
        overrides["workload"] = named("workload", workload) if isinstance(workload, str) else workload
    with blame(scenario), reporting(progress) as report:
        text = json.dumps(scenario_dict(scenario, overrides))
        return Result._of_text(  # noqa: SLF001 - results are made here only
            _core.run(text, victim=own_victim, workload=own_workload, progress=report)
        )
