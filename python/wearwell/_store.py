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

    A store is the folder that `sweep` and `advise` are given, and ``--store`` of the command line.

    Parameters
    ----------
    path : str or PathLike
        The folder.

    Returns
    -------
    pandas.DataFrame
        One row a run: its settings, ``replica``, the figures of `Result.summary` as the command line has them, and
        ``result``, the whole result as JSON text. Rows stand in the order of their settings.

    Raises
    ------
    StoreError
        If there is no such folder, or it cannot be read.

    Warns
    -----
    UserWarning
        Of files that are damaged, and of runs that another version made: neither is in the table.
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


class Compacted(NamedTuple):
    """What became of the files of a store."""

    runs: int
    """Runs of this version, each once."""
    files_before: int
    """Files of the store before."""
    files_after: int
    """Files of the store afterwards."""


def compact_store(path: str | os.PathLike[str]) -> Compacted:
    """Put the runs of a store from many files into few.

    It may be ended at any moment: nothing is removed before it is safe in another file. Others may read and write the
    store meanwhile. Runs of other versions and damaged files stay as they are.

    Parameters
    ----------
    path : str or PathLike
        The folder.

    Returns
    -------
    Compacted
        How many runs there are, and how many files hold them.

    Raises
    ------
    StoreError
        If there is no such folder, or it cannot be read, written or cleared: all runs are still there.
    """
    return Compacted(*_core.compact_store(os.fspath(path)))
