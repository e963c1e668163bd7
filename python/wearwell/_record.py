"""Dictionaries whose entries are also attributes."""

from __future__ import annotations

from typing import Any


class Record(dict[str, Any]):
    """A dictionary whose entries are also attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r}; there are {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]
