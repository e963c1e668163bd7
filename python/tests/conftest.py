"""Fixtures shared by the tests: a stack so small that a run takes milliseconds."""

from pathlib import Path

import pytest

import wearwell as ww

ROOT = Path(__file__).parents[2]


@pytest.fixture
def small() -> ww.Scenario:
    return ww.Scenario(
        device=ww.Device(
            blocks_per_plane=64, spare_factor=0.2, pages_per_block=32, page_size=4096, endurance_cycles=1000
        ),
        workload="uniform",
        measure=ww.Measure(warm_up=2.0, drive_writes=2.0),
    )


@pytest.fixture
def samples() -> Path:
    return ROOT / "traces" / "samples"
