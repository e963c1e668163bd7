"""How long everything takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._part import Part, Size


@dataclass(kw_only=True)
class Timing(Part):
    """Timed mode: response times, throughput, and what cleaning does to them.

    Times of the flash come from the device's preset unless given.

    Parameters
    ----------
    queue_depth : int
        Requests that the drive works on at once.
    arrivals : {"open", "closed"}
        Whether requests arrive when they are due, or each as soon as the queue has room.
    requests : dict
        Open arrivals of synthetic workloads: ``requests_per_second`` and ``spacing``.
    speed_up : float
        Times between requests are divided by this.
    read_us, spare_read_us, program_us, erase_us, command_us : float
        Microseconds of the flash's operations (a spare area read without its page among them), and of each command on
        the channel.
    channel_mb_per_s, host_mb_per_s : float
        10^6 bytes a second of a channel and of the link to the host.
    contention : {"channel", "die"}
        Whether operations wait for die and channel, or for the die alone.
    priority : {"fcfs", "read_first"}
        What a die takes next.
    suspend_erase, suspend_program : bool
        Whether a host's read interrupts them.
    suspend_us, resume_us : float
        Microseconds that interrupting and going on take.
    striping : {"block", "drive"}
        Which planes the pages of a block lie on; ``"drive"``, all of them, with a preset.
    multi_plane, copyback : bool
        Operations on several planes at once; moves within a plane without the channel.
    erase_ahead : bool
        Whether so much is kept erased that no page waits for the erase of its own block; true with
        ``controller="drive"``.
    cleaning : {"foreground", "background"}
        Whether a write waits for the cleaning that it had to do; in the background with ``controller="drive"``.
    controller : {"ideal", "drive"}
        What stands between the host and the flash: nothing but what is given, or link, controller and write buffer of
        the drive that the preset is modelled on; ``"drive"`` with such a preset.
    controller_read_us, controller_write_us : float
        Microseconds that the controller works on each read and each write, one request after the other.
    write_buffer : int or str
        Room for written pages in the drive's RAM, bytes.
    hash_engines : int
        Hash engines.
    """

    queue_depth: int | None = None
    arrivals: str | None = None
    requests: Mapping[str, Any] | None = None
    speed_up: float | None = None
    read_us: float | None = None
    spare_read_us: float | None = None
    program_us: float | None = None
    erase_us: float | None = None
    command_us: float | None = None
    channel_mb_per_s: float | None = None
    contention: str | None = None
    priority: str | None = None
    suspend_erase: bool | None = None
    suspend_program: bool | None = None
    suspend_us: float | None = None
    resume_us: float | None = None
    striping: str | None = None
    multi_plane: bool | None = None
    copyback: bool | None = None
    erase_ahead: bool | None = None
    cleaning: str | None = None
    controller: str | None = None
    controller_read_us: float | None = None
    controller_write_us: float | None = None
    write_buffer: Size | None = None
    host_mb_per_s: float | None = None
    hash_engines: int | None = None
