"""Execution of a single scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from . import _core
from ._custom_parts import CUSTOM_PART_KEYS, PlacementLike, VictimLike, WorkloadLike, is_custom_part, part_for_run
from ._progress import ProgressLike, reporting
from ._source import ScenarioLike, add_origin, full_key, scenario_dict
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
    """Run a scenario: timed if it has ``timing``, otherwise only counting operations.

    Other threads run at the same time, and Ctrl-C ends the run with ``KeyboardInterrupt``.

    Parameters
    ----------
    scenario : Scenario, dict, Result, path or TOML text
        Scenario to run.
    progress : bool or callable
        ``True`` shows a bar; a callable is called with a `Progress` about once per million pages and, while the run
        waits for a pipe with a trace, many times per second. It may raise an exception to end the run.
    victim : str, dict or object with a method ``select``
        Victim policy of the FTL: one of `list_victims`, or your own object, for prototyping. ``select(blocks)``
        receives a `Blocks` and returns the number of a candidate block. These methods are optional: ``begin(store)``
        is called first, with the sizes of the `Store`; ``closed(block)`` for every block that becomes a candidate;
        ``invalidated(block, valid)`` for every page that is invalidated, with the number of valid pages left in its
        block; and ``taken(block)`` for every candidate that is erased for another reason, such as wear levelling, and
        is no longer a candidate.
    placement : str, dict or object with ``streams`` and a method ``place``
        Placement of the FTL: one of `list_placements`, or your own object. ``place(page)`` receives a `PageContext`
        for each page that is written or moved, and returns the number of its stream, below ``streams``. These methods
        are optional: ``begin(store)`` is called first, ``reclaimed(stream, opened_at, now, valid_pages)`` for every
        victim, and ``trimmed(page)`` for every page that is trimmed.
    workload : str, dict, iterable or callable
        One of `list_workloads`, or your own iterable of items: arrays of page numbers to write, one page each, or
        tuples ``(op, pages)`` and ``(op, pages, hint)`` with ``op`` one of read, write, trim and flush. A function is
        called with the number of logical pages, and with the scenario's ``seed`` if it has a parameter of that name,
        and returns the iterable; at the end of the iterable it is called again.
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
        If the run cannot continue, or your own policy returns a block that is not a candidate, or an invalid stream.

    An exception raised in your part of the run is raised again unchanged, with a note about its origin.

    Notes
    -----
    A victim policy or a placement is an object, or a class or function without parameters, which then makes one for the
    run. Parts written in Python are slow: the engine calls back into the interpreter for every victim, every closed
    block and, if a policy has ``invalidated`` or there is a placement, every page. They are meant for prototypes; a
    useful part should be rewritten in a file of ``crates/engine/src``.
    """
    given = {"ftl.victim": victim, "ftl.placement": placement, "workload": workload}
    given |= {full_key(key): value for key, value in overrides.items()}
    with add_origin(scenario), reporting(progress) as report:
        own = {CUSTOM_PART_KEYS[key]: value for key, value in given.items() if is_custom_part(key, value)}
        named = {
            key: value
            for key, value in given.items()
            if key not in CUSTOM_PART_KEYS or isinstance(value, str | Mapping)
        }
        values = scenario_dict(scenario, named)
        parts = {role: part_for_run(role, part, values.get("seed", Scenario.seed)) for role, part in own.items()}
        return Result._of_text(_core.run(json.dumps(values), progress=report, **parts))  # noqa: SLF001 - results are made here only
