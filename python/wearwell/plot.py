"""Figures for papers: vector graphics of standard widths, readable in grey and for colour-blind readers.

Each function draws on `ax`, or in a new figure as wide as a column of a paper, and returns the axes, on which
everything can be changed: ``ax.set_ylim(1, 4)``, ``ax.figure``. `save` writes the figure. It needs matplotlib: ``pip
install 'wearwell[plot]'``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _drawing
from ._drawing import Width, axes, curves, draw_course, draw_shares, frame, save, style
from ._errors import ParameterError
from ._means import figures_of, means, settings_of
from .result import Result, course_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from .theory import SteadyState

__all__ = ["COLOURS", "WIDTHS", "course", "curves", "response_times", "save", "shares", "style", "sweep"]

WIDTHS = _drawing.WIDTHS
"""Widths of figures in inches: of one column, and of both."""

COLOURS = _drawing.COLOURS
"""Colours that colour-blind readers can distinguish (Okabe and Ito 2008), dark ones first, so that they differ in
grey."""

_UNITS = {
    "bytes": "bytes",
    "ns": "ns",
    "us": "µs",
    "ms": "ms",
    "s": "s",
    "iops": "IOPS",
    "percent": "%",
}
_NAMES = {
    "mb_per_s": "throughput (MB/s)",
    "requests_per_s": "requests per second",
    "tbw": "lifetime (TB written)",
    "worn_out_tbw": "written until worn out (TB)",
    "dwpd": "drive writes per day",
    "years": "lifetime (years)",
    "life_ratio": "lifetime over rated TBW",
    "rated_tbw": "rated TBW (TB written)",
    "rated_dwpd": "rated drive writes per day",
    "rated_years": "until the rated TBW is written (years)",
    "measured_drive_writes": "measured (drive writes)",
    "erases_mean": "erases of a block, mean",
    "erases_max": "erases of a block, most",
    "erases_deviation": "erases of a block, standard deviation",
    "elapsed_s": "time (s)",
}


def course(
    results: Result | Mapping[str, Result] | Sequence[Result], ax: Axes | None = None, *, width: Width = "column"
) -> Axes:
    """Draw write amplification over the drive writes of one or several runs, from the fresh drive on.

    For a single run, the measured part is shaded, and its mean is drawn with the 95 % confidence interval.

    Parameters
    ----------
    results : Result, sequence of Result or dict of str to Result
        Runs, by their names in the legend; a sequence is labelled with the names of the scenarios.
    ax : matplotlib Axes
        Axes to draw on; a new figure unless given.
    width : {"column", "page"} or float
        Width of a new figure, by name or in inches.
    """
    named = {name: course_of(result) for name, result in _labelled_results(results).items()}
    return draw_course(named, ax, width=width)


def sweep(
    table: pd.DataFrame,
    x: str,
    y: str = "write_amplification",
    *,
    by: str | Sequence[str] = (),
    ax: Axes | None = None,
    width: Width = "column",
) -> Axes:
    """Draw a figure of a sweep's table over one of its settings, with 95 % confidence intervals.

    Parameters
    ----------
    table : pandas.DataFrame
        A table of `wearwell.sweep`, or some of its rows.
    x : str
        Setting on the horizontal axis; values that are not numbers are spaced equally.
    y : str
        Figure on the vertical axis.
    by : str or sequence of str
        Settings whose combinations are drawn as separate lines; all other varied settings unless given.
    ax, width
        As for `course`.

    Notes
    -----
    Error bars are those of `wearwell.means`: by Student's t over the replicas, or the interval of a single run.
    """
    settings = settings_of(table)
    if x not in settings:
        raise ParameterError(f"x: {x!r} was not varied; {', '.join(settings)} were", "x")
    figures_of(table, [y])
    wanted = ([by] if isinstance(by, str) else list(by)) or [name for name in settings if name != x]
    unknown = [name for name in wanted if name not in settings or name == x]
    if unknown:
        raise ParameterError(f"by: {unknown[0]!r} is not among the other settings that were varied", "by")
    left = [name for name in settings if name != x and name not in wanted and table[name].map(repr).nunique() > 1]
    if left:
        problem = f"{', '.join(left)} would be mixed in one line; add to `by`, or choose rows of one value"
        raise ParameterError(f"by: {problem}", "by")
    rows = means(table, y)
    lines: dict[str, list[int]] = {}
    for at, values in enumerate(rows[wanted].itertuples(index=False, name=None)):
        lines.setdefault(_legend(wanted, values), []).append(at)
    is_number = all(isinstance(value, int | float) and not isinstance(value, bool) for value in rows[x].tolist())
    words = dict.fromkeys(_setting_text(value) for value in rows[x])
    places_of = {word: float(word) if is_number else float(at) for at, word in enumerate(words)}
    with style(width):
        ax = axes(ax)
        for name, places in lines.items():
            group = rows.iloc[places]
            across = [places_of[_setting_text(value)] for value in group[x]]
            points = sorted(zip(across, group[y].astype(float), group[f"{y}_ci95"].astype(float), strict=True))
            across, heights, half_widths = ([point[at] for point in points] for at in range(3))
            # Where there is no interval, there is no error bar, instead of a bar of length 0.
            ax.errorbar(across, heights, yerr=half_widths, label=name)
        if not is_number:
            ax.set_xticks(list(places_of.values()), list(places_of))
        if any(lines):
            ax.legend()
        frame(ax, label(x), label(y))
    return ax


def shares(state: SteadyState, ax: Axes | None = None, *, width: Width = "column") -> Axes:
    """Draw the distribution of valid pages over blocks, and over victims, in a steady state of the theory.

    Parameters
    ----------
    state : SteadyState
        Result of `wearwell.theory.steady_state`.
    ax, width
        As for `course`.
    """
    return draw_shares(state.valid_pages, state.victim_valid_pages, ax, width=width)


def response_times(
    results: Result | Mapping[str, Result] | Sequence[Result],
    kind: str = "read",
    ax: Axes | None = None,
    *,
    width: Width = "column",
) -> Axes:
    """Draw the percentiles of the response times of timed runs: the share of the requests that took longer.

    Parameters
    ----------
    results : Result, sequence of Result or dict of str to Result
        Runs, as for `course`.
    kind : str
        Kind of requests: a row of ``result.response_times``.
    ax, width
        As for `course`.
    """
    named = _labelled_results(results)
    with style(width):
        ax = axes(ax)
        for name, result in named.items():
            kinds = result.timed().requests
            if kind not in kinds:
                raise ParameterError(f"kind: there is no {kind!r}; there are {', '.join(kinds)}", "kind")
            at = kinds[kind].percentiles
            ax.plot([each.response_ns / 1e3 for each in at], [1 - each.percent / 100 for each in at], label=name)
        ax.set_xscale("log")
        ax.set_yscale("log")
        if len(named) > 1:
            ax.legend()
        frame(ax, f"response time of a {kind} (µs)", "share of requests that took longer")
    return ax


def label(key: str) -> str:
    """Return the label of an axis for a setting or a figure: in words, with the unit."""
    name = key.replace("__", ".").rpartition(".")[2]
    if name in _NAMES:
        return _NAMES[name]
    words, _, unit = name.rpartition("_")
    if words and unit in _UNITS:
        return f"{words.replace('_', ' ')} ({_UNITS[unit]})"
    return name.replace("_", " ")


def _labelled_results(results: Result | Mapping[str, Result] | Sequence[Result]) -> dict[str, Result]:
    if isinstance(results, Result):
        return {"write amplification": results}
    if isinstance(results, Mapping):
        named = {str(name): result for name, result in results.items()}
    else:
        given = list(results)
        names = [str(getattr(result, "scenario", {}).get("name") or f"run {at}") for at, result in enumerate(given, 1)]
        # Lines with the same name would be merged.
        numbered = [name if names.count(name) == 1 else f"{name} ({at})" for at, name in enumerate(names, 1)]
        named = dict(zip(numbered, given, strict=True))
    wrong = [result for result in named.values() if not isinstance(result, Result)]
    if wrong or not named:
        found = f"a {type(wrong[0]).__name__}" if wrong else "nothing"
        raise TypeError(f"results: runs are wanted, as wearwell.run gives them, not {found}")
    return named


def _legend(settings: Sequence[str], values: Sequence[Any]) -> str:
    """Return the name of a line: the values, with the names of their settings if the values are numbers."""
    parts = []
    for name, value in zip(settings, values, strict=True):
        is_name = isinstance(value, str | Mapping)
        parts.append(_setting_text(value) if is_name else f"{label(name)} {_setting_text(value)}")
    return ", ".join(parts)


def _setting_text(value: Any) -> str:
    """Return the value of a setting in a word or two; for a table, its values."""
    return " ".join(map(str, value.values())) if isinstance(value, Mapping) else str(value)
