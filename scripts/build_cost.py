#!/usr/bin/env python3
"""Measure the cost of a build, in seconds of processor time and of wall-clock time.

    scripts/build_cost.py changes [--release]     one line changed in a victim policy, a trace format, the theory
    scripts/build_cost.py fresh [COMMIT] [--target demo --target test]

`changes` works in this tree, and restores the files that it changes. Before each change, everything is built, so that
only the cost of the change is measured: until the unit tests of the crate have run, and until the command line is
built. With --release, the release build of the command line is measured, too.

`fresh` clones COMMIT (by default the last one) into a temporary folder and makes the targets there, one after the
other, without earlier builds; crates and wheels come from the caches of cargo and pip.

Processor time is that of all started processes, including time in the system. Unlike wall-clock time, it depends
little on other work of the machine.
"""

import argparse
import contextlib
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Changes, each with a file, its crate, and the function at whose beginning a line is inserted.
CHANGES = {
    "a victim policy": ("crates/engine/src/victim/greedy.rs", "wearwell-engine", "fn push("),
    "a trace format": ("crates/trace/src/formats/msr.rs", "wearwell-trace", "fn line("),
    "the theory": ("crates/theory/src/selection/d_choices.rs", "wearwell-theory", "fn hazard("),
}

COMMAND_LINE = ["cargo", "build", "--package", "wearwell"]


class Failure(Exception):
    pass


def measure_time(command, folder):
    """Return the seconds of processor time and of wall-clock time that the command took."""

    def cpu_seconds():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    print("+", " ".join(command), file=sys.stderr, flush=True)
    processors, clock = cpu_seconds(), time.monotonic()
    done = subprocess.run(command, cwd=folder, stdout=sys.stderr)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}: exit status {done.returncode}")
    return cpu_seconds() - processors, time.monotonic() - clock


@contextlib.contextmanager
def changed(path, function):
    """Insert a line at the beginning of the function, and restore the file at the end."""
    before = path.read_text()
    line = next((line for line in before.splitlines() if function in line and line.endswith("{")), None)
    if line is None:
        raise Failure(f"{path} has no line with {function!r}")
    # The number is different each time, so that no earlier build is reused.
    number = time.time_ns() % 1_000_000_007
    path.write_text(before.replace(line, f"{line}\nstd::hint::black_box({number});", 1))
    try:
        yield
    finally:
        path.write_text(before)


def table(head, rows):
    for row in [head, ["---"] + ["---:"] * (len(head) - 1), *rows]:
        print("|", " | ".join(row), "|")


def seconds(measured):
    processors, clock = measured
    return [f"{processors:.0f} s", f"{clock:.0f} s"]


def changes(options):
    rows = []
    for name, (path, package, function) in CHANGES.items():
        tests = ["cargo", "test", "--package", package, "--lib"]
        targets = [("its unit tests have run", tests), ("the command line is built", COMMAND_LINE)]
        if options.release:
            targets.append(("the command line is built for release", [*COMMAND_LINE, "--release"]))
        for _, command in targets:
            measure_time(command, ROOT)
        with changed(ROOT / path, function):
            for until, command in targets:
                rows.append([f"one line of {name}, until {until}", *seconds(measure_time(command, ROOT))])
    table(["", "processors", "clock"], rows)


def fresh(options):
    with tempfile.TemporaryDirectory(prefix="wearwell-") as folder:
        tree = pathlib.Path(folder) / "wearwell"
        measure_time(["git", "clone", "--quiet", "--no-checkout", str(ROOT), str(tree)], ROOT)
        measure_time(["git", "checkout", "--quiet", options.commit], tree)
        targets = options.target or ["demo", "test"]
        rows = [[f"make {target}", *seconds(measure_time(["make", target], tree))] for target in targets]
    table(["", "processors", "clock"], rows)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("changes")
    command.add_argument("--release", action="store_true")
    command.set_defaults(run=changes)
    command = commands.add_parser("fresh")
    command.add_argument("commit", nargs="?", default="HEAD")
    command.add_argument("--target", action="append")
    command.set_defaults(run=fresh)
    return parser.parse_args()


if __name__ == "__main__":
    options = arguments()
    try:
        options.run(options)
    except Failure as failure:
        sys.exit(f"error: {failure}")
