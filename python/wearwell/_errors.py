"""Exceptions of the package."""

from __future__ import annotations


class WearwellError(Exception):
    """Base class of all exceptions of this package."""


class ScenarioError(WearwellError, ValueError):
    """A scenario that cannot be run.

    Attributes
    ----------
    key : str or None
        Key that is wrong, such as ``"ftl.victim.choices"``, if the error concerns one.
    """

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


class TraceError(WearwellError):
    """A trace that cannot be read, written or replayed."""


class ReportError(WearwellError, ValueError):
    """SMART report of a drive that cannot be read, or two reports that do not belong together.

    Attributes
    ----------
    file : str or None
        Name of the file.
    key : str or None
        Counter, if the error concerns one.
    """

    def __init__(self, message: str, file: str | None = None, key: str | None = None) -> None:
        super().__init__(message)
        self.file = file
        self.key = key


class RunError(WearwellError, RuntimeError):
    """Run that could not continue: a worn-out drive, no space to clean, or a policy that selected an invalid victim."""


class ExecutorError(WearwellError, RuntimeError):
    """Runs that could not be executed: a cluster is unreachable, or workers have another version.

    Finished runs are in the store, and the same call continues from there.
    """


class StoreError(WearwellError, OSError):
    """Finished runs that cannot be stored or read; runs stored earlier are kept."""


class ParameterError(WearwellError, ValueError):
    """Invalid parameter of a model of `wearwell.theory`, or figure that no data sheet of a drive can have.

    Attributes
    ----------
    parameter : str or None
        Name of the parameter, such as ``"spare_factor"``.
    index : tuple of int, int or None
        Position of the first wrong element in arrays broadcast to one shape, or of the class in its list.
    """

    def __init__(self, message: str, parameter: str | None = None, index: tuple[int, ...] | int | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.index = index


class ConvergenceError(WearwellError, RuntimeError):
    """Equations of `wearwell.theory` that were not solved.

    Attributes
    ----------
    index : tuple of int, int or None
        Position of the parameters in arrays broadcast to one shape.
    """

    def __init__(self, message: str, index: tuple[int, ...] | int | None = None) -> None:
        super().__init__(message)
        self.index = index
