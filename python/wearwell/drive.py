"""Evaluation of a real drive: its data sheet, and the SMART counters of its use.

Everything is calculated by theory, without simulation. `scenario` makes a scenario of the drive for simulation.

>>> import wearwell as ww
>>> found = ww.drive.sheet(capacity="1.92 TB", raw_capacity="2 TiB", dwpd=1, warranty_years=5, cells="tlc")
>>> round(found.rating.tbw), round(found.write_amplification_limit, 2)
(3504, 1.88)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, Unpack

from . import _core
from ._errors import ReportError
from ._part import Size
from ._record import Record
from .scenario import Scenario

__all__ = ["Figures", "Report", "scenario", "sheet", "smart"]


class Figures(TypedDict, total=False):
    """Figures of a data sheet; all are optional, except those that the result needs.

    Parameters
    ----------
    capacity : int or str
        Capacity of the drive, decimal as on the label: ``"1.92 TB"``.
    raw_capacity : int or str
        Raw flash capacity: ``"2 TiB"``. Alternatively `over_provisioning`, (T - U) / U, or `spare_factor`, (T - U) /
        T; the next power of two unless one of them is given.
    tbw : float
        Terabytes (10^12 bytes) that the host may write.
    dwpd, warranty_years : float
        Drive writes per day, and the length of the warranty in years of 365 days.
    cells : str
        Preset with the cells' endurance, such as ``"tlc"``; `endurance_cycles` sets the endurance directly, and
        `rated_write_amplification` derives it from `tbw`.
    gb_per_day : float
        Host writes per day, in units of 10^9 bytes.
    sequential_write : int or str
        Bytes per second of sequential writes.
    random_write_iops : float
        Random writes of 4 KiB per second, sustained.
    interface : int or str
        Transfer rate of the interface in bytes per second, for a scenario.
    hot_writes, hot_space : float
        Shares of the writes and of the pages that are hot, in the model of hot and cold pages; by default 0.8 and
        0.2.
    pages_per_block : int
        Pages per block in the models; by default 128.
    """

    capacity: Size
    raw_capacity: Size
    over_provisioning: float
    spare_factor: float
    tbw: float
    dwpd: float
    warranty_years: float
    cells: str
    endurance_cycles: int
    rated_write_amplification: float
    gb_per_day: float
    sequential_write: Size
    random_write_iops: float
    interface: Size
    hot_writes: float
    hot_space: float
    pages_per_block: int


Report: TypeAlias = str | PathLike[str] | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""A SMART report: the path of a JSON file, or its content."""


def sheet(**figures: Unpack[Figures]) -> Record:
    """Evaluate a data sheet.

    Parameters
    ----------
    **figures
        See `Figures`; `capacity` is needed.

    Returns
    -------
    Record
        A dictionary whose entries are also attributes, as ``wearwell drive --format json`` prints it: ``rating`` (TBW,
        DWPD, warranty), ``spare_space``, ``media_tb``, ``write_amplification_limit``, ``predictions``, ``usage``,
        ``interface_rates``.

    Raises
    ------
    ParameterError
        If a figure is impossible, or contradicts another.
    """
    return _record(_core.drive_sheet(_text(figures)))


def smart(
    report: Report, *, since: Report | None = None, days: float | None = None, **figures: Unpack[Figures]
) -> Record:
    """Evaluate the SMART counters of a drive.

    Parameters
    ----------
    report : path, dict or list of dict
        ``nvme smart-log -o json``, with the documents of ``nvme ocp smart-add-log``, ``endurance-log``, ``id-ctrl`` and
        ``id-ns`` as there are, or ``smartctl -a -j``.
    since : path, dict or list of dict
        An earlier report of the same drive: the time in between is also evaluated.
    days : float
        Days between the two reports, or in service, if the reports lack them or are wrong.
    **figures
        Other known figures of the drive, see `Figures`. The capacity is that of the report unless given.

    Returns
    -------
    Record
        A dictionary whose entries are also attributes: ``since_new`` and ``between`` (``write_amplification``,
        ``gb_per_day`` and so on, each with ``value``, ``low`` and ``high``), ``life``, ``effective`` (the spare space
        that explains the write amplification by each model) and ``notes``.

    Raises
    ------
    ReportError
        If a report cannot be read, or the two do not belong together.
    ParameterError
        If a figure is impossible, or contradicts another.
    """
    later = _report_text(report, "report")
    earlier = None if since is None else _report_text(since, "since")
    return _record(_core.drive_smart(_text(figures), later, earlier, days))


def scenario(*, scaled_to: Size | None = None, **figures: Unpack[Figures]) -> Scenario:
    """Make a scenario of the drive under uniform writes.

    Parameters
    ----------
    scaled_to : int or str
        Capacity of the drive in the scenario: a smaller drive with the same share of spare space, and TBW in
        proportion, behaves alike.
    **figures
        See `Figures`; `capacity` and `cells` are needed.

    Raises
    ------
    ParameterError
        If a figure is impossible, or contradicts another.
    """
    shown = None if scaled_to is None else json.dumps(scaled_to)
    return Scenario.from_toml(_core.drive_scenario(_text(figures), shown))


def _text(figures: Mapping[str, Any]) -> str:
    return json.dumps({name: value for name, value in figures.items() if value is not None})


def _record(text: str) -> Record:
    return json.loads(text, object_pairs_hook=Record)  # type: ignore[no-any-return]


def _report_text(report: Report, name: str) -> tuple[str, str]:
    """Return the name of the report for messages, and its text."""
    if isinstance(report, str | PathLike):
        path = fspath(report)
        try:
            return path, Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ReportError(f"{path}: is no JSON: {error}", path) from None
    documents = [report] if isinstance(report, Mapping) else report
    return name, "\n".join(json.dumps(document) for document in documents)
