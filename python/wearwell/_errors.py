"""What can go wrong."""

from __future__ import annotations


class WearwellError(Exception):
    """The base of all errors of this package."""


class ScenarioError(WearwellError, ValueError):
    """A scenario that cannot be run.

    Attributes
    ----------
    key : str or None
        The key that is wrong, such as ``"ftl.victim.choices"``, where there is one.
    """

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


class TraceError(WearwellError):
    """A trace that cannot be read, written or replayed."""


class RunError(WearwellError, RuntimeError):
    """A run that could not go on: a dead drive, no space to clean, or a policy that named a wrong victim."""
