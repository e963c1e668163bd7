#!/usr/bin/env python3
"""Change the engine in small ways, one at a time, and count the changes that no unit test notices.

Runs cargo-mutants room by room (a room is a module of the engine), each with the unit tests of that room alone, and prints
for each file how many of the viable mutants were caught. Mutants that do not compile are not counted; those that make a test
run for ever count as caught. Ends with an error if fewer than 85 in a hundred were.

Survivors are listed by name; docs/mutants.md says of those that were looked at why they live.
"""

import argparse
import json
import pathlib
import subprocess
import sys
from collections import Counter, defaultdict

ROOMS = [
    "counters", "dedup", "ftl", "layer", "log", "mapping", "nand", "placement", "pool", "timing", "validity", "victim",
    "wear",
]
ENGINE = "crates/engine/src"
LEAST = 0.85
VERDICTS = {"CaughtMutant": "caught", "Timeout": "caught", "MissedMutant": "missed"}


def run(room, options):
    """Examines a room; what became of each of its mutants: file, name, verdict."""
    output = pathlib.Path("target/mutants-out") / room
    output.mkdir(parents=True, exist_ok=True)
    command = ["cargo", "mutants", "--package", "wearwell-engine", "--output", str(output), "--no-shuffle"]
    for file in options.file or [f"{room}.rs", f"{room}/**/*.rs"]:
        command += ["--file", f"{ENGINE}/{file}"]
    if options.shard:
        command += ["--shard", options.shard, "--sharding", "round-robin"]
    command += ["--in-place"] if options.in_place else ["--jobs", str(options.jobs)]
    code = subprocess.run(command + ["--", f"{room}::"], check=False).returncode
    # 2: some were missed; 3: some took too long.
    if code not in (0, 2, 3):
        sys.exit(f"cargo mutants ended with {code} in {room}")
    outcomes = json.loads((output / "mutants.out" / "outcomes.json").read_text())["outcomes"]
    for outcome in outcomes:
        if outcome["scenario"] != "Baseline" and outcome["summary"] in VERDICTS:
            mutant = outcome["scenario"]["Mutant"]
            yield mutant["file"], mutant["name"], VERDICTS[outcome["summary"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"by default all: {', '.join(ROOMS)}")
    parser.add_argument("--file", action="append", help="only this file of the room, such as dedup/tables.rs")
    parser.add_argument("--shard", help="every n-th mutant from the k-th on, as k/n, from 0/n on")
    parser.add_argument("--jobs", type=int, default=1, help="mutants examined at a time")
    parser.add_argument("--in-place", action="store_true", help="change this checkout and not a copy of it")
    options = parser.parse_args()
    if unknown := set(options.rooms) - set(ROOMS):
        parser.error(f"no room {', '.join(sorted(unknown))}; there are {', '.join(ROOMS)}")
    files, survivors = defaultdict(Counter), []
    for room in options.rooms or ROOMS:
        for file, name, verdict in run(room, options):
            files[file][verdict] += 1
            if verdict == "missed":
                survivors.append(name)
    print("\n".join(survivors))
    total = sum(files.values(), Counter())
    for file, counts in [*sorted(files.items()), ("all", total)]:
        viable = counts.total()
        print(f"{file}: {counts['caught']} of {viable} caught, {100 * counts['caught'] / max(viable, 1):.0f} %")
    return 0 if total["caught"] >= LEAST * total.total() else 1


if __name__ == "__main__":
    sys.exit(main())
