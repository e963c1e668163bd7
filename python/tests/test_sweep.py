import json

import pytest

import wearwell as ww

VARY = {"device.spare_factor": [0.2, 0.3], "victim": ["greedy", "fifo"]}


def test_a_sweep_is_a_table_of_runs(small):
    table = ww.sweep(small, VARY, replicas=2, threads=2)
    assert list(table["device.spare_factor"]) == [0.2] * 4 + [0.3] * 4
    assert list(table.victim) == ["greedy", "greedy", "fifo", "fifo"] * 2
    assert list(table.replica) == [0, 1] * 4
    assert table.seed.nunique() == 2
    assert table.error.isna().all()
    one = ww.run(small, device__spare_factor=0.3, victim="fifo", seed=table.seed.iloc[-1])
    assert table.write_amplification.iloc[-1] == one.write_amplification
    assert table.equals(ww.sweep(small, VARY, replicas=2, threads=1))


def test_interrupted_sweep_resumes(small, tmp_path):
    store = tmp_path / "store"
    seen = []

    def stop(finished, points):
        seen.append((finished, points))
        if finished >= 2:
            raise LookupError("enough")

    with pytest.raises(LookupError):
        ww.sweep(small, VARY, threads=1, store=store, progress=stop)
    kept = ww.read_store(store)
    assert len(kept) >= 2
    assert all(json.loads(result)["windows"] == [] for result in kept.result)
    (store / ".wearwell-half.tmp").write_bytes(b"PAR1 and no more")
    resumed = []
    table = ww.sweep(small, VARY, threads=1, store=store, progress=lambda done, _: resumed.append(done))
    assert resumed[0] == len(kept)
    assert table.equals(ww.sweep(small, VARY))
    files = sorted(store.glob("*.parquet"))
    # The store is complete, and `path` is its earlier name.
    assert table.equals(ww.sweep(small, VARY, path=store))
    assert sorted(store.glob("*.parquet")) == files
    rows = ww.read_store(store)
    assert len(rows) == 4
    assert ww.compact_store(store) == ww.CompactionResult(runs=4, files_before=len(files), files_after=1)
    assert ww.read_store(store).equals(rows)
    with pytest.raises(ww.StoreError, match="no such folder"):
        ww.compact_store(tmp_path / "none")


def test_unrelated_file_is_not_touched(small, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    with pytest.raises(ww.StoreError, match=r"notes\.txt: is a file"):
        ww.sweep(small, VARY, store=path)
    assert path.read_text() == "my notes"


def test_all_points_are_checked_first(small, tmp_path):
    with pytest.raises(ww.ScenarioError, match=r"with victim=gredy: ftl\.victim: .*`greedy`"):
        ww.sweep(small, {"victim": ["fifo", "gredy"]}, path=tmp_path / "x")
    assert not (tmp_path / "x").exists()
    with pytest.raises(ww.ScenarioError, match="varied twice"):
        ww.sweep(small, {"victim": ["fifo"], "ftl.victim": ["greedy"]})
    with pytest.raises(ww.ScenarioError, match="a sweep of 0 runs"):
        ww.sweep(small, {"victim": []})


def test_failed_run_does_not_stop_other_runs(small, samples):
    trace = {"path": str(samples / "no-such-file"), "format": "msr"}
    table = ww.sweep({**small.to_dict(), "workload": None, "trace": trace}, {"seed": [1, 2]})
    assert table.error.str.contains("no-such-file").all()


def test_progress_bar(small, capsys):
    ww.sweep(small, VARY, progress=True)
    assert "4/4" in capsys.readouterr().err
