"""SDCSIM (RVerschoren/SDCSIM): d-choices cleaning, two write frontiers, hot and cold data or a trace of pages.

SDCSIM writes its counts into files: the number of victims by number of valid pages, which gives page writes and write
amplification. Its trace mode prints an array `dist` that was never allocated, and often crashes there before the
counts are written. Without that line, it ends with exit status 2 ("DEALLOCATE unallocated") after its files are
complete.
"""

import csv
import math
import pathlib
import signal

from peers.common import PAGE_BYTES, PageRequest, PeerError, Run, find, run_wearwell, timed, write_mqsim_trace

NAME = "SDCSIM"
VARIABLE = "WEARWELL_SDCSIM"
HOW_TO_GET = (
    "git clone https://github.com/RVerschoren/SDCSIM, install gfortran, delete in sim.f90 the line `call PrintToFile (distfilename, ...` of the "
    "subroutine SSDDWFTrace, run `make FFLAGS='-O2 -fopenmp -std=f2008 -fall-intrinsics'`, "
    f"and give the folder by --sdcsim, by {VARIABLE} or on PATH"
)
PROGRAMS = {"hot and cold data": "SimDWF.exe", "a trace": "SimDWFTrace.exe"}
CASES = tuple(PROGRAMS)

PAGES_PER_BLOCK, CHOICES, LOAD = 32, 10, 0.90
HOT_SPACE, HOT_WRITES = 0.1, 0.9
BLOCKS, ERASES = 10_000, 200
# A trace is replayed until a block was erased this number of times.
TRACE_ERASES = 200


def locate(option: pathlib.Path | None) -> pathlib.Path | None:
    """Return the folder with SDCSIM's programs."""
    program = find(option, VARIABLE, list(PROGRAMS.values()))
    return program.parent if program else None


def victims(folder: pathlib.Path) -> dict[int, int]:
    """Return the number of victims by number of valid pages."""
    paths = list(folder.glob("*-victim.*"))
    if len(paths) != 1:
        raise PeerError(f"it crashed before its counts were written; build it anew: {HOW_TO_GET}")
    with paths[0].open(encoding="ascii", newline="") as file:
        return {int(valid): int(count) for valid, count in csv.reader(file)}


def measured(seconds: float, found: dict[int, int]) -> Run:
    """Return the measurements of a run: each victim is filled again, with its valid pages and other pages."""
    page_writes = PAGES_PER_BLOCK * sum(found.values())
    host_writes = page_writes - sum(valid * count for valid, count in found.items())
    return Run(seconds, page_writes, host_writes, page_writes / host_writes)


def run_peer(folder_of_programs: pathlib.Path, case: str, folder: pathlib.Path, requests: list[PageRequest]) -> Run:
    """Run SDCSIM."""
    for old in folder.glob("dwf*.csv"):
        old.unlink()
    program = folder_of_programs / PROGRAMS[case]
    if case == "a trace":
        writes = sum(not request.is_read for request in requests)
        arguments = [PAGES_PER_BLOCK, CHOICES, LOAD, HOT_SPACE, 1, 1, TRACE_ERASES, writes, "pages.csv", "F"]
        with (folder / "pages.csv").open("w", encoding="ascii") as file:
            file.writelines(f"{request.page + 1},1\n" for request in requests if not request.is_read)
    else:
        arguments = [PAGES_PER_BLOCK, CHOICES, LOAD, HOT_SPACE, HOT_WRITES, 1, 1, BLOCKS, ERASES, "T"]
    _, seconds = timed([program, *map(str, arguments)], folder, allowed=(0, 2, -signal.SIGSEGV) if case == "a trace" else (0,))
    return measured(seconds, victims(folder))


def scenario(case: str, requests: list[PageRequest], drive_writes: float) -> str:
    """Return the same drive and writes as a scenario of Wearwell."""
    if case == "a trace":
        pages = 1 + max(request.page for request in requests)
        size = f'capacity = "{pages * PAGE_BYTES} B"\nblocks_per_plane = {math.ceil(pages / (PAGES_PER_BLOCK * LOAD))}'
        workload = "[trace]\npath = 'writes.trace'\nformat = 'mqsim'\n[precondition]\nfill = 'none'"
    else:
        size = f"blocks_per_plane = {BLOCKS}\nspare_factor = {1 - LOAD:.2f}"
        workload = f"[workload]\nkind = 'hot_cold'\nhot_writes = {HOT_WRITES}\nhot_space = {HOT_SPACE}"
    return "\n".join(
        [
            f"[device]\n{size}\npages_per_block = {PAGES_PER_BLOCK}\npage_size = {PAGE_BYTES}",
            f"[ftl]\nplacement = 'double'\nreclaim = 'in_place'\nvictim = {{ policy = 'd_choices', choices = {CHOICES} }}",
            workload,
            f"[measure]\nwarm_up = {drive_writes / 6:.3f}\ndrive_writes = {drive_writes:.3f}\nwindow = {drive_writes / 20:.3f}",
            "",
        ]
    )


def run_wearwell_case(program: str, case: str, folder: pathlib.Path, requests: list[PageRequest], theirs: Run) -> Run:
    """Run Wearwell, with about as many host writes as SDCSIM executed."""
    pages = LOAD * BLOCKS * PAGES_PER_BLOCK
    if case == "a trace":
        pages = 1 + max(request.page for request in requests)
        write_mqsim_trace(folder / "writes.trace", (request for request in requests if not request.is_read))
    _, run = run_wearwell(program, scenario(case, requests, theirs.requests / pages), folder)
    return run
