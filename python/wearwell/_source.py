"""Conversion of all descriptions of a scenario to one form."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ._errors import ScenarioError
from ._plain import did_you_mean, name_workloads, set_key, to_plain
from .result import Result
from .scenario import Scenario, read_toml

if TYPE_CHECKING:
    from os import PathLike

ScenarioLike: TypeAlias = "Scenario | Mapping[str, Any] | Result | str | PathLike[str]"
"""A scenario, a dictionary of the same shape, a result to repeat, the path of a scenario or result file, or TOML."""

SHORT_KEYS = {"victim": "ftl.victim", "placement": "ftl.placement"}
"""Tables whose keys may be given without the enclosing table: ``victim``, ``victim.choices``."""


def scenario_dict(scenario: ScenarioLike, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the scenario as plain values, with some keys replaced."""
    values: dict[str, Any] = to_plain(_read(scenario), "")
    for key, value in (overrides or {}).items():
        name = full_key(key)
        set_key(values, name, to_plain(value, name))
    return name_workloads(values)


def full_key(key: str) -> str:
    """Return the key of the scenario for an argument or an axis of a sweep."""
    name = key.replace("__", ".")
    head, dot, rest = name.partition(".")
    return SHORT_KEYS.get(head, head) + dot + rest


def _read(scenario: ScenarioLike) -> Mapping[str, Any]:
    if isinstance(scenario, Scenario):
        return scenario.to_dict()
    if isinstance(scenario, Result):
        return scenario.to_dict()["scenario"]  # type: ignore[no-any-return]
    if isinstance(scenario, Mapping):
        return scenario
    if isinstance(scenario, str | os.PathLike):
        text = os.fspath(scenario)
        if not text:
            raise ScenarioError("the scenario is empty text; write TOML, or the path of a file")
        if text.endswith(".json") and "\n" not in text:
            try:
                values = json.loads(Path(text).read_text(encoding="utf-8"))
            except ValueError as error:
                raise ScenarioError(f"{text}: is no JSON ({error})") from None
            if not isinstance(values, dict):
                raise ScenarioError(f"{text}: is neither a scenario nor a result")
            return values.get("scenario", values)  # type: ignore[no-any-return]
        return read_toml(scenario if isinstance(scenario, str) else Path(scenario))
    raise TypeError(f"a scenario is a Scenario, a dictionary or a path, not a {type(scenario).__name__}")


@contextmanager
def add_origin(scenario: ScenarioLike) -> Iterator[None]:
    """Add the name of the file to errors in a scenario file."""
    try:
        yield
    except ScenarioError as error:
        error.args = (did_you_mean(str(error)),)
        if isinstance(scenario, os.PathLike) or (isinstance(scenario, str) and "\n" not in scenario):
            error.add_note(f"in {os.fspath(scenario)}")
        raise
