#!/usr/bin/env python3
"""Profile every command that users wait for: CPU time, the engine's share, and the largest costs outside the engine.

    scripts/profile.py [--only NAME ...] [--json FILE] [--binary PATH] [--python PATH] [--list]

Each case runs once under `perf record -e cpu-clock`, and its samples are grouped by function (self time). The input
is made here, in a temporary folder, from a fixed seed: a trace, scenarios, results for `report`, and a Python
victim policy. Cases are the lines of the table CASES.

An inlined function counts as its caller. The release build has a symbol table, so no special build is needed. --json
writes every function of at least 0.5 % outside the engine.
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import typing

HERE = pathlib.Path(__file__).resolve().parent.parent
FREQUENCY_HZ = 997
MIN_SHARE = 0.005
TOP = 3

DEFINITION = (
    "engine: share of the samples whose symbol belongs to the crate wearwell_engine, which holds the flash, the log, all FTLs, deduplication,\n"
    "placements and victim policies. Workload generators, trace readers, NVMFS, libraries, memory allocation and the kernel are outside; so is a\n"
    "library function that the engine calls and the compiler did not inline."
)

# Name: command. `wearwell` is the program, `python` the interpreter that has the package; {names} are files made by `prepare`.
CASES = {
    "run uniform": "wearwell run {drive} --workload uniform --drive-writes 700.0",
    "run hot_cold": "wearwell run {drive} --workload hot_cold --set workload.hot_writes=0.9 --set workload.hot_space=0.1 --drive-writes 650.0",
    "run zipf": "wearwell run {drive} --workload zipf --set workload.exponent=0.9 --drive-writes 550.0",
    "run zipf, scattered": "wearwell run {drive} --workload zipf --set workload.exponent=0.9 --set workload.scatter=true --drive-writes 350.0",
    "run sequential": "wearwell run {drive} --workload sequential --drive-writes 2500.0",
    "run mixed": "wearwell run {mixed} --drive-writes 300.0",
    "run phases": "wearwell run {scenarios}/moving_hot_set.toml --drive-writes 5000.0",
    "run reads and trims": "wearwell run {drive} --set workload.read_ratio=0.5 --set workload.trim_ratio=0.1 --drive-writes 150.0",
    "run canonical": "wearwell run --drive-writes 45.0",
    "run paper-table1": "wearwell run {scenarios}/paper-table1.toml --drive-writes 700.0",
    "run trace, wrap": "wearwell run {replay} --set trace.address=wrap --drive-writes 400.0",
    "run trace, scale": "wearwell run {replay} --set trace.address=scale --drive-writes 400.0",
    "run trace, compact": "wearwell run {replay} --set trace.address=compact --drive-writes 400.0",
    "run trace, direct": "wearwell run {replay} --set trace.address=direct --drive-writes 400.0",
    "run trace, fit": "wearwell run {replay} --unset device.capacity --fit --drive-writes 400.0",
    "run trace, blkparse": "wearwell run {scenarios}/demo.toml --drive-writes 500.0",
    "run trace, timed": "wearwell run {replay} {clock} --set timing.queue_depth=32 --drive-writes 8.0",
    "run timed": "wearwell run {scenarios}/latency.toml --drive-writes 40.0",
    "run timed, closed loop": "wearwell run {drive} --workload uniform {clock} --set timing.queue_depth=16 --drive-writes 12.0",
    "run contents, inline": "wearwell run {scenarios}/cagc-table1.toml --set ftl.dedup=inline --set ftl.placement=double --drive-writes 1500.0",
    "run contents, cagc": "wearwell run {scenarios}/cagc-table1.toml --drive-writes 1200.0",
    "run contents, cagc timed": "wearwell run {scenarios}/cagc.toml --drive-writes 120.0",
    "run tenants, log beside writer": "wearwell run {scenarios}/log_beside_random_writer.toml --drive-writes 350.0",
    "run tenants, two logs": "wearwell run {scenarios}/two_logs_one_ftl.toml --drive-writes 300.0",
    "run tenants, log on log": "wearwell run {scenarios}/app_log_on_fs_on_ftl.toml --drive-writes 240.0",
    "run log on FTL": "wearwell run {scenarios}/log_on_ftl.toml --drive-writes 250.0",
    "run log on zones": "wearwell run {scenarios}/log_on_zones.toml --drive-writes 1200.0",
    "run f2fs": "wearwell run {scenarios}/f2fs_6_logs.toml --drive-writes 80.0",
    "run merge tree": "wearwell run {scenarios}/lsm_on_ftl.toml --drive-writes 60.0",
    "run merge tree on f2fs": "wearwell run {scenarios}/rocksdb_on_f2fs.toml --drive-writes 100.0",
    "run silt": "wearwell run {scenarios}/lsm_on_ftl.toml --set log[0].structure=silt --drive-writes 30.0",
    "run cache": "wearwell run {scenarios}/cache_on_ftl.toml --drive-writes 1500.0",
    "run endurance": "wearwell run {scenarios}/endurance.toml --set device.endurance_cycles=5000",
    "run gecko": "wearwell run {scenarios}/gecko.toml --drive-writes 130.0",
    "run dftl": "wearwell run {scenarios}/gecko.toml --set ftl.structure=dftl --drive-writes 140.0",
    "run lazyftl": "wearwell run {scenarios}/gecko.toml --set ftl.structure=lazyftl --drive-writes 120.0",
    "run mu_ftl": "wearwell run {scenarios}/gecko.toml --set ftl.structure=mu_ftl --drive-writes 100.0",
    "run ib_ftl": "wearwell run {scenarios}/gecko.toml --set ftl.structure=ib_ftl --drive-writes 80.0",
    "run fast": "wearwell run {scenarios}/gecko.toml --set ftl.structure=fast --drive-writes 130.0",
    "run bast": "wearwell run {scenarios}/gecko.toml --set ftl.structure=bast --drive-writes 30.0",
    "run nvmfs, fio": "wearwell run {scenarios}/nvmfs.toml --drive-writes 8.0",
    "run nvmfs, iozone": "wearwell run {scenarios}/nvmfs.toml --unset top.workload.skew --set top.workload.kind=iozone --drive-writes 9.0",
    "run nvmfs, postmark": "wearwell run {scenarios}/nvmfs.toml --set top.workload.kind=postmark --drive-writes 1.0",
    "run nvmfs, fileserver": "wearwell run {scenarios}/nvmfs.toml --set top.workload.kind=fileserver --drive-writes 7.0",
    "run conquest": "wearwell run {scenarios}/nvmfs.toml --set top.placement=conquest --drive-writes 5.0",
    "run Python victim policy": "python {policy}",
    "sweep": "wearwell sweep {small} --drive-writes 250.0 --vary ftl.victim=greedy,fifo,random --vary device.spare_factor=0.05:0.3:0.025",
    "limit": "wearwell limit {small} --quick --replicas 5",
    "limit, trace": "wearwell limit {replay} --quick --placements double,sepbit --victims greedy",
    "advise": "wearwell advise {scenarios}/log_on_ftl.toml --quick --capacity 252MiB --depth 3",
    "advise, merge tree": "wearwell advise {scenarios}/rocksdb_on_f2fs.toml --quick --only merge_tree --replicas 2",
    "fleet": "wearwell fleet {fleet}",
    "fleet, check": "wearwell fleet {fleet} --check 20",
    "power": "wearwell power {scenarios}/power.toml --set power.every=50 --drive-writes 40.0",
    "power, exhaustive": "wearwell power {scenarios}/power.toml --capacity 6MiB --set measure.warm_up=0.0 --drive-writes 0.02 --exhaustive",
    "report": "wearwell report {result} {result} {result} {result} --output {folder}/report.html",
    "theory, double": "wearwell theory double --class 0.6:0.1 --class 0.3:0.3 --class 0.1:0.6",
    "theory, zipf": "wearwell theory double --zipf 0.99 --pages-per-block 512",
    "theory, optimal choices": "wearwell theory optimal-choices --hot-writes 0.8 --hot-space 0.2 --pages-per-block 256",
    "theory, transient": "wearwell theory transient --from fresh --pages-per-block 2048",
    "theory, solve spare": "wearwell theory solve-spare --target-wa 2.5 --zipf 0.99",
    "drive, SMART": "wearwell drive --smart {samples}/nvme-june.json --smart {samples}/nvme-july.json --cells tlc --tbw 3504",
    "trace check": "wearwell trace check {long}",
    "trace describe": "wearwell trace describe {long}",
    "trace convert": "wearwell trace convert {long} {folder}/converted.csv.zst --to wearwell-csv",
}

DRIVE = """
[device]
capacity = "{capacity}"
spare_factor = 0.1
pages_per_block = 128
{trace}
[measure]
warm_up = 1.0
drive_writes = 4.0
"""
TRACE = """
[trace]
path = "{trace}"
format = "msr"
address = "wrap"
"""
MIXED = """
[workload]
kind = "mixed"
parts = [
    {{ weight = 1.0, space = 0.1, workload = {{ kind = "sequential" }} }},
    {{ weight = 3.0, space = 0.9, workload = {{ kind = "zipf", exponent = 0.99, scatter = true }} }},
]
"""
POLICY = '''
import numpy as np
import wearwell as ww


class CostBenefit:
    """Age times free space over cost."""

    def select(self, blocks):
        utilisation = blocks.valid_pages / blocks.pages_per_block
        benefit = (1 - utilisation) * (blocks.age + 1) / (1 + utilisation)
        return np.where(blocks.candidates, benefit, -1.0).argmax()


ww.run("{small}", victim=CostBenefit, **{{"measure.drive_writes": 12.0}})
'''
FLEET = """
years = 5
draws = 50
currency = "EUR"
[[group]]
name = "tlc"
drives = 50_000
price = 210
device = {{ preset = "tlc", capacity = "1.92 TB", over_provisioning = 0.15 }}
ftl = {{ victim = {{ policy = "d_choices", choices = 10 }}, placement = "double" }}
age_years = {{ law = "uniform", low = 0.0, high = 4.0 }}
[[tenant]]
name = "databases"
share = 0.5
drive_writes_per_day = {{ law = "lognormal", median = 0.6, sigma = 0.7 }}
workload = {{ kind = "hot_cold", hot_writes = {{ law = "uniform", low = 0.7, high = 0.95 }}, hot_space = 0.2 }}
[[tenant]]
name = "caches"
share = 0.5
drive_writes_per_day = {{ law = "uniform", low = 1.0, high = 2.0 }}
workload = {{ kind = "zipf", exponent = {{ law = "values", values = [0.99] }} }}
"""
TRACE_SPAN = 512 << 20


class ProfileError(Exception):
    """A case, or all of them, cannot be measured."""


@dataclasses.dataclass
class Sample:
    """One sample of perf: the name of the thread, the function, and the file that contains it."""

    thread: str
    symbol: str
    file: str


@dataclasses.dataclass
class Profile:
    """Measurements of one case."""

    name: str
    command: str
    user_seconds: float
    system_seconds: float
    samples: int
    engine_share: float
    outside: list[tuple[str, float]]


SAMPLE = re.compile(r"^\s*(?P<thread>.*?)\s+(?P<address>[0-9a-f]+) (?P<symbol>.*) \((?P<file>[^()]*|\[[^\]]*\])\)$")


def read_samples(text: str) -> list[Sample]:
    """Return the samples of the output of `perf script -F comm,ip,sym,dso`."""
    samples = []
    for line in text.splitlines():
        if not line.strip():
            continue
        found = SAMPLE.match(line)
        if not found:
            raise ProfileError(f"perf script printed a line of unknown form: {line!r}")
        samples.append(Sample(found["thread"], found["symbol"], found["file"]))
    return samples


def split_qualified(symbol: str) -> tuple[str, str]:
    """Split `<Type as Trait>::rest` or `<Type>::rest` into type and rest; the type of any other symbol is empty."""
    if not symbol.startswith("<"):
        return "", symbol
    depth = 0
    for at, letter in enumerate(symbol):
        # The arrow of a function type does not close a bracket.
        depth += (letter == "<") - (letter == ">" and symbol[at - 1] != "-")
        if depth == 0:
            return symbol[1:at], symbol[at + 1 :]
    return "", symbol


def without_generics(symbol: str) -> str:
    """Return a path without its generic arguments."""
    kept, depth = [], 0
    for at, letter in enumerate(symbol):
        closes = letter == ">" and symbol[at - 1] != "-"
        depth += letter == "<"
        if depth == 0:
            kept.append(letter)
        depth -= closes and depth > 0
    return "".join(kept)


def self_type(qualified: str) -> str:
    """Return the type of `Type as Trait` without references and brackets; the trait if the type is a parameter or
    built in."""
    depth = 0
    for at, letter in enumerate(qualified):
        depth += letter in "<([" and 1
        depth -= letter in ">)]" and qualified[at - 1] != "-"
        if depth == 0 and qualified.startswith(" as ", at):
            kind, trait = qualified[:at], qualified[at + len(" as ") :]
            qualified = kind if "::" in kind else trait
            break
    return re.sub(r"^(&|\*|mut |const |dyn |\[|\()+", "", qualified).strip("])")


def path_of(symbol: str) -> list[str]:
    """Return the path of a Rust function: crate, modules, type and function, without closures and generic arguments."""
    symbol = re.sub(r"::h[0-9a-f]{16}$", "", symbol.strip())
    # perf writes `module::<impl Type>::function` for a method in an impl block outside of the type's module.
    block = re.search(r"<impl ", symbol)
    if block and not symbol.startswith("<impl "):
        crate = symbol.split("::")[0]
        qualified, rest = split_qualified(symbol[block.start() :])
        kind = re.sub(r"^impl ", "", qualified).split(" for ")[-1]
        segments = [crate, *without_generics(kind).split("::")[-1:]]
    else:
        qualified, rest = split_qualified(symbol)
        segments = without_generics(self_type(qualified)).split("::") if qualified else []
    segments += without_generics(rest).split("::")
    return [segment for segment in segments if segment and not segment.startswith("{")]


ALLOCATOR = re.compile(
    r"(__libc_)?(malloc|calloc|realloc|c?free|memalign|posix_memalign|aligned_alloc|malloc_consolidate|unlink_chunk\S*|sysmalloc|systrim\S*)(@.*)?"
    r"|_int_(malloc|free|realloc|memalign)\S*|__rust_alloc\S*|__rust_dealloc|__rust_realloc|__rdl_\S*|tcache_\S*|sysmalloc\S*|_mid_memalign\S*"
)
COPY = re.compile(r"_*(mem(move|cpy|set|cmp|chr|pcpy)|bcmp)(_.*)?")


def group_of(sample: Sample) -> tuple[str, bool]:
    """Return a readable name of a sample's function, and True if the function belongs to the engine."""
    symbol = sample.symbol
    base = sample.file.rsplit("/", 1)[-1]
    if sample.file.startswith("[kernel") or sample.file.endswith((".ko", ".ko]")) or sample.file.startswith("[guest"):
        return "kernel", False
    if re.match(r"(lib)?python3", base):
        return "Python interpreter", False
    if symbol == "[unknown]":
        return f"unknown function of {base}", False
    if base.startswith(("libc.", "libc-", "libm.", "libm-")) or "::" not in symbol:
        if ALLOCATOR.fullmatch(symbol):
            return "memory allocation", False
        if COPY.fullmatch(symbol):
            return "copying and filling memory", False
        return f"{without_generics(symbol)} ({base.split('.')[0]})", False
    segments = path_of(symbol)
    if not segments:
        return symbol, False
    crate = segments[0]
    if crate in ("core", "alloc", "std") and re.search(r"\braw_vec\b|^alloc::alloc::", symbol):
        return "memory allocation", False
    name = "::".join(segments[1:][-2:]) or crate
    return f"{name} ({crate.removeprefix('wearwell_')})", crate == "wearwell_engine"


def summary(samples: list[Sample]) -> tuple[int, float, list[tuple[str, float]]]:
    """Return the number of samples, the share of the engine, and names with shares outside it, largest first."""
    counts: collections.Counter[str] = collections.Counter()
    kernel: collections.Counter[str] = collections.Counter()
    engine = 0
    for sample in samples:
        name, is_engine = group_of(sample)
        if is_engine:
            engine += 1
            continue
        counts[name] += 1
        if name == "kernel":
            kernel[sample.symbol] += 1
    total = len(samples)
    if total == 0:
        return 0, 0.0, []
    named = [(f"kernel (most in {kernel.most_common(1)[0][0]})" if name == "kernel" else name, count / total) for name, count in counts.most_common()]
    return total, engine / total, named


def cpu_seconds(times: str) -> tuple[float, float]:
    """Return user and system seconds of the shell's children, from the output of `times`."""
    lines = re.findall(r"^(\d+)m([\d.]+)s (\d+)m([\d.]+)s$", times, re.MULTILINE)
    if len(lines) < 2:
        raise ProfileError(f"the shell printed no CPU times: {times[-300:]!r}")
    minutes, seconds, system_minutes, system_seconds = map(float, lines[-1])
    return minutes * 60 + seconds, system_minutes * 60 + system_seconds


def call(command: list[str], folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; fail if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        error = re.sub(r"^\d+m[\d.]+s \d+m[\d.]+s$", "", done.stderr, flags=re.MULTILINE).strip()
        raise ProfileError(f"{shlex.join(command)}: exit status {done.returncode}\n{error[-1500:]}")
    return done


def check_perf(folder: pathlib.Path) -> None:
    """Fail unless perf can record here."""
    if shutil.which("perf") is None:
        raise ProfileError("perf is not installed; profiles need it (Debian: linux-perf; Ubuntu: linux-tools-generic)")
    try:
        call(["perf", "record", "-q", "-e", "cpu-clock", "-o", "try.data", "--", "true"], folder)
    except ProfileError as failure:
        raise ProfileError(f"perf cannot record here: {failure}\nIt needs root, or /proc/sys/kernel/perf_event_paranoid at 2 or less") from None


def measure(name: str, command: list[str], folder: pathlib.Path) -> Profile:
    """Run a command under perf and summarise its samples."""
    timed = ["sh", "-c", '"$@" > output.txt; status=$?; times >&2; exit $status', "sh", *command]
    recorded = call(["perf", "record", "-q", "-B", "-N", "-e", "cpu-clock", "-F", str(FREQUENCY_HZ), "-o", "perf.data", "--", *timed], folder)
    user, system = cpu_seconds(recorded.stderr)
    script = call(["perf", "script", "-i", "perf.data", "-F", "comm,ip,sym,dso"], folder)
    samples = [sample for sample in read_samples(script.stdout) if sample.thread not in ("sh", "perf", "perf-exec")]
    total, engine, outside = summary(samples)
    return Profile(name, shlex.join(command), user, system, total, engine, outside)


def write_trace(path: pathlib.Path, requests: int) -> None:
    """Write a trace in the MSR format: reads and writes of 4 to 64 KiB, most of them to a small part of the space."""
    draw = random.Random(1)
    time = 128_166_372_000_000_000
    pages = TRACE_SPAN // 4096
    with path.open("w", encoding="ascii") as file:
        for _ in range(requests):
            time += int(draw.expovariate(5000) * 1e7) + 1
            size = 1 << draw.choice((0, 0, 0, 0, 1, 1, 2, 3, 4))
            page = int(pages * draw.random() ** 3) // size * size
            kind = "Read" if draw.random() < 0.3 else "Write"
            file.write(f"{time},host,0,{kind},{page * 4096},{size * 4096},0\n")


def prepare(folder: pathlib.Path, wearwell: str, used: str) -> dict[str, str]:
    """Create the files that the commands in `used` read; return the text for each {name}."""
    files = {key: str(folder / f"{key}.toml") for key in ("drive", "small", "mixed", "replay")}
    files |= {"trace": str(folder / "trace.csv"), "long": str(folder / "long.csv"), "policy": str(folder / "policy.py"), "folder": str(folder)}
    files |= {"scenarios": str(HERE / "scenarios"), "samples": str(HERE / "docs" / "samples"), "result": str(folder / "result.json")}
    times = {"read_us": 75, "program_us": 750, "erase_us": 3800, "channel_mb_per_s": 333}
    files["clock"] = " ".join(f"--set timing.{key}={value}.0" for key, value in times.items())
    uniform = '[workload]\nkind = "uniform"'
    files["fleet"] = str(folder / "fleet.toml")
    trace = TRACE.format(**files)
    texts = {"drive": ("1 GiB", uniform), "small": ("64 MiB", uniform), "mixed": ("1 GiB", MIXED.format()), "replay": ("512 MiB", trace)}
    for name, (capacity, workload) in texts.items():
        pathlib.Path(files[name]).write_text(DRIVE.format(capacity=capacity, trace=workload), encoding="utf-8")
    pathlib.Path(files["fleet"]).write_text(FLEET.format(), encoding="utf-8")
    pathlib.Path(files["policy"]).write_text(POLICY.format(**files), encoding="utf-8")
    if "{trace}" in used or "{replay}" in used or "{long}" in used:
        write_trace(folder / "trace.csv", 500_000)
    if "{long}" in used:
        text = (folder / "trace.csv").read_text(encoding="ascii")
        (folder / "long.csv").write_text(text * 16, encoding="ascii")
    if "{result}" in used:
        call([wearwell, "run", files["small"], "--quiet", "--set", "measure.window=0.0001", "--output", files["result"]], folder)
    return files


def reason_not_to_run(case: str, options: argparse.Namespace) -> str:
    """Return the reason why a case cannot run here; empty if it can."""
    if not CASES[case].startswith("python "):
        return ""
    if shutil.which(options.python) is None:
        return f"{options.python} is missing; make profile or `make python` makes it"
    found = subprocess.run([options.python, "-c", "import wearwell"], capture_output=True, text=True)
    return "" if found.returncode == 0 else f"{options.python} has no package wearwell: {found.stderr.strip().splitlines()[-1]}"


def row(profile: Profile, width: int) -> str:
    """Return the table row of a case."""
    costs = "; ".join(f"{share:4.0%} {name}" for name, share in profile.outside[:TOP] if share >= MIN_SHARE)
    seconds = profile.user_seconds + profile.system_seconds
    return f"{profile.name:{width}} {seconds:7.2f} {profile.engine_share:7.0%}  {costs}"


def record_of(profile: Profile) -> dict[str, typing.Any]:
    """Return the JSON record of a case."""
    outside = [{"function": name, "share": round(share, 4)} for name, share in profile.outside if share >= MIN_SHARE]
    return dataclasses.asdict(profile) | {"cpu_seconds": profile.user_seconds + profile.system_seconds, "outside": outside}


def chosen(only: list[str]) -> list[str]:
    """Return the cases that `only` names, exactly or by their beginning; all cases if it is empty."""
    names = [case for case in CASES if not only or any(case == name or (name not in CASES and case.startswith(name)) for name in only)]
    for name in only:
        if not any(case.startswith(name) for case in CASES):
            raise ProfileError(f"no case is called {name!r} or begins with it; --list shows all")
    return names


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this case, or all that begin with NAME; may be repeated")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all numbers there")
    parser.add_argument("--binary", default=str(HERE / "target" / "release" / "wearwell"), metavar="PATH", help="the program (default: %(default)s)")
    parser.add_argument(
        "--python", default=str(HERE / ".venv" / "bin" / "python"), metavar="PATH", help="interpreter with the package (default: %(default)s)"
    )
    parser.add_argument("--list", action="store_true", help="print the cases and their commands")
    return parser.parse_args()


def profile_all(cases: list[str], options: argparse.Namespace, folder: pathlib.Path) -> tuple[list[Profile], dict[str, str]]:
    """Measure the cases one after the other; return also the cases that did not run, with reasons."""
    profiles, not_run = [], {}
    programs = {"wearwell": options.binary, "python": options.python}
    files = prepare(folder, options.binary, " ".join(CASES[case] for case in cases))
    width = max(map(len, cases))
    print(f"{'case':{width}} {'CPU s':>7} {'engine':>7}  largest costs outside the engine (self time)")
    for case in cases:
        reason = reason_not_to_run(case, options)
        try:
            if not reason:
                program, *rest = shlex.split(CASES[case].format(**files))
                profiles.append(measure(case, [programs[program], *rest], folder))
                print(row(profiles[-1], width), flush=True)
        except ProfileError as failure:
            reason = f"FAILED: {failure}"
        if reason:
            not_run[case] = reason
            print(f"{case:{width}} NOT RUN: {reason}", flush=True)
    return profiles, not_run


def main() -> int:
    """Run the command line; return the exit status."""
    options = arguments()
    cases = chosen(options.only)
    if options.list:
        for case in cases:
            print(f"{case}: {CASES[case]}")
        return 0
    if shutil.which(options.binary) is None:
        raise ProfileError(f"{options.binary} is no program; `make build` makes it")
    options.binary = str(pathlib.Path(shutil.which(options.binary) or options.binary).absolute())
    if "/" in options.python:
        options.python = str(pathlib.Path(options.python).absolute())
    with tempfile.TemporaryDirectory(prefix="wearwell-profile-") as temporary:
        folder = pathlib.Path(temporary)
        check_perf(folder)
        if os.geteuid() != 0 and int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 1:
            print("perf may not see the kernel here: shares are of user time alone", file=sys.stderr)
        print(DEFINITION + "\n")
        profiles, not_run = profile_all(cases, options, folder)
    if options.json:
        found = {"definition": DEFINITION.replace("\n", " "), "binary": options.binary, "frequency_hz": FREQUENCY_HZ}
        found |= {"cases": [record_of(profile) for profile in profiles], "not_run": not_run}
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 1 if any(reason.startswith("FAILED") for reason in not_run.values()) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ProfileError, OSError) as failure:
        sys.exit(f"error: {failure}")
