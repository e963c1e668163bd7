"""Points of reproductions, computed by the program ``wearwell`` of each worker, which must have the same build."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

from ._errors import ExecutorError

PROGRAM = "WEARWELL_PROGRAM"
"""Environment variable with the name of the program, if it is not the `wearwell` in ``PATH``."""


class Point(NamedTuple):
    """A point to compute."""

    number: int
    request: str
    build: str

    def attempt(self) -> tuple[int, str | None, str | None]:
        """Compute the point on this machine."""
        with _start_program() as program:
            if program.build != self.build:
                raise ExecutorError(f"a worker has {other_build(program.build, self.build)}")
            answer, reply = program.request_point(self.request)
        error = reply.get("error")
        return self.number, None if error else answer, error


def build() -> str:
    """Return the build of the local program."""
    with _start_program() as program:
        return program.build


def other_build(found: str, expected: str) -> str:
    """Return the message about a build that differs from the expected one."""
    return f"the program wearwell {found}, and this is {expected}: install the same build everywhere"


class _Program:
    """A running program that waits for a point."""

    def __init__(self, name: str, process: subprocess.Popen[str], complaints: IO[str]) -> None:
        self._name, self._process, self._complaints = name, process, complaints
        found = self._read_reply()[1].get("build")
        if not isinstance(found, str):
            raise ExecutorError(f"{name} is no wearwell that answers points")
        self.build = found

    def request_point(self, request: str) -> tuple[str, dict[str, Any]]:
        """Send a point, and return the reply as text and parsed."""
        to = self._process.stdin
        assert to is not None
        try:
            to.write(request + "\n")
            to.flush()
        except BrokenPipeError:
            pass  # Why is said by how it ended.
        return self._read_reply()

    def _read_reply(self) -> tuple[str, dict[str, Any]]:
        source = self._process.stdout
        assert source is not None
        text = source.readline()
        if not text.endswith("\n"):
            raise ExecutorError(f"{self._name} {self._describe_end()}")
        try:
            said = json.loads(text)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise ExecutorError(f"{self._name} said what is not understood: {text[:100]!r}")
        return text.rstrip("\n"), said

    def _describe_end(self) -> str:
        """Describe how the process ended; waits for the end if necessary."""
        code = self._process.wait()
        self._complaints.seek(0)
        complaint = self._complaints.read().strip()
        if code < 0:
            return f"was ended by signal {-code}: has it enough memory?"
        return f"ended with code {code}: {complaint}" if complaint else f"ended with code {code}"


@contextmanager
def _start_program() -> Iterator[_Program]:
    """Start the program. It ends when its input is closed, even if this process is killed."""
    name = os.environ.get(PROGRAM) or "wearwell"
    path = shutil.which(name)
    at = f"on {platform.node()}"
    if path is None:
        problem = f"it must be on the PATH of the worker, or {PROGRAM} name it"
        raise ExecutorError(f"there is no program {name} {at}: {problem}")
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints:
        try:
            process = subprocess.Popen(
                [path, "reproduce", "--answer"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                encoding="utf-8",
            )
        except OSError as error:
            raise ExecutorError(f"{path} {at} cannot be started: {error}") from None
        try:
            yield _Program(f"{path} {at}", process, complaints)
        finally:
            process.kill()
            process.communicate()
