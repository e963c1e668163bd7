"""Conversion of descriptions of a scenario to plain values for JSON."""

from __future__ import annotations

import difflib
import math
import operator
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from . import _core
from ._errors import ScenarioError

SOURCES = ("workload", "trace", "tenant")
"""Keys of the sources of writes; a scenario has exactly one of these keys."""


MAX_COUNT = 1_000_000
"""Largest number of replicas, and of combined changes."""


def checked_integer(name: str, value: Any, least: int = 1, most: int = (1 << 63) - 1) -> int:
    """Return an argument that must be a whole number in a range."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: a {type(value).__name__} is no whole number")
    number = operator.index(value)
    if not least <= number <= most:
        shown = number if abs(number) < 1 << 64 else f"of {number.bit_length()} bits"
        bound = f"at least {least}" if number < least else f"at most {most}"
        raise ValueError(f"{name}: is {shown}; it must be {bound}")
    return number


def checked_names(name: str, value: Any) -> list[str]:
    """Return an argument that must be a list of names, not a single string."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"{name}: a list of names is wanted, not {value!r}")
    return list(value)


def table_of_name(key: str, name: str) -> Any:
    """Return the table that a plain name at ``key`` represents; the name itself if there is no such table."""
    tag = _core.short_form(key)
    return name if tag is None else {tag: name}


def name_workloads(scenario: dict[str, Any]) -> dict[str, Any]:
    """Replace workloads that are given only by name by tables, also in tenants."""
    tenants = scenario.get("tenant")
    for table in [scenario, *(tenants if isinstance(tenants, list) else [])]:
        if isinstance(table, dict) and isinstance(table.get("workload"), str):
            table["workload"] = table_of_name("workload", table["workload"])
    return scenario


def to_plain(value: Any, key: str) -> Any:
    """Return the value as dictionaries, lists, text, numbers and booleans; keys without a value are omitted."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, key)
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 64:
            raise ScenarioError(f"{key}: has {value.bit_length()} bits; numbers have at most 64", key)
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ScenarioError(f"{key}: is {value}; it must be a finite number", key)
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        items = {str(name): to_plain(item, f"{key}.{name}".lstrip(".")) for name, item in value.items()}
        return {name: item for name, item in items.items() if item is not None}
    if isinstance(value, list | tuple):
        return [to_plain(item, f"{key}[{at}]") for at, item in enumerate(value)]
    if hasattr(value, "to_dict"):
        return to_plain(value.to_dict(), key)
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays
        return to_plain(value.tolist(), key)
    raise ScenarioError(f"{key}: a {type(value).__name__} has no place in a scenario", key)


def _text(value: str, key: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ScenarioError(f"{key}: is no text that could be written to a file ({error.reason})", key) from None
    return str(value)


def did_you_mean(message: str) -> str:
    """Extend a message that lists valid names by the name that was probably meant."""
    unknown_name = re.search(
        r'(?:unknown (?:field|variant) `([^`]*)`|"([^"]*)" is unknown|called "([^"]*)"|no such key)', message
    )
    names, _, last = message.rpartition("one of ")
    if unknown_name is None or not names:
        return message
    name = next((group for group in unknown_name.groups() if group is not None), None)
    if name is None:
        name = message.partition(":")[0].rpartition(".")[2]
    close = difflib.get_close_matches(name, re.findall(r"[^`\s,;]+", last), n=1)
    return f"{message}; did you mean `{close[0]}`?" if close else message


def set_key(scenario: dict[str, Any], key: str, value: Any) -> None:
    """Set a key such as ``device.spare_factor`` or ``log[0].victim.choices``."""
    steps = key.replace("[", ".").replace("]", "").split(".")
    if not all(steps):
        raise ScenarioError(f"{key}: is no key; write for example device.capacity or log[0].victim", key)
    if key in SOURCES:
        # A source of writes replaces all other sources.
        for other in SOURCES:
            if other != key:
                scenario.pop(other, None)
    table: Any = scenario
    for step, name in enumerate(steps[:-1]):
        table = _enter(table, name, key, ".".join(steps[: step + 1]))
        if isinstance(table, str):
            raise ScenarioError(f'{key}: {".".join(steps[: step + 1])} is "{table}" and no table', key)
    last = steps[-1]
    if isinstance(table, list):
        _index(table, last, key)
        table[int(last)] = value
    elif isinstance(table, dict):
        table[last] = value
    else:
        raise ScenarioError(f"{key}: {'.'.join(steps[:-1])} is {table!r} and no table", key)


def _enter(table: Any, name: str, key: str, path: str) -> Any:
    if isinstance(table, list):
        return _index(table, name, key)
    if not isinstance(table, dict):
        raise ScenarioError(f"{key}: `{name}` cannot be set inside of {table!r}, which is no table", key)
    inner = table.setdefault(name, {})
    if isinstance(inner, str):
        inner = table[name] = table_of_name(path, inner)
    return inner


def _index(table: list[Any], name: str, key: str) -> Any:
    if not name.isdecimal() or int(name) >= len(table):
        raise ScenarioError(f"{key}: there is no entry {name}; the list has {len(table)}, counted from 0", key)
    return table[int(name)]


def option_text(value: Any) -> str:
    """Return an option of a trace format as text; a dictionary of columns becomes ``time=ts:us,op=type``."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={part}" for name, part in value.items())
    return str(value)
