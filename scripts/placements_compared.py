#!/usr/bin/env python3
"""Hold the placements that know nothing of the future against each other.

    scripts/placements_compared.py [--wearwell PROGRAM] [--traces FOLDER] [--load NAME ...] [--placement NAME ...]

Runs a sweep of placements and victim policies for each load and prints a table: write amplification
under the better of greedy and cost_benefit (age_chain under stream_queues besides), and the first letter
of that victim policy. At the end stand the geometric means over the loads that `learnt_lifetimes` was
chosen on and over those that were held out.

Loads are synthetic ones in the steady state, and one pass through each trace after the drive was filled,
so that nothing that a placement learns comes again as it was in a pass before. The trace of this
repository is always there; the others are those that the folder holds, by the names of the files below.
"""

import argparse
import csv
import io
import math
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent
SHIPPED = HERE / "traces" / "rocksdb-pgbench-ext4.blkparse.zst"

PLACEMENTS = [
    "single",
    "double",
    "write_count",
    "bloom",
    "age_classes",
    "promotion",
    "fading_average",
    "interval_clusters",
    "chunk_frequency",
    "multi_queue",
    "extents",
    "multi_log",
    "age_chain",
    "learnt_lifetimes",
]
VICTIMS = ["greedy", "cost_benefit"]

SYNTHETIC = {
    "zipf": 'kind = "zipf"\nexponent = 0.99\nscatter = true',
    "hot_cold": 'kind = "hot_cold"\nhot_writes = 0.9\nhot_space = 0.1\nscatter = true',
    "mixed": 'kind = "mixed"\nparts = [{ weight = 3, space = 0.25, workload = { kind = "sequential", request_pages = 4 } }, '
    '{ weight = 1, space = 0.75, workload = { kind = "zipf", exponent = 1.2 } }]',
}

# Of each trace: its file, how it is read, pages of a block, and whether learnt_lifetimes was chosen on it.
TRACES = {
    "alibaba": ("alibaba-derived.csv.zst", 'format = "alibaba"', 32, True),
    "prn_0": (
        "msr-prn_0-offsets.csv.zst",
        'skip_bad = true\noptions = { columns = "time=1:filetime,op=2,offset=3:bytes,size==4096" }',
        32,
        True,
    ),
    "mysql": ("blkreplay-linux-mysql.load.zst", 'format = "blkreplay"', 64, True),
    "financial1": (
        "flashsim-financial1.trace.zst",
        'options = { columns = "time=1:ms,op=5:0=write/1=read,offset=3:512,size=4:pages" }',
        32,
        True,
    ),
    "prxy_0": ("msr-prxy_0.csv.zst", 'format = "msr"', 8, False),
    "hm_0": (
        "msr-hm_0-slice.trace.zst",
        'options = { columns = "time=1:ms,op=5:0=write/1=read,offset=3:bytes,size=4:bytes" }',
        16,
        False,
    ),
    "web server": ("blkreplay-linux-webserver-2.load.zst", 'format = "blkreplay"', 64, False),
    "cloudphysics": ("cloudphysics.csv.zst", 'format = "cloudphysics"', 128, False),
    "databases": (SHIPPED.name, 'format = "blkparse"\nskip_bad = true', 64, False),
}


def scenarios(folder):
    """Name, scenario and whether the load was chosen on, of each load that is there."""
    for name, workload in SYNTHETIC.items():
        device = "blocks_per_plane = 2000\npages_per_block = 32\nspare_factor = 0.15"
        measure = "warm_up = 8.0\ndrive_writes = 4.0"
        yield name, f"[device]\n{device}\n[workload]\n{workload}\n[measure]\n{measure}\n", True
    for name, (file, reading, pages, chosen) in TRACES.items():
        path = SHIPPED if file == SHIPPED.name else folder and folder / file
        if path and path.is_file():
            device = f"pages_per_block = {pages}\nspare_factor = 0.15\nfit = true"
            trace = f'path = "{path}"\naddress = "compact"\nvolume_rule = "side_by_side"\n{reading}'
            measure = "warm_up = 0.0\ndrive_writes = 0.1\npasses = 1"
            yield name, f"[device]\n{device}\n[trace]\n{trace}\n[measure]\n{measure}\n", chosen


def swept(program, scenario, placements, victims):
    """Write amplification by placement and victim policy."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "load.toml"
        file.write_text(scenario)
        command = [program, "sweep", str(file), "--format", "csv"]
        command += ["--vary", "ftl.placement=" + ",".join(placements), "--vary", "ftl.victim=" + ",".join(victims)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    rows = csv.DictReader(io.StringIO(done.stdout))
    return {(row["ftl.placement"], row["ftl.victim"]): float(row["write_amplification"]) for row in rows}


def best_of(program, scenario, placements):
    """The least write amplification of each placement, and under which victim policy."""
    found = swept(program, scenario, placements, VICTIMS)
    if "age_chain" in placements:
        found |= swept(program, scenario, ["age_chain"], ["stream_queues"])
    return {name: min((value, victim) for (of, victim), value in found.items() if of == name) for name in placements}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wearwell", default="wearwell", help="the program")
    parser.add_argument("--traces", type=pathlib.Path, help="a folder of traces")
    parser.add_argument("--load", nargs="*", help="these loads only")
    parser.add_argument("--placement", nargs="*", default=PLACEMENTS, help="these placements only")
    given = parser.parse_args()
    print("| load | " + " | ".join(f"`{name}`" for name in given.placement) + " |")
    print("|---|" + "---:|" * len(given.placement))
    means = {True: [], False: []}
    for name, scenario, chosen in scenarios(given.traces):
        if given.load and name not in given.load:
            continue
        best = best_of(given.wearwell, scenario, given.placement)
        means[chosen].append([value for value, _ in best.values()])
        cells = [f"{value:.3f} {victim[0]}" for value, victim in best.values()]
        print(f"| {name}{'' if chosen else ' (held out)'} | " + " | ".join(cells) + " |", flush=True)
    for chosen, called in [(True, "mean, chosen on"), (False, "mean, held out")]:
        if means[chosen]:
            mean = [math.prod(column) ** (1 / len(column)) for column in zip(*means[chosen], strict=True)]
            print(f"| {called} | " + " | ".join(f"{value:.3f}" for value in mean) + " |")


if __name__ == "__main__":
    main()
