"""Wearwell: a laboratory for flash storage stacks.

>>> import wearwell as ww
>>> result = ww.run({"device": {"capacity": "16 MiB", "spare_factor": 0.2, "pages_per_block": 32,
...                             "page_size": "4 KiB"}, "workload": "uniform"})
>>> 1 < result.write_amplification < 3
True
"""

import warnings as _warnings

from . import drive, plot, theory, trace
from ._advise import advise
from ._core import Blocks, PageContext, Store, __version__
from ._custom_parts import Placement, VictimPolicy
from ._errors import (
    ConvergenceError,
    ExecutorError,
    ParameterError,
    ReportError,
    RunError,
    ScenarioError,
    StoreError,
    TraceError,
    WearwellError,
)
from ._fleet import fleet
from ._limit import limit
from ._listing import (
    list_dedups,
    list_formats,
    list_ftls,
    list_placements,
    list_presets,
    list_validities,
    list_victims,
    list_workloads,
)
from ._means import means
from ._progress import Progress
from ._report import report
from ._run import run
from ._store import CompactionResult, compact_store, read_store
from ._sweep import sweep
from .device import LiveDevice
from .result import Record, Result
from .scenario import Device, Log, Measure, Power, Precondition, Scenario, Tenant, Trace
from .timing import Timing

__all__ = [
    "Blocks",
    "CompactionResult",
    "ConvergenceError",
    "Device",
    "ExecutorError",
    "LiveDevice",
    "Log",
    "Measure",
    "PageContext",
    "ParameterError",
    "Placement",
    "Power",
    "Precondition",
    "Progress",
    "Record",
    "ReportError",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Store",
    "StoreError",
    "Tenant",
    "Timing",
    "Trace",
    "TraceError",
    "VictimPolicy",
    "WearwellError",
    "__version__",
    "advise",
    "compact_store",
    "drive",
    "fleet",
    "limit",
    "list_dedups",
    "list_formats",
    "list_ftls",
    "list_placements",
    "list_presets",
    "list_validities",
    "list_victims",
    "list_workloads",
    "means",
    "plot",
    "read_store",
    "report",
    "run",
    "sweep",
    "theory",
    "trace",
]


def __getattr__(name: str) -> object:
    """Return the type for which an older name stands, with a warning that gives the new name."""
    if name == "Compacted":
        _warnings.warn("wearwell.Compacted is now wearwell.CompactionResult", DeprecationWarning, stacklevel=2)
        return CompactionResult
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
