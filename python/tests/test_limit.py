"""Tests of the comparison of a drive with its lower bound."""

import json

import pandas as pd
import pytest

import wearwell as ww

DRIVE = {
    "device": {"capacity": "4 MiB", "spare_factor": 0.2, "pages_per_block": 16},
    "workload": {"kind": "zipf", "exponent": 0.9},
    "measure": {"max_warm_up": 6.0, "drive_writes": 3.0, "tolerance": 0.2},
}


def test_rows_are_above_the_bound_and_losses_sum_up():
    table = ww.limit(DRIVE, placements=["single", {"kind": "sepbit"}, "oracle"], victims=["fifo"])
    pairs = list(zip(table["placement"], table["victim"], strict=True))
    placements = ["double", "single", '{"kind":"sepbit"}', "oracle"]
    assert pairs == [*((placement, "greedy") for placement in placements), ("double", "fifo")]
    run = table[table["problem"].isna()]
    # One placement is not run: it needs more streams than this drive has spare blocks.
    assert len(run) == len(table) - 1
    assert "8 streams need at least" in table["problem"][3]
    assert (run["above_lower_bound"] >= 0).all()
    lost = run[["lost_by_placement", "lost_by_victim", "lost_by_block_size"]].sum(axis=1)
    pd.testing.assert_series_equal(lost, run["write_amplification"] - 1, check_names=False)
    assert run["above_offline_ci95"].isna().all()


def test_seeds_give_intervals_and_share_one_store(tmp_path):
    seen = []
    both = {"placements": ["single"], "victims": [], "store": tmp_path / "runs"}
    table = ww.limit(DRIVE, replicas=3, progress=lambda finished, planned: seen.append((finished, planned)), **both)
    assert (table["replicas"] == 3).all()
    assert (table["write_amplification_ci95"] > 0).all()
    assert (table["above_offline_ci95"] > 0).all()
    assert seen[-1][0] == seen[-1][1]
    found = json.loads(table.attrs["limit"])
    assert found["replicas"] == 3
    assert found["write_amplification"] == table["write_amplification"][0]
    pd.testing.assert_frame_equal(ww.limit(DRIVE, replicas=3, **both), table)


def test_comparison_with_the_limit_is_drawn(tmp_path):
    page = tmp_path / "limit.html"
    ww.report(page, ww.limit(DRIVE, placements=[], victims=["fifo"], quick=True))
    text = page.read_text(encoding="utf-8")
    assert '"kind":"limit"' in text
    assert "min_rewrites" in text


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"placements": "double"}, TypeError, "placements: a list of names and tables is wanted"),
        ({"victims": [3]}, TypeError, "victims: 3 is neither a name nor a table"),
        ({"placements": ["doubel"]}, ww.ScenarioError, "placements: unknown variant `doubel`"),
        ({"replicas": 0}, ValueError, "replicas: is 0"),
        ({"threads": 1, "executor": "tcp://x"}, TypeError, "threads: .* give one of them"),
    ],
)
def test_invalid_policies_and_drives_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        ww.limit(DRIVE, **settings)


def test_stack_has_no_lower_bound():
    with pytest.raises(ww.ScenarioError, match="log: the limit is that of a drive"):
        ww.limit(DRIVE | {"log": [{"spare_factor": 0.3}]})
