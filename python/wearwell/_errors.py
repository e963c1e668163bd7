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


class ReportError(WearwellError, ValueError):
    """A drive's SMART report that cannot be read, or two that do not belong together.

    Attributes
    ----------
    file : str or None
        Of which file.
    key : str or None
        Which counter, where it is about one.
    """

    def __init__(self, message: str, file: str | None = None, key: str | None = None) -> None:
        super().__init__(message)
        self.file = file
        self.key = key


class RunError(WearwellError, RuntimeError):
    """A run that could not go on: a dead drive, no space to clean, or a policy that named a wrong victim."""


class ExecutorError(WearwellError, RuntimeError):
    """Runs that could not be made where they were to be: a cluster is not there, or workers have another version.

    What was finished is in the store, and the same call goes on from there.
    """


class StoreError(WearwellError, OSError):
    """Finished runs that cannot be kept or read; those that were stored before stay."""


class ParameterError(WearwellError, ValueError):
    """A parameter that a model of `wearwell.theory` refuses, or a figure that no data sheet of a drive can have.

    Attributes
    ----------
    parameter : str or None
        Its name, such as ``"spare_factor"``.
    index : tuple of int, int or None
        Where the first wrong element is in arrays broadcast to one shape, or which class of a list it is.
    """

    def __init__(self, message: str, parameter: str | None = None, index: tuple[int, ...] | int | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.index = index


class ConvergenceError(WearwellError, RuntimeError):
    """Equations of `wearwell.theory` that were not solved: no number is better than a wrong one.

    Attributes
    ----------
    index : tuple of int, int or None
        Where the parameters are in arrays broadcast to one shape.
    """

    def __init__(self, message: str, index: tuple[int, ...] | int | None = None) -> None:
        super().__init__(message)
        self.index = index
