"""Write amplification in closed form, or as the root of a scalar equation."""

from __future__ import annotations

from typing import Literal, overload

from numpy.typing import ArrayLike

from .. import _core
from ._vector import Values, solve_all, to_scalar


@overload
def random(
    pages_per_block: float,
    spare_factor: float,
) -> float: ...
@overload
def random(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
) -> Values: ...
def random(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
) -> float | Values:
    """Write amplification of cleaning random blocks, ``1 / S_f``, for any writes and any block size."""
    return _solve("random", pages_per_block, spare_factor)


@overload
def fifo(
    pages_per_block: float,
    spare_factor: float,
    hot_writes: float = 0.0,
    hot_space: float = 0.0,
) -> float: ...
@overload
def fifo(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
    hot_writes: ArrayLike = 0.0,
    hot_space: ArrayLike = 0.0,
) -> Values: ...
def fifo(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
    hot_writes: ArrayLike = 0.0,
    hot_space: ArrayLike = 0.0,
) -> float | Values:
    """Write amplification of cleaning in the order of writing (cyclic, LRW), for blocks of any size.

    Robinson, Operating Systems Review 30(4), 1996; Desnoyers, ACM TOS 10(2), 2014, for classes.

    Parameters
    ----------
    pages_per_block : int or array_like
        Pages per block, 1 to 8192.
    spare_factor : float or array_like
        Share of the physical pages beyond the logical ones, between 0 and 1.
    hot_writes, hot_space : float or array_like
        A share ``hot_writes`` of the writes goes to a share ``hot_space`` of the logical pages; both 0 for uniform
        writes.

    Returns
    -------
    float or ndarray
        Write amplification, of the shape to which the parameters broadcast.
    """
    return _solve("fifo", pages_per_block, spare_factor, hot_writes=hot_writes, hot_space=hot_space)


@overload
def greedy(
    pages_per_block: float,
    spare_factor: float,
) -> float: ...
@overload
def greedy(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
) -> Values: ...
def greedy(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
) -> float | Values:
    """Write amplification of cleaning the block with the fewest valid pages, under uniform writes.

    Exact for blocks of finite size. Parameters and the shape of the result are those of `fifo`.
    """
    return _solve("greedy", pages_per_block, spare_factor)


@overload
def windowed(
    pages_per_block: float,
    spare_factor: float,
    window_share: float,
) -> float: ...
@overload
def windowed(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
    window_share: ArrayLike,
) -> Values: ...
def windowed(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
    window_share: ArrayLike,
) -> float | Values:
    """Write amplification of cleaning the block with the fewest valid pages among the oldest, under uniform writes.

    ``window_share``, 0 to 1, is the share of the blocks in the window: 0 is `fifo` and 1 is `greedy`. Hu et al.,
    SYSTOR 2009.
    """
    return _solve("windowed", pages_per_block, spare_factor, window_share=window_share)


@overload
def separated(
    pages_per_block: float,
    spare_factor: float,
    hot_writes: float = 0.0,
    hot_space: float = 0.0,
    *,
    law: Literal["fifo", "greedy", "random"] = "greedy",
) -> float: ...
@overload
def separated(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
    hot_writes: ArrayLike = 0.0,
    hot_space: ArrayLike = 0.0,
    *,
    law: Literal["fifo", "greedy", "random"] = "greedy",
) -> Values: ...
def separated(
    pages_per_block: ArrayLike,
    spare_factor: ArrayLike,
    hot_writes: ArrayLike = 0.0,
    hot_space: ArrayLike = 0.0,
    *,
    law: Literal["fifo", "greedy", "random"] = "greedy",
) -> float | Values:
    """Least write amplification of a drive that keeps hot and cold pages in separate blocks.

    The spare space is divided optimally between hot and cold pages, and each part is cleaned by `law`. The result is a
    lower bound for every drive that does not mix hot and cold pages in a block. Desnoyers, ACM TOS 10(2), 2014.
    """
    return _solve("separated", pages_per_block, spare_factor, hot_writes=hot_writes, hot_space=hot_space, law=law)


def _solve(
    model: str, pages_per_block: ArrayLike, spare_factor: ArrayLike, *, law: str = "", **others: ArrayLike
) -> float | Values:
    parameters = {"pages_per_block": pages_per_block, "spare_factor": spare_factor, **others}
    return to_scalar(solve_all(_core.theory_write_amplification, model, law, parameters))
