"""A stack that holds data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _core
from ._source import ScenarioLike, blame, scenario_dict

if TYPE_CHECKING:
    from typing_extensions import Buffer

DEFAULT_MAX_BYTES = 4 << 30


class LiveDevice:
    """A stack in memory that holds real data: for tests of software that writes to flash.

    Parameters
    ----------
    scenario : Scenario, dict, path or TOML text
        The stack. Its workload, trace and measuring do not matter here. Pages (the device's mapping unit) may have
        512, 4096, 8192 or 16384 bytes.
    max_bytes : int
        Bytes of flash that may be held in memory; larger devices are refused.
    **overrides
        Keys of the scenario to replace, as for `run`.

    Notes
    -----
    A page that was never written, or was trimmed, reads as zeros. All methods may be called from several threads.
    """

    def __init__(self, scenario: ScenarioLike, *, max_bytes: int = DEFAULT_MAX_BYTES, **overrides: Any) -> None:
        with blame(scenario):
            self._core = _core.LiveDevice(json.dumps(scenario_dict(scenario, overrides)), max_bytes)

    @property
    def logical_pages(self) -> int:
        """Pages that the device shows."""
        return self._core.logical_pages

    @property
    def page_bytes(self) -> int:
        """Bytes of a page."""
        return self._core.page_bytes

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario with every default filled in."""
        return json.loads(self._core.scenario)  # type: ignore[no-any-return]

    def write(self, page: int, data: Buffer) -> None:
        """Write whole pages from `page` on."""
        self._core.write(page, bytes(data))

    def read(self, page: int, count: int = 1) -> bytes:
        """Read `count` pages from `page` on."""
        return self._core.read(page, count)

    def trim(self, page: int, count: int = 1) -> None:
        """Forget `count` pages from `page` on."""
        self._core.trim(page, count)

    def flush(self) -> None:
        """Make everything written so far durable."""
        self._core.flush()

    def counters(self) -> dict[str, Any]:
        """Give the traffic since the device was made: ``layers``, from the top, and ``nand``.

        Each layer has ``name``, ``write_amplification``, ``incoming`` pages by operation and ``outgoing`` pages
        (blocks, for erases) by cause and operation.
        """
        return json.loads(self._core.counters())  # type: ignore[no-any-return]

    def check(self) -> None:
        """Recount everything that the stack counts; an error is a defect of Wearwell."""
        self._core.check()
