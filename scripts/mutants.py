#!/usr/bin/env python3
"""Change the engine in small ways, one at a time, and count the changes that no unit test notices.

Runs cargo-mutants on one module of the engine after the other, each with the unit tests of that module only. Prints for
each file and each module how many of the viable mutants were caught. Mutants that do not compile are not counted;
mutants that make a test run forever count as caught. Ends with an error if fewer than 85 % were caught in any module.

Survivors are listed by name; docs/mutants.md gives the reasons for those that were examined.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
from collections import Counter, defaultdict

MODULES = [
    "counters", "dedup", "ftl", "layer", "log", "mapping", "nand", "placement", "pool", "timing", "validity", "victim",
    "wear",
]
PACKAGE = "wearwell-engine"
ENGINE = "crates/engine/src"
OUTPUT = pathlib.Path("target/mutants-out")
MIN_CAUGHT_PERCENT = 85
VERDICTS = {"CaughtMutant": "caught", "Timeout": "caught", "MissedMutant": "missed", "Unviable": "unviable"}
# The drawn cases are the same for each mutant and each run. A failed case is enough: it is neither shrunk nor stored,
# and its origin is not printed.
TESTS = {
    "PROPTEST_RNG_SEED": "1",
    "PROPTEST_MAX_SHRINK_ITERS": "0",
    "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
    "RUST_BACKTRACE": "0",
}


def mutants_of(module, files):
    """Return the cargo-mutants command that changes these files of a module, or all its files."""
    chosen = (f"--file={ENGINE}/{file}" for file in files or [f"{module}.rs", f"{module}/**/*.rs"])
    return ["cargo", "mutants", "--package", PACKAGE, *chosen]


def tests_of(module):
    """Return the arguments that select the tests of a module. Submodules of other modules with the same name are
    skipped."""
    others = (f"{other}::{within}{module}::" for other in MODULES for within in ("", "tests::"))
    return [f"{module}::", "--", *(f"--skip={other}" for other in others)]


def size(module):
    """Return the number of mutants of a module."""
    listed = subprocess.run([*mutants_of(module, None), "--list"], check=True, capture_output=True, text=True)
    return len(listed.stdout.splitlines())


def outcomes(output):
    """Yield the file, name and outcome of each mutant of a run."""
    for outcome in json.loads((output / "mutants.out" / "outcomes.json").read_text())["outcomes"]:
        if outcome["scenario"] != "Baseline":
            mutant = outcome["scenario"]["Mutant"]
            yield mutant["file"], mutant["name"], VERDICTS[outcome["summary"]]


def run(module, options):
    """Examine a module; return the folder with the outcomes."""
    output = OUTPUT / module
    command = [*mutants_of(module, options.file), "--no-shuffle"]
    if options.missed:
        survivors = [name for _, name, verdict in outcomes(output) if verdict == "missed"]
        if not survivors:
            return output
        command += [f"--re=^{re.escape(name)}$" for name in survivors]
        output /= "again"
    elif options.shard:
        command += ["--shard", options.shard, "--sharding", "round-robin"]
    command += ["--in-place"] if options.in_place else ["--jobs", str(options.jobs)]
    output.mkdir(parents=True, exist_ok=True)
    command += ["--output", str(output), "--", *tests_of(module)]
    code = subprocess.run(command, check=False, env={**TESTS, **os.environ}).returncode
    # The code is 2 if some mutants were missed, and 3 if some took too long.
    if code not in (0, 2, 3):
        sys.exit(f"cargo mutants ended with {code} in {module}")
    return output


def percent(counts):
    """Return the percentage of the viable mutants that was caught."""
    return 100 * counts["caught"] / max(counts["caught"] + counts["missed"], 1)


def show(outputs):
    """Print survivors, files and modules; return whether enough mutants were caught in each module."""
    rooms, files = {}, defaultdict(Counter)
    for room, output in outputs.items():
        rooms[room] = Counter()
        for file, name, verdict in outcomes(output):
            rooms[room][verdict] += 1
            files[file][verdict] += 1
            if verdict == "missed":
                print(name)
    for file, counts in sorted(files.items()):
        viable = counts["caught"] + counts["missed"]
        print(f"{file}: {counts['caught']} of {viable} caught, {percent(counts):.0f} %")
    print("\n| room | mutants | tried | viable | caught | % |\n|---|--:|--:|--:|--:|--:|")
    for room, counts in rooms.items():
        caught, viable = counts["caught"], counts["caught"] + counts["missed"]
        print(f"| {room} | {size(room)} | {counts.total()} | {viable} | {caught} | {percent(counts):.0f} |")
    return all(percent(counts) >= MIN_CAUGHT_PERCENT or not counts["missed"] for counts in rooms.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"by default all: {', '.join(MODULES)}")
    parser.add_argument("--file", action="append", help="only this file of the room, such as dedup/tables.rs")
    parser.add_argument("--shard", help="every n-th mutant from the k-th on, as k/n, from 0/n on")
    parser.add_argument("--missed", action="store_true", help="only those that the last run of the room missed")
    parser.add_argument("--report", action="store_true", help="run nothing, show what the last runs found")
    parser.add_argument("--jobs", type=int, default=1, help="mutants examined at a time")
    parser.add_argument("--in-place", action="store_true", help="change this checkout and not a copy of it")
    options = parser.parse_args()
    if unknown := set(options.rooms) - set(MODULES):
        parser.error(f"no room {', '.join(sorted(unknown))}; there are {', '.join(MODULES)}")
    examined = [room for room in MODULES if not options.report or (OUTPUT / room / "mutants.out").exists()]
    rooms = options.rooms or examined
    found = {room: OUTPUT / room if options.report else run(room, options) for room in rooms}
    return 0 if show(found) else 1


if __name__ == "__main__":
    sys.exit(main())
