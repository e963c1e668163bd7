#!/usr/bin/env python3
"""Kill the server of a live drive repeatedly, at any moment, and check that all data that it acknowledged is there.

    scripts/kill_serve.py --kills 1000 --program target/release/wearwell

For each FTL, a drive is served from its image. A client in this script writes, trims and flushes pages over NBD. The
server gets SIGKILL after a random time, or the power of its drive is cut by `wearwell pull-plug`. Then another
process serves the image, and every page is read back. A model knows the possible content of a page: content that was
acknowledged, content of requests in progress and, for trims and shared content, the content before the last flush.
`wearwell image fsck` checks every image after the last kill.
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

PAGE = 4096
DRIVE = """[device]
blocks_per_plane = 96
pages_per_block = 16
spare_factor = 0.25
page_size = 4096
[ftl]
"""
# For each drive, its settings, and whether a write, a flushed trim, and any trim survives.
DRIVES = {
    "log": ('reclaim = "free_pool"\n', True, False, False),
    "gecko": ('structure = "gecko"\n', True, True, False),
    "dftl": ('structure = "dftl"\n', True, True, True),
    "lazyftl": ('structure = "lazyftl"\n', True, True, False),
    "mu_ftl": ('structure = "mu_ftl"\n', True, True, True),
    "ib_ftl": ('structure = "ib_ftl"\n', True, True, False),
    "fast": ('structure = "fast"\n', True, False, False),
    "bast": ('structure = "bast"\n', True, False, False),
    "cagc": ('reclaim = "free_pool"\n[ftl.dedup]\nkind = "cagc"\nmap_log = true\n', False, True, False),
    "inline": ('reclaim = "free_pool"\n[ftl.dedup]\nkind = "inline"\nmap_log = true\n', False, True, False),
}
READ, WRITE, LEAVE, FLUSH, TRIM = range(5)
EIO = 5


class ServerDisconnected(Exception):
    """The server has ended."""


class Client:
    """Minimal NBD client with one request at a time."""

    def __init__(self, path):
        """Connect to the export without a name."""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        magic, option, _ = struct.unpack(">8s8sH", self.take(18))
        assert (magic, option) == (b"NBDMAGIC", b"IHAVEOPT"), (magic, option)
        # The client uses the fixed handshake without zeroes, and selects the export by name.
        self.socket.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        self.bytes, _ = struct.unpack(">QH", self.take(10))
        self.handle = 0

    def take(self, length):
        """Return this number of bytes from the server."""
        data = b""
        while len(data) < length:
            try:
                more = self.socket.recv(length - len(data))
            except OSError as error:
                raise ServerDisconnected from error
            if not more:
                raise ServerDisconnected
            data += more
        return data

    def request(self, command, at=0, length=0, data=b""):
        """Make a request; return its error, and the data of a read."""
        self.handle += 1
        head = struct.pack(">IHHQQI", 0x25609513, 0, command, self.handle, at, length)
        try:
            self.socket.sendall(head + data)
        except OSError as error:
            raise ServerDisconnected from error
        magic, error, handle = struct.unpack(">IIQ", self.take(16))
        assert (magic, handle) == (0x67446698, self.handle), (magic, handle)
        read = self.take(length) if command == READ and error == 0 else b""
        return error, read


class Model:
    """Possible content of each page, with the expected content first."""

    def __init__(self, pages, durability):
        """Create the model of a drive; the flags tell if writes, flushed trims and trims survive."""
        self.may = [[0] for _ in range(pages)]
        self.ever = [{0} for _ in range(pages)]
        self.writes, self.flushed_trims, self.trims = durability

    def change(self, page, content, done, is_trim):
        """Record that the page was written or trimmed (content 0), or that this was in progress."""
        sure = done and (self.trims if is_trim else self.writes)
        self.ever[page].add(content)
        # If a trim leaves no trace, any content that the page ever had may reappear.
        olds = self.ever[page] if is_trim and not self.flushed_trims else self.may[page]
        self.may[page] = [content] if sure else [content] + [old for old in olds if old != content]

    def on_flush(self):
        """Record that everything acknowledged is durable, except trims that leave no trace."""
        if self.flushed_trims:
            self.may = [may[:1] for may in self.may]

    def check(self, page, found):
        """Check the content of a page that was read back, and make it the expected one."""
        content = struct.unpack("<Q", found[:8])[0]
        if found != page_bytes(content) or content not in self.may[page]:
            raise AssertionError(f"page {page} holds {content}, and may hold {self.may[page][:8]}")
        rest = [] if self.flushed_trims else [old for old in self.may[page] if old != content]
        self.may[page] = [content] + rest


def page_bytes(content):
    """Return the bytes of the page with a content number."""
    return struct.pack("<Q", content) * (PAGE // 8)


class Server:
    """Server of the image in a folder."""

    def __init__(self, program, folder):
        """Start the server, and wait until it listens."""
        self.program, self.folder = program, folder
        self.path = os.path.join(folder, "nbd")
        pathlib.Path(self.path).unlink(missing_ok=True)
        command = [program, "serve", "drive.toml", "--nbd", "unix:nbd", "--image", "image"]
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=self.said)
        if not self.process.stdout.readline():
            self.process.wait()
            self.said.seek(0)
            raise AssertionError(f"the server does not come back: {self.said.read().decode()}")

    def kill(self):
        """Kill the server without any warning."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def cut_power(self, after):
        """Cut the power of the drive in the middle of an operation."""
        command = [self.program, "pull-plug", "image", "--after", str(after), "--torn", "--wait", "0"]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)


def verify(client, model):
    """Read every page back."""
    for page in range(len(model.may)):
        error, found = client.request(READ, page * PAGE, PAGE)
        assert error == 0, f"page {page} cannot be read: error {error}"
        model.check(page, found)


def work(client, model, draw, names, is_shared, on_request):
    """Make requests until the server has ended, or a request was refused because power was cut."""
    pages = len(model.may)
    while True:
        on_request()
        kind, page = draw.random(), draw.randrange(pages)
        try:
            if kind < 0.85:
                content = draw.randrange(1, 60) if is_shared else next(names)
                model.change(page, content, False, False)
                error, _ = client.request(WRITE, page * PAGE, PAGE, page_bytes(content))
                if error == 0:
                    model.change(page, content, True, False)
            elif kind < 0.95:
                model.change(page, 0, False, True)
                error, _ = client.request(TRIM, page * PAGE, PAGE)
                if error == 0:
                    model.change(page, 0, True, True)
            else:
                error, _ = client.request(FLUSH)
                if error == 0:
                    model.on_flush()
        except ServerDisconnected:
            return "killed"
        if error == EIO:
            return "cut"
        assert error == 0, f"a request ended with error {error}"


def counting():
    """Return the numbers from 1 on."""
    number = 0
    while True:
        number += 1
        yield number


def exercise(name, arguments, folder):
    """Kill the server of one drive repeatedly."""
    more, *keeps = DRIVES[name]
    # Slots that wait for the log of the map of equal pages take space, so this drive has more.
    drive = DRIVE.replace("= 96", "= 160").replace("0.25", "0.4") if "dedup" in more else DRIVE
    pathlib.Path(folder, "drive.toml").write_text(drive + more)
    draw, names = random.Random(f"{name} {arguments.seed}"), counting()
    model, kills, cuts = None, 0, 0
    while kills < arguments.kills:
        server = Server(arguments.program, folder)
        try:
            client = Client(server.path)
            model = model or Model(client.bytes // PAGE, keeps)
            verify(client, model)
            if draw.random() < arguments.cut_share:
                server.cut_power(draw.randrange(1, 300))
                if work(client, model, draw, names, "dedup" in more, lambda: None) == "cut":
                    cuts += 1
                    verify(client, model)
            timer = threading.Timer(draw.uniform(0.0, arguments.seconds), server.kill)
            timer.start()
            # A power cut that was scheduled before may come first.
            while work(client, model, draw, names, "dedup" in more, lambda: None) == "cut":
                cuts += 1
            timer.join()
            kills += 1
        finally:
            if server.process.poll() is None:
                server.kill()
    server = Server(arguments.program, folder)
    verify(Client(server.path), model)
    server.kill()
    checked = subprocess.run(
        [arguments.program, "image", "fsck", "image"], cwd=folder, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    return kills, cuts


def main():
    """Test the drives that the options select."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/release/wearwell", help="the program")
    parser.add_argument("--kills", type=int, default=20, help="kills of each drive")
    parser.add_argument("--seconds", type=float, default=0.3, help="longest time before a kill")
    parser.add_argument("--cut-share", type=float, default=0.3, help="share of lives in which power is cut as well")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", help="where images are; a temporary folder unless given")
    parser.add_argument("drives", nargs="*", choices=[[], *DRIVES], help="drives; all unless given")
    arguments = parser.parse_args()
    arguments.program = os.path.abspath(arguments.program)
    for name in arguments.drives or DRIVES:
        folder = tempfile.mkdtemp(prefix=f"wearwell-{name}-", dir=arguments.folder)
        began = time.monotonic()
        try:
            kills, cuts = exercise(name, arguments, folder)
        except AssertionError as error:
            sys.exit(f"{name}: {error}; the image is in {folder}")
        shutil.rmtree(folder)
        print(f"{name:8} {kills} kills, {cuts} cuts in the middle of a request, nothing lost, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
