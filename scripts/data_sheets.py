#!/usr/bin/env python3
"""Compare the presets with the data sheets of the drives on which they are modelled.

    scripts/data_sheets.py [--wearwell PROGRAM] [--preset NAME ...] [--shrink N] [--write]

Runs `wearwell` for every figure of a sheet, and prints a table with both values, their ratio, and whether they are
within 30 % of each other. With --write, the table is written to docs/devices.md, between its markers. --shrink
divides the simulated capacity, to try small drives; the results are then not written.

A drive is simulated as its preset describes it. All keys except those in `settings` below have their defaults, and
the capacity is smaller than that of the product, since rates depend on dies and channels, which do not change. Every
write waits for the cleaning and the erases that it needs, which is the slowest behaviour of a drive. A fresh drive
was never written to or, for reads, written once in order; a steady drive was overwritten at random three times. If a
sheet does not state the condition of the drive, it is measured fresh.

Sequential reads and writes have requests of 128 KiB, 32 at a time. Random ones have pages of 4 KiB, with the queue
depth of the sheet; if it states none, with a queue depth that is usual for the interface: 32 on SATA, 128 (4
processes of 32) on NVMe.
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = HERE / "docs" / "devices.md"
MARKERS = ("<!-- data sheets -->\n", "<!-- end of data sheets -->\n")
BAND = 0.3

MICRON = "storage-switzerland.com, 15 November 2010"
INTEL = "product specification 332164-003US, first page"
PM983 = "data sheet, revision 1.0, January 2018, first page"
QVO = "gamingpc2020.blogspot.com, March 2020"
SZ985 = "tomshardware.com, Samsung Releases SZ985 Z-SSD"
FL6 = "edgedatacenters.nl, 20 September 2021"
X25_E = "techreport.com/review/15931, 23 November 2008"

# For each preset: the product, the simulated drive (GiB, erased blocks at which cleaning begins, requests at a time)
# and the figures of the sheet, in MB/s for sequential cases and requests per second for random ones.
PRODUCTS = {
    "slc": (
        "Micron RealSSD P300, 200 GB",
        (4, 16, 32),
        {
            "sequential read": (360, MICRON),
            "sequential write, fresh": (275, MICRON),
            "sequential write, steady": (255, MICRON),
            "random read, fresh": (60_000, MICRON),
            "random read, steady": (44_000, MICRON),
            "random write, fresh": (45_200, MICRON),
            "random write, steady": (16_000, MICRON),
        },
    ),
    "mlc": (
        "Intel SSD DC P3500, 2 TB",
        (32, 32, 128),
        {
            "sequential read": (2_700, INTEL),
            "sequential write": (1_800, INTEL),
            "random 70 % read, steady": (80_000, INTEL),
        },
    ),
    "tlc": (
        "Samsung PM983, 1.92 TB",
        (64, 4, 128),
        {
            "random read, steady": (540_000, PM983),
            "random write, steady": (50_000, PM983),
        },
    ),
    "qlc": (
        "Samsung 860 QVO, 2 TB",
        (32, 4, 32),
        {
            "sequential read": (550, QVO),
            "sequential write": (160, QVO + ", beyond its SLC cache"),
            "random read, fresh": (97_000, QVO),
        },
    ),
    "z_nand": (
        "Samsung SZ985, 800 GB",
        (8, 64, 128),
        {
            "sequential read": (3_200, SZ985),
            "sequential write": (3_200, SZ985),
            "random read, steady": (750_000, SZ985),
            "random write, steady": (170_000, SZ985),
        },
    ),
    "xl_flash": (
        "Kioxia FL6, 3.2 TB",
        (32, 256, 128),
        {
            "sequential read": (6_200, FL6),
            "sequential write": (5_800, FL6),
            "random read, steady": (1_500_000, FL6),
            "random write, steady": (400_000, FL6),
        },
    ),
    "x25_e": (
        "Intel X25-E, 64 GB",
        (4, 16, 32),
        {
            "sequential read": (250, X25_E),
            "sequential write": (170, X25_E),
        },
    ),
}

SEQUENTIAL = "kind = 'sequential', request_pages = 32"
RANDOM = "kind = 'uniform'"
STEADY = ["precondition.random_overwrites=3"]


class Failure(Exception):
    pass


def settings(preset, case):
    """Return the keys of one run, and the unit of its rate."""
    _, (gib, free_blocks, queue_depth), _ = PRODUCTS[preset]
    is_sequential = case.startswith("sequential")
    workload = SEQUENTIAL if is_sequential else RANDOM
    if "70 % read" in case:
        workload += ", read_ratio = 0.7"
    elif "read" in case:
        workload += ", read_ratio = 1.0"
    keys = ["ftl.victim=greedy", f"ftl.free_blocks_low={free_blocks}"]
    keys.append(f"workload={{{workload}}}")
    waits = "cleaning = 'foreground', erase_ahead = false"
    keys.append(f"timing={{queue_depth = {32 if is_sequential else queue_depth}, {waits}}}")
    if case in ("sequential write", "sequential write, fresh", "random write, fresh"):
        keys += ["precondition.fill=none", "measure.warm_up=0", "measure.drive_writes=0.5"]
    elif case.endswith("steady") and not is_sequential:
        keys += [*STEADY, "measure.warm_up=0.02", "measure.drive_writes=0.1"]
    else:
        keys += ["measure.warm_up=0.02", "measure.drive_writes=0.25"]
    return gib, keys, "MB/s" if is_sequential else "per second"


def rate(wearwell, preset, case, shrink):
    gib, keys, unit = settings(preset, case)
    capacity = f"{gib * 1024 // shrink} MiB"
    command = [wearwell, "run", "--quiet", "--format", "json", "--set"]
    command.append(f"device={{preset = '{preset}', capacity = '{capacity}'}}")
    for key in keys:
        command += ["--set", key]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    timing = json.loads(done.stdout)["timing"]
    return timing["bytes_per_s"] / 1e6 if unit == "MB/s" else timing["requests_per_s"]


def number(value):
    """Return a number with three significant digits, and commas."""
    digits = max(0, len(str(round(value))) - 3)
    return f"{round(value, -digits):,.0f}"


def row(preset, case, sheet, measured, source):
    product = PRODUCTS[preset][0]
    unit = settings(preset, case)[2]
    # The ratio is that of the printed numbers, so that readers can check the table.
    ratio = float(number(measured).replace(",", "")) / sheet
    verdict = "yes" if abs(ratio - 1) <= BAND else "no"
    cells = (f"`{preset}`", product, case, f"{sheet:,} {unit}", f"{number(measured)} {unit}", f"{ratio:.2f}", verdict, source)
    return f"| {' | '.join(cells)} |"


def table(wearwell, presets, shrink):
    head = ("preset", "product", "case", "data sheet", "Wearwell", "ratio", "within 30 %", "read in")
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    print("\n".join(lines), flush=True)
    for preset in presets:
        for case, (sheet, source) in PRODUCTS[preset][2].items():
            lines.append(row(preset, case, sheet, rate(wearwell, preset, case, shrink), source))
            print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def write(text):
    document = DOCUMENT.read_text()
    before, rest = document.split(MARKERS[0])
    _, after = rest.split(MARKERS[1])
    DOCUMENT.write_text(before + MARKERS[0] + text + MARKERS[1] + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wearwell", default=str(HERE / "target" / "release" / "wearwell"), help="the program")
    parser.add_argument("--preset", action="append", choices=PRODUCTS, help="only this one; may be repeated")
    parser.add_argument("--shrink", type=int, default=1, help="divide the simulated capacity")
    parser.add_argument("--write", action="store_true", help="write the table into docs/devices.md")
    options = parser.parse_args()
    if options.write and (options.preset or options.shrink != 1):
        raise Failure("--write needs the whole table")
    text = table(options.wearwell, options.preset or PRODUCTS, options.shrink)
    if options.write:
        write(text)


if __name__ == "__main__":
    try:
        main()
    except (Failure, OSError) as failure:
        sys.exit(f"error: {failure}")
