"""A file system that is created for a suite, mounted, killed, mounted again and checked."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

MIB = 1 << 20
# A mount after a kill may have to scan millions of files, or run on a busy machine.
TIMEOUT_S = 120


class Failure(Exception):
    """Failure of a suite, with a message that describes it."""


def run(command, **options):
    """Run a command to its end; return it with its output, which a failure shows."""
    return subprocess.run(
        [str(part) for part in command], text=True, errors="replace", stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, check=False, **options,
    )


class FileSystem:
    """NVMFS over NVRAM in memory and an SSD in a sparse file, with the given sizes in MiB, in a separate folder."""

    def __init__(self, binary, nvram_mib, ssd_mib, options="allow_other"):
        self.binary = binary
        self.options = options
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wearwell-posix-"))
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
        self.memory = pathlib.Path(tempfile.mkdtemp(prefix="wearwell-posix-", dir=memory))
        self.root = self.folder / "mounted"
        self.root.mkdir()
        self.server = None
        self.log = open(self.folder / "server.log", "w+b")
        self.devices = ["--nvram", self.memory / "nvram", "--ssd", self.folder / "ssd"]
        sizes = ["--size", f"{nvram_mib} MiB", "--ssd-size", f"{ssd_mib} MiB"]
        made = run([binary, "nvmfs", "mkfs", *self.devices, *sizes])
        if made.returncode:
            self.remove()
            raise Failure(f"mkfs: {made.stdout.strip()}")

    def __str__(self):
        return f"NVMFS mounted with {self.options}"

    def __enter__(self):
        try:
            self.mount()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.kill()
            self.clear()
        self.remove()

    def mount(self):
        """Mount the file system, and return when it is mounted."""
        command = [self.binary, "nvmfs", "mount", *self.devices, "-o", self.options, self.root]
        self.server = subprocess.Popen([str(part) for part in command], stdout=self.log, stderr=self.log)
        until = time.monotonic() + TIMEOUT_S
        while not os.path.ismount(self.root):
            if self.server.poll() is not None or time.monotonic() > until:
                self.log.seek(0)
                raise Failure(f"mount: {self.log.read()[-2000:].decode(errors='replace').strip()}")
            time.sleep(0.002)

    def kill(self):
        """Kill the server, as in a crash; accesses to the mount point then give errors."""
        if self.server is not None:
            self.server.send_signal(signal.SIGKILL)
            self.server.wait()
            self.server = None

    def clear(self):
        """Turn the mount point into an ordinary folder again."""
        while run(["umount", "--lazy", self.root]).returncode == 0:
            pass

    def unmount(self):
        """Unmount the file system, and return when its devices are free."""
        ended = run([self.binary, "nvmfs", "umount", self.root])
        if ended.returncode:
            raise Failure(f"umount: {ended.stdout.strip()}")
        if self.server.wait(TIMEOUT_S):
            raise Failure(f"the server ended with {self.server.returncode}")
        self.server = None

    def check(self):
        """Unmount the file system, run `fsck`, and fail if it reports a problem."""
        self.unmount()
        checked = run([self.binary, "nvmfs", "fsck", *self.devices])
        if checked.returncode:
            raise Failure(f"fsck ended with {checked.returncode}: {checked.stdout.strip()[-2000:]}")

    def remove(self):
        """Remove every file that was created."""
        self.log.close()
        shutil.rmtree(self.memory, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)
