"""HTML of results for notebooks: tables and small drawings, in the colours of the page.

There are no scripts and no other colours, so that results are readable on dark and on light pages.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

WIDTH, HEIGHT = 320, 72
"""Sizes of a drawing, in CSS pixels."""

_RULE = "border-bottom:1px solid color-mix(in srgb, currentColor 25%, transparent)"
_CELL = f"padding:2px 12px 2px 0;vertical-align:top;{_RULE}"


def figures(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Make a table with two columns: name and figure."""
    lines = "".join(
        f"<tr><th scope='row' style='text-align:left;font-weight:normal;{_CELL}'>{html.escape(label)}</th>"
        f"<td style='text-align:left;{_CELL}'>{html.escape(value)}</td></tr>"
        for label, value in rows
    )
    return f"{_TABLE}{_caption(title)}<tbody>{lines}</tbody></table>"


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Make a table whose first column names its rows; the other columns hold numbers."""
    head = "".join(
        f"<th scope='col' style='text-align:{'right' if at else 'left'};{_CELL}'>{html.escape(name)}</th>"
        for at, name in enumerate(columns)
    )
    lines = "".join(
        "<tr>"
        + "".join(
            f"<td style='text-align:{'right' if at else 'left'};{_CELL}'>{html.escape(cell)}</td>"
            for at, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return f"{_TABLE}{_caption(title)}<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


_TABLE = "<table style='border-collapse:collapse;margin:4px 0'>"


def _caption(title: str) -> str:
    style = "caption-side:top;text-align:left;font-weight:bold;color:inherit;padding:2px 0"
    return f"<caption style='{style}'>{html.escape(title)}</caption>"


def notes(texts: Iterable[str], label: str) -> str:
    """Make a paragraph for each text."""
    return "".join(f"<p style='margin:4px 0'><b>{html.escape(label)}</b> {html.escape(text)}</p>" for text in texts)


def line(points: Sequence[tuple[float, float]], text: str) -> str:
    """Draw a line through the points; both axes are scaled to the data and need not start at 0."""
    shown = [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
    if len(shown) < 2:
        return ""
    places = zip(_scale([x for x, _ in shown], WIDTH), _scale([y for _, y in shown], HEIGHT), strict=True)
    path = " ".join(f"{x:.1f},{HEIGHT + 4 - y:.1f}" for x, y in places)
    return _drawing(f"<polyline points='{path}' fill='none' stroke='currentColor' stroke-width='1.5'/>", text)


def bars(values: Sequence[float], text: str) -> str:
    """Draw a bar for each value, scaled to the highest value."""
    most = max(values, default=0.0)
    if not most > 0:
        return ""
    width = WIDTH / len(values)
    rectangles = "".join(
        f"<rect x='{4 + at * width:.2f}' y='{4 + HEIGHT * (1 - value / most):.2f}' width='{width * 0.8:.2f}' "
        f"height='{HEIGHT * value / most:.2f}' fill='currentColor'/>"
        for at, value in enumerate(values)
    )
    return _drawing(rectangles, text)


def _scale(values: Sequence[float], size: float) -> list[float]:
    least, most = min(values), max(values)
    return [4 + size * ((value - least) / (most - least) if most > least else 0.5) for value in values]


def _drawing(content: str, text: str) -> str:
    words = html.escape(text, quote=True)
    return (
        f"<figure style='margin:4px 0'><svg width='{WIDTH + 8}' height='{HEIGHT + 8}' role='img' aria-label='{words}' "
        f"viewBox='0 0 {WIDTH + 8} {HEIGHT + 8}' xmlns='http://www.w3.org/2000/svg'>{content}</svg>"
        f"<figcaption style='font-size:smaller'>{words}</figcaption></figure>"
    )
