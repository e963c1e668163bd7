"""Block traces: reading as NumPy arrays, description, conversion.

Offsets and lengths are in bytes, and times in nanoseconds of the trace's clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._extras import import_extra
from ._listing import list_formats as formats
from ._plain import checked_integer, option_text

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    import polars as pl

__all__ = ["OPS", "Reader", "columns", "convert", "describe", "formats", "open"]

OPS = ("read", "write", "trim", "flush")
"""The operations, indexed by their number in the column ``op``."""


class Reader:
    """A trace that is being read in batches; it is never loaded as a whole.

    Iteration yields dictionaries of equally long arrays: ``time_ns`` (uint64), ``op`` (uint8, an index into `OPS`),
    ``volume`` (uint32), ``offset_bytes`` (uint64), ``length_bytes`` (uint64) and ``hint`` (uint16). The arrays use the
    reader's own memory, without a copy. Formats with digests of written content add ``digests`` (uint8, one row of 16
    bytes per digest), ``digest_ends`` (the end of each request's digests) and ``digest_bytes``.
    """

    def __init__(self, core: _core.TraceReader) -> None:
        self._core = core

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._core

    def __next__(self) -> dict[str, Any]:
        return next(self._core)

    @property
    def format(self) -> str:
        """Format of the trace."""
        return self._core.format

    @property
    def bytes_read(self) -> int:
        """Bytes read from the file so far, before decompression."""
        return self._core.bytes_read

    @property
    def total_bytes(self) -> int | None:
        """Size of the file, before decompression."""
        return self._core.total_bytes

    @property
    def skipped(self) -> int:
        """Number of invalid lines skipped so far, with ``skip_bad``."""
        return self._core.skipped

    @property
    def skipped_messages(self) -> list[str]:
        """Errors of the first few skipped lines."""
        return self._core.skipped_messages

    @property
    def volume_names(self) -> dict[int, str]:
        """Names of the volumes seen so far, in formats that have names."""
        return dict(self._core.volume_names)

    def to_frame(self) -> pd.DataFrame:
        """Return the remaining part of the trace as one pandas frame, with operations by name."""
        import numpy as np
        import pandas as pd

        frame = pd.DataFrame(self._columns())
        codes = frame["op"].to_numpy(dtype=np.int8)
        frame["op"] = pd.Categorical.from_codes(codes, categories=pd.Index(OPS))
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the remaining part of the trace as one Polars frame, with operations by name."""
        import_extra("polars", "polars")
        import polars as pl

        frame = pl.DataFrame(self._columns())
        return frame.with_columns(pl.col("op").replace_strict(dict(enumerate(OPS)), return_dtype=pl.Enum(OPS)))

    def _columns(self) -> dict[str, Any]:
        import numpy as np

        types = {
            "time_ns": np.uint64,
            "op": np.uint8,
            "volume": np.uint32,
            "offset_bytes": np.uint64,
            "length_bytes": np.uint64,
            "hint": np.uint16,
        }
        batches = list(self)
        return {
            name: np.concatenate([np.empty(0, kind), *(batch[name] for batch in batches)])
            for name, kind in types.items()
        }


def open(  # noqa: A001 - trace.open says what it is
    path: str | PathLike[str],
    format: str | None = None,  # noqa: A002 - the word of the scenario files
    *,
    skip_bad: bool = False,
    volumes: Sequence[int] | None = None,
    batch_requests: int = 65536,
    **options: Any,
) -> Reader:
    """Open a trace, plain or compressed (gzip, xz, zstd).

    Parameters
    ----------
    path : str or PathLike
        File of the trace.
    format : str
        Format of the trace, see `formats`; may be left out if the content is unambiguous.
    skip_bad : bool
        Count and skip lines that cannot be read, instead of stopping at the first.
    volumes : sequence of int
        Read these volumes only.
    batch_requests : int
        Largest number of requests in a batch.
    **options
        Options of the format. ``columns`` reads any table, as ``"time=ts:us,op=type,offset=lba:512,size=len:512"`` or
        as a dictionary, ``{"time": "ts:us", "op": "type", ...}``; see `columns`.

    Raises
    ------
    TraceError
        If the file cannot be read; the message has file, line, column and the expected content.
    """
    core = _core.TraceReader(
        path,
        format,
        skip_bad=skip_bad,
        volumes=None if volumes is None else list(volumes),
        options=_options(options),
        batch_requests=checked_integer("batch_requests", batch_requests, least=0),
    )
    return Reader(core)


def describe(
    path: str | PathLike[str],
    format: str | None = None,  # noqa: A002 - the word of the scenario files
    *,
    page_bytes: int = 4096,
    stack_distance: bool = True,
    sample: float | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Measure a trace: sizes, ratios, footprint, overwriting, reuse, duplication.

    Parameters
    ----------
    path, format, **options
        As for `open`.
    page_bytes : int
        Page size in bytes for all counts of pages.
    stack_distance : bool
        True to find the number of distinct pages written between two writes of a page.
    sample : float, optional
        Fraction of the pages to follow, above 0 and at most 1, for traces whose pages do not fit into memory. Pages are
        sampled by a hash of volume and page number (SHARDS; Waldspurger et al., FAST 2015). Footprint, overwriting,
        reuse, live discards and duplication are estimated; counts of requests, bytes and sizes stay exact. The key
        ``sample`` of the result has ``rate``, ``sampled_pages`` and ``expected_error``, for a confidence of 95 %.
    """
    reader = open(path, format, **options)
    core = reader._core  # noqa: SLF001 - its own kind
    size = checked_integer("page_bytes", page_bytes, least=0)
    return json.loads(  # type: ignore[no-any-return]
        _core.describe_trace(core, page_bytes=size, stack_distance=stack_distance, sample=sample)
    )


def convert(
    source: str | PathLike[str] | Reader,
    target: str | PathLike[str],
    to: str,
    *,
    format: str | None = None,  # noqa: A002 - the word of the scenario files
    options: Mapping[str, Any] | None = None,
    write_options: Mapping[str, Any] | None = None,
    drop_inexpressible: bool = False,
    requests: tuple[int, int] | None = None,
    time_ns: tuple[int, int] | None = None,
    bytes: tuple[int, int] | None = None,  # noqa: A002 - the name of the range
    ops: Sequence[str] | None = None,
    volumes: Sequence[int] | None = None,
    rebase_time: bool = False,
) -> dict[str, Any]:
    """Write a trace, or a part of it, in another format.

    Parameters
    ----------
    source : str, PathLike or Reader
        Trace to convert; a reader is read to its end.
    target : str or PathLike
        New file, compressed if the name ends in .gz, .xz or .zst. It is written completely or not at all.
    to : str
        Format to write.
    format, options
        Format of the source, and options for reading it (also those of `open`).
    write_options : dict
        Options of the written format.
    drop_inexpressible : bool
        Leave out requests that the format cannot hold, instead of stopping at the first.
    requests, time_ns, bytes : tuple of int
        Keep only requests with a number (from 0), a time since the first (ns) or an address (bytes) in the half-open
        range.
    ops, volumes : sequence
        Keep only these operations or volumes.
    rebase_time : bool
        Shift times so that the first request that is kept is at time 0.

    Returns
    -------
    dict
        ``requests`` is the number of written requests, ``dropped`` that of dropped ones, ``first_dropped`` the reason
        for the first.
    """
    reader = source if isinstance(source, Reader) else open(source, format, **(options or {}))
    unknown = [op for op in ops or () if op not in OPS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no operation; one of {', '.join(OPS)}")
    return _core.convert_trace(
        reader._core,  # noqa: SLF001
        target,
        to,
        options=_options(write_options or {}),
        drop_inexpressible=drop_inexpressible,
        requests=requests,
        time_ns=time_ns,
        bytes=bytes,
        ops=None if ops is None else [OPS.index(op) for op in ops],
        volumes=None if volumes is None else list(volumes),
        rebase_time=rebase_time,
    )


def columns(path: str | PathLike[str]) -> dict[str, Any] | None:
    """Suggest names for the columns of a table.

    Names come from the header, if there is one, and are otherwise guessed from the first rows. The suggestion is never
    applied automatically.

    Returns
    -------
    dict or None
        ``separator``, ``has_header``, ``columns`` (``name``, ``field``, ``unit`` of each), the first ``rows``, the
        ``option`` to be given to `open` as ``columns``, and ``doubts``, a list of points to check before. None if the
        file is not a table.
    """
    return json.loads(_core.trace_columns(path))  # type: ignore[no-any-return]


def _options(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, option_text(value)) for name, value in options.items()]
