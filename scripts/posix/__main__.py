"""Test a mounted NVMFS with external suites, by filling it, and by killing its server.

Missing requirements of a suite are fetched. If that fails, the suite is skipped, and the last lines say so.
"""

import argparse
import pathlib
import sys

import kills
import suites
import verdicts

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/posix", description=__doc__)
    named = ", ".join(f"{name} ({suite.__doc__.strip().rstrip('.')})" for name, suite in suites.ALL.items())
    parser.add_argument("suite", nargs="*", help=f"suites, all unless named: {named}")
    parser.add_argument("--binary", default=ROOT / "target/release/wearwell", help="the program that is tried")
    parser.add_argument("--work", default=ROOT / "target/posix", help="where other people's suites are built")
    parser.add_argument("--pjdfstest", metavar="DIR", help="its sources, if they need not be fetched")
    parser.add_argument("--xfstests", metavar="DIR", help="the same of xfstests, whose fsx and fsstress are used")
    parser.add_argument("--fsx-operations", type=int, default=20_000, help="on each kind of mount (default: %(default)s)")
    parser.add_argument("--fsstress-operations", type=int, default=1_500, help="of each process (default: %(default)s)")
    parser.add_argument("--full-cycles", type=int, default=20, help="times full and empty (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=200, help="kill -9 of the server (default: %(default)s)")
    parser.add_argument("--kill-mode", choices=kills.MODES, help="on one kind of mount, not on all in turn")
    parser.add_argument("--seed", type=int, default=1, help="of all random choices (default: %(default)s)")
    parser.add_argument("--output", metavar="FILE", help="the results as JSON")
    given = parser.parse_args()
    unknown = [name for name in given.suite if name not in suites.ALL]
    if unknown:
        parser.error(f"there is no suite {', '.join(unknown)}; there are {', '.join(suites.ALL)}")
    given.binary = pathlib.Path(given.binary).resolve()
    if not given.binary.is_file():
        parser.error(f"{given.binary} is not there; `make build` makes it")
    return given


def main():
    """Run the suites, one after the other, and end with 1 if one failed."""
    settings = arguments()
    return verdicts.all_of(suites.ALL, settings.suite, settings, settings.output)


if __name__ == "__main__":
    sys.exit(main())
