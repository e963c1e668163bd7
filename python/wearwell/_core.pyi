"""Interface of the compiled part. Scenarios, results and listings are JSON text; the modules that use it describe
them."""

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ._study import StudyArgs

__version__: str
__build__: str

def run(
    scenario: str,
    *,
    victim: object | None = None,
    placement: object | None = None,
    workload: object | None = None,
    progress: Callable[[str, float, float, float | None], object] | None = None,
    windows: bool = True,
) -> str: ...
def advise(args: StudyArgs, *, only: list[str], replicas: int, depth: int) -> str: ...
def limit(
    args: StudyArgs, *, placements: str | None = None, victims: str | None = None, all_pairs: bool, replicas: int
) -> str: ...
def read_store(path: str | PathLike[str]) -> str: ...
def compact_store(path: str | PathLike[str]) -> tuple[int, int, int]: ...
def drive_sheet(sheet: str) -> str: ...
def drive_smart(
    sheet: str, later: tuple[str, str], earlier: tuple[str, str] | None = None, days: float | None = None
) -> str: ...
def drive_scenario(sheet: str, scaled_to: str | None = None) -> str: ...
def fleet(
    path: str | PathLike[str] | None,
    text: str,
    *,
    check: int | None = None,
    check_blocks: int | None,
    tolerance: float,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> str: ...
def resolve(scenario: str) -> str: ...
def scenario_schema() -> str: ...
def short_form(key: str) -> str | None: ...
def ci95_half_width(values: list[float]) -> float | None: ...
def replica_seed(seed: int, replica: int) -> int: ...
def listing() -> str: ...
def page(title: str, documents: list[tuple[str, str]]) -> str: ...
def trace_columns(path: str | PathLike[str]) -> str: ...
def describe_trace(
    trace: TraceReader, *, page_bytes: int = 4096, stack_distance: bool = True, sample: float | None = None
) -> str: ...
def convert_trace(
    trace: TraceReader,
    path: str | PathLike[str],
    format: str,
    *,
    options: list[tuple[str, str]] = [],
    drop_inexpressible: bool = False,
    requests: tuple[int, int] | None = None,
    time_ns: tuple[int, int] | None = None,
    bytes: tuple[int, int] | None = None,
    ops: list[int] | None = None,
    volumes: list[int] | None = None,
    rebase_time: bool = False,
) -> dict[str, Any]: ...
def theory_write_amplification(
    model: str, columns: dict[str, NDArray[np.float64]], policy: object
) -> NDArray[np.float64]: ...
def theory_solve_spare(model: str, columns: dict[str, NDArray[np.float64]], policy: object) -> NDArray[np.float64]: ...
def theory_steady_state(structure: str, question: dict[str, Any], policy: object) -> dict[str, Any]: ...
def theory_transient(
    structure: str, from_: str, drive_writes: float, points: int, question: dict[str, Any], policy: object
) -> dict[str, NDArray[np.float64]]: ...
def theory_many_classes(
    structure: str, question: dict[str, Any], policy: object
) -> tuple[float, list[tuple[int, dict[str, Any]]]]: ...
def theory_of_scenario(scenario: str) -> str: ...
def theory_zipf_classes(exponent: float, logical_pages: int) -> list[NDArray[np.float64]]: ...

@final
class Blocks:
    """Blocks of a layer, for a victim policy; usable only during the call to ``select``.

    Every array is a new copy with one value per block. Candidates are full, closed blocks; erased, open and bad
    blocks are not candidates.
    """

    def __len__(self) -> int:
        """Number of all blocks, including those that are not candidates."""

    @property
    def pages_per_block(self) -> int:
        """Number of pages per block."""

    @property
    def logical_pages(self) -> int:
        """Number of logical pages of the layer."""

    @property
    def now(self) -> int:
        """Number of host pages written to the layer so far, which is the clock of ``age``."""

    @property
    def valid_pages(self) -> NDArray[np.uint32]:
        """Number of valid pages of each block."""

    @property
    def candidates(self) -> NDArray[np.bool_]:
        """True for each block that may be selected."""

    @property
    def age(self) -> NDArray[np.uint64]:
        """Number of host pages written since each block was closed."""

    @property
    def erases(self) -> NDArray[np.uint32]:
        """Erase count of each block."""

@final
class PageContext:
    """Context of a page that is about to be written or moved, for a placement."""

    @property
    def page(self) -> int:
        """Number of the page."""

    @property
    def moved(self) -> bool:
        """True if the page is moved, false if the host writes it."""

    @property
    def cause(self) -> str:
        """Reason for the write: ``"host"``, ``"cleaning"``, ``"wear_levelling"`` and so on."""

    @property
    def now(self) -> int:
        """Number of host pages written to the layer before this page."""

    @property
    def from_stream(self) -> int | None:
        """Stream of the block from which the page is moved; None for a host write."""

    @property
    def hint(self) -> int:
        """Stream hint of the host; 0 if there is none."""

@final
class Store:
    """Sizes of the layer for which a policy is built, passed to its ``begin``."""

    @property
    def blocks(self) -> int:
        """Number of erase blocks."""

    @property
    def pages_per_block(self) -> int:
        """Number of pages per block."""

    @property
    def logical_pages(self) -> int:
        """Number of logical pages that the layer offers."""

    @property
    def seed(self) -> int:
        """Seed of the scenario, for generators of random numbers; each replica of a sweep has a different seed."""

@final
class ResultStore:
    def __new__(cls, path: str | PathLike[str]) -> ResultStore: ...
    def complaints(self) -> list[str]: ...
    def expect(self, settings: list[str]) -> None: ...
    def find(self, scenario: str) -> str | None: ...
    def keep(self, settings: str, replica: int, result: str) -> None: ...
    def flush(self) -> None: ...

@final
class TraceReader:
    def __new__(
        cls,
        path: str | PathLike[str],
        format: str | None = None,
        *,
        skip_bad: bool = False,
        volumes: list[int] | None = None,
        options: list[tuple[str, str]] = [],
        batch_requests: int = 65536,
    ) -> TraceReader: ...
    def __iter__(self) -> Iterator[dict[str, Any]]: ...
    def __next__(self) -> dict[str, Any]: ...
    @property
    def format(self) -> str: ...
    @property
    def bytes_read(self) -> int: ...
    @property
    def total_bytes(self) -> int | None: ...
    @property
    def skipped(self) -> int: ...
    @property
    def skipped_messages(self) -> list[str]: ...
    @property
    def volume_names(self) -> list[tuple[int, str]]: ...

@final
class LiveDevice:
    def __new__(cls, scenario: str, max_bytes: int) -> LiveDevice: ...
    @property
    def logical_pages(self) -> int: ...
    @property
    def page_bytes(self) -> int: ...
    @property
    def scenario(self) -> str: ...
    def write(self, page: int, data: bytes) -> None: ...
    def read(self, page: int, count: int = 1) -> bytes: ...
    def trim(self, page: int, count: int = 1) -> None: ...
    def flush(self) -> None: ...
    def counters(self) -> str: ...
    def check(self) -> None: ...
