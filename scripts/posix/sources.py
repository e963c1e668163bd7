"""Sources of external suites: a given folder, or the suites' repositories at tested commits."""

import dataclasses
import os
import pathlib
import shutil
import subprocess

from mounted import Failure, run


class MissingSuite(Exception):
    """Reason why a suite cannot run here, and how to change that."""


@dataclasses.dataclass(frozen=True)
class Suite:
    """External programs, built in a copy of their sources. The sources are not part of this repository."""

    name: str
    repository: str
    commit: str
    tools: tuple
    packages: str
    build: tuple
    built: tuple


PJDFSTEST = Suite(
    "pjdfstest", "https://github.com/pjd/pjdfstest", "85a8aea",
    ("autoreconf", "make", "cc", "prove"), "autoconf automake make gcc perl",
    (("autoreconf", "-ifs"), ("./configure",), ("make", "pjdfstest")),
    ("pjdfstest",),
)
XFSTESTS = Suite(
    "xfstests", "https://git.kernel.org/pub/scm/fs/xfs/xfstests-dev.git", "63a2972",
    ("autoreconf", "make", "cc", "libtoolize"),
    "autoconf automake libtool make gcc uuid-dev xfslibs-dev libacl1-dev libattr1-dev libaio-dev pkg-config",
    (("make", "configure"), ("./configure",), ("make", "-C", "include"), ("make", "-C", "lib"),
     ("make", "-C", "ltp", "fsx", "fsstress")),
    ("ltp/fsx", "ltp/fsstress"),
)


def fetch(suite, folder, destination):
    """Copy the sources to `place` from the given folder, or clone them."""
    if folder:
        if not os.path.isdir(folder):
            raise MissingSuite(f"{folder} is no folder")
        shutil.copytree(folder, destination, symlinks=True)
        return
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        cloned = run(["git", "clone", "--quiet", suite.repository, destination], env=environment, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingSuite(f"{suite.repository} cannot be fetched ({error})") from error
    if cloned.returncode or run(["git", "-C", destination, "checkout", "--quiet", suite.commit]).returncode:
        shutil.rmtree(destination, ignore_errors=True)
        raise MissingSuite(f"{suite.repository} at {suite.commit} cannot be fetched; --{suite.name} DIR takes sources that are here")


def build(suite, given, work):
    """Return the folder in which the suite is built; builds it unless an earlier run did."""
    place = pathlib.Path(work) / suite.name
    if all((place / program).exists() for program in suite.built):
        return place
    absent = [tool for tool in suite.tools if shutil.which(tool) is None]
    if absent:
        raise MissingSuite(f"{', '.join(absent)} missing (Debian: apt-get install {suite.packages})")
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    fetch(suite, given, place)
    for step in suite.build:
        done = run(step, cwd=place)
        if done.returncode:
            tail = done.stdout.strip()[-600:]
            shutil.rmtree(place, ignore_errors=True)
            raise MissingSuite(f"`{' '.join(step)}` failed (Debian: apt-get install {suite.packages}): {tail}")
    if not all((place / program).exists() for program in suite.built):
        raise Failure(f"{suite.name} was built, but {', '.join(suite.built)} are not there")
    return place
