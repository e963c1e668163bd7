"""Dictionaries whose entries are also attributes."""

from __future__ import annotations

from typing import Any

from ._old_names import NEW_NAMES, warn_of_old_name


class Record(dict[str, Any]):
    """A dictionary whose entries are also attributes.

    An entry is also found by its deprecated old name, with a ``DeprecationWarning``.
    """

    def __missing__(self, name: str) -> Any:
        new = NEW_NAMES.get(name)
        if new is None or new not in self:
            raise KeyError(name)
        warn_of_old_name(name, new)
        return self[new]

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r}; there are {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]
