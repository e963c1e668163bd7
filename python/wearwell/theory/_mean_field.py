"""The mean field with one write frontier, and with two."""

from __future__ import annotations

from typing import overload

from numpy.typing import ArrayLike

from .. import _core
from ._vector import Policy, Values, choices_of, solve_all, to_scalar


@overload
def single(
    pages_per_block: float,
    spare_factor: float,
    choices: float | None = None,
    hot_writes: float = 0.0,
    hot_space: float = 0.0,
    *,
    policy: Policy = "d_choices",
) -> float: ...
@overload
def single(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
    choices: ArrayLike | None = None,
    hot_writes: ArrayLike = 0.0,
    hot_space: ArrayLike = 0.0,
    *,
    policy: Policy = "d_choices",
) -> Values: ...
def single(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
    choices: ArrayLike | None = None,
    hot_writes: ArrayLike = 0.0,
    hot_space: ArrayLike = 0.0,
    *,
    policy: Policy = "d_choices",
) -> float | Values:
    """Write amplification where host writes and moved pages share a block.

    Van Houdt, Performance Evaluation 70 (2013), eq. (4).

    Parameters
    ----------
    pages_per_block : int or array_like
        Pages per block, 1 to 8192.
    spare_factor : float or array_like
        Share of the physical pages beyond the logical ones, between 0 and 1.
    choices : float or array_like
        Number of blocks that ``d_choices`` draws for each victim, 1 or more; by default 10.
    hot_writes, hot_space : float or array_like
        A share ``hot_writes`` of the writes goes to a share ``hot_space`` of the logical pages; both 0 for uniform
        writes.
    policy : str or callable
        ``"d_choices"``, ``"random"``, ``"random_plus_plus"`` (random among blocks with fewer valid pages than the
        average), ``"random_not_full"``, ``"greedy_limit"`` (``d`` without bound), or a `Law` of your own: see the
        notes of `steady_state`.

    Returns
    -------
    float or ndarray
        Write amplification, of the shape to which the parameters broadcast.

    Raises
    ------
    ParameterError
        If a parameter is outside the range of the model; names the parameter and the first wrong element.
    ConvergenceError
        If the equations are not solved; no drive is known to cause this error.
    """
    return _solve("single", policy, pages_per_block, spare_factor, choices, hot_writes, hot_space)


@overload
def double(
    pages_per_block: float,
    spare_factor: float,
    choices: float | None = None,
    hot_writes: float = 0.0,
    hot_space: float = 0.0,
    *,
    policy: Policy = "d_choices",
) -> float: ...
@overload
def double(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
    choices: ArrayLike | None = None,
    hot_writes: ArrayLike = 0.0,
    hot_space: ArrayLike = 0.0,
    *,
    policy: Policy = "d_choices",
) -> Values: ...
def double(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
    choices: ArrayLike | None = None,
    hot_writes: ArrayLike = 0.0,
    hot_space: ArrayLike = 0.0,
    *,
    policy: Policy = "d_choices",
) -> float | Values:
    """Write amplification where host writes and moved pages go to separate blocks.

    Parameters, errors and the shape of the result are those of `single`.
    """
    return _solve("double", policy, pages_per_block, spare_factor, choices, hot_writes, hot_space)


def _solve(
    model: str,
    policy: Policy,
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
    choices: ArrayLike | None,
    hot_writes: ArrayLike,
    hot_space: ArrayLike,
) -> float | Values:
    parameters = {
        "pages_per_block": pages_per_block,
        "spare_factor": spare_factor,
        "choices": choices_of(choices, policy),
        "hot_writes": hot_writes,
        "hot_space": hot_space,
    }
    return to_scalar(solve_all(_core.theory_write_amplification, model, policy, parameters))
