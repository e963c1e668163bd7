"""Drawing of plain numbers in the style of `wearwell.plot`."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ._errors import ParameterError
from ._extras import import_extra

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

WIDTHS = {"column": 3.4, "page": 7.0}
"""Widths of figures in inches: of one column, and of both."""

COLOURS = ("#000000", "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Colours that colour-blind readers can distinguish (Okabe and Ito 2008), dark ones first, so that they differ in
grey."""

Width: TypeAlias = str | float

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_RATIO = 0.68


class Course(NamedTuple):
    """Write amplification of a run over its drive writes, beginning with the fresh drive."""

    drive_writes: pd.Series[float]
    """Drive writes at the end of each window."""
    write_amplification: pd.Series[float]
    """Write amplification of each window; NaN before the first cleaning."""
    measured_drive_writes: float
    """Length in drive writes of the measured part, which is at the end."""
    mean: float | None
    """Write amplification of the measured part."""
    half_width: float
    """Half-width of the 95 % confidence interval of the mean; 0 if there is no interval."""


@contextmanager
def style(width: Width = "column") -> Iterator[None]:
    """Apply the style of `wearwell.plot` to matplotlib: ``with wearwell.plot.style(): ...``.

    Parameters
    ----------
    width : {"column", "page"} or float
        Width of new figures, by name or in inches.
    """
    import_extra("matplotlib", "plot")
    import matplotlib as mpl
    from cycler import cycler

    parts = zip(COLOURS, _LINES, _MARKERS, strict=True)
    turns = [dict(zip(("color", "linestyle", "marker"), each, strict=True)) for each in parts]
    inches = _inches(width)
    settings: Any = {
        "figure.figsize": (inches, inches * _RATIO),
        "figure.constrained_layout.use": True,
        "font.size": 8,
        "axes.labelsize": 8,
        "axes.titlesize": 8,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.prop_cycle": cycler(**{name: [turn[name] for turn in turns] for name in turns[0]}),
        "legend.fontsize": 7,
        "legend.frameon": False,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "lines.linewidth": 1.1,
        "lines.markersize": 3.5,
        "errorbar.capsize": 2,
        # Outline fonts can be searched and edited, as publishers require.
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "svg.fonttype": "none",
        # With this setting, equal figures give identical files.
        "svg.hashsalt": "wearwell",
    }
    is_interactive = mpl.is_interactive()
    try:
        with mpl.rc_context(settings):
            try:
                yield
            finally:
                is_interactive = mpl.is_interactive()
    finally:
        # Without this call, loading the backend for the first figure of a notebook would change the setting for all
        # later figures.
        mpl.interactive(is_interactive)


def save(figure: Figure | Axes, *paths: str | os.PathLike[str]) -> None:
    """Write a figure to files of the kinds ``.pdf``, ``.svg`` and so on; equal figures give identical files.

    Parameters
    ----------
    figure : Figure or Axes
        The figure, or axes in it.
    *paths : str or PathLike
        The files.
    """
    with style():
        whole: Any = getattr(figure, "figure", None) or figure
        dates: dict[str, dict[str, None]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
        for path in paths:
            end = os.fspath(path).rpartition(".")[2].lower()
            # The layout is stable only after the second drawing.
            for target in (io.BytesIO(), path):
                whole.savefig(target, format=end, metadata=dates.get(end), dpi=300)


def draw_course(named: Mapping[str, Course], ax: Axes | None = None, *, width: Width = "column") -> Axes:
    """Draw the courses of runs with their names; for a single run, the measured part is shaded."""
    with style(width):
        ax = axes(ax)
        for name, course in named.items():
            ax.plot(course.drive_writes, course.write_amplification, label=name, marker="none")
        if len(named) == 1:
            _measured(ax, next(iter(named.values())))
        else:
            ax.legend()
        frame(ax, "drive writes", "write amplification")
    return ax


def _measured(ax: Axes, course: Course) -> None:
    """Shade the measured part, and draw its mean."""
    end = float(course.drive_writes.iloc[-1])
    begin = end - course.measured_drive_writes
    ax.axvspan(begin, end, color="0.9", linewidth=0, label="measured")
    if course.mean is not None:
        mean = [course.mean]
        place = [(begin + end) / 2]
        half_widths = [course.half_width]
        ax.errorbar(place, mean, yerr=half_widths, color=COLOURS[1], linestyle="none", label="mean, 95 % interval")
    ax.legend()


def curves(
    x: ArrayLike,
    values: Mapping[str, ArrayLike] | ArrayLike,
    *,
    xlabel: str = "spare factor",
    ylabel: str = "write amplification",
    ax: Axes | None = None,
    width: Width = "column",
) -> Axes:
    """Draw curves of the theory, as lines without markers.

    Parameters
    ----------
    x : array_like
        Parameter on the horizontal axis.
    values : dict of str to array_like, or array_like
        Curves by their names, each as long as `x`; or a single curve without a name.
    xlabel, ylabel : str
        Labels of the axes that have no labels yet.
    ax, width
        As for `course`. On the axes of a `sweep`, the curves are drawn over the simulated points.
    """
    import numpy as np

    across = np.asarray(x, dtype=float)
    named = values if isinstance(values, Mapping) else {"": values}
    columns = {name: np.asarray(column, dtype=float) for name, column in named.items()}
    for name, column in columns.items():
        if across.ndim != 1 or column.shape != across.shape:
            raise ParameterError(f"values: {name!r} has shape {column.shape}, and x has {across.shape}", "values")
    with style(width):
        ax = axes(ax)
        for name, column in columns.items():
            ax.plot(across, column, marker="none", label=name or None)
        if any(columns):
            ax.legend()
        frame(ax, ax.get_xlabel() or xlabel, ax.get_ylabel() or ylabel)
    return ax


def draw_shares(
    valid_pages: NDArray[Any], victim_valid_pages: NDArray[Any], ax: Axes | None = None, *, width: Width = "column"
) -> Axes:
    """Draw the shares of the blocks, and of the victims, that have 0, 1, 2, ... valid pages."""
    levels = range(len(valid_pages))
    columns = {"blocks": valid_pages, "victims": victim_valid_pages}
    return curves(levels, columns, xlabel="valid pages of a block", ylabel="share", ax=ax, width=width)


def _inches(width: Width) -> float:
    inches = WIDTHS.get(width) if isinstance(width, str) else float(width)
    if inches is None or not 0.5 <= inches <= 100:
        raise ParameterError(f"width: is {width!r}; {', '.join(WIDTHS)} or inches are wanted, 0.5 to 100", "width")
    return inches


def axes(ax: Axes | None) -> Axes:
    """Return the axes; creates new ones if none are given."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


def frame(ax: Axes, xlabel: str, ylabel: str) -> None:
    """Label the axes."""
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
