import pickle
import signal
import subprocess
import sys
import textwrap
import threading

import pytest
from conftest import ROOT

import wearwell as ww


def test_equal_runs_give_equal_results(small):
    result = ww.run(small)
    assert result == ww.run(small)
    assert result != ww.run(small, seed=2)
    assert 1.5 < result.write_amplification < 3.5
    assert result.warnings == [] or "steady" in result.warnings[0]


def test_result_reads_as_attributes_tables_and_text(small, tmp_path):
    result = ww.run(small, name="a <b>")
    assert result.lifetime.endurance_cycles == 1000
    assert result.layer("ftl").victims > 0
    with pytest.raises(KeyError, match="there are ftl"):
        result.layer("x")
    with pytest.raises(AttributeError, match="write_amplification"):
        _ = result.amplification
    windows = result.windows
    assert set(windows.phase) == {"fill", "warm_up", "measure"}
    assert windows.window_host_pages.sum() == windows.host_pages.iloc[-1]
    layers = result.layers
    measured = layers.loc["ftl"]
    assert measured.outgoing_host_write == measured.incoming_write == result.phases.measured_host_pages
    assert measured.outgoing_host_write + measured.outgoing_cleaning_write == result.nand.programs
    polars = pytest.importorskip("polars")
    assert isinstance(result.to_polars(), polars.DataFrame)
    assert result.to_polars("layers")["name"].to_list() == ["ftl"]
    assert result.to_polars().rows() == list(windows.itertuples(index=False, name=None))
    assert "write amplification" in str(result)
    assert "a &lt;b&gt;" in result._repr_html_()
    assert "write_amplification" in dir(result)
    path = tmp_path / "result.json"
    result.to_json(path)
    assert ww.Result.from_json(path) == result
    assert list(tmp_path.iterdir()) == [path]


def test_results_can_be_pickled(small):
    result = ww.run(small)
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    assert again.wear.erases_max == result.wear.erases_max


def test_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(ww.ScenarioError("a.b: is wrong", "a.b")))
    assert (str(error), error.key) == ("a.b: is wrong", "a.b")


def test_a_meaningless_amplification_is_none(small):
    result = ww.run(small, precondition__fill="none", measure__warm_up=0, measure__drive_writes=0.1)
    assert result.write_amplification is None
    assert "no cleaning" in result.warnings[0]
    assert "means nothing" in str(result)


def long(small):
    return {**small.to_dict(), "measure": {"warm_up": 0.0, "drive_writes": 1000.0, "window": 10.0}}


def test_progress_is_reported_and_may_stop_the_run(small):
    seen = []
    ww.run(long(small), progress=seen.append, measure__drive_writes=2000.0)
    assert all(isinstance(each, ww.Progress) for each in seen)
    assert [each.drive_writes for each in seen] == sorted(each.drive_writes for each in seen)
    assert {each.phase for each in seen} == {"measure"}

    def stop(_):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        ww.run(long(small), progress=stop)


def test_progress_bar(small, capsys):
    ww.run(long(small), progress=True)
    assert "measure" in capsys.readouterr().err


def test_progress_without_tqdm(small, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    ww.run(long(small), progress=True)
    assert "measure" in capsys.readouterr().err


def test_other_threads_run_during_a_run(small):
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks.append(None)

    thread = threading.Thread(target=tick)
    thread.start()
    ww.run(long(small))
    done.set()
    thread.join()
    assert len(ticks) > 3


@pytest.mark.parametrize("call", ["ww.run(scenario)", "ww.sweep(scenario, {'seed': [1, 2]}, threads=2)"])
def test_ctrl_c_ends_a_run(call):
    program = f"""
        import signal
        import wearwell as ww
        # The signal may be set to be ignored, if the tests run in the background.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        scenario = {{
            "device": {{"blocks_per_plane": 64, "spare_factor": 0.2, "pages_per_block": 32, "page_size": 4096}},
            "workload": "uniform",
            "measure": {{"warm_up": 0, "drive_writes": 1e9, "window": 1e6}},
        }}
        print("started", flush=True)
        try:
            {call}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline() == "started\n"
        threading.Event().wait(1.0)
        process.send_signal(signal.SIGINT)
        try:
            assert process.communicate(timeout=300)[0] == "interrupted\n"
        finally:
            process.kill()
    assert process.returncode == 0


def test_invalid_runs_raise_errors(small, tmp_path):
    with pytest.raises(ww.TraceError, match=r"no-such-file.*No such file"):
        ww.run(small, trace={"path": "no-such-file"})
    far = tmp_path / "far.csv"
    far.write_text("time_ns,op,volume,offset_bytes,length_bytes,hint\n1,W,0,8388608,4096,0\n")
    with pytest.raises(ww.TraceError, match=r"ends at byte 8392704, the drive has"):
        ww.run(small, trace={"path": far, "format": "wearwell-csv"})
    with pytest.raises(TypeError, match="not a int"):
        ww.run(3)


def test_lists():
    assert {"greedy", "fifo", "d_choices"} <= {entry["name"] for entry in ww.list_victims()}
    assert {"single", "double"} <= {entry["name"] for entry in ww.list_placements()}
    assert {"uniform", "zipf"} <= {entry["name"] for entry in ww.list_workloads()}
    assert {"msr", "blkparse"} <= {entry["name"] for entry in ww.list_formats()}
    assert {"tlc", "qlc"} <= {entry["name"] for entry in ww.list_presets()}
    lists = [ww.list_victims, ww.list_placements, ww.list_workloads, ww.list_formats, ww.list_presets]
    assert all(entry["help"] and entry["source"] for entries in lists for entry in entries())


def test_timed_runs_have_response_times_and_a_timeline():
    scenario = {
        "device": {"preset": "z_nand", "capacity": "8 MiB", "over_provisioning": 0.3},
        "ftl": {"dedup": "cagc", "placement": "references"},
        "workload": {"kind": "uniform", "read_ratio": 0.25},
        "content": "mail",
        "timing": ww.Timing(queue_depth=4).to_dict(),
        "measure": {"warm_up": 2.0, "drive_writes": 1.0},
    }
    result = ww.run(scenario)
    times = result.response_times
    assert set(times.index) == {"read", "write"}
    parts = [name for name in result.timing.requests.write.parts_ns if "of_which" not in name]
    assert times[parts].sum(axis=1).to_numpy() == pytest.approx(times.mean_ns.to_numpy())
    assert result.timeline.requests.sum() == times.requests.sum()
    assert result.to_polars("timeline").height == len(result.timeline)
    row = result.summary()
    assert row["write_p99_us"] >= row["write_p50_us"] > 0
    assert row["ftl_merged_pages"] == result.layer("ftl").dedup.merged_pages > 0
    counted = ww.run({key: value for key, value in scenario.items() if key != "timing"})
    assert counted.nand == result.nand
    with pytest.raises(ValueError, match="not timed"):
        counted.timeline  # noqa: B018 - asking is the test


def test_result_of_an_earlier_version_is_read_with_present_names(tmp_path):
    recorded = ROOT / "crates" / "stack" / "tests" / "golden" / "old_field_names.json"
    result = ww.Result.from_json(recorded)
    assert result.phases.measured_host_pages == 568
    assert result.lower_bound.offline.victim == "foresight"
    assert result.erase_heat_map.windows_per_interval == 1
    assert result.layer("ftl").dedup.invalidated_by_references == [184, 0, 0, 0]
    assert result.summary()["measured_life_tbw"] == result.measured_life.tbw > 0
    assert not {"course", "limit", "worn_out", "heat"} & set(result.to_dict())
    path = tmp_path / "again.json"
    result.to_json(path)
    assert ww.Result.from_json(path) == result


def test_old_attributes_warn_and_name_the_new_ones(small):
    result = ww.run(small)
    with pytest.warns(DeprecationWarning, match="'course' is now 'phases'") as warned:
        assert result.course is result.phases
    assert warned[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="'windows_per_interval'"):
        assert result.erase_heat_map["windows_in_stretch"] == result.erase_heat_map.windows_per_interval
    with pytest.raises(AttributeError, match="there is no 'limit'"):
        _ = result.limit
