#!/usr/bin/env python3
"""Measure a benchmark of two commits in alternating runs, and compare the results.

    scripts/bench_pair.py BASE [HEAD] --bench engine [--runs 7] [-- paper --quick]

BASE and HEAD are commits; without HEAD, the working tree is measured in its present state. Each is built in release
mode in a separate folder below --folder, from the files of the repository only; what was built once is not built
again. cargo tells which package has the benchmark, so the package may have different names in the two commits.
Arguments behind -- are passed to the benchmark.

Runs of the two alternate, and in every other pair the second one goes first. For every number that varies, the
medians of both are printed, and the median of the ratios of all pairs. Numbers that are equal in all runs are
omitted. Lines are identified by the words in front of their first number. Columns are identified by the words above
them in the header of a table or, in prose, by the word that follows.

Fails if a state (a number of 16 hexadecimal digits) differs or, with --most, if the median ratio of a column named by
--column is above this limit.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile

NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")
STATE = re.compile(r"[0-9a-f]{16}")
# Words that depend on the measured values.
VERDICTS = {"met", "missed"}


class Failure(Exception):
    pass


def call(command, **options):
    """Return the standard output of the command; its errors go to the terminal."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: exit status {done.returncode}")
    return done.stdout


def files_of(repository, commit, folder):
    """Return the files of the commit, and the name of their folder; without a commit, the working tree."""
    if commit is None:
        return repository, "working-tree"
    spelled = ["git", "-C", repository, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"]
    try:
        name = call(spelled).strip()
    except Failure:
        raise Failure(f"{commit} is no commit of {repository}") from None
    tree = folder / name / "tree"
    if not tree.exists():
        unpacked = folder / name / "unpacked"
        archive = subprocess.Popen(["git", "-C", repository, "archive", name], stdout=subprocess.PIPE)
        with tarfile.open(fileobj=archive.stdout, mode="r|") as files:
            files.extractall(unpacked, filter="data")
        if archive.wait() != 0:
            raise Failure(f"git archive {name}: exit status {archive.returncode}")
        unpacked.rename(tree)
    return tree, name


def package_of(tree, bench):
    """Return the name of the package that has the benchmark."""
    described = call(["cargo", "metadata", "--no-deps", "--format-version", "1"], cwd=tree)
    benches = {}
    for package in json.loads(described)["packages"]:
        for target in package["targets"]:
            if "bench" in target["kind"]:
                benches[target["name"]] = package["name"]
    if bench not in benches:
        raise Failure(f"{tree}: no benchmark {bench!r}; there are {', '.join(sorted(benches))}")
    return benches[bench]


def build(tree, name, bench, folder):
    """Return the path of the benchmark's program."""
    target = folder / name / "target"
    package = package_of(tree, bench)
    print(f"building {bench} of {package}, {name[:12]}", file=sys.stderr)
    command = ["cargo", "bench", "--no-run", "--package", package, "--bench", bench]
    messages = call(
        [*command, "--message-format", "json-render-diagnostics"],
        cwd=tree,
        env=os.environ | {"CARGO_TARGET_DIR": str(target)},
    )
    for message in map(json.loads, messages.splitlines()):
        if message["reason"] == "compiler-artifact" and message["target"]["name"] == bench:
            if message["executable"]:
                return message["executable"]
    raise Failure(f"cargo built no program for {bench}")


def read(output):
    """Return the numbers of an output: {(line, column): text}."""
    found, repeated = {}, {}
    section, header = "", {}
    for line in output.splitlines():
        words = list(re.finditer(r"\S+", line))
        numbers = [word for word in words if is_number(word[0])]
        if line[:1].strip():
            section = f"{words[0][0]} " if words[0][0].endswith(":") else ""
            header = {} if section else header
        if not numbers:
            # Numbers of a column are aligned at the right, texts at the left.
            header = {word.end(): word[0] for word in words} | {-word.start(): word[0] for word in words}
            continue
        label = line[: numbers[0].start()].strip()
        if not label:
            label = " ".join(word[0] for word in words if word not in numbers and word[0] not in VERDICTS)
        if line[:1].isspace():
            label = section + label
        repeated[label] = repeated.get(label, 0) + 1
        if repeated[label] > 1:
            label += f" ({repeated[label]})"
        for at, number in enumerate(numbers):
            behind = words[words.index(number) + 1 :]
            column = header.get(number.end()) or header.get(-number.start())
            if column is None:
                column = f"{at + 1}. {behind[0][0].strip(',:;.') if behind else ''}".strip()
            found[label, column] = number[0]
    return found


def is_number(word):
    return NUMBER.fullmatch(word) or STATE.fullmatch(word)


def compare(runs, max_change, column_of_most):
    """Print the differences; return the complaints."""
    complaints = []
    base, head = ([run[side] for run in runs] for side in (0, 1))
    width = max(len("  ".join(key)) for key in [*base[0], *head[0]])
    print(f"{'':{width}}  {'BASE':>12} {'HEAD':>12} {'HEAD/BASE':>10}   each pair's")
    for key in dict.fromkeys([*base[0], *head[0]]):
        name = "  ".join(key)
        if any(key not in run for run in base + head):
            print(f"{name:{width}}  not in every run")
            continue
        texts = [[run[key] for run in side] for side in (base, head)]
        different = sorted({*texts[0], *texts[1]})
        if len(different) == 1:
            continue
        if STATE.fullmatch(different[0]):
            complaints.append(f"{name} differs: {', '.join(different)}")
            continue
        values = [[float(text) for text in side] for side in texts]
        medians = [statistics.median(side) for side in values]
        ratios = [after / before for before, after in zip(*values) if before]
        ratio = statistics.median(ratios or [float("nan")])
        each = " ".join(f"{one:.3f}" for one in sorted(ratios))
        print(f"{name:{width}}  {medians[0]:12.6g} {medians[1]:12.6g} {ratio:10.3f}   {each}")
        if max_change is not None and key[1] == column_of_most and not ratio <= max_change:
            complaints.append(f"{name}: {ratio:.3f} of BASE, {max_change} is the most allowed")
    return complaints


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        epilog=__doc__.split("\n\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("base", metavar="BASE")
    parser.add_argument("head", metavar="HEAD", nargs="?")
    parser.add_argument("--bench", required=True, help="name of the benchmark")
    parser.add_argument("--runs", type=int, default=7, help="pairs of runs (default: 7)")
    parser.add_argument("--most", type=float, help="largest median ratio allowed")
    parser.add_argument("--column", default="ns/page", help="of which column (default: ns/page)")
    parser.add_argument(
        "--folder",
        type=pathlib.Path,
        default=pathlib.Path(tempfile.gettempdir()) / "wearwell-bench-pair",
        help="where to build (default: %(default)s)",
    )
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:end])
    options.arguments = words[end + 1 :]
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    return options


def main():
    options = arguments()
    repository = pathlib.Path(__file__).resolve().parent.parent
    programs = []
    for commit in (options.base, options.head):
        tree, name = files_of(repository, commit, options.folder.resolve())
        programs.append(build(tree, name, options.bench, options.folder.resolve()))
    runs = []
    for at in range(options.runs):
        pair = [None, None]
        for side in (0, 1) if at % 2 == 0 else (1, 0):
            print(f"run {at + 1} of {options.runs}, {('BASE', 'HEAD')[side]}", file=sys.stderr)
            pair[side] = read(call([programs[side], "--bench", *options.arguments]))
        runs.append(pair)
    complaints = compare(runs, options.most, options.column)
    for complaint in complaints:
        print(f"error: {complaint}", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"error: {failure}")
