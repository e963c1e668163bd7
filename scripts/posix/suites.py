"""The suites: each takes the settings of the run, and returns its result as one line, or fails."""

import hashlib
import os
import random
import re

import kills
import sources
from mounted import MIB, Failure, FileSystem, run

# Modes of fsx, one per kind of mount: its options, those of the mount, and MiB of NVRAM.
FSX_MODES = {
    "cached by the kernel": ([], "allow_other", 64),
    "not cached": ([], "allow_other,direct_io", 64),
    "collected by the kernel": ([], "allow_other,writeback_cache", 64),
    "O_DIRECT": (["-Z", "-R", "-W", "-r", "4096", "-w", "4096", "-t", "4096"], "allow_other", 64),
    "less NVRAM than file": ([], "allow_other", 12),
}


def pjdfstest(settings):
    """POSIX by some 8,800 cases, as root."""
    if os.geteuid() != 0:
        raise sources.MissingSuite("it changes owners, and must be run as root")
    place = sources.build(sources.PJDFSTEST, settings.pjdfstest, settings.work)
    with FileSystem(settings.binary, 64, 256) as system:
        done = run(["prove", "-j", "4", "-r", place / "tests"], cwd=system.root)
        totals = re.search(r"Files=(\d+), Tests=(\d+)", done.stdout)
        if totals is None:
            raise Failure(f"prove said no totals: {done.stdout.strip()[-600:]}")
        failed = re.findall(r"^(\S+\.t)\s+\(Wstat: .*?Failed: ([1-9]\d*)\)", done.stdout, re.MULTILINE)
        system.check()
    files, tests = totals.groups()
    if failed or "Result: PASS" not in done.stdout:
        wrong = ", ".join(f"{path.split('/tests/')[-1]}: {number}" for path, number in failed)
        raise Failure(f"of {tests} cases in {files} files failed {wrong or done.stdout.strip()[-600:]}")
    return f"{tests} cases in {files} files"


def fsx(settings):
    """Random operations on a file, which is compared completely after each read; five kinds of mounts."""
    place = sources.build(sources.XFSTESTS, settings.xfstests, settings.work)
    for seed, (mode, (arguments, options, nvram_mib)) in enumerate(FSX_MODES.items(), settings.seed):
        with FileSystem(settings.binary, nvram_mib, 128, options) as system:
            file_bytes = 24 * MIB if nvram_mib < 24 else MIB
            command = [place / "ltp/fsx", "-q", "-N", settings.fsx_operations, "-S", seed, "-l", file_bytes]
            command += ["-P", system.folder, *arguments, system.root / "file"]
            done = run(command)
            if done.returncode:
                raise Failure(f"{mode}, seed {seed}: {done.stdout.strip()[-1500:]}")
            system.check()
    return f"{settings.fsx_operations:,} operations on each of {len(FSX_MODES)} kinds of mounts"


def fsstress(settings):
    """Processes with all kinds of operations at the same time: once with free space, and once until the file system
    is full."""
    place = sources.build(sources.XFSTESTS, settings.xfstests, settings.work)
    for seed, (processes, ssd_mib) in enumerate([(4, 512), (6, 48)], settings.seed):
        with FileSystem(settings.binary, 32, ssd_mib) as system:
            work = system.root / "work"
            work.mkdir()
            command = [place / "ltp/fsstress", "-d", work, "-p", processes, "-n", settings.fsstress_operations]
            done = run([*command, "-s", seed])
            if done.returncode:
                raise Failure(f"seed {seed}: {done.stdout.strip()[-1500:]}")
            system.check()
    return f"4 and 6 processes, {settings.fsstress_operations:,} operations each"


def write_until_full(directory, random_bytes):
    """Write files until there is no free space; return their checksums by name."""
    sums = {}
    while True:
        path = directory / str(len(sums))
        content = random_bytes.randbytes(random_bytes.randrange(1, 2 * MIB))
        try:
            path.write_bytes(content)
        except OSError as error:
            if error.errno != 28:
                raise
            path.unlink(missing_ok=True)
            return sums
        sums[path] = hashlib.md5(content).digest()


def full(settings):
    """Cycles of writing until the disk is full: all files can be read, overwritten and removed, and all space becomes
    free."""
    random_bytes = random.Random(settings.seed)
    with FileSystem(settings.binary, 16, 96) as system:
        directory = system.root / "full"
        free = None
        for cycle in range(settings.full_cycles):
            directory.mkdir()
            sums = write_until_full(directory, random_bytes)
            for path in random_bytes.sample(sorted(sums), len(sums) // 4):
                content = random_bytes.randbytes(path.stat().st_size)
                with path.open("r+b") as file:
                    file.write(content)
                sums[path] = hashlib.md5(content).digest()
            wrong = [path.name for path, known in sums.items() if hashlib.md5(path.read_bytes()).digest() != known]
            if wrong:
                raise Failure(f"cycle {cycle}: files {wrong} are not what was written")
            for path in sums:
                path.unlink()
            directory.rmdir()
            now = os.statvfs(system.root).f_bavail
            free = now if free is None else free
            if now < free:
                raise Failure(f"cycle {cycle}: {free - now} blocks of {free} did not come back")
        system.check()
    return f"{settings.full_cycles} times full and empty"


def kill(settings):
    """The server is killed at any moment while programs work; all acknowledged data must be there."""
    return kills.loop(settings)


def liar(settings):
    """The server is killed on a mount that loses written data: the loss must be found."""
    return kills.detects_injected_loss(settings)


ALL = {suite.__name__: suite for suite in (pjdfstest, fsx, fsstress, full, kill, liar)}
