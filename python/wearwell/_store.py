"""Stores of finished runs, read as a table."""

from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING, NamedTuple

from . import _core

if TYPE_CHECKING:
    import pandas as pd


def read_store(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read all runs of this version that a store holds.

    A store is the folder given to `sweep`, `advise` and ``--store`` of the command line.

    Parameters
    ----------
    path : str or PathLike
        Folder of the store.

    Returns
    -------
    pandas.DataFrame
        One row per run: its settings, ``replica``, the figures of `Result.summary` as on the command line, and
        ``result``, the whole result as JSON text. Rows are sorted by their settings.

    Raises
    ------
    StoreError
        If the folder does not exist or cannot be read.

    Warns
    -----
    UserWarning
        For damaged files, and for runs of another version: neither is in the table.
    """
    import pandas as pd

    stored = json.loads(_core.read_store(os.fspath(path)))
    for complaint in stored["complaints"]:
        warnings.warn(complaint, stacklevel=2)
    rows = [
        dict(zip(row["names"], row["values"], strict=True))
        | row["settings"]
        | {"replica": row["replica"], "result": json.dumps(row["result"])}
        for row in stored["rows"]
    ]
    settings = dict.fromkeys(key for row in stored["rows"] for key in row["settings"])
    columns = dict.fromkeys(name for row in rows for name in row)
    return pd.DataFrame(rows, columns=list(dict.fromkeys([*settings, "replica", *columns])))


class CompactionResult(NamedTuple):
    """Result of `compact_store`."""

    runs: int
    """Number of runs of this version, each counted once."""
    files_before: int
    """Number of files before the call."""
    files_after: int
    """Number of files after the call."""


def compact_store(path: str | os.PathLike[str]) -> CompactionResult:
    """Merge the many files of a store into a few.

    The call may be interrupted at any time: no file is removed before its runs are durable in another file. Other
    processes may read and write the store at the same time. Runs of other versions and damaged files are not changed.

    Parameters
    ----------
    path : str or PathLike
        Folder of the store.

    Returns
    -------
    CompactionResult
        Numbers of runs and of files.

    Raises
    ------
    StoreError
        If the folder does not exist, or files in it cannot be read, written or removed. No run is lost.
    """
    return CompactionResult(*_core.compact_store(os.fspath(path)))
