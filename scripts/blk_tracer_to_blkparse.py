#!/usr/bin/env python3
"""Convert the output of the kernel's `blk` tracer to blkparse's default text.

With the option `blk_classic`, the tracer prints the columns of blkparse except the sequence number, and its clock
starts at boot. This filter keeps the requests issued to the driver (action D), orders them by time, starts the clock
at the first one and numbers them per CPU, as blkparse does. It stops at the first line it does not understand, at a
lost event, and at a request beyond the device.
"""

import argparse
import re
import sys

# maj,min cpu sec.nsec pid action RWBS [sector + nsectors] [process]
EVENT = re.compile(
    r"\s*(?P<major>\d+),(?P<minor>\d+)\s+(?P<cpu>\d+)\s+(?P<sec>\d+)\.(?P<nsec>\d{9})\s+(?P<pid>\d+)"
    r"\s+(?P<action>[A-Z]+)\s+(?P<rwbs>[A-Z]+)"
    r"\s+(?:(?P<sector>\d+) \+ (?P<count>\d+) )?\[(?P<process>.*)\]"
)


class BadTrace(Exception):
    pass


def parse(lines, device_sectors):
    """Yield (time in ns, match) of every issued request."""
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        event = EVENT.fullmatch(line.rstrip("\n"))
        if event is None:
            what = "lost events" if "LOST" in line else "not a line of the blk tracer"
            raise BadTrace(f"line {number}: {what}: {line.strip()!r}")
        if event["action"] != "D":
            continue
        if event["sector"] and int(event["sector"]) + int(event["count"]) > device_sectors:
            raise BadTrace(f"line {number}: beyond the device's {device_sectors} sectors: {line.strip()!r}")
        yield int(event["sec"]) * 10**9 + int(event["nsec"]), event


def blkparse_line(event, sequence, time_ns):
    """Return a line in blkparse's format `%D %2c %8s %5T.%9t %5p %2a %3d`, then the range (if any) and the
    process."""
    seconds, nanoseconds = divmod(time_ns, 10**9)
    extent = f"{event['sector']} + {event['count']} " if event["sector"] else ""
    return (
        f"{event['major']:>3},{event['minor']:<3} {event['cpu']:>2} {sequence:>8} "
        f"{seconds:>5}.{nanoseconds:09} {event['pid']:>5} {event['action']:>2} {event['rwbs']:>3} "
        f"{extent}[{event['process']}]"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device-bytes", type=int, required=True, help="size of the traced device")
    parser.add_argument("trace", type=argparse.FileType(), help="saved `trace` file of tracefs, or -")
    arguments = parser.parse_args()

    try:
        events = sorted(
            parse(arguments.trace, arguments.device_bytes // 512), key=lambda timed: timed[0]
        )
        if not events:
            raise BadTrace("no request was issued")
    except BadTrace as problem:
        sys.exit(f"{arguments.trace.name}: {problem}")

    start = events[0][0]
    sequences = {}
    for time_ns, event in events:
        cpu = event["cpu"]
        sequences[cpu] = sequences.get(cpu, 0) + 1
        print(blkparse_line(event, sequences[cpu], time_ns - start))


if __name__ == "__main__":
    main()
