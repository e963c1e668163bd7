"""Connect the command line to a Dask cluster: ``python3 -m wearwell._dask ADDRESS``.

The first line on standard input is JSON with the version; each further line is a run or a point of a reproduction.
Standard output has a line for each of them when it ends.
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
from ._executors import Job, Work, message_line, open_executor
from ._program import Point


def main(address: str, requests: TextIO, replies: TextIO) -> int:
    """Execute the given runs or points, and print their results."""

    def send_line(text: str) -> None:
        replies.write(text + "\n")
        replies.flush()

    # The process that waits for the results reports errors.
    logging.disable(logging.CRITICAL)
    head = json.loads(requests.readline())
    try:
        if head["version"] != _core.__build__:
            this_build = f"{_core.__build__} ({sys.executable})"
            raise ExecutorError(
                f"the Python package is {this_build}, and the program {head['version']}; install the same"
            )
        with open_executor(address, head.get("points", {}).get("build")) as crew:
            workers, threads = crew.size or (0, 0)
            send_line(message_line(ready={"workers": workers, "threads": threads}))
            with closing(crew.outcomes(_work_units(head, requests))) as outcomes:
                for outcome in outcomes:
                    if outcome is None:
                        continue
                    number, result, error = outcome
                    if result is None:
                        send_line(message_line(done={"number": number, "error": error}))
                    else:
                        # The result is already JSON.
                        send_line(f'{{"done":{{"number":{number},"result":{result}}}}}')
    except (ExecutorError, ImportError) as error:
        send_line(message_line(lost={"problem": str(error)}))
        return 1
    except (KeyboardInterrupt, BrokenPipeError):
        # The process that waits for the results has ended, or is about to end.
        return 130
    return 0


def _work_units(header: dict[str, Any], requests: TextIO) -> Iterator[Work]:
    points = header.get("points")
    for text in requests:
        job = json.loads(text)
        if points:
            # The value is already JSON.
            request = f'{{"way":{points["way"]},"point":{json.dumps(job["point"])}}}'
            yield Point(job["number"], request, points["build"])
        else:
            yield Job(job["number"], json.dumps(job["scenario"]), {}, 0, header["runs"]["windows"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.stdin, sys.stdout))
