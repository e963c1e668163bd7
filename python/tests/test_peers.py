"""Comparisons of scripts/beside_peers.py with other simulators: their results, traces and scenarios."""

import importlib
import sys
import tomllib

import pytest
from conftest import ROOT


@pytest.fixture
def peers(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    yield {name: importlib.import_module(f"peers.{name}") for name in ("common", "mqsim", "sdcsim")}
    for name in [name for name in sys.modules if name.split(".")[0] == "peers"]:
        del sys.modules[name]


def test_sdcsim_counts_of_victims_give_page_writes_and_write_amplification(peers, tmp_path):
    (tmp_path / "dwf-b32-victim. 1.csv").write_text("       0,      10\n      16,      30\n")
    run = peers["sdcsim"].measured(2.0, peers["sdcsim"].victims(tmp_path))
    assert (run.page_writes, run.requests, run.write_amplification) == (1280, 800, 1.6)
    assert run.ns_per_unit() == 2e9 / 1280


def test_sdcsim_without_counts_gives_build_instructions(peers, tmp_path):
    with pytest.raises(peers["common"].PeerError, match="gfortran"):
        peers["sdcsim"].victims(tmp_path)


def test_comparison_shows_ratio_of_pairs_and_median_run(peers):
    run, compare = peers["common"].Run, peers["common"].Comparison
    found = compare(
        "MQSim", "reads", [run(6, 0, 1, None), run(9, 0, 1, None)], [run(2, 0, 1, None), run(1, 0, 1, None)]
    )
    assert found.ratios() == [3, 9]
    assert peers["common"].median_run(found.theirs).cpu_seconds == 6


def test_scenarios_are_toml_with_the_size_of_the_trace(peers):
    request = peers["common"].PageRequest
    scenario = tomllib.loads(peers["sdcsim"].scenario("a trace", [request(0, 287_999, False)], 12.0))
    assert scenario["device"]["capacity"] == f"{288_000 * 4096} B"
    assert scenario["device"]["blocks_per_plane"] == 10_000
    for case in peers["mqsim"].CASES:
        scenario = tomllib.loads(peers["mqsim"].scenario(case, 1000, 500))
        assert ("trace" in scenario) == (peers["mqsim"].CASES[case][1] is None)


def test_mqsim_trace_reads_only_written_pages(peers):
    written = set()
    for request in peers["mqsim"].random_requests(0.5, 1000, 4000):
        assert not request.is_read or request.page in written
        written.add(request.page)


def test_peer_is_found_by_option_then_variable_then_path(peers, tmp_path, monkeypatch):
    find = peers["common"].find
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find(None, "WEARWELL_MQSIM", ["MQSim"]) is None
    for folder in ("bin", "variable", "option"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "MQSim").touch(0o755)
    assert find(None, "WEARWELL_MQSIM", ["MQSim"]) == tmp_path / "bin" / "MQSim"
    monkeypatch.setenv("WEARWELL_MQSIM", str(tmp_path / "variable"))
    assert find(None, "WEARWELL_MQSIM", ["MQSim"]) == tmp_path / "variable" / "MQSim"
    assert find(tmp_path / "option", "WEARWELL_MQSIM", ["MQSim"]) == tmp_path / "option" / "MQSim"
    with pytest.raises(peers["common"].PeerError, match="neither a program nor a folder"):
        find(tmp_path, "WEARWELL_MQSIM", ["MQSim"])
