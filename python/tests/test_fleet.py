import json

import pandas as pd
import pytest

import wearwell as ww

FLEET = {
    "years": 3,
    "draws": 4,
    "group": [
        {
            "name": "g",
            "drives": 60,
            "price": 100,
            "device": {"blocks_per_plane": 500, "pages_per_block": 8, "spare_factor": 0.2, "endurance_cycles": 1000},
        }
    ],
    "tenant": [
        {"name": "a", "share": 2, "drive_writes_per_day": 1, "workload": {"kind": "uniform"}},
        {
            "name": "b",
            "share": 1,
            "drive_writes_per_day": {"law": "exponential", "mean": 1},
            "workload": {"kind": "hot_cold", "hot_writes": 0.8, "hot_space": 0.2},
        },
    ],
    "what_if": [{"name": "more", "set": {"device.spare_factor": 0.3}}],
}


def test_fleet_result_has_tables(tmp_path):
    found = ww.fleet(FLEET)
    assert (found.drives, found.share_by_theory, found.check) == (60, 1.0, None)
    assert list(found.tenants.drives) == [40.0, 20.0]
    assert list(found.years.year) == [1, 2, 3]
    assert found.what_if.wear_difference.iloc[0] < 0
    # Calculated by hand: daily writes times write amplification, divided by the endurance of the
    # flash.
    row = found.tenants.iloc[0]
    expected = 40 * 365.25 * row.write_amplification / (1000 / 0.8)
    assert row.wear_drives_per_year == pytest.approx(expected)
    path = tmp_path / "fleet.json"
    path.write_text(json.dumps(FLEET))
    pd.testing.assert_frame_equal(ww.fleet(path, threads=1).life, found.life)


def test_check_simulates_some_drives():
    seen = []
    found = ww.fleet(FLEET, check=3, check_blocks=200, tolerance=0.2, progress=lambda *counts: seen.append(counts))
    assert found.check.drives.sum() == 3
    assert sorted(seen) == [(1, 3), (2, 3), (3, 3)]


def test_invalid_fleets_are_refused(tmp_path):
    with pytest.raises(ww.ScenarioError, match=r"group\[0\].drives: is 0"):
        ww.fleet({**FLEET, "group": [{**FLEET["group"][0], "drives": 0}]})
    path = tmp_path / "fleet.toml"
    path.write_text("years = 0\n[[group]]\n")
    with pytest.raises(ww.ScenarioError, match=r"fleet\.toml:"):
        ww.fleet(path)
    with pytest.raises(ww.RunError, match="no model applies"):
        ww.fleet({**FLEET, "group": [{**FLEET["group"][0], "ftl": {"victim": "cost_benefit"}}]})
    for wrong in [{"tolerance": 2}, {"check": 0}, {"check_blocks": 1}]:
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ww.fleet(FLEET, **wrong)
    with pytest.raises(TypeError, match="a fleet is a dictionary or a path"):
        ww.fleet(3)
