"""Code that the comparisons with all peers share: runs with their CPU time, results of Wearwell, traces as page
requests."""

import csv
import dataclasses
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import typing

PAGE_BYTES = 4096
SECTOR = 512


class PeerError(Exception):
    """A program failed, or a case is impossible."""


@dataclasses.dataclass
class Run:
    """Measurements of one run of one simulator; page writes are those of the host and of cleaning."""

    cpu_seconds: float
    page_writes: float
    requests: float
    write_amplification: float | None
    responses: dict[str, float] = dataclasses.field(default_factory=dict)

    def ns_per_unit(self) -> float:
        """Return the CPU time per page write, or per request if no page is written."""
        return self.cpu_seconds * 1e9 / (self.page_writes or self.requests)


@dataclasses.dataclass
class Comparison:
    """Runs of a peer and of Wearwell in turns, on the same workload."""

    peer: str
    case: str
    theirs: list[Run]
    ours: list[Run]

    def ratios(self) -> list[float]:
        """Return the speed of Wearwell relative to the peer for each pair, in ascending order."""
        return sorted(theirs.ns_per_unit() / ours.ns_per_unit() for theirs, ours in zip(self.theirs, self.ours, strict=True))


@dataclasses.dataclass
class PageRequest:
    """A read or write of one page."""

    time_ns: int
    page: int
    is_read: bool


def median_run(runs: list[Run]) -> Run:
    """Return the run with the median time per unit (the lower of two)."""
    middle = statistics.median_low([run.ns_per_unit() for run in runs])
    return next(run for run in runs if run.ns_per_unit() == middle)


def timed(command: list[str | pathlib.Path], folder: pathlib.Path, allowed: tuple[int, ...] = (0,), **options: typing.Any) -> tuple[str, float]:
    """Run a command; return its standard output and its CPU time (user and system)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in allowed:
        raise PeerError(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout[-500:]}{done.stderr[-2000:]}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def find(option: pathlib.Path | None, variable: str, names: list[str]) -> pathlib.Path | None:
    """Return the program that the option, the environment variable or PATH names; a folder means a program in it."""
    given = option or (pathlib.Path(os.environ[variable]) if os.environ.get(variable) else None)
    if given is None:
        found = next(filter(None, map(shutil.which, names)), None)
        return pathlib.Path(found).resolve() if found else None
    for candidate in [given, *(given / name for name in names)]:
        if candidate.is_file():
            return candidate.resolve()
    raise PeerError(f"{given} is neither a program nor a folder with {' or '.join(names)}")


def run_wearwell(program: str, scenario: str, folder: pathlib.Path) -> tuple[dict[str, typing.Any], Run]:
    """Run a scenario; return its result and the measurements of the whole run, including the warm-up."""
    path = folder / "scenario.toml"
    path.write_text(scenario, encoding="utf-8")
    text, seconds = timed([program, "run", path, "--quiet", "--format", "json"], folder)
    result = json.loads(text)
    performance = result["performance"]
    page_writes = performance["page_writes_per_second"] * performance["seconds"]
    return result, Run(seconds, page_writes, 0, result["write_amplification"])


def page_requests(program: str, trace: pathlib.Path, trace_format: str | None, folder: pathlib.Path) -> list[PageRequest]:
    """Read any trace, page by page. Pages are numbered in the order of their first write; earlier reads are
    omitted."""
    converted = folder / "pages.csv"
    format_option = ["--trace-format", trace_format] if trace_format else []
    timed([program, "trace", "convert", trace.resolve(), converted, "--to", "wearwell-csv", "--drop-inexpressible", *format_option], folder)
    numbers: dict[tuple[str, int], int] = {}
    requests = []
    with converted.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["op"] not in ("R", "W"):
                continue
            first, length = int(row["offset_bytes"]), int(row["length_bytes"])
            for page in range(first // PAGE_BYTES, (first + length + PAGE_BYTES - 1) // PAGE_BYTES):
                key = (row["volume"], page)
                if row["op"] == "W":
                    numbers.setdefault(key, len(numbers))
                elif key not in numbers:
                    continue
                requests.append(PageRequest(int(row["time_ns"]), numbers[key], row["op"] == "R"))
    converted.unlink()
    if not numbers:
        raise PeerError(f"{trace} writes nothing")
    return requests


def write_mqsim_trace(path: pathlib.Path, requests: typing.Iterable[PageRequest]) -> None:
    """Write page requests in MQSim's text format, which Wearwell reads, too."""
    sectors = PAGE_BYTES // SECTOR
    with path.open("w", encoding="ascii") as file:
        for request in requests:
            file.write(f"{request.time_ns} 0 {request.page * sectors} {sectors} {int(request.is_read)}\n")
