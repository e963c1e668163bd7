"""Stands between the command line and a Dask cluster: ``python3 -m wearwell._dask ADDRESS``.

A line of JSON on standard input says the version, each line after it is a run or a point of a reproduction; on
standard output there is a line as each ends.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any, TextIO

from . import _core
from ._errors import ExecutorError
from ._executors import Job, Work, line, opened
from ._program import Point


def main(address: str, given: TextIO, said: TextIO) -> int:
    """Have made what is given, and say what comes of it."""

    def say(text: str) -> None:
        said.write(text + "\n")
        said.flush()

    # What of it matters is said in a sentence by who waits for the runs.
    logging.disable(logging.CRITICAL)
    head = json.loads(given.readline())
    try:
        if head["version"] != _core.__build__:
            ours = f"{_core.__build__} ({sys.executable})"
            raise ExecutorError(f"the Python package is {ours}, and the program {head['version']}; install the same")
        with opened(address, head.get("points", {}).get("build")) as crew:
            workers, threads = crew.size or (0, 0)
            say(line(ready={"workers": workers, "threads": threads}))
            with closing(crew.outcomes(_given(head, given))) as outcomes:
                for outcome in outcomes:
                    if outcome is None:
                        continue
                    number, result, error = outcome
                    if result is None:
                        say(line(done={"number": number, "error": error}))
                    else:
                        # The result is JSON already.
                        say(f'{{"done":{{"number":{number},"result":{result}}}}}')
    except (ExecutorError, ImportError) as error:
        say(line(lost={"problem": str(error)}))
        return 1
    except (KeyboardInterrupt, BrokenPipeError):
        # Who asked for the runs has gone, or goes.
        return 130
    return 0


def _given(head: dict[str, Any], given: TextIO) -> Iterator[Work]:
    points = head.get("points")
    for text in given:
        job = json.loads(text)
        if points:
            # The way is JSON already.
            asked = f'{{"way":{points["way"]},"point":{json.dumps(job["point"])}}}'
            yield Point(job["number"], asked, points["build"])
        else:
            yield Job(job["number"], json.dumps(job["scenario"]), {}, 0, head["runs"]["windows"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.stdin, sys.stdout))
