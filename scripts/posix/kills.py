"""The server is killed while programs work on the mount; after another mount, all acknowledged data must be there.

A program executes a sequence of steps that its seed determines, and counts the steps that returned in memory that the
kill does not affect. A model executes the same steps, so that the state after n of them is known. The step in
progress may be present or not; it is executed again when the program continues.
"""

import contextlib
import errno
import mmap
import multiprocessing
import os
import random
import signal
import struct
import time

from mounted import Failure, FileSystem

BLOCK = 4096
# Errors after a kill in the middle of a call: the connection is lost, which the kernel reports in several ways.
DISCONNECT_ERRORS = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO, errno.ESHUTDOWN, errno.EBADF, errno.EROFS}

# Options of the mount, and whether writes count only after a sync: if the kernel buffers writes, unsynced writes do
# not survive.
MODES = {
    "cached": ("allow_other", False),
    "direct": ("allow_other,direct_io", False),
    "collected": ("allow_other,writeback_cache", True),
}
# In this mode, writes count too early, and are lost.
UNSYNCHRONISED = ("allow_other,writeback_cache", False)


def is_mixture(found, before, after):
    """Return whether each word of 8 bytes is either the word before or the word after."""
    words = zip(*(struct.iter_unpack("<Q", block) for block in (found, before, after)), strict=True)
    return all(word in (old, new) for word, old, new in words)


class Program:
    """Steps on a folder, and a model of the resulting content."""

    def __init__(self, directory, seed, must_sync):
        self.directory = directory
        self.seed = seed
        self.must_sync = must_sync
        # Number of the step that was in progress at the last kill.
        self.first = 0

    def random(self, step):
        """Return the random numbers of a step, which depend only on the program, the seed and the step."""
        return random.Random(f"{type(self).__name__} {self.seed} {step}")

    def path(self, name):
        """Return the path of a file of the program."""
        return os.path.join(self.directory, name)

    def written(self, name, at, data, more_flags=0):
        """Write to a file so that the data survives."""
        flags = os.O_CREAT | os.O_WRONLY | more_flags
        file = os.open(self.path(name), flags, 0o644)
        try:
            # The kill may come between two requests of a write, which then returns the number of bytes written so
            # far.
            if os.pwrite(file, data, at) != len(data):
                raise OSError(errno.EIO, "a write came to nothing half-way", name)
            if self.must_sync:
                os.fsync(file)
        finally:
            os.close(file)

    def read(self, name):
        """Return the content of a file; empty if there is none."""
        try:
            with open(self.path(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""


class Log(Program):
    """Records are appended to a file, which is truncated when it is long."""

    LONG = 1 << 20

    def __init__(self, *given):
        super().__init__(*given)
        self.content = b""

    def record(self, step):
        """Return the record of a step; None if the step truncates the log."""
        choice = self.random(step)
        return choice.randbytes(choice.randrange(1, 3 * BLOCK)) if len(self.content) < self.LONG else None

    def take(self, step):
        """Execute the step."""
        record = self.record(step)
        if record is None:
            self.written("log", 0, b"", os.O_TRUNC)
        else:
            self.written("log", len(self.content), record)

    def model(self, step):
        """Execute the step in the model."""
        record = self.record(step)
        self.content = b"" if record is None else self.content + record

    def compare(self, step):
        """Fail unless the file has the acknowledged content, and possibly a beginning of the record in progress."""
        found, record = self.read("log"), self.record(step)
        if record is None and found == b"":
            return
        if found[: len(self.content)] != self.content:
            raise Failure(f"the log lost something: {len(found)} bytes, {len(self.content)} acknowledged")
        if not (record or b"").startswith(found[len(self.content) :]):
            raise Failure("the log ends with what nobody wrote")


class NewestData(Program):
    """A program that replaces the content of one of several items in each step."""

    def __init__(self, *given):
        super().__init__(*given)
        self.newest = {}

    def model(self, step):
        """Execute the step in the model."""
        self.newest[self.change(step)[0]] = step


class Overwrites(NewestData):
    """Blocks of a file are overwritten in random order."""

    BLOCKS = 512

    def change(self, step):
        """Return the block of a step, and its content."""
        choice = self.random(step)
        return choice.randrange(self.BLOCKS), struct.pack("<Q", step) + choice.randbytes(BLOCK - 8)

    def take(self, step):
        """Execute the step."""
        block, data = self.change(step)
        self.written("blocks", block * BLOCK, data)

    def compare(self, step):
        """Fail unless each block has its newest content. The block in progress may be partly written, word by
        word."""
        content = self.read("blocks").ljust(self.BLOCKS * BLOCK, b"\0")
        under_way, data = self.change(step)
        for block in range(self.BLOCKS):
            found = content[block * BLOCK : (block + 1) * BLOCK]
            newest = self.newest.get(block)
            known = bytes(BLOCK) if newest is None else self.change(newest)[1]
            if found != known and not (block == under_way and is_mixture(found, known, data)):
                held = struct.unpack("<Q", found[:8])[0]
                raise Failure(f"block {block} holds step {held}, not {newest}")


class Mapped(Overwrites):
    """Blocks are overwritten through shared memory, and synced by msync."""

    BLOCKS = 64

    def take(self, step):
        """Execute the step."""
        block, data = self.change(step)
        file = os.open(self.path("blocks"), os.O_CREAT | os.O_RDWR, 0o644)
        try:
            os.ftruncate(file, self.BLOCKS * BLOCK)
            with mmap.mmap(file, self.BLOCKS * BLOCK) as mapped:
                mapped[block * BLOCK : (block + 1) * BLOCK] = data
                mapped.flush()
        finally:
            os.close(file)


class Replacements(NewestData):
    """Files are replaced by renaming another file over them, as editors and databases do."""

    NAMES = 8

    def change(self, step):
        """Return the name of a step, and its content."""
        choice = self.random(step)
        return f"file{choice.randrange(self.NAMES)}", choice.randbytes(choice.randrange(1, 8 * BLOCK))

    def take(self, step):
        """Execute the step."""
        name, data = self.change(step)
        self.written("new", 0, data, os.O_TRUNC)
        os.rename(self.path("new"), self.path(name))

    def compare(self, step):
        """Fail unless each file is complete and the newest; the file in progress may be present."""
        under_way, data = self.change(step)
        for name in (f"file{number}" for number in range(self.NAMES)):
            found, newest = self.read(name), self.newest.get(name)
            known = b"" if newest is None else self.change(newest)[1]
            if found != known and not (name == under_way and found == data):
                raise Failure(f"{name}: {len(found)} bytes are not what step {newest} left ({len(known)} bytes)")


class Names(Program):
    """Names are created, removed, renamed and linked."""

    NAMES = 40

    def __init__(self, *given):
        super().__init__(*given)
        self.kinds = {}

    def action(self, step):
        """Return the action of a step, which is possible according to the model: its kind, a name and another
        name."""
        choice = self.random(step)
        name, other = (f"n{choice.randrange(self.NAMES)}" for _ in range(2))
        kind = self.kinds.get(name)
        if kind is None:
            return choice.choice(["file", "directory", "symlink"]), name, other
        if other not in self.kinds and choice.random() < 0.5:
            return "link" if kind == "file" and choice.random() < 0.5 else "rename", name, other
        return "remove", name, other

    def take(self, step):
        """Execute the step. It is no error if the step was executed before the kill, and only its return was lost."""
        with contextlib.suppress(*(FileExistsError, FileNotFoundError) if step == self.first else ()):
            self.perform(*self.action(step))

    def perform(self, action, name, other):
        """Execute the action of a step."""
        path, target = self.path(name), self.path(other)
        if action == "file":
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        elif action == "directory":
            os.mkdir(path)
        elif action == "symlink":
            os.symlink(other, path)
        elif action == "link":
            os.link(path, target)
        elif action == "rename":
            os.rename(path, target)
        else:
            (os.rmdir if self.kinds[name] == "directory" else os.unlink)(path)

    def after(self, step):
        """Return the names after the step, with the kind of each."""
        action, name, other = self.action(step)
        kinds = dict(self.kinds)
        if action == "link":
            kinds[other] = kinds[name]
        elif action == "rename":
            kinds[other] = kinds.pop(name)
        elif action == "remove":
            del kinds[name]
        else:
            kinds[name] = action
        return kinds

    def model(self, step):
        """Execute the step in the model."""
        self.kinds = self.after(step)

    def compare(self, step):
        """Fail unless the names are those before or after the step in progress."""
        kind = {True: "symlink"}
        found = {}
        for entry in os.scandir(self.directory):
            is_directory = entry.is_dir(follow_symlinks=False)
            found[entry.name] = kind.get(entry.is_symlink(), "directory" if is_directory else "file")
        if found not in (self.kinds, self.after(step)):
            wrong = sorted(set(found.items()) ^ set(self.kinds.items()))
            raise Failure(f"names are not what they were: {wrong}")


PROGRAMS = (Log, Overwrites, Mapped, Replacements, Names)


def work(program, counter):
    """Execute steps until the mount is gone. Each step is counted after it has returned."""
    try:
        while True:
            (step,) = struct.unpack("<Q", counter[:8])
            program.take(step)
            counter[:8] = struct.pack("<Q", step + 1)
            program.model(step)
    except OSError as error:
        if error.errno in DISCONNECT_ERRORS:
            os._exit(0)
        raise


def killed_once(system, programs, counters, delay_s):
    """Run all programs, kill the server after this number of seconds, and mount the file system again."""
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=work, args=pair) for pair in zip(programs, counters, strict=True)]
    for worker in workers:
        worker.start()
    time.sleep(delay_s)
    system.kill()
    for worker in workers:
        worker.join(60)
        # Access to a mapped page of a file system that is gone causes a bus error.
        if worker.exitcode not in (0, -signal.SIGBUS):
            worker.kill()
            raise Failure(f"a program ended with {worker.exitcode} and not because the mount was gone")
    system.clear()
    system.mount()


def verify_after_kill(program, counter, known):
    """Advance the model to the acknowledged steps, and compare; return the steps that are now known."""
    (done,) = struct.unpack("<Q", counter[:8])
    for step in range(known, done):
        program.model(step)
    program.compare(done)
    program.first = done
    return done


def rounds(system, kinds, must_sync, kills, seed, delays_s=(0.002, 0.1)):
    """Kill a mounted file system repeatedly under programs of these kinds. Return the steps that were
    acknowledged."""
    moments = random.Random(seed)
    programs = []
    for kind in kinds:
        directory = system.root / kind.__name__
        directory.mkdir()
        programs.append(kind(str(directory), seed, must_sync))
    # Creating the folders is not a step that is acknowledged.
    root = os.open(system.root, os.O_RDONLY)
    os.fsync(root)
    os.close(root)
    counters = [mmap.mmap(-1, mmap.PAGESIZE) for _ in programs]
    known = [0] * len(programs)
    for kill in range(kills):
        killed_once(system, programs, counters, moments.uniform(*delays_s))
        for place, program in enumerate(programs):
            try:
                known[place] = verify_after_kill(program, counters[place], known[place])
            except Failure as why:
                (step,) = struct.unpack("<Q", counters[place][:8])
                where = f"{system}, seed {seed}, kill {kill + 1}, {type(program).__name__}, step {step}"
                raise Failure(f"{where}: {why}") from why
        if kill % 20 == 19:
            system.check()
            system.mount()
    system.check()
    return sum(known)


def mounted_rounds(settings, mode, kills, seed):
    """Kill NVMFS repeatedly, on one kind of mount. Return the steps that were acknowledged."""
    options, must_sync = mode
    with FileSystem(settings.binary, 16, 96, options) as system:
        return rounds(system, PROGRAMS, must_sync, kills, seed)


def loop(settings):
    """Kill NVMFS as often as the settings say, in one mode or in all of them."""
    modes = [MODES[settings.kill_mode]] if settings.kill_mode else list(MODES.values())
    each = -(-settings.kills // len(modes))
    steps = sum(mounted_rounds(settings, mode, each, settings.seed + place) for place, mode in enumerate(modes))
    return f"{each * len(modes):,} kills under {len(PROGRAMS)} programs, {steps:,} steps acknowledged, none lost"


def detects_injected_loss(settings):
    """Kill mounts whose writes do not survive until a loss is found; the settings limit the number of kills."""
    try:
        mounted_rounds(settings, UNSYNCHRONISED, settings.kills, settings.seed)
    except Failure as found:
        return f"found, as it must be: {found}"
    raise Failure(f"of {settings.kills} kills of a mount that loses writes none was found out")
