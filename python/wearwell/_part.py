"""Base class of all parts of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self, TypeAlias

from ._errors import ScenarioError
from ._plain import did_you_mean, to_plain

Named: TypeAlias = str | Mapping[str, Any]
"""A part given by its name, or as a table with its name and settings: ``{"policy": "d_choices", "choices":
4}``."""

Size: TypeAlias = int | str
"""Number of bytes: a number, or text with a unit."""


class Part:
    """Base class of all parts of a scenario."""

    _parts: ClassVar[dict[str, type[Part]]] = {}

    def to_dict(self) -> dict[str, Any]:
        """Return all given values as plain dictionaries, lists, numbers and text."""
        return {
            name: to_plain(value, name)
            for name, value in self._set_fields().items()
            if value is not None and value != []
        }

    def _set_fields(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], key: str = "") -> Self:
        """Build the part from the output of ``to_dict``, or from the contents of a scenario file.

        Raises
        ------
        ScenarioError
            If a key is unknown.
        """
        known = [item.name for item in fields(cls)]  # type: ignore[arg-type]
        unknown = [name for name in values if name not in known]
        if unknown:
            where = f"{key}.{unknown[0]}".lstrip(".")
            problem = f"{where}: there is no such key; expected one of {', '.join(known)}"
            raise ScenarioError(did_you_mean(problem), where)
        return cls(**{name: cls._read(name, value, key) for name, value in values.items()})

    @classmethod
    def _read(cls, name: str, value: Any, key: str) -> Any:
        part = cls._parts.get(name)
        within = f"{key}.{name}".lstrip(".")
        if part is not None and isinstance(value, Mapping):
            return part.from_dict(value, within)
        if part is not None and isinstance(value, list):
            return [part.from_dict(entry, f"{within}[{at}]") for at, entry in enumerate(value)]
        return value
