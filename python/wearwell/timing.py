"""Durations of operations in timed runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._part import Part, Size


@dataclass(kw_only=True)
class Timing(Part):
    """Timed mode: response times, throughput, and the effect of cleaning on them.

    Flash times are those of the device's preset unless given.

    Parameters
    ----------
    queue_depth : int
        Number of requests that the drive executes at the same time.
    arrivals : {"open", "closed"}
        Requests arrive at their times (open), or each as soon as the queue has a free slot (closed).
    requests : dict
        Open arrivals of synthetic workloads: ``requests_per_second`` and ``spacing``.
    speed_up : float
        Divisor for the times between requests.
    read_us, spare_read_us, program_us, erase_us, command_us : float
        Microseconds of flash operations (``spare_read_us``: a spare area without its page), and of each command on the
        channel.
    channel_mb_per_s, host_mb_per_s : float
        Transfer rates of a channel and of the link to the host, in 10^6 bytes per second.
    contention : {"channel", "die"}
        Operations wait for die and channel (``"channel"``), or for the die alone (``"die"``).
    priority : {"fcfs", "read_first"}
        Order in which a die executes operations.
    suspend_erase, suspend_program : bool
        True if a host read suspends the operation.
    suspend_us, resume_us : float
        Microseconds of suspending and resuming.
    striping : {"block", "drive"}
        Planes on which the pages of a block are; ``"drive"`` means all planes, and is the default with a preset.
    multi_plane, copyback : bool
        Operations on several planes at the same time; moves within a plane that do not use the channel.
    erase_ahead : bool
        True if so many blocks are kept erased that no page waits for the erase of its block; default with
        ``controller="drive"``.
    cleaning : {"foreground", "background"}
        A write waits for the cleaning that it caused (foreground), or does not (background); the default with
        ``controller="drive"`` is background.
    controller : {"ideal", "drive"}
        Components between the host and the flash: only those that are given (``"ideal"``), or link, controller and
        write buffer of the drive that the preset models (``"drive"``, the default with such a preset).
    controller_read_us, controller_write_us : float
        Microseconds of controller time for each read and each write; requests are processed one after the other.
    write_buffer : int or str
        Size of the write buffer in the drive's RAM, bytes.
    hash_engines : int
        Number of hash engines.
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
