#!/usr/bin/env python3
"""Describe a block trace in blkparse's default text format, plain or compressed with zstd.

Counts every line whose action is D (issued to the driver). The script is independent of the simulator on purpose,
because its numbers check the simulator's trace reader. Definitions:

- A request is a discard, a write, a read or a flush by the RWBS column: the first letter after a leading
  F (flush before the write) that is D, W, R or N. A flush has no range.
- A page is 4 KiB. A read or a write touches every page it overlaps; a discard frees the pages that are wholly within
  it.
- Footprint: distinct pages written. Overwrite ratio: page writes / footprint.
- A page is live from a write until a discard frees it.
"""

import argparse
import collections
import json
import re
import shutil
import subprocess
import sys

SECTOR = 512
PAGE = 4096
SECTORS_PER_PAGE = PAGE // SECTOR
MIB = 1 << 20

KINDS = {"R": "read", "W": "write", "D": "discard", "N": "flush"}

# maj,min cpu seq sec.nsec pid action RWBS [sector + nsectors] [process]
LINE = re.compile(
    r"\s*\d+,\d+\s+\d+\s+\d+\s+(?P<sec>\d+)\.(?P<nsec>\d{9})\s+\d+\s+(?P<action>[A-Z]+)\s+(?P<rwbs>[A-Z]+)"
    r"\s+(?:(?P<sector>\d+) \+ (?P<count>\d+) )?\[.*\]"
)


class BadTrace(Exception):
    pass


def kind_of(rwbs):
    letters = rwbs[1:] if rwbs.startswith("F") else rwbs
    return KINDS.get(letters[:1])


def requests(lines):
    """Yield (time in ns, kind, first sector, sectors) of every issued request."""
    for number, line in enumerate(lines, 1):
        event = LINE.fullmatch(line.rstrip("\n"))
        if event is None:
            raise BadTrace(f"line {number}: not a request in blkparse's default format: {line.strip()!r}")
        if event["action"] != "D":
            continue
        kind = kind_of(event["rwbs"])
        if kind is None:
            raise BadTrace(f"line {number}: RWBS {event['rwbs']!r} is none of read, write, discard, flush")
        if (kind == "flush") != (event["sector"] is None):
            raise BadTrace(f"line {number}: a {kind} {'with' if event['sector'] else 'without'} a range")
        time_ns = int(event["sec"]) * 10**9 + int(event["nsec"])
        yield time_ns, kind, int(event["sector"] or 0), int(event["count"] or 0)


def describe(lines):
    """Return everything that this program reports as a dictionary; `sizes` counts requests by kind and size."""
    count = collections.Counter()
    sectors = collections.Counter()
    sizes = {kind: collections.Counter() for kind in ("read", "write", "discard")}
    pages = collections.Counter()
    written = set()
    live = set()
    live_peak = 0
    end = 0
    first_ns = last_ns = None
    unaligned = 0

    for time_ns, kind, sector, length in requests(lines):
        if last_ns is not None and time_ns < last_ns:
            raise BadTrace(f"time runs backwards after {last_ns} ns")
        first_ns = time_ns if first_ns is None else first_ns
        last_ns = time_ns
        count[kind] += 1
        if kind == "flush":
            continue
        sectors[kind] += length
        sizes[kind][length * SECTOR] += 1
        end = max(end, sector + length)
        unaligned += sector % SECTORS_PER_PAGE != 0 or length % SECTORS_PER_PAGE != 0

        if kind == "discard":
            inside = range(-(-sector // SECTORS_PER_PAGE), (sector + length) // SECTORS_PER_PAGE)
            pages[kind] += len(inside)
            pages["freed"] += len(live)
            live.difference_update(inside)
            pages["freed"] -= len(live)
        else:
            touched = range(sector // SECTORS_PER_PAGE, -(-(sector + length) // SECTORS_PER_PAGE))
            pages[kind] += len(touched)
            if kind == "write":
                written.update(touched)
                live.update(touched)
                live_peak = max(live_peak, len(live))

    if first_ns is None:
        raise BadTrace("no issued request (action D)")
    return {
        "requests": sum(count.values()),
        **{f"{kind}s" if kind != "flush" else "flushes": count[kind] for kind in KINDS.values()},
        "bytes_read": sectors["read"] * SECTOR,
        "bytes_written": sectors["write"] * SECTOR,
        "bytes_discarded": sectors["discard"] * SECTOR,
        "pages_read": pages["read"],
        "page_writes": pages["write"],
        "pages_discarded": pages["discard"],
        "live_pages_discarded": pages["freed"],
        "footprint_pages": len(written),
        "live_pages_peak": live_peak,
        "live_pages_end": len(live),
        "unaligned_requests": unaligned,
        "end_byte": end * SECTOR,
        "duration_ns": last_ns - first_ns,
        "sizes": {kind: dict(sorted(counter.items())) for kind, counter in sizes.items()},
    }


def size_label(size):
    return f"{size // 1024} KiB" if size < MIB else f"{size // MIB} MiB"


def size_rows(sizes):
    """Return one row per power of two, from 4 KiB up to the first that is not below the longest read or write."""
    tops = [PAGE]
    while tops[-1] < max((size for kind in ("read", "write") for size in sizes[kind]), default=0):
        tops.append(tops[-1] * 2)
    low = 0
    for top in [*tops, None]:
        label = f"> {size_label(tops[-1])}" if top is None else f"<= {size_label(top)}"
        counts = [
            sum(n for size, n in sizes[kind].items() if low < size and (top is None or size <= top))
            for kind in ("read", "write", "discard")
        ]
        if any(counts):
            yield label, *counts
        low = top


def markdown(d):
    def percent(part, whole):
        return f"{100 * part / whole:.1f} %" if whole else "-"

    def volume(count, size, pages):
        return f"{count:,} ({size / MIB:,.1f} MiB, {pages:,} pages)"

    def mib_of(pages):
        return f"{pages:,} pages ({pages * PAGE / MIB:,.1f} MiB)"

    ratio = f"{d['page_writes'] / d['footprint_pages']:.2f}" if d["footprint_pages"] else "-"
    rows = [
        ("requests", f"{d['requests']:,}"),
        ("reads", volume(d["reads"], d["bytes_read"], d["pages_read"])),
        ("writes", volume(d["writes"], d["bytes_written"], d["page_writes"])),
        ("discards", volume(d["discards"], d["bytes_discarded"], d["pages_discarded"])),
        ("flushes", f"{d['flushes']:,}"),
        ("writes among reads and writes", percent(d["writes"], d["reads"] + d["writes"])),
        (
            "written bytes among read and written",
            percent(d["bytes_written"], d["bytes_read"] + d["bytes_written"]),
        ),
        ("footprint (distinct pages written)", mib_of(d["footprint_pages"])),
        ("overwrite ratio (page writes / footprint)", ratio),
        ("live pages freed by discards", f"{d['live_pages_discarded']:,}"),
        ("live pages, at most", mib_of(d["live_pages_peak"])),
        ("live pages, at the end", mib_of(d["live_pages_end"])),
        ("requests not aligned to pages", f"{d['unaligned_requests']:,}"),
        ("end of the highest request", f"{d['end_byte']:,} bytes"),
        ("duration", f"{d['duration_ns'] / 1e9:.3f} s"),
    ]
    yield "| statistic | value |"
    yield "|---|---:|"
    yield from (f"| {name} | {value} |" for name, value in rows)
    yield ""
    yield "| request size | reads | writes | discards |"
    yield "|---|---:|---:|---:|"
    yield from (f"| {label} | {r:,} | {w:,} | {t:,} |" for label, r, w, t in size_rows(d["sizes"]))


def describe_file(path):
    if not path.endswith(".zst"):
        with open(path, encoding="utf-8") as lines:
            return describe(lines)
    if shutil.which("zstd") is None:
        raise BadTrace("needs the program zstd (Debian package zstd)")
    command = ["zstd", "-dcq", "--", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as zstd:
        description = describe(zstd.stdout)
    if zstd.returncode != 0:
        raise BadTrace("zstd could not decompress it")
    return description


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with every request size")
    parser.add_argument("trace", help="file in blkparse's default text format, plain or .zst")
    arguments = parser.parse_args()
    try:
        description = describe_file(arguments.trace)
    except (BadTrace, OSError, UnicodeDecodeError) as problem:
        sys.exit(f"{arguments.trace}: {problem}")
    print(json.dumps(description, indent=2) if arguments.json else "\n".join(markdown(description)))


if __name__ == "__main__":
    main()
