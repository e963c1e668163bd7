"""Programs that write in a guest while the server of its disk is killed. They compare files with acknowledged steps,
and continue.

    writer.py ROOT SEED STEPS compare|go on

STEPS is the last line that an earlier process printed, or `-`. Each line is visible outside of the guest once it is
printed: `step N,N,N`, the numbers of steps of each program that have returned; `lost WHAT`.
"""

import os
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "posix"))
sys.dont_write_bytecode = True

import kills  # noqa: E402
from mounted import Failure  # noqa: E402

KINDS = (kills.Log, kills.Overwrites)


def programs(root, seed, steps):
    """Return the programs, with their models after the acknowledged steps."""
    made = []
    for kind, done in zip(KINDS, steps, strict=True):
        directory = os.path.join(root, kind.__name__)
        os.makedirs(directory, exist_ok=True)
        program = kind(directory, seed, True)
        for step in range(done):
            program.model(step)
        program.first = done
        made.append(program)
    return made


def main(root, seed, output, what):
    """Compare, and continue until the disk no longer exists."""
    steps = [0] * len(KINDS) if output == "-" else [int(step) for step in output.split(",")]
    working = programs(root, int(seed), steps)
    if output != "-":
        try:
            for program, step in zip(working, steps, strict=True):
                program.compare(step)
        except Failure as why:
            print(f"lost {why}", flush=True)
            return
    if what == "compare":
        print("live: compared", flush=True)
        return
    while True:
        for place, program in enumerate(working):
            program.take(steps[place])
            program.model(steps[place])
            steps[place] += 1
            print(f"step {','.join(str(step) for step in steps)}", flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:5])
    except OSError as error:
        if error.errno not in kills.LOST:
            raise
