"""The suites: each takes the settings of the run, and returns its result as one line, or fails."""

import os
import pathlib
import random
import threading

import kills
import sources
from mounted import Failure, run
from served import GUEST, HOST, Drive, LoopMount, in_guest, require_tools, is_consistent

HERE = pathlib.Path(__file__).resolve().parent
SYSTEMS = [*HOST, *GUEST]
# XFS does not support less than 300 MiB.
DRIVE_MIB = 320
# Time after which a guest is ended.
LIMIT_S = 600


class Replacements(kills.Replacements):
    """Replacements of files on systems where a new name is durable only after an fsync of its directory."""

    def take(self, step):
        """Execute the step."""
        super().take(step)
        directory = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


PROGRAMS = (kills.Log, kills.Overwrites, kills.Mapped, Replacements)


def run_each(settings, on_host, on_guest):
    """Run one test on each selected file system, with each kernel that has it; return all results."""
    said = []
    for name in settings.file_systems:
        if name in HOST:
            with LoopMount(settings.binary, settings.ftl, name, DRIVE_MIB) as system:
                said.append((name, on_host(system)))
        else:
            require_tools("linux.uml", "busybox", "modprobe", *(one[0] for one in GUEST[name][:2] if one))
            drive = Drive(settings.binary, settings.ftl, DRIVE_MIB)
            try:
                drive.start()
                made = run([*GUEST[name][0], drive.disk])
                if made.returncode:
                    raise Failure(f"{GUEST[name][0][0]}: {made.stdout.strip()}")
                said.append((name, on_guest(drive, name)))
            finally:
                drive.remove()
    return said


def finish(drive, name, lines, wanted):
    """Fail unless a guest printed the expected line, unmounted, and left an intact file system."""
    if wanted not in lines or "live: unmounted" not in lines:
        tail = "\n".join(lines[-20:])
        raise Failure(f"{name}: {tail}")
    if GUEST[name][1] is not None:
        is_consistent(GUEST[name][1], drive.disk)
    drive.stop()


def verify(settings):
    """Random writes of 4 to 64 KiB, read back and compared by fio."""
    require_tools("fio")
    options = f"--rw=randwrite --bsrange=4k-64k --size={settings.verify_mib}m --verify=crc32c --fsync=64 --verify_state_save=0"
    options += f" --ioengine=psync --randseed={settings.seed} --name=verify"

    def on_host(system):
        done = run(["fio", f"--filename={system.root}/file", *options.split()])
        if done.returncode:
            raise Failure(f"{system}: {done.stdout.strip()[-1500:]}")
        system.check()

    def on_guest(drive, name):
        script = f"fio --filename=$ROOT/file {options} > /dev/null && echo 'live: verified'"
        finish(drive, name, in_guest(drive, name, script, LIMIT_S), "live: verified")

    said = run_each(settings, on_host, on_guest)
    return f"{settings.verify_mib} MiB on {', '.join(name for name, _ in said)}; checkers clean"


def fsx(settings):
    """Random operations on a file, which is compared completely after each read."""
    place = sources.built(sources.XFSTESTS, settings.xfstests, settings.work)
    command = f"{place / 'ltp/fsx'} -q -N {settings.fsx_operations} -S {settings.seed} -l 4194304"

    def on_host(system):
        done = run([*command.split(), "-P", system.drive.folder, system.root / "file"])
        if done.returncode:
            raise Failure(f"{system}: {done.stdout.strip()[-1500:]}")
        system.check()

    def on_guest(drive, name):
        script = f"{command} -P /dev/shm $ROOT/file && echo 'live: compared'"
        finish(drive, name, in_guest(drive, name, script, LIMIT_S), "live: compared")

    said = run_each(settings, on_host, on_guest)
    return f"{settings.fsx_operations:,} operations on each of {', '.join(name for name, _ in said)}; checkers clean"


def killed_guest(settings, drive, name):
    """Kill the server of a guest `settings.kills` times; return the steps that were acknowledged."""
    moments = random.Random(settings.seed)
    drive.stop()
    known = "-"
    for kill in range(settings.kills + 1):
        drive.start()
        last = kill == settings.kills
        script = f"python3 {HERE / 'writer.py'} $ROOT {settings.seed} {known} {'compare' if last else 'go on'}"
        timer = threading.Timer(moments.uniform(0.05, 1.0), drive.kill)
        begun = False

        def on_line(line, timer=timer, last=last):
            nonlocal known, begun
            if line.startswith("step "):
                known = line.removeprefix("step ")
                if not begun and not last:
                    begun = True
                    timer.start()

        lines = in_guest(drive, name, script, LIMIT_S, on_line)
        timer.cancel()
        wrong = [line for line in lines if line.startswith("lost ")]
        if wrong or not (begun or last) or "live: mounted" not in lines:
            tail = "\n".join(lines[-20:])
            raise Failure(f"{name}, seed {settings.seed}, kill {kill + 1}: {(wrong or [tail])[0]}")
        if last:
            finish(drive, name, lines, "live: compared")
        else:
            timer.join()
            drive.kill()
            drive.clear()
    return sum(int(step) for step in known.split(","))


def kill(settings):
    """kill -9 of the server at any moment while programs work; all acknowledged data must be there."""

    def on_host(system):
        return kills.rounds(system, PROGRAMS, True, settings.kills, settings.seed, (0.05, 1.0))

    said = run_each(settings, on_host, lambda drive, name: killed_guest(settings, drive, name))
    steps = ", ".join(f"{name} {steps:,}" for name, steps in said)
    return f"{settings.kills} kills each, steps acknowledged and none lost: {steps}; checkers clean"


ALL = {suite.__name__: suite for suite in (verify, fsx, kill)}
