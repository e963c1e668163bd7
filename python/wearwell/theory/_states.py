"""Complete solutions: steady states, paths, many classes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core, _html
from .._drawing import draw_shares
from .._errors import ConvergenceError, ParameterError
from .._record import Record
from ._vector import Policy, Values, choices_of, number, numbers, with_policy_note

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Structure: TypeAlias = Literal["single", "double"]
ClassesLike: TypeAlias = "Sequence[tuple[float, float]] | NDArray[np.floating[Any]]"
"""Classes of pages: ``(write_share, space_share)`` of each, or an array of two columns."""

Answer = TypeVar("Answer")

MAX_POINTS = 1_000_000


@dataclass(frozen=True, eq=False)
class SteadyState:
    """A steady state of the mean field.

    Attributes
    ----------
    write_amplification : float
        Pages written for each page that the host writes, ``b / E``.
    host_pages_per_victim : float
        Number of pages that the host writes for each victim, ``E``.
    valid_pages : ndarray
        Shares of the blocks with 0 to ``b`` valid pages.
    victim_valid_pages : ndarray
        Shares of the victims with 0 to ``b`` valid pages.
    moved_shares : ndarray
        Shares of the classes among the pages that cleaning moves, hottest class first.
    classes : tuple of (float, float)
        Shares of the writes and of the logical pages of each class, hottest first.
    over_provisioning : Record
        ``alpha``, ``spare_factor``, ``over_provisioning`` and ``load``.
    residual : float
        Relative residual of the equations.
    evaluations : int
        Evaluations of the equations.
    """

    write_amplification: float
    host_pages_per_victim: float
    valid_pages: Values
    victim_valid_pages: Values
    moved_shares: Values
    classes: tuple[tuple[float, float], ...]
    over_provisioning: Record
    residual: float
    evaluations: int

    def to_frame(self) -> pd.DataFrame:
        """Return the shares of the ``blocks`` and of the ``victims``, one row for each number of ``valid_pages``."""
        import pandas as pd

        levels = pd.RangeIndex(len(self.valid_pages), name="valid_pages")
        return pd.DataFrame({"blocks": self.valid_pages, "victims": self.victim_valid_pages}, index=levels)

    def plot(self, ax: Axes | None = None, *, width: str | float = "column") -> Axes:
        """Draw the shares of the blocks and of the victims by valid pages; see `wearwell.plot.shares`."""
        return draw_shares(self.valid_pages, self.victim_valid_pages, ax, width=width)

    def _repr_html_(self) -> str:
        rows = [
            ("write amplification", f"{self.write_amplification:.6f}"),
            ("host pages for each victim", f"{self.host_pages_per_victim:.4f}"),
            ("spare factor", f"{self.over_provisioning.spare_factor:.4f}"),
        ]
        parts = [_html.figures("Steady state", rows)]
        if len(self.classes) > 1:
            lines = [
                (str(at), *(f"{share:.4f}" for share in (*shares, moved)))
                for at, (shares, moved) in enumerate(zip(self.classes, self.moved_shares, strict=True), 1)
            ]
            heads = ("class", "share of writes", "share of pages", "share of moved pages")
            parts.append(_html.table("Classes of pages, hottest first", heads, lines))
        text = f"shares of the blocks with 0 to {len(self.valid_pages) - 1} valid pages"
        return "".join([*parts, _html.bars(self.valid_pages.tolist(), text)])


@dataclass(frozen=True, eq=False)
class ManyClasses:
    """Write amplification of a workload of many classes.

    Attributes
    ----------
    write_amplification : float
        Write amplification extrapolated to all classes.
    merged : dict of int to SteadyState
        Steady states from which it is extrapolated, by the number of classes after merging.
    """

    write_amplification: float
    merged: dict[int, SteadyState]

    def _repr_html_(self) -> str:
        rows = [(str(count), f"{state.write_amplification:.6f}") for count, state in self.merged.items()]
        rows.append(("all, extrapolated", f"{self.write_amplification:.6f}"))
        return _html.table("Many classes", ("merged to", "write amplification"), rows)


def _state(parts: dict[str, Any]) -> SteadyState:
    whole = {"classes": tuple(parts["classes"]), "over_provisioning": Record(parts["over_provisioning"])}
    return SteadyState(**{**parts, **whole})


def steady_state(
    structure: Structure,
    pages_per_block: int,
    spare_factor: float,
    choices: float | None = None,
    hot_writes: float = 0.0,
    hot_space: float = 0.0,
    *,
    classes: ClassesLike | None = None,
    policy: Policy = "d_choices",
) -> SteadyState:
    """Return the complete steady state of one drive.

    Parameters
    ----------
    structure : {"single", "double"}
        One write frontier for host writes and moved pages (``"single"``), or one for each (``"double"``).
    pages_per_block, spare_factor, choices, hot_writes, hot_space, policy
        Those of `single`.
    classes : sequence of (write_share, space_share), optional
        Any classes in place of hot and cold ones; shares are positive and sum to 1. The number of states grows fast
        with the number of classes: see `many_classes`.

    Notes
    -----
    Your own law is a function ``law(masses, mean_valid_pages)``: it receives the shares of the blocks with 0 to ``b``
    valid pages and returns the shares of the victims, which sum to 1. The law must be smooth, and precise for small
    shares: the solver uses the quotient of both shares, which differences of powers would make inaccurate. In
    `transient`, a share may fall slightly below 0. An exception in the law ends the calculation and is passed on.
    """
    question = _query(pages_per_block, spare_factor, choices, hot_writes, hot_space, classes, policy)
    return _state(_call_core(_core.theory_steady_state, structure, question, policy))


def transient(
    structure: Structure,
    from_: Literal["fresh", "sequential", "mixed"],
    drive_writes: float,
    points: int,
    pages_per_block: int,
    spare_factor: float,
    choices: float | None = None,
    hot_writes: float = 0.0,
    hot_space: float = 0.0,
    *,
    classes: ClassesLike | None = None,
    policy: Policy = "d_choices",
) -> pd.DataFrame:
    """Follow the state of a drive over some drive writes.

    Parameters
    ----------
    structure : {"single", "double"}
        One write frontier for host writes and moved pages (``"single"``), or one for each (``"double"``).
    from_ : {"fresh", "sequential", "mixed"}
        Initial state: all blocks erased; every page written once in the order of addresses; or the steady state of
        uniform writes.
    drive_writes : float
        Length of the path, in logical capacities of the drive.
    points : int
        Number of rows, at equal distances.
    pages_per_block, spare_factor, choices, hot_writes, hot_space, classes, policy
        As for `steady_state`; ``greedy_limit`` is refused because it is not smooth.

    Returns
    -------
    pandas.DataFrame
        ``drive_writes``, ``write_amplification`` since the previous row, ``erased`` (share of the blocks not written
        yet) and ``mean_valid_pages`` of a block.
    """
    import pandas as pd

    rows = operator.index(points)
    if not 1 <= rows <= MAX_POINTS:
        raise ParameterError(f"points: {rows} is not between 1 and {MAX_POINTS}", "points")
    question = _query(pages_per_block, spare_factor, choices, hot_writes, hot_space, classes, policy)
    length = number("drive_writes", drive_writes)
    return pd.DataFrame(_call_core(_core.theory_transient, structure, from_, length, rows, question, policy))


def many_classes(
    structure: Structure,
    classes: ClassesLike,
    pages_per_block: int,
    spare_factor: float,
    choices: float | None = None,
    *,
    policy: Policy = "d_choices",
) -> ManyClasses:
    """Write amplification under more classes than can be solved for.

    Neighbouring classes are merged to a number that can be solved, at most four, and the effect of merging is
    extrapolated. Compared with simulations of Zipf's law, the error is 0.5 % or less; with blocks so large that only
    two classes can be solved, up to 4 %. Parameters are those of `steady_state`.
    """
    question = _query(pages_per_block, spare_factor, choices, 0.0, 0.0, classes, policy)
    amplification, merged = _call_core(_core.theory_many_classes, structure, question, policy)
    return ManyClasses(amplification, {count: _state(parts) for count, parts in merged})


def zipf(
    exponent: float,
    logical_pages: int,
    pages_per_block: int,
    spare_factor: float,
    choices: float | None = None,
    *,
    structure: Structure = "single",
    policy: Policy = "d_choices",
) -> ManyClasses:
    """Write amplification under Zipf's law: the page of rank ``i`` is written in proportion to ``i ** -exponent``.

    The result is that of `many_classes` with the `zipf_classes`.
    """
    classes = zipf_classes(exponent, logical_pages)
    return many_classes(structure, classes, pages_per_block, spare_factor, choices, policy=policy)


def zipf_classes(exponent: float, logical_pages: int) -> Values:
    """Return Zipf's law over `logical_pages` as classes, hottest first: shares of the writes and of the pages.

    Many pages become some hundred classes of growing width, whose effect on write amplification is negligible.
    """
    pages = operator.index(logical_pages)
    if not 1 <= pages < 1 << 63:
        raise ParameterError(f"logical_pages: {pages} is not between 1 and 2**63", "logical_pages")
    return np.column_stack(_core.theory_zipf_classes(number("exponent", exponent), pages))


def _call_core(function: Callable[..., Answer], *arguments: Any) -> Answer:
    try:
        return function(*arguments)
    except ConvergenceError as error:
        policy = arguments[-1]
        raise with_policy_note(error, policy) from None


def _query(
    pages_per_block: float,
    spare_factor: float,
    choices: float | None,
    hot_writes: float,
    hot_space: float,
    classes: ClassesLike | None,
    policy: Policy,
) -> dict[str, Any]:
    given: dict[str, ArrayLike] = {
        "pages_per_block": pages_per_block,
        "spare_factor": spare_factor,
        "choices": choices_of(choices, policy),
        "hot_writes": hot_writes,
        "hot_space": hot_space,
    }
    question: dict[str, Any] = {name: number(name, value) for name, value in given.items()}
    question["classes"] = None
    if classes is not None:
        if question["hot_writes"] or question["hot_space"]:
            raise ParameterError("classes: take the place of hot_writes and hot_space; give only one", "classes")
        pairs = numbers("classes", classes)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            problem = f"have shape {pairs.shape}; pairs of a share of the writes and one of the pages are wanted"
            raise ParameterError(f"classes: {problem}", "classes")
        question["classes"] = [(float(writes), float(space)) for writes, space in pairs]
    return question
