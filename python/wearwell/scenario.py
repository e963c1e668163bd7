"""Scenarios as dataclasses: workload, drive and measurement.

The fields have the names, meanings and defaults of a scenario file. ``None`` means "not given": Wearwell uses its
default, and the result shows the value. Sizes are bytes, as a number or as text with a unit: ``4096``, ``"4 KiB"``,
``"1.92 TB"``.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import tomli_w

from . import _core
from ._errors import ScenarioError
from ._part import Named, Part, Size
from ._plain import name_workloads, option_text
from .timing import Timing


@dataclass(kw_only=True)
class Device(Part):
    """The drive: a preset, a size, and settings that differ from the preset.

    Of the physical size (`raw_capacity` or `blocks_per_plane`), the logical size (`capacity`) and the spare space
    between them (`spare_factor`, `over_provisioning`, `alpha` or `load`), give two; a preset supplies the spare space
    when it is not given. With T physical and U logical pages:

    Parameters
    ----------
    preset : str
        Device preset, see `list_presets`. Without a preset, every field of the geometry is 1 unless given.
    capacity, raw_capacity : int or str
        Logical and physical capacity, bytes.
    blocks_per_plane : int
        Erase blocks of each plane.
    fit : bool or dict
        True if the logical size is fitted to the trace that is replayed, which is read once for that; a result has the
        extent of the trace here.
    spare_factor, over_provisioning, alpha, load : float
        (T - U) / T, (T - U) / U, T / U, U / T.
    channels, ways, dies, planes, pages_per_block : int
        The geometry: chips on each channel, dies in each chip and so on.
    unused_blocks : int
        Number of blocks that are not used: this many planes have one block less.
    superblock_blocks : int
        Erase blocks of different planes that are filled and erased together; 1 unless given.
    page_size, spare_size : int or str
        User and spare bytes of a flash page.
    mapping_unit : int or str
        Unit in which the drive maps data, bytes, at most a flash page; called a page in results.
    endurance_cycles : int
        Program/erase cycles that a block endures.
    tbw : float
        Rated terabytes written, in units of 10^12 bytes.
    dwpd : float
        Rated drive writes per day over the warranty.
    endurance_spread : float
        Half-width of the uniform spread of the blocks' endurance, as a share of `endurance_cycles`.
    wears_out : bool
        True if blocks become bad when they reach their endurance.
    factory_bad_blocks : int
        Blocks bad from the factory.
    program_failure_rate : float
        Probability that programming a page fails.
    read_disturb_limit : int
        Number of page reads after which the pages of a block are rewritten; unlimited unless given.
    """

    preset: str | None = None
    capacity: Size | None = None
    raw_capacity: Size | None = None
    blocks_per_plane: int | None = None
    unused_blocks: int | None = None
    fit: bool | dict[str, int] = False
    spare_factor: float | None = None
    over_provisioning: float | None = None
    alpha: float | None = None
    load: float | None = None
    channels: int | None = None
    ways: int | None = None
    dies: int | None = None
    planes: int | None = None
    superblock_blocks: int | None = None
    pages_per_block: int | None = None
    page_size: Size | None = None
    spare_size: Size | None = None
    mapping_unit: Size | None = None
    endurance_cycles: int | None = None
    tbw: float | None = None
    dwpd: float | None = None
    endurance_spread: float = 0.0
    wears_out: bool = False
    factory_bad_blocks: int = 0
    program_failure_rate: float = 0.0
    read_disturb_limit: int | None = None


@dataclass(kw_only=True)
class Log(Part):
    """A log-structured layer: the FTL of the drive, or a log stacked on it.

    Parameters
    ----------
    name : str
        Name of the layer in results.
    structure : str or dict
        Kind of layer, see docs/scenario.md; a log-structured store unless given. For an FTL, see `list_ftls`.
    victim : str or dict
        Policy that selects the next block to clean, see `list_victims`.
    placement : str or dict
        Policy that selects the stream of a page, see `list_placements`.
    reclaim : {"free_pool", "in_place"}
        Erased blocks wait in a pool (free_pool), or the erased victim becomes the new frontier (in_place).
    free_blocks_low, free_blocks_high : int
        Erased blocks at which cleaning starts and stops (free_pool).
    free_share_low : float
        Alternative to free_blocks_low: a share of all blocks.
    free_blocks_deferred : int
        Erased blocks at which cleaning starts while a log above cleans; not deferred unless given.
    free_blocks_idle : int
        Erased blocks up to which idle time is used for cleaning (timed mode).
    copy_order : {"oldest", "random"}
        Order in which live pages fill a block that does not have space for all of a victim's pages.
    evict : bool
        True if cleaning drops the live pages of a victim instead of moving them, as a cache may.
    dedup : str or dict
        FTL only: method that stores equal pages once, see `list_dedups`; none unless given.
    wear : str or dict
        FTL only: method of wear levelling: "none", "scan" or "start_gap"; none unless given.
    directory : {"auto", "page", "block"}
        Data that the simulation stores about each page.
    on : str
        Stacked logs only: name of the layer below; the next log unless given, the FTL for the last one.
    share : float
        Stacked logs only: share of the logical pages of the layer below; all of them if there is no other user.
    align : bool
        Stacked logs only: true if its partition ends on a whole block (segment) of the layer below.
    segment_size : int or str
        Stacked logs only: the log's erase block, bytes.
    segment_blocks : int
        Stacked logs only: alternative to segment_size: number of blocks (segments) of the layer below.
    first_hint : int
        Stacked logs only: stream hint of its first stream's writes to the layer below.
    spare_factor : float
        Stacked logs only: share of the layer below that is kept in reserve, (T - U) / T.
    trim : bool or dict
        Stacked logs only: whether and how a cleaned segment is trimmed on the layer below.
    metadata : str or dict
        Stacked logs only: layout of the log's own metadata writes; none unless given.
    """

    name: str | None = None
    structure: Named | None = None
    victim: Named = "greedy"
    placement: Named = "double"
    reclaim: str = "free_pool"
    free_blocks_low: int | None = None
    free_share_low: float | None = None
    free_blocks_high: int | None = None
    free_blocks_deferred: int | None = None
    free_blocks_idle: int | None = None
    copy_order: str = "oldest"
    evict: bool = False
    dedup: Named | None = None
    wear: Named | None = None
    directory: str = "auto"
    on: str | None = None
    share: float | None = None
    align: bool | None = None
    segment_size: Size | None = None
    segment_blocks: int | None = None
    first_hint: int | None = None
    spare_factor: float | None = None
    trim: bool | Mapping[str, Any] | None = None
    metadata: Named | None = None


@dataclass(kw_only=True)
class Trace(Part):
    """A trace to replay.

    Parameters
    ----------
    path : str or PathLike
        File of the trace, plain or compressed (gzip, xz, zstd).
    format : str
        Format of the trace, see `list_formats`; may be left out if the content is unambiguous.
    options : dict
        Options of the format. ``columns`` reads any table, as text or as a dictionary, see `trace.open`.
    skip_bad : bool
        Count and skip lines that cannot be read, instead of stopping at the first.
    volumes : list of int
        Volumes to replay; all unless given.
    volume_rule : {"single", "side_by_side", "overlay"}
        Treatment of more than one volume.
    address : {"direct", "wrap", "scale", "compact"}
        Conversion of the trace's addresses to pages of the device.
    trim : bool
        True if discards are sent to the device as TRIM.
    missing_digests : {"error", "unique"}
        Treatment of a write request whose digests do not cover its contents.
    repeat_contents : bool
        True if each pass writes the same contents as the pass before.
    decreasing_times : {"error", "clamp", "sort"}
        Treatment of a request whose time is earlier than that of the request before.
    """

    path: str | Path
    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    skip_bad: bool = False
    volumes: list[int] | None = None
    volume_rule: str = "single"
    address: str = "direct"
    trim: bool = True
    missing_digests: str = "error"
    repeat_contents: bool = False
    decreasing_times: str = "error"

    def __post_init__(self) -> None:
        """Convert options to text, as in a scenario file."""
        self.options = {name: option_text(value) for name, value in self.options.items()}


@dataclass(kw_only=True)
class Tenant(Part):
    """One of several tenants that write at the same time.

    Parameters
    ----------
    name : str
        Name of the tenant in results; its seed is derived from the name.
    on : str
        Name of the layer below; the topmost unless given, if there is only one.
    share : float
        Share of that layer's logical pages; all of them if there is no other user.
    align : bool
        True if its partition ends on a whole block (segment) of the layer.
    first_hint : int
        Offset that is added to the stream hints of its writes.
    rate : float
        Relative write rate, in pages; only the ratios between tenants matter.
    workload : str or dict
        A synthetic workload, see `list_workloads`; either this or `trace`.
    trace : Trace
        A trace to replay; either this or `workload`.
    content : str or dict
        Contents of written pages; for a trace, replaces its digests.
    """

    _parts: ClassVar[dict[str, type[Part]]] = {"trace": Trace}

    name: str | None = None
    on: str | None = None
    share: float | None = None
    align: bool | None = None
    first_hint: int | None = None
    rate: float = 1.0
    workload: Named | None = None
    trace: Trace | None = None
    content: Named | None = None


@dataclass(kw_only=True)
class Power(Part):
    """Power cuts, for FTLs that recover from their flash.

    Only one of `every`, `random` and `at_operation` may be given. After each cut, acknowledged writes are read back.

    Parameters
    ----------
    at_end : bool
        True if power is cut at the end of the run; the recovery is then in the result.
    every : int
        Power is cut after each N programs and erases while measuring.
    random : int
        Power is cut at this many random operations while measuring.
    at_operation : str
        Power is cut at these operations: ``"4711"`` before one, ``"4711t"`` in the middle of it.
    recovery_cut_probability : float
        Probability that power is also cut during a recovery.
    cut_again_probability : float, optional
        Probability that power is cut again within 64 operations after a recovery, without reading back in between; 0
        unless given, below 1.
    read_us, program_us, spare_read_us, erase_us : float
        Microseconds of flash operations, for the time of recoveries.
    off_ms : float
        Milliseconds without power at each cut of a timed run.
    """

    at_end: bool = False
    every: int | None = None
    random: int | None = None
    at_operation: str | None = None
    recovery_cut_probability: float = 0.0
    cut_again_probability: float | None = None
    off_ms: float | None = None
    read_us: float | None = None
    program_us: float | None = None
    spare_read_us: float | None = None
    erase_us: float | None = None


@dataclass(kw_only=True)
class Precondition(Part):
    """Writes before the warm-up.

    Parameters
    ----------
    fill : {"sequential", "none"}
        Method of the first fill of the logical space.
    random_overwrites : float
        Uniformly random page writes after the fill, in multiples of the logical capacity.
    request_pages : int
        Pages of each write request of the fill and of the random overwrites.
    """

    fill: str = "sequential"
    random_overwrites: float = 0.0
    request_pages: int = 1


@dataclass(kw_only=True)
class Measure(Part):
    """Length of warm-up and measurement, in drive writes: multiples of the logical capacity.

    Parameters
    ----------
    warm_up : float
        Drive writes before measuring, rounded up to whole windows; if not given, the run warms up until it is steady.
    max_warm_up : float
        Drive writes after which an unsteady run is measured nevertheless, with a warning.
    tolerance : float
        Largest relative change of write amplification in a steady state.
    drive_writes : float
        Drive writes to measure, rounded up to whole windows.
    passes : int
        Traces only: least number of whole passes to measure.
    window : float
        Drive writes in one window of the time series.
    until_worn_out_blocks : int
        Run until this many blocks have worn out; needs `Device.wears_out`.
    warranty_years : float
        Years to which drive writes per day refer.
    """

    warm_up: float | None = None
    max_warm_up: float = 100.0
    tolerance: float = 0.01
    drive_writes: float = 4.0
    passes: int | None = None
    window: float = 0.1
    until_worn_out_blocks: int | None = None
    warranty_years: float = 5.0


@dataclass(kw_only=True)
class Scenario(Part):
    """A stack, its workload, and its measurement.

    Parameters
    ----------
    device : Device
        Drive at the bottom of the stack.
    name : str
        Title for results and tables.
    seed : int
        Root seed. Equal scenarios with equal seeds give equal results, bit for bit.
    ftl : Log
        The flash translation layer on the drive.
    log : list of Log
        Logs stacked on the drive, the topmost first.
    workload : str or dict
        A synthetic workload, see `list_workloads`; either this, `trace` or `tenant`.
    trace : Trace
        A trace to replay; either this, `workload` or `tenant`.
    content : str or dict
        Contents of written pages; for a trace, replaces its digests.
    tenant : list of Tenant
        Several workloads and traces at the same time, each on a layer of its choice.
    top : dict
        File system that does the writing, with its own workload.
    timing : Timing
        Timed mode; without it, a run only counts operations.
    power : Power
        Power cuts; none unless given.
    precondition : Precondition
        Writes before the warm-up.
    measure : Measure
        Length of warm-up and measurement.

    Examples
    --------
    >>> from wearwell import Device, Log, Scenario
    >>> scenario = Scenario(
    ...     device=Device(capacity="64 MiB", spare_factor=0.1, pages_per_block=64, page_size="4 KiB"),
    ...     ftl=Log(victim={"policy": "d_choices", "choices": 4}, placement="double"),
    ...     workload={"kind": "hot_cold", "hot_writes": 0.9, "hot_space": 0.1},
    ... )
    """

    _parts: ClassVar[dict[str, type[Part]]] = {
        "device": Device,
        "ftl": Log,
        "log": Log,
        "trace": Trace,
        "tenant": Tenant,
        "timing": Timing,
        "power": Power,
        "precondition": Precondition,
        "measure": Measure,
    }

    device: Device
    name: str | None = None
    seed: int = 1
    ftl: Log = field(default_factory=Log)
    log: list[Log] = field(default_factory=list)
    workload: Named | None = None
    trace: Trace | None = None
    content: Named | None = None
    tenant: list[Tenant] = field(default_factory=list)
    top: dict[str, Any] | None = None
    timing: Timing | None = None
    power: Power | None = None
    precondition: Precondition = field(default_factory=Precondition)
    measure: Measure = field(default_factory=Measure)

    def to_dict(self) -> dict[str, Any]:
        """Return all given values as plain dictionaries, lists, numbers and text."""
        return name_workloads(super().to_dict())

    @classmethod
    def _read(cls, name: str, value: Any, key: str) -> Any:
        if name == "ftl" and isinstance(value, str):
            return Log(structure=value)
        return super()._read(name, value, key)

    @classmethod
    def from_toml(cls, source: str | Path) -> Self:
        """Read a scenario file, or the text of one.

        Parameters
        ----------
        source : str or Path
            A path, or TOML text, which is recognised by its line breaks or equals signs. The path of a trace is
            relative to the file.
        """
        return cls.from_dict(read_toml(source))

    def to_toml(self) -> str:
        """Return the given values as the text of a scenario file."""
        return tomli_w.dumps(self.to_dict())

    def resolve(self) -> Scenario:
        """Fill in every default and check the scenario, without running it.

        Raises
        ------
        ScenarioError
            If the scenario cannot be run.
        """
        return Scenario.from_dict(json.loads(_core.resolve(json.dumps(self.to_dict()))))


def read_toml(source: str | Path) -> dict[str, Any]:
    """Read TOML from a file or from text."""
    if isinstance(source, str) and ("\n" in source or "=" in source):
        path, text = None, source
    else:
        path = Path(source)
        text = path.read_text(encoding="utf-8")
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = "the scenario" if path is None else str(path)
        raise ScenarioError(f"{where}: {error}") from error
    tenants = values.get("tenant")
    for holder in [values, *(tenants if isinstance(tenants, list) else [])]:
        trace = holder.get("trace") if isinstance(holder, dict) else None
        if path is not None and isinstance(trace, dict) and isinstance(trace.get("path"), str):
            trace["path"] = str(path.parent / trace["path"])
    return values
