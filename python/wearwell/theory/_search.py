"""Inverse problems: the parameter that gives the best write amplification, or a given one."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core, _html
from .._errors import ParameterError
from ._vector import Policy, Values, choices_of, numbers, solve_all, to_scalar

Model: TypeAlias = Literal["single", "double", "fifo", "greedy", "windowed", "random", "separated"]

_MEAN_FIELDS = ("single", "double")
_UNIFORM = ("greedy", "windowed")
MAX_CHOICES = 100_000


@dataclass(frozen=True, eq=False)
class OptimalChoices:
    """The best number of choices, and the results of all numbers that were tried.

    Attributes
    ----------
    choices : int or ndarray
        The number ``d`` with the least write amplification; the smallest one if several are equal.
    write_amplification : float or ndarray
        Write amplification with this ``d``.
    is_at_the_end : bool or ndarray
        True if it is the largest number that was tried, so that more choices may be better.
    scan : ndarray
        Write amplification with ``d = 1, 2, ..`` along the last axis.
    """

    choices: int | NDArray[np.int64]
    write_amplification: float | Values
    is_at_the_end: bool | NDArray[np.bool_]
    scan: Values

    def _repr_html_(self) -> str:
        if not isinstance(self.choices, int):
            return _html.figures("Optimal choices", [("drives", " × ".join(map(str, self.choices.shape)))])
        end = ", the last that was tried" if self.is_at_the_end else ""
        rows = [("choices", f"{self.choices}{end}"), ("write amplification", f"{self.write_amplification:.6f}")]
        points = list(enumerate(self.scan.tolist(), 1))
        drawing = _html.line(points, f"write amplification with 1 to {len(points)} choices")
        return _html.figures("Optimal choices", rows) + drawing


def optimal_choices(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
    hot_writes: ArrayLike = 0.0,
    hot_space: ArrayLike = 0.0,
    *,
    max_choices: int = 150,
    structure: Literal["single", "double"] = "double",
) -> OptimalChoices:
    """Try every number of choices up to `max_choices`.

    With one write frontier, more choices are always better; with two, there is an optimum, typically near ten (Van
    Houdt 2013, sec. 4.3). The parameters are those of `single`, and may be arrays.
    """
    most = operator.index(max_choices)
    if not 1 <= most <= MAX_CHOICES:
        raise ParameterError(f"max_choices: {most} is not between 1 and {MAX_CHOICES}", "max_choices")
    if structure not in _MEAN_FIELDS:
        raise ParameterError(f"structure: there is no {structure!r}; there are single, double", "structure")
    given = {
        "pages_per_block": pages_per_block,
        "spare_factor": spare_factor,
        "hot_writes": hot_writes,
        "hot_space": hot_space,
    }
    parameters: dict[str, ArrayLike] = {name: numbers(name, value)[..., None] for name, value in given.items()}
    parameters["choices"] = np.arange(1, most + 1)
    scan = solve_all(_core.theory_write_amplification, structure, "d_choices", parameters, own_axes=1)
    best = scan.argmin(axis=-1)
    least = scan.min(axis=-1)
    if scan.ndim == 1:
        return OptimalChoices(int(best) + 1, float(least), bool(best + 1 == most), scan)
    return OptimalChoices(best + 1, least, best + 1 == most, scan)


@overload
def solve_spare(
    target_wa: float,
    pages_per_block: float,
    choices: float | None = None,
    hot_writes: float = 0.0,
    hot_space: float = 0.0,
    *,
    window_share: float | None = None,
    model: Model = "single",
    policy: Policy = "d_choices",
    law: Literal["fifo", "greedy", "random"] = "greedy",
) -> float: ...
@overload
def solve_spare(
    target_wa: ArrayLike,
    pages_per_block: ArrayLike,
    choices: ArrayLike | None = None,
    hot_writes: ArrayLike = 0.0,
    hot_space: ArrayLike = 0.0,
    *,
    window_share: ArrayLike | None = None,
    model: Model = "single",
    policy: Policy = "d_choices",
    law: Literal["fifo", "greedy", "random"] = "greedy",
) -> Values: ...
def solve_spare(
    target_wa: ArrayLike,
    pages_per_block: ArrayLike,
    choices: ArrayLike | None = None,
    hot_writes: ArrayLike = 0.0,
    hot_space: ArrayLike = 0.0,
    *,
    window_share: ArrayLike | None = None,
    model: Model = "single",
    policy: Policy = "d_choices",
    law: Literal["fifo", "greedy", "random"] = "greedy",
) -> float | Values:
    """Return the spare factor at which write amplification is `target_wa`.

    Parameters
    ----------
    target_wa : float or array_like
        Target write amplification: above 1, and attainable with spare factors from 0.0001 to 0.9999.
    pages_per_block, choices, hot_writes, hot_space, policy
        As for `single`; only the models ``"single"`` and ``"double"`` have choices and a policy.
    window_share : float or array_like
        As for `windowed`; only for this model.
    model : str
        ``"single"``, ``"double"``, ``"fifo"``, ``"greedy"``, ``"windowed"``, ``"random"`` or ``"separated"``: the
        functions of these names.
    law : str
        As for `separated`; only for this model.

    Returns
    -------
    float or ndarray
    """
    is_mean_field = model in _MEAN_FIELDS
    if not is_mean_field and (choices is not None or policy != "d_choices"):
        raise ParameterError(f"choices and policy mean nothing to the model {model}", "choices")
    if model in _UNIFORM and (np.any(numbers("hot_writes", hot_writes)) or np.any(numbers("hot_space", hot_space))):
        raise ParameterError(f"hot_writes: the model {model} has uniform writes only", "hot_writes")
    if (window_share is not None) != (model == "windowed"):
        raise ParameterError("window_share: is for the model windowed, which needs it", "window_share")
    parameters: dict[str, ArrayLike] = {
        "target_wa": target_wa,
        "pages_per_block": pages_per_block,
        "choices": choices_of(choices, policy),
        "hot_writes": hot_writes,
        "hot_space": hot_space,
    }
    if window_share is not None:
        parameters["window_share"] = window_share
    chosen = policy if is_mean_field else law
    return to_scalar(solve_all(_core.theory_solve_spare, model, chosen, parameters))
