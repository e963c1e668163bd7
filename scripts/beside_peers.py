#!/usr/bin/env python3
"""Run other simulators and Wearwell on the same workload in turns, and compare speed and write amplification.

    scripts/beside_peers.py [--sdcsim PATH] [--mqsim PATH] [--only PEER] [--case NAME ...] [--runs N] [--responses]
                            [--trace FILE [--trace-format NAME]] [--requests N] [--wearwell PROGRAM] [--folder FOLDER]
                            [--markdown FILE] [--json FILE]

The peers are not part of this project, and neither are their files. Each peer is looked for by its option, then by
the environment variables WEARWELL_SDCSIM and WEARWELL_MQSIM, then in PATH. A missing peer is reported as NOT RUN,
with instructions to get it.

SDCSIM draws hot and cold data, or replays a trace of page writes. MQSim reads and writes at random, or replays a
trace. The trace is the same file for both programs: the file given by --trace, in any format that
`wearwell trace convert` reads, or else a generated one. scripts/peers writes the settings of Wearwell as scenarios.

For each case, the table has the CPU time (user and system, whole programs) per page write, by the host or by
cleaning, in the median run. It also has the speed relative to the peer, as the median of the pairs and their range.
Write amplification is that of the whole run in MQSim's cases, and of the measured part in SDCSIM's. Cases that only
read count requests. --responses adds rates and response times of the drives of MQSim and Wearwell, with another run
of MQSim for each case.
"""

import argparse
import dataclasses
import json
import pathlib
import statistics
import sys
import tempfile
import typing

from peers import mqsim, sdcsim
from peers.common import Comparison, PageRequest, PeerError, median_run, page_requests, timed

HERE = pathlib.Path(__file__).resolve().parent.parent
PEERS: dict[str, typing.Any] = {"sdcsim": sdcsim, "mqsim": mqsim}
# Number of requests in a generated trace.
TRACE_REQUESTS = 2_000_000


def compare_sdcsim(program: pathlib.Path, case: str, options: argparse.Namespace, folder: pathlib.Path, trace: list[PageRequest]) -> Comparison:
    """Run SDCSIM and Wearwell in turns."""
    found = Comparison(sdcsim.NAME, case, [], [])
    for _ in range(options.runs):
        found.theirs.append(sdcsim.run_peer(program, case, folder, trace))
        found.ours.append(sdcsim.run_wearwell_case(options.wearwell, case, folder, trace, found.theirs[-1]))
    return found


def compare_mqsim(program: pathlib.Path, case: str, options: argparse.Namespace, folder: pathlib.Path, trace: list[PageRequest]) -> Comparison:
    """Run MQSim and Wearwell in turns; responses are from the first pair, since all runs have the same ones."""
    found = Comparison(mqsim.NAME, case, [], [])
    count, writes = mqsim.prepare(case, trace, options.requests, folder)
    for turn in range(options.runs):
        responses = options.responses and turn == 0
        found.theirs.append(mqsim.run_peer(program, case, count, folder, responses))
        found.ours.append(mqsim.run_wearwell_case(options.wearwell, case, count, writes, folder, responses))
    return found


def row(found: Comparison) -> str:
    """Return the table row of a comparison."""
    theirs, ours = median_run(found.theirs), median_run(found.ours)
    ratios = found.ratios()
    unit = "page write" if ours.page_writes else "request"
    amplification = [f"{run.write_amplification:.3f}" if run.write_amplification else "–" for run in (theirs, ours)]
    return (
        f"| {found.peer}: {found.case} | {unit} | {theirs.ns_per_unit():,.1f} | {ours.ns_per_unit():,.1f} "
        f"| {statistics.median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f}) | {amplification[0]} | {amplification[1]} |"
    )


HEADER = (
    "| case | unit | peer, CPU ns a unit | Wearwell | times as fast, median (range) | WA, peer | WA, Wearwell |\n|---|---|---:|---:|---:|---:|---:|"
)


def response_table(comparisons: list[Comparison]) -> str:
    """Return rates and response times of the cases that have them, as a table."""
    lines = ["| case | | MQSim | Wearwell | ratio |", "|---|---|---:|---:|---:|"]
    for found in comparisons:
        theirs, ours = found.theirs[0].responses, found.ours[0].responses
        for title, key in mqsim.ROWS.items():
            if key in theirs and key in ours:
                lines.append(f"| {found.case} | {title} | {theirs[key]:,.0f} | {ours[key]:,.0f} | {ours[key] / theirs[key]:.2f} |")
    return "\n".join(lines)


def trace_of(options: argparse.Namespace, folder: pathlib.Path) -> list[PageRequest]:
    """Return the page requests of the given trace, or of a generated one."""
    trace, trace_format = options.trace, options.trace_format
    if trace is None:
        trace, trace_format = folder / "generated.csv", "wearwell-csv"
        law = ["--kind", "zipf", "--set", "exponent=0.9", "--set", "scatter=true", "--capacity", "1 GiB", "--rate", "4000"]
        timed(
            [options.wearwell, "trace", "generate", trace, "--to", trace_format, "--requests", str(options.requests or TRACE_REQUESTS), *law], folder
        )
    return page_requests(options.wearwell, trace, trace_format, folder)


def cases_of(peer: str, options: argparse.Namespace) -> list[str]:
    """Return the cases of a peer that the options select."""
    return [case for case in PEERS[peer].CASES if not options.case or case in options.case]


def run_all(options: argparse.Namespace, folder: pathlib.Path) -> list[Comparison]:
    """Compare all cases with all peers that are installed, and print each row when it is complete."""
    print(HEADER, flush=True)
    comparisons: list[Comparison] = []
    trace: list[PageRequest] = []
    for peer, compare in (("sdcsim", compare_sdcsim), ("mqsim", compare_mqsim)):
        if options.only not in (None, peer):
            continue
        program = PEERS[peer].locate(getattr(options, peer))
        if program is None:
            print(f"NOT RUN: {PEERS[peer].NAME} was not found; {PEERS[peer].HOW_TO_GET}", file=sys.stderr)
            continue
        for case in cases_of(peer, options):
            if case == "a trace" and not trace:
                trace = trace_of(options, folder)
            try:
                comparisons.append(compare(program, case, options, folder, trace))
            except PeerError as error:
                print(f"NOT RUN: {PEERS[peer].NAME}, {case}: {error}", file=sys.stderr)
                continue
            print(row(comparisons[-1]), flush=True)
    return comparisons


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for peer, module in PEERS.items():
        parser.add_argument(f"--{peer}", type=pathlib.Path, metavar="PATH", help=f"program of {module.NAME}, or the folder that it was built in")
    parser.add_argument("--only", choices=PEERS, help="this peer only")
    cases = dict.fromkeys(case for module in PEERS.values() for case in module.CASES)
    parser.add_argument("--case", action="append", choices=list(cases), metavar="NAME", help=f"this case only; may be repeated: {'; '.join(cases)}")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs of each program in each case (default: 3)")
    parser.add_argument("--responses", action="store_true", help="also response times of MQSim's drive and ours")
    parser.add_argument("--trace", type=pathlib.Path, metavar="FILE", help="trace of the cases `a trace`; generated unless given")
    parser.add_argument("--trace-format", metavar="NAME", help="its format, where the content leaves doubts")
    parser.add_argument(
        "--requests", type=int, metavar="N", help="requests of MQSim's cases and of the generated trace, in place of their own numbers"
    )
    parser.add_argument(
        "--wearwell", default=str(HERE / "target" / "release" / "wearwell"), metavar="PROGRAM", help="the program (default: %(default)s)"
    )
    parser.add_argument("--folder", type=pathlib.Path, help="keep the files of the runs there")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE", help="write the tables there")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the numbers of all runs there")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    if options.case and not any(cases_of(peer, options) for peer in PEERS if options.only in (None, peer)):
        parser.error(f"{options.only} has no case {options.case[0]!r}")
    # All programs run in the folder that contains their input files.
    if "/" in options.wearwell:
        options.wearwell = str(pathlib.Path(options.wearwell).absolute())
    return options


def main() -> int:
    """Run the command line; return the exit status."""
    options = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or pathlib.Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        comparisons = run_all(options, folder)
    text = "\n".join([HEADER, *map(row, comparisons)]) + "\n"
    if any(found.theirs[0].responses for found in comparisons):
        print("\n" + response_table(comparisons))
        text += "\n" + response_table(comparisons) + "\n"
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps([dataclasses.asdict(found) for found in comparisons], indent=2) + "\n", encoding="utf-8")
    return 0 if comparisons else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (PeerError, OSError) as error:
        sys.exit(f"error: {error}")
