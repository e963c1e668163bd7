"""Test file systems on a simulated drive: with fio's verification, with fsx, and by killing the server of the drive.

The last lines list missing requirements of suites.
"""

import argparse
import pathlib
import signal
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Path of modules for results, for programs that work while a process is killed, and for external suites.
sys.path.insert(1, str(ROOT / "scripts/posix"))

import trials  # noqa: E402
import verdicts  # noqa: E402


def arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/live", description=__doc__)
    named = ", ".join(f"{name} ({suite.__doc__.strip().rstrip('.')})" for name, suite in trials.ALL.items())
    parser.add_argument("suite", nargs="*", help=f"suites, all unless named: {named}")
    parser.add_argument("--binary", default=ROOT / "target/release/wearwell", help="the program that is tried")
    parser.add_argument("--work", default=ROOT / "target/posix", help="where other people's suites are built")
    parser.add_argument("--xfstests", metavar="DIR", help="sources of xfstests, whose fsx is used, if they need not be fetched")
    parser.add_argument("--ftl", default='structure = "log"', help="settings of the drive's FTL (default: %(default)s)")
    parser.add_argument("--file-systems", default=",".join(trials.SYSTEMS), help="on which (default: %(default)s)")
    parser.add_argument("--verify-mib", type=int, default=64, help="written and read back by fio (default: %(default)s)")
    parser.add_argument("--fsx-operations", type=int, default=5_000, help="on each file system (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=20, help="kill -9 of the server under each file system (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of all random choices (default: %(default)s)")
    parser.add_argument("--output", metavar="FILE", help="the results as JSON")
    given = parser.parse_args()
    for kind, names, known in (("suite", given.suite, trials.ALL), ("file system", given.file_systems.split(","), trials.SYSTEMS)):
        unknown = [name for name in names if name not in known]
        if unknown:
            parser.error(f"there is no {kind} {', '.join(unknown)}; there are {', '.join(known)}")
    given.file_systems = given.file_systems.split(",")
    given.binary = pathlib.Path(given.binary).resolve()
    if not given.binary.is_file():
        parser.error(f"{given.binary} is not there; `make build` makes it")
    return given


def main():
    """Run the suites, one after the other, and end with 1 if one failed."""
    settings = arguments()
    # Signals end the program by an exception, so that mounts are unmounted as at a normal end.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("ended"))
    return verdicts.all_of(trials.ALL, settings.suite, settings, settings.output)


if __name__ == "__main__":
    sys.exit(main())
