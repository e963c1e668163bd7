"""Tests of HTML pages with results, sweeps and advice."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

import wearwell as ww

SMALL = {
    "name": "</script><b onclick=x>",
    "device": {"blocks_per_plane": 100, "pages_per_block": 16, "load": 0.8, "endurance_cycles": 1000},
    "workload": "uniform",
    "measure": {"warm_up": 5.0, "drive_writes": 5.0},
}


def documents(path: Path):
    text = path.read_text(encoding="utf-8")
    assert len(text) < 2_000_000
    assert "<b onclick" not in text
    data = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)
    return json.loads(data.group(1))["documents"]


def test_a_result_is_drawn(tmp_path):
    result = ww.run(SMALL)
    result.report(tmp_path / "one.html", title="a <b> title")
    [one] = documents(tmp_path / "one.html")
    assert one["kind"] == "run"
    assert one["name"] == SMALL["name"]
    assert one["data"]["write_amplification"] == result.write_amplification
    assert "<title>a &lt;b&gt; title</title>" in (tmp_path / "one.html").read_text(encoding="utf-8")


def test_a_sweep_is_drawn_by_combinations(tmp_path):
    table = ww.sweep(SMALL, {"victim": ["greedy", "fifo"], "device.load": [0.7, 0.8]}, replicas=2)
    ww.report(tmp_path / "sweep.html", table)
    [sweep] = documents(tmp_path / "sweep.html")
    data = sweep["data"]
    assert data["axes"] == ["victim", "device.load"]
    assert len(data["rows"]) == 4
    place = {name: at for at, name in enumerate(data["columns"])}
    means = ww.means(table)
    for row, (_, mean) in zip(data["rows"], means.iterrows(), strict=True):
        assert row[place["write_amplification"]] == pytest.approx(mean["write_amplification"])
        assert row[place["write_amplification_ci95"]] == pytest.approx(mean["write_amplification_ci95"])
        assert row[place["replicas"]] == 2
        assert isinstance(row[place["steady"]], bool)


def test_advice_is_drawn_with_a_result(tmp_path):
    advice = ww.advise(SMALL, only=["victim"], replicas=2, depth=1, quick=True)
    ww.report(tmp_path / "both.html", advice, ww.run(SMALL))
    first, second = documents(tmp_path / "both.html")
    assert (first["kind"], second["kind"]) == ("advice", "run")
    assert len(first["data"]["changes"]) == len(advice) - 1
    assert first["data"]["scenario"]["device"]["pages_per_block"] == 16


@pytest.mark.parametrize("wrong", [3, pd.DataFrame({"a": [1]}), None])
def test_non_result_values_are_refused(tmp_path, wrong):
    with pytest.raises(TypeError, match="or a table of wearwell"):
        ww.report(tmp_path / "x.html", wrong)
    with pytest.raises(TypeError, match="found"):
        ww.report(tmp_path / "x.html")
    assert not list(tmp_path.iterdir())
