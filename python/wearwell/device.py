"""A stack in memory that holds data."""

from __future__ import annotations

import json
import operator
from typing import TYPE_CHECKING, Any

from . import _core
from ._plain import checked_integer
from ._source import ScenarioLike, add_origin, scenario_dict

if TYPE_CHECKING:
    from typing_extensions import Buffer

DEFAULT_MAX_BYTES = 4 << 30


class LiveDevice:
    """A stack in memory that holds real data: for tests of software that writes to flash.

    Parameters
    ----------
    scenario : Scenario, dict, path or TOML text
        Stack of the device. Workload, trace and measurement settings are ignored. Pages (the device's mapping unit)
        may have 512, 4096, 8192 or 16384 bytes.
    max_bytes : int
        Maximum number of bytes of flash held in memory; larger devices are refused.
    **overrides
        Keys of the scenario to replace, as for `run`.

    Notes
    -----
    A page that was never written, or was trimmed, reads as zeros. All methods may be called from several threads.
    """

    def __init__(self, scenario: ScenarioLike, *, max_bytes: int = DEFAULT_MAX_BYTES, **overrides: Any) -> None:
        with add_origin(scenario):
            self._core = _core.LiveDevice(
                json.dumps(scenario_dict(scenario, overrides)), checked_integer("max_bytes", max_bytes, least=0)
            )

    @property
    def logical_pages(self) -> int:
        """Number of pages of the device."""
        return self._core.logical_pages

    @property
    def page_bytes(self) -> int:
        """Bytes per page."""
        return self._core.page_bytes

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario with every default filled in."""
        return json.loads(self._core.scenario)  # type: ignore[no-any-return]

    def write(self, page: int, data: Buffer) -> None:
        """Write whole pages, beginning with `page`."""
        # The data is converted here, because bytes() of a number would be that many zeros.
        self._core.write(self._checked_page(page), memoryview(data).tobytes())

    def read(self, page: int, count: int = 1) -> bytes:
        """Read `count` pages, beginning with `page`."""
        return self._core.read(self._checked_page(page), self._checked_page(count))

    def trim(self, page: int, count: int = 1) -> None:
        """Discard `count` pages, beginning with `page`."""
        self._core.trim(self._checked_page(page), self._checked_page(count))

    def _checked_page(self, value: int) -> int:
        """Return a page number or count, limited to the range of the compiled part, which checks it further."""
        number = operator.index(value)
        if not -1 << 62 < number < 1 << 62:
            raise IndexError(f"there is no such page; the device has pages 0 to {self.logical_pages - 1}")
        return number

    def flush(self) -> None:
        """Make everything written so far durable."""
        self._core.flush()

    def counters(self) -> dict[str, Any]:
        """Return the traffic since the device was created: ``layers``, from the top, and ``nand``.

        Each layer has ``name``, ``write_amplification``, ``incoming`` pages by operation and ``outgoing`` pages
        (blocks, for erases) by cause and operation.
        """
        return json.loads(self._core.counters())  # type: ignore[no-any-return]

    def check(self) -> None:
        """Recount everything that the stack counts; an exception means a bug in Wearwell."""
        self._core.check()
