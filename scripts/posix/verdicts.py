"""Suites run one after the other; those that were not run are listed at the end."""

import json
import pathlib
import time

from mounted import Failure
from sources import MissingSuite


def verdict_of(suite, settings):
    """Run a suite; return how it ended, and its message."""
    try:
        return "passed", suite(settings)
    except MissingSuite as why:
        return "NOT RUN", str(why)
    except Failure as why:
        return "FAILED", str(why)


def all_of(suites, names, settings, output):
    """Run the suites with these names, or all; return 1 if one failed. `output` receives the results as JSON."""
    results = []
    for name in names or suites:
        begun = time.monotonic()
        print(f"{name:<10} ", end="", flush=True)
        verdict, text = verdict_of(suites[name], settings)
        seconds = round(time.monotonic() - begun, 1)
        print(f"{verdict:<8} {seconds:>7.1f} s  {text}", flush=True)
        results.append({"suite": name, "verdict": verdict, "seconds": seconds, "text": text})
    if output:
        pathlib.Path(output).write_text(json.dumps(results, indent=2) + "\n")
    for one in results:
        if one["verdict"] == "NOT RUN":
            print(f"NOT RUN: {one['suite']}: {one['text'].splitlines()[0]}")
    return 1 if any(one["verdict"] == "FAILED" for one in results) else 0
