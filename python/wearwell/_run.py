"""Running one scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from . import _core
from ._own import KEYS, PlacementLike, VictimLike, WorkloadLike, is_own, made
from ._progress import ProgressLike, reporting
from ._source import ScenarioLike, blame, full_key, scenario_dict
from .result import Result
from .scenario import Scenario


def run(
    scenario: ScenarioLike,
    *,
    progress: ProgressLike = None,
    victim: VictimLike = None,
    placement: PlacementLike = None,
    workload: WorkloadLike = None,
    **overrides: Any,
) -> Result:
    """Run a scenario: on the clock if it has ``timing``, else counting alone.

    Other threads go on meanwhile, and Ctrl-C ends the run with ``KeyboardInterrupt``.

    Parameters
    ----------
    scenario : Scenario, dict, Result, path or TOML text
        What to run.
    progress : bool or callable
        ``True`` shows a bar; a callable is called with a `Progress` about once for every million pages and,
        while a pipe with a trace says nothing, many times a second; it may raise an exception to end the run.
    victim : str, dict or object with a method ``select``
        The FTL's victim policy: one of `list_victims`, or one of your own, for prototyping. ``select(blocks)`` is
        passed a `Blocks` and returns the number of a candidate block. If the object has them, ``begin(store)`` is
        called first, with the sizes of the `Store`; ``closed(block)`` for every block that becomes a candidate;
        ``invalidated(block, valid)`` for every page that dies, leaving its block with so many valid pages; and
        ``taken(block)`` for every candidate that the drive empties for a reason of its own, as wear levelling does: it
        is none any more.
    placement : str, dict or object with ``streams`` and a method ``place``
        The FTL's placement: one of `list_placements`, or one of your own. ``place(page)`` is passed a `PageContext` for
        each page that is written or moved, and returns the number of its stream, below ``streams``. If the object has
        them, ``begin(store)`` is called first, ``reclaimed(stream, opened_at, now, valid_pages)`` for every victim, and
        ``trimmed(page)`` for every page that is trimmed.
    workload : str, dict, iterable or callable
        One of `list_workloads`, or one of your own: arrays of page numbers to write, one page each, or tuples
        ``(op, pages)`` and ``(op, pages, hint)`` with ``op`` one of read, write, trim and flush. A function is called
        with the number of logical pages, and with the scenario's ``seed`` if it has a parameter of that name, and
        returns the iterable; it is called again at its end.
    **overrides
        Keys of the scenario to replace. Two underscores stand for the dot: ``device__spare_factor=0.2``.

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
        If the run cannot go on, or a policy of your own names a block that is no candidate, or a stream that is none.

    What a part of your own raises comes out as it is, with a note that says where it was raised.

    Notes
    -----
    A victim policy or a placement is an object, or a class or function without parameters, which then makes one for
    the run. Parts written in Python are slow: the engine calls back into the interpreter for every victim, every
    closed block and, if a policy has ``invalidated`` or there is a placement, every page. They are for prototypes; one
    that proves its worth belongs into a file of ``crates/engine/src``.
    """
    given = {"ftl.victim": victim, "ftl.placement": placement, "workload": workload}
    given |= {full_key(key): value for key, value in overrides.items()}
    with blame(scenario), reporting(progress) as report:
        own = {KEYS[key]: value for key, value in given.items() if is_own(key, value)}
        named = {key: value for key, value in given.items() if key not in KEYS or isinstance(value, str | Mapping)}
        values = scenario_dict(scenario, named)
        parts = {role: made(role, part, values.get("seed", Scenario.seed)) for role, part in own.items()}
        return Result._of_text(_core.run(json.dumps(values), progress=report, **parts))  # noqa: SLF001 - results are made here only
