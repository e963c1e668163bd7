#!/usr/bin/env python3
"""Run the same work on NVMFS and on file systems of the kernel in turns, and compare their rates.

    sudo scripts/beside_file_systems.py [--wearwell PROGRAM] [--disk FOLDER] [--memory FOLDER] [--rounds N] [--seconds S]
                                        [--only NAME ...] [--markdown FILE] [--json FILE]

ext4, btrfs and xfs are on loop devices over files in FOLDER on a disk, which are read and written without its page
cache. NVMFS has its SSD in a file in the same folder (with `--ssd-direct` if the disk supports it), and its NVRAM in
a file in memory. So the disk is the same, and the NVRAM is as fast as memory: on slower NVRAM its rates would be
lower, and this NVRAM does not survive a power cut. nilfs2 is included if the kernel has it. A file system that does
not exist here, or cannot be mounted, is named and omitted.

In each round, each file system is created and runs all jobs, one file system after the other. A rate is the median of
the rounds, and the ratios are relative to ext4 in the same table. The script needs root to mount, and `fio` for two
of the jobs.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
MIB = 1 << 20
# Size of each file system's device, and of the NVRAM of NVMFS; the file for random writes has a quarter of the
# NVRAM's size.
DEVICE_BYTES, NVRAM_BYTES = 2 << 30, 256 * MIB
RANDOM_BYTES, LARGE_BYTES = 64 * MIB, 768 * MIB
MAIL_BYTES = 8192
KERNELS = {
    "ext4": ["mkfs.ext4", "-q", "-F"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
    "nilfs2": ["mkfs.nilfs2", "-q", "-f"],
}
NVMFS = "NVMFS"


def run(*command):
    """Run a program, which must succeed; return its output."""
    done = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


@contextlib.contextmanager
def kernel_file_system(name, args):
    """Create and mount a file system of the kernel on a loop device; return the mount point."""
    image = pathlib.Path(args.disk) / f"beside-{name}.img"
    at = pathlib.Path(tempfile.mkdtemp(prefix=f"beside-{name}-"))
    device = None
    try:
        with open(image, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, DEVICE_BYTES)
        device = run("losetup", "--find", "--show", "--direct-io=on", image).strip()
        run(*KERNELS[name], device)
        run("mount", "-t", name, device, at)
        yield at
        run("umount", at)
    finally:
        subprocess.run(["umount", "-l", at], check=False, capture_output=True)
        if device:
            subprocess.run(["losetup", "--detach", device], check=False, capture_output=True)
        image.unlink(missing_ok=True)
        at.rmdir()


@contextlib.contextmanager
def nvmfs(args, *options):
    """Create and mount NVMFS; return the mount point."""
    ssd = pathlib.Path(args.disk) / "beside-nvmfs.img"
    memory = pathlib.Path(tempfile.mkdtemp(prefix="beside-nvmfs-", dir=args.memory))
    at, nvram = memory / "at", memory / "nvram"
    at.mkdir()
    devices = ["--nvram", nvram, "--ssd", ssd]
    try:
        run(args.wearwell, "nvmfs", "mkfs", "--force", *devices, "--size", NVRAM_BYTES, "--ssd-size", DEVICE_BYTES)
        with open(ssd, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, DEVICE_BYTES)
        mount = [args.wearwell, "nvmfs", "mount", "--background", *devices, *options]
        try:
            direct = ["--ssd-direct"]
            mounted = subprocess.run([*map(str, mount), *direct, str(at)], check=False, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
            if mounted.returncode != 0:
                subprocess.run([*map(str, mount), str(at)], check=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
            yield at
        finally:
            if os.path.ismount(at):
                run(args.wearwell, "nvmfs", "umount", at)
    finally:
        ssd.unlink(missing_ok=True)
        shutil.rmtree(memory, ignore_errors=True)


def fio(at, seconds, *more):
    """Run fio on one file; return the results of its job."""
    out = run("fio", "--name=job", f"--filename={at / 'fio'}", f"--size={RANDOM_BYTES}", "--bs=4k", "--ioengine=psync",
              f"--runtime={seconds}", "--time_based", "--output-format=json", "--randseed=1", *more)
    return json.loads(out[out.index("{"):])["jobs"][0]


def synced_writes(at, seconds):
    """Random writes of 4 KiB, each followed by fdatasync."""
    return fio(at, seconds, "--rw=randwrite", "--fdatasync=1")["write"]["iops"]


def unsynced_writes(at, seconds):
    """Random writes of 4 KiB without a sync: the page cache takes them, except on NVMFS, which makes each write
    durable."""
    return fio(at, seconds, "--rw=randwrite")["write"]["iops"]


def transactions(journal):
    """Return a job with transactions of SQLite that each insert a row of 100 bytes, with a journal of the given
    kind."""

    def job(at, seconds):
        path = at / f"{journal}.db"
        database = sqlite3.connect(path, isolation_level=None)
        database.execute(f"pragma journal_mode={journal}")
        database.execute("pragma synchronous=full")
        database.execute("create table t (id integer primary key, text blob)")
        begin, done = time.monotonic(), 0
        while time.monotonic() - begin < seconds:
            database.execute("insert into t (text) values (?)", (bytes(100),))
            done += 1
        took = time.monotonic() - begin
        database.close()
        return done / took

    return job


def mail(at, seconds):
    """Deliver mail as maildir does: new file, fsync, rename, fsync of the directory; one in ten is read and
    removed."""
    (at / "tmp").mkdir()
    (at / "new").mkdir()
    directory = os.open(at / "new", os.O_RDONLY)
    begin, done = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        name = str(done)
        file = os.open(at / "tmp" / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.write(file, bytes(MAIL_BYTES))
        os.fsync(file)
        os.close(file)
        os.rename(at / "tmp" / name, at / "new" / name)
        os.fsync(directory)
        done += 1
        if done % 10 == 0:
            (at / "new" / str(done // 2)).read_bytes()
            (at / "new" / str(done // 2)).unlink()
    took = time.monotonic() - begin
    os.close(directory)
    return done / took


def small_files(at, _seconds):
    """Create, list, read and remove 3000 small files, without a sync."""
    files = 3000
    folder = at / "small"
    begin = time.monotonic()
    folder.mkdir()
    for number in range(files):
        (folder / str(number)).write_bytes(bytes(1000))
    for path in sorted(folder.iterdir()):
        path.read_bytes()
    shutil.rmtree(folder)
    return files / (time.monotonic() - begin)


def large_write(at, _seconds):
    """Write a large file sequentially, then fsync; return MiB per second."""
    piece = bytes(range(256)) * (MIB // 256)
    begin = time.monotonic()
    with open(at / "large", "wb") as file:
        for _ in range(LARGE_BYTES // MIB):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return LARGE_BYTES / MIB / (time.monotonic() - begin)


def large_read(at, _seconds):
    """Read this file, of which the kernel has nothing in memory; return MiB per second."""
    run("sync")
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3", encoding="ascii")
    begin = time.monotonic()
    with open(at / "large", "rb", buffering=0) as file:
        while file.read(MIB):
            pass
    took = time.monotonic() - begin
    (at / "large").unlink()
    return LARGE_BYTES / MIB / took


JOBS = {
    "4 KiB written at random, fdatasync each, a second": synced_writes,
    "SQLite transactions a second, rollback journal": transactions("delete"),
    "SQLite transactions a second, write-ahead log": transactions("wal"),
    "mails delivered a second": mail,
    "small files made, read and removed a second, no fsync": small_files,
    "4 KiB written at random a second, no fsync": unsynced_writes,
    "768 MiB written, then fsync, MiB/s": large_write,
    "768 MiB read cold, MiB/s": large_read,
}


def one_round(names, args, rates):
    """Run all jobs on each file system."""
    for name in list(names):
        made = nvmfs(args) if name == NVMFS else kernel_file_system(name, args)
        try:
            with made as at:
                for job, do in JOBS.items():
                    rates[name].setdefault(job, []).append(do(at, args.seconds))
                    print(f"  {name}: {job}: {rates[name][job][-1]:.0f}", file=sys.stderr)
        except (RuntimeError, OSError, sqlite3.Error) as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            names.remove(name)


def page_cache(args):
    """Read a file of twice the NVRAM, mostly the same blocks, with and without the page cache; return what NVMFS
    received."""
    rows = {}
    for name, options in {"the kernel's page cache": [], "`direct_io`": ["-o", "direct_io"]}.items():
        with nvmfs(args, *options) as at:
            zipf = ["--rw=randrw", "--rwmixread=80", "--random_distribution=zipf:1.1", f"--size={2 * NVRAM_BYTES}"]
            (at / "fio").write_bytes(bytes(range(256)) * (2 * NVRAM_BYTES // 256))
            run("sync")
            pathlib.Path("/proc/sys/vm/drop_caches").write_text("3", encoding="ascii")
            before = json.loads(run(args.wearwell, "nvmfs", "stats", "--json", at))["counts"]
            job = fio(at, args.seconds, *zipf)
            after = json.loads(run(args.wearwell, "nvmfs", "stats", "--json", at))["counts"]
            seen = {key: after[key] - before[key] for key in before}
            asked = job["read"]["total_ios"]
            rows[name] = {
                "reads of 4 KiB a second": job["read"]["iops"],
                "blocks that NVMFS was asked for, for 100 read": 100 * seen["read_blocks"] / max(asked, 1),
                "those of them on NVRAM, %": 100 * seen["read_hits"] / max(seen["read_blocks"], 1),
                "blocks read from the SSD, for 100 read": 100 * seen["ssd_read_blocks"] / max(asked, 1),
            }
    return rows


def table(names, rates):
    """Write a table of medians, with ratios to ext4."""
    lines = ["| | " + " | ".join(names) + " | NVMFS / ext4 |", "|---|" + "---:|" * (len(names) + 1)]
    for job in JOBS:
        medians = {name: statistics.median(rates[name][job]) for name in names}
        ratio = "–"
        if {NVMFS, "ext4"} <= medians.keys():
            pairs = zip(rates[NVMFS][job], rates["ext4"][job], strict=False)
            ratios = sorted(one / other for one, other in pairs)
            ratio = f"{medians[NVMFS] / medians['ext4']:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        lines.append(f"| {job} | " + " | ".join(f"{medians[name]:,.0f}" for name in names) + f" | {ratio} |")
    return "\n".join(lines) + "\n"


def cache_table(rows):
    """Write the requests that NVMFS received with and without the page cache."""
    names = list(rows)
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for key in rows[names[0]]:
        lines.append(f"| {key} | " + " | ".join(f"{rows[name][key]:,.1f}" for name in names) + " |")
    return "\n".join(lines) + "\n"


def main():
    """Run the whole comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wearwell", default=HERE / "target/release/wearwell", type=pathlib.Path)
    parser.add_argument("--disk", default=HERE / "target", type=pathlib.Path)
    parser.add_argument("--memory", default="/dev/shm", type=pathlib.Path)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--seconds", default=5, type=int)
    parser.add_argument("--only", nargs="+", choices=[NVMFS, *KERNELS])
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("root is needed to mount")
    if shutil.which("fio") is None:
        sys.exit("fio is not there; it is in a package of that name")
    names = [name for name in args.only or [NVMFS, *KERNELS] if name == NVMFS or shutil.which(KERNELS[name][0])]
    rates = {name: {} for name in names}
    for number in range(args.rounds):
        print(f"round {number + 1} of {args.rounds}", file=sys.stderr)
        one_round(names, args, rates)
    cache = page_cache(args) if NVMFS in names else {}
    text = (table(names, rates) if args.rounds else "") + ("\n" + cache_table(cache) if cache else "")
    print(text)
    if args.markdown:
        args.markdown.write_text(text, encoding="utf-8")
    if args.json:
        args.json.write_text(json.dumps({"rates": rates, "page_cache": cache}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
