"""Progress of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

PERCENT_TOTAL = 100


class Progress(NamedTuple):
    """Progress of a run.

    Attributes
    ----------
    phase : {"read_trace", "fill", "overwrite", "warm_up", "measure"}
        Current phase.
    done : float
        Share of the phase that is done; during an open-ended warm-up, the share of its limit.
    drive_writes : float
        Drive writes since the drive was new.
    write_amplification : float or None
        Write amplification of the last window.
    """

    phase: str
    done: float
    drive_writes: float
    write_amplification: float | None


ProgressLike: TypeAlias = bool | Callable[[Progress], object] | None
_Report: TypeAlias = Callable[[str, float, float, float | None], object]


@contextmanager
def reporting(progress: ProgressLike) -> Iterator[_Report | None]:
    """Yield the function to which a run reports its progress."""
    if progress is None or progress is False:
        yield None
    elif callable(progress):
        yield lambda *values: progress(Progress(*values))
    elif progress is not True:
        raise TypeError(f"progress: True or a function is wanted, not {progress!r}")
    else:
        with bar(PERCENT_TOTAL, "%") as show:
            yield lambda phase, done, _, amplification: show(
                int(done * PERCENT_TOTAL), phase if amplification is None else f"{phase}, WA {amplification:.3f}"
            )


@contextmanager
def bar(total: int, unit: str) -> Iterator[Callable[[int, str], None]]:
    """Show a progress bar with tqdm, or lines on standard error if tqdm is not installed."""
    tqdm = _tqdm()
    if tqdm is None:
        last = None

        def show(done: int, text: str) -> None:
            nonlocal last
            if (done, text.split(",")[0]) != last:
                last = (done, text.split(",")[0])
                sys.stderr.write(f"{text}: {done} of {total} {unit}\n")

        yield show
        return
    with tqdm(total=total, unit=unit) as shown:

        def update(done: int, text: str) -> None:
            shown.set_description(text, refresh=False)
            # A run has several phases, and the count starts at 0 in each phase.
            shown.n = done
            shown.refresh()

        yield update


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm
