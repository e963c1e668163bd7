"""A drive that is served from an image, with a file system that is made, mounted, killed, mounted again and
checked."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from mounted import Failure, run
from sources import Missing

# Time limit for the restart of a server, which repeats all requests in its image.
TIMEOUT_S = 300

SCENARIO = """\
[device]
capacity = "{mib} MiB"
spare_factor = 0.1
pages_per_block = 64
[ftl]
{ftl}
"""

# For each file system: the command that makes it on a device, its checker, and its mount options.
HOST = {
    "ext4": (["mkfs.ext4", "-q", "-F", "-b", "4096"], ["e2fsck", "-f", "-n"], "discard"),
    "ext3": (["mkfs.ext3", "-q", "-F", "-b", "4096"], ["e2fsck", "-f", "-n"], "discard"),
    "btrfs": (["mkfs.btrfs", "-q", "-f"], ["btrfs", "check", "--readonly", "--force"], "discard=sync"),
    "xfs": (["mkfs.xfs", "-q", "-f", "-s", "size=4096"], ["xfs_repair", "-n", "-f"], "discard"),
}
GUEST = {
    "f2fs": (["mkfs.f2fs", "-q", "-f"], ["fsck.f2fs", "-f", "--dry-run"], "discard"),
    "nilfs2": (["mkfs.nilfs2", "-q", "-f"], None, "discard"),
}
MODULES = "/usr/lib/uml/modules"


def require_tools(*programs):
    """Fail if any of these programs is missing."""
    paths = os.environ["PATH"] + ":/usr/sbin:/sbin"
    absent = [program for program in programs if shutil.which(program, path=paths) is None]
    if absent:
        raise Missing(f"{', '.join(absent)} missing")
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        raise Missing("it mounts file systems, and must be run as root, with /dev/fuse")


def wait_for(true, said, process):
    """Wait until a condition is true, as long as a process lives; `said` returns the output of the process."""
    until = time.monotonic() + TIMEOUT_S
    while not true():
        if process.poll() is not None or time.monotonic() > until:
            raise Failure(f"{process.args[0]} did not come: {said()}")
        time.sleep(0.01)


class Drive:
    """A drive of this number of MiB in an image, served as a file."""

    def __init__(self, binary, ftl, mib):
        require_tools("umount")
        self.binary = binary
        self.ftl = ftl
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wearwell-live-"))
        self.folder.chmod(0o755)
        self.scenario = self.folder / "drive.toml"
        self.scenario.write_text(SCENARIO.format(mib=mib, ftl=ftl))
        self.shown = self.folder / "shown"
        self.shown.mkdir()
        self.disk = self.shown / "disk"
        self.log = open(self.folder / "server.log", "w+b")
        self.server = None

    def start(self):
        """Serve the drive, from its image if there already is one."""
        command = [self.binary, "serve", self.scenario, "--fuse", self.shown, "--image", self.folder / "image"]
        self.server = subprocess.Popen([str(part) for part in command], stdout=self.log, stderr=self.log)
        wait_for(self.disk.exists, self.output, self.server)

    def output(self):
        """Return the last output of the server."""
        self.log.seek(0)
        return self.log.read()[-2000:].decode(errors="replace").strip()

    def kill(self):
        """Kill the server immediately."""
        if self.server is not None:
            self.server.send_signal(signal.SIGKILL)
            self.server.wait()
            self.server = None

    def clear(self):
        """Remove what is left of the file of a server that was killed."""
        while run(["umount", "--lazy", self.shown]).returncode == 0:
            pass

    def stop(self):
        """End the server as Ctrl-C does; its counts must agree."""
        self.server.send_signal(signal.SIGINT)
        if self.server.wait(TIMEOUT_S):
            raise Failure(f"the server ended with {self.server.returncode}: {self.output()}")
        self.server = None

    def remove(self):
        """Remove the drive with all its files."""
        self.kill()
        self.clear()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class LoopMount:
    """A file system of this machine's kernel on a served drive."""

    def __init__(self, binary, ftl, name, mib):
        self.name = name
        make, self.checker, self.options = HOST[name]
        require_tools(make[0], self.checker[0], "losetup")
        self.drive = Drive(binary, ftl, mib)
        self.root = self.drive.folder / "mounted"
        self.root.mkdir()
        self.device = None
        try:
            self.drive.start()
            made = run([*make, self.drive.disk])
            if made.returncode:
                raise Failure(f"{make[0]}: {made.stdout.strip()}")
            self.drive.stop()
        except BaseException:
            self.drive.remove()
            raise

    def __str__(self):
        return f"{self.name} on a drive with {self.drive.ftl}"

    def __enter__(self):
        try:
            self.mount()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.kill()
            self.clear()
        self.drive.remove()

    def mount(self):
        """Serve the drive and mount the file system."""
        self.drive.start()
        attached = run(["losetup", "-f", "--show", "-b", "4096", "--direct-io=on", self.drive.disk])
        if attached.returncode:
            raise Failure(f"{self}: {attached.stdout.strip()}")
        self.device = attached.stdout.strip()
        mounted = run(["mount", "-t", self.name, "-o", self.options, self.device, self.root])
        if mounted.returncode:
            raise Failure(f"{self}: {mounted.stdout.strip()}")

    def kill(self):
        """Kill the server of the drive."""
        self.drive.kill()

    def clear(self):
        """Remove what is left of a mount."""
        for _ in range(100):
            if not os.path.ismount(self.root) or run(["umount", self.root]).returncode == 0:
                break
            time.sleep(0.05)
        else:
            run(["umount", "--lazy", self.root])
        self.detach()
        self.drive.clear()

    def detach(self):
        """Detach the loop device."""
        if self.device is not None:
            run(["losetup", "-d", self.device])
            self.device = None

    def check(self):
        """Unmount the file system, and fail if its checker or the counts of the server report a problem."""
        ended = run(["umount", self.root])
        if ended.returncode:
            raise Failure(f"umount: {ended.stdout.strip()}")
        self.detach()
        is_consistent(self.checker, self.drive.disk)
        self.drive.stop()


def is_consistent(checker, disk):
    """Fail if a checker finds a problem on a disk."""
    checked = run([*checker, disk])
    if checked.returncode or "[Fail]" in checked.stdout:
        raise Failure(f"{checker[0]} ended with {checked.returncode}: {checked.stdout.strip()[-2000:]}")


def in_guest(drive, name, script, limit_s, each_line=None):
    """Run a script in User-mode Linux with the file system at $ROOT; return its lines, also if it failed after them.

    `each_line` is called with each line as it arrives.
    """
    options = GUEST[name][2]
    modules = drive.folder / "modules/lib"
    modules.mkdir(parents=True, exist_ok=True)
    if not (modules / "modules").exists():
        (modules / "modules").symlink_to(MODULES)
    init = drive.folder / "init.sh"
    init.write_text(
        "#!/bin/sh\nexport PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin ROOT=/mnt/fs\n"
        "mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev 2> /dev/null\n"
        "mount -t tmpfs tmpfs /mnt; mkdir /mnt/fs; mkdir -p /dev/shm; mount -t tmpfs tmpfs /dev/shm\n"
        f"modprobe -d {drive.folder}/modules {name}\n"
        f"mount -i -t {name} -o {options} /dev/ubda $ROOT && echo 'live: mounted'\n"
        f"{script}\ncd /; umount -i $ROOT && echo 'live: unmounted'\nbusybox poweroff -f\n"
    )
    init.chmod(0o755)
    command = ["timeout", "-k", "10", str(limit_s), "linux.uml", "mem=256M", f"ubd0={drive.disk}", f"init={init}"]
    command += ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "con=null", "con0=null,fd:1", "quiet"]
    environment = {**os.environ, "TMPDIR": "/dev/shm"}
    lines = []
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, errors="replace",
    ) as guest:
        for line in guest.stdout:
            lines.append(line.strip())
            if each_line is not None:
                each_line(lines[-1])
    return lines
