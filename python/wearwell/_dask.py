"""Connect the command line to a Dask cluster: ``python3 -m wearwell._dask ADDRESS``.

The first line of JSON on standard input has the version, each line after it is a run or a point of a
reproduction. Standard output has a line for each when it ends.
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
    """Execute the given runs or points, and print their results."""

    def say(text: str) -> None:
        said.write(text + "\n")
        said.flush()

    # The waiting process reports errors in its own words.
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
                        # The result is already JSON.
                        say(f'{{"done":{{"number":{number},"result":{result}}}}}')
    except (ExecutorError, ImportError) as error:
        say(line(lost={"problem": str(error)}))
        return 1
    except (KeyboardInterrupt, BrokenPipeError):
        # The waiting process has ended, or is about to end.
        return 130
    return 0


def _given(head: dict[str, Any], given: TextIO) -> Iterator[Work]:
    points = head.get("points")
    for text in given:
        job = json.loads(text)
        if points:
            # The value is already JSON.
            asked = f'{{"way":{points["way"]},"point":{json.dumps(job["point"])}}}'
            yield Point(job["number"], asked, points["build"])
        else:
            yield Job(job["number"], json.dumps(job["scenario"]), {}, 0, head["runs"]["windows"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.stdin, sys.stdout))
