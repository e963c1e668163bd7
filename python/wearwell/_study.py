"""Common part of the functions that run many variants of one scenario."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate

from . import _core
from ._executors import ExecutorLike, Outcomes, refuse_threads_with_executor, run_function
from ._plain import checked_integer
from ._source import ScenarioLike, add_origin, scenario_dict
from ._sweep import open_store

if TYPE_CHECKING:
    import pandas as pd

# Attributes of tables that hold the document of their page, with the functions that return such tables.
DOCUMENTS = {"advice": "wearwell.advise", "limit": "wearwell.limit"}


@dataclass(frozen=True)
class StudyArgs:
    """Arguments of all studies, in the form in which the core takes them."""

    scenario: str
    quick: bool
    threads: int | None
    progress: Callable[[int, int], object] | None
    store: _core.ResultStore | None
    executor: Callable[[list[tuple[int, str]]], Outcomes] | None


def run_study(
    study: Callable[Concatenate[StudyArgs, ...], str],
    document: str,
    scenario: ScenarioLike,
    options: Callable[[], dict[str, Any]],
    *,
    quick: bool,
    threads: int | None,
    progress: Callable[[int, int], object] | None,
    store: str | os.PathLike[str] | None,
    executor: ExecutorLike | None,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Run a study of the core, and return its table and everything that the core returned.

    ``options`` checks the study's own options and returns them. The attribute ``document`` of the table holds the
    document of its page as text, because pandas copies the attributes to every derived table.
    """
    import pandas as pd

    refuse_threads_with_executor(threads, executor)
    with add_origin(scenario):
        given = json.dumps(scenario_dict(scenario))
        own_options = options()
        args = StudyArgs(
            scenario=given,
            quick=bool(quick),
            threads=None if threads is None else checked_integer("threads", threads),
            progress=progress,
            store=None if store is None else open_store(store, stacklevel=4),
            executor=None if executor is None else run_function(executor),
        )
        found = json.loads(study(args, **own_options))
    table = pd.DataFrame(found["rows"], columns=found["columns"])
    content = found["document"]
    if "scenario" not in content:
        content["scenario"] = json.loads(_core.resolve(given))
    table.attrs[document] = json.dumps(content)
    return table, found
