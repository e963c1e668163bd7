"""Conversion of parameters of any shape to columns of the same length, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._errors import ConvergenceError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

Values: TypeAlias = NDArray[np.float64]

Law: TypeAlias = Callable[[Values, float], ArrayLike]
"""Shares of the victims by valid pages, as a function of the shares of the blocks, ``m_0`` to ``m_b``, and the mean
valid pages."""

Policy: TypeAlias = Literal["d_choices", "random", "random_plus_plus", "random_not_full", "greedy_limit"] | Law
"""A policy of the mean field by name, or a law of your own."""

CHOICES = 10.0
"""Default number of blocks that d-choices draws, as in scenarios."""

_DEFAULTS = {
    "spare_factor": 0.5,
    "choices": CHOICES,
    "hot_writes": 0.0,
    "hot_space": 0.0,
    "window_share": 1.0,
    "target_wa": 2.0,
}


def numbers(name: str, value: ArrayLike) -> Values:
    """Return the value as floating-point numbers; refuse text, booleans and missing values."""
    array = np.asanyarray(value)
    if array.size and array.dtype.kind not in "iuf":
        raise TypeError(f"{name}: {array.dtype} is no kind of number that a model takes")
    if isinstance(array, np.ma.MaskedArray) and array.mask.any():
        raise ParameterError(f"{name}: has masked elements", name)
    return np.asarray(array, dtype=np.float64)


def number(name: str, value: ArrayLike) -> float:
    """Return a single number."""
    array = numbers(name, value)
    if array.ndim:
        raise ParameterError(f"{name}: has shape {array.shape}; a single number is wanted", name)
    return float(array)


def choices_of(choices: ArrayLike | None, policy: object) -> ArrayLike:
    """Return the number of choices, a parameter that only d-choices has."""
    if choices is None:
        return CHOICES
    if policy != "d_choices":
        raise ParameterError(f"choices: only d_choices draws blocks, and the policy is {policy!r}", "choices")
    return choices


def solve_all(
    function: Callable[[str, dict[str, Values], Any], Values],
    model: str,
    policy: object,
    parameters: Mapping[str, ArrayLike],
    *,
    own_axes: int = 0,
) -> Values:
    """Apply `function` to all combinations; the last `own_axes` are internal, and error indices omit them."""
    arrays = {name: numbers(name, value) for name, value in parameters.items()}
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items() if array.ndim)
        raise ValueError(f"these shapes do not fit together: {shapes}") from None
    columns = {name: np.broadcast_to(arrays.get(name, value), shape) for name, value in _DEFAULTS.items()}
    columns["pages_per_block"] = np.broadcast_to(arrays["pages_per_block"], shape)
    flat = {name: np.ascontiguousarray(column).reshape(-1) for name, column in columns.items()}
    try:
        return function(model, flat, policy).reshape(shape)
    except ParameterError as error:
        index, where = _element_index(error.index, shape, own_axes)
        raise ParameterError(f"{error}{where}", error.parameter, index) from None
    except ConvergenceError as error:
        index, where = _element_index(error.index, shape, own_axes)
        raise with_policy_note(ConvergenceError(f"{error}{where}", index), policy) from None


def with_policy_note(error: ConvergenceError, policy: object) -> ConvergenceError:
    """Add a note about possible defects of a user's law."""
    if callable(policy):
        error.add_note("a law of one's own must be smooth, and precise where shares are small: see help(steady_state)")
    return error


def _element_index(
    flat: tuple[int, ...] | int | None, shape: tuple[int, ...], own_axes: int
) -> tuple[tuple[int, ...] | None, str]:
    user_axes = len(shape) - own_axes
    if not isinstance(flat, int) or not user_axes:
        return None, ""
    index = tuple(int(step) for step in np.unravel_index(flat, shape))[:user_axes]
    return index, f" (element {list(index)} of shape {list(shape[:user_axes])})"


def to_scalar(values: Values) -> float | Values:
    """Return an array without dimensions as a float."""
    return float(values) if values.ndim == 0 else values
