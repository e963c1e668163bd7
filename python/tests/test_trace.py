import numpy as np
import pytest

import wearwell as ww
from wearwell import trace

COLUMNS = {
    "time_ns": np.uint64,
    "op": np.uint8,
    "volume": np.uint32,
    "offset_bytes": np.uint64,
    "length_bytes": np.uint64,
    "hint": np.uint16,
}


def test_batches_are_arrays(samples):
    batches = list(trace.open(samples / "msr.csv", "msr", batch_requests=3))
    assert all(len(batch["op"]) <= 3 for batch in batches)
    for batch in batches:
        assert {name: array.dtype for name, array in batch.items()} == COLUMNS
        assert len({len(array) for array in batch.values()}) == 1
    whole = next(trace.open(samples / "msr.csv", "msr"))
    for name in COLUMNS:
        assert np.array_equal(whole[name], np.concatenate([batch[name] for batch in batches]))


def test_digests_are_included(samples):
    batch = next(trace.open(samples / "fiu.blkparse", "fiu"))
    assert batch["digests"].shape[1] == 16
    assert batch["digest_ends"][-1] == len(batch["digests"])
    assert batch["digest_bytes"] in (512, 4096)


def test_frames(samples):
    frame = trace.open(samples / "msr.csv", "msr").to_frame()
    assert set(frame.op) <= set(trace.OPS)
    assert frame.drop(columns="op").dtypes.to_dict() == {k: v for k, v in COLUMNS.items() if k != "op"}
    pytest.importorskip("polars")
    polars = trace.open(samples / "msr.csv", "msr").to_polars()
    assert polars["op"].to_list() == list(frame.op)
    assert polars["offset_bytes"].to_list() == list(frame.offset_bytes)


def test_empty_volume_selection_gives_empty_frame(samples):
    assert len(trace.open(samples / "msr.csv", "msr", volumes=[99]).to_frame()) == 0


def test_describe(samples):
    description = trace.describe(samples / "msr.csv", "msr")
    frame = trace.open(samples / "msr.csv", "msr").to_frame()
    assert description["requests"] == len(frame)
    assert description["writes"]["bytes"] == frame[frame.op == "write"].length_bytes.sum()
    assert trace.describe(samples / "msr.csv", "msr", page_bytes=8192)["page_bytes"] == 8192
    with pytest.raises(ValueError, match="page_bytes is 0"):
        trace.describe(samples / "msr.csv", "msr", page_bytes=0)


def test_describe_sample_of_all_pages_is_exact(samples):
    exact = trace.describe(samples / "msr.csv", "msr")
    sampled = trace.describe(samples / "msr.csv", "msr", sample=1)
    sample = sampled.pop("sample")
    assert sampled == exact
    assert sample["rate"] == 1
    assert sample["sampled_pages"] == exact["distinct_pages_touched"]
    assert sample["expected_error"]["distinct_pages_touched"] == 0


@pytest.mark.parametrize("rate", [0, -0.5, 1.5, float("nan")])
def test_describe_sample_outside_its_range_is_refused(samples, rate):
    with pytest.raises(ValueError, match=r"sample: .* above 0 and at most 1"):
        trace.describe(samples / "msr.csv", "msr", sample=rate)


def test_convert_and_cut(samples, tmp_path):
    target = tmp_path / "out.csv.zst"
    written = trace.convert(samples / "msr.csv", target, "wearwell-csv", format="msr")
    source = trace.open(samples / "msr.csv", "msr").to_frame()
    again = trace.open(target).to_frame()
    assert written == {"requests": len(source), "dropped": 0, "first_dropped": None}
    assert again.equals(source)
    trace.convert(target, tmp_path / "w.csv", "wearwell-csv", ops=["write"], requests=(0, 3), rebase_time=True)
    cut = trace.open(tmp_path / "w.csv").to_frame()
    assert set(cut.op) == {"write"}
    assert cut.time_ns.iloc[0] == 0
    with pytest.raises(ValueError, match="'wipe' is no operation"):
        trace.convert(target, tmp_path / "x", "wearwell-csv", ops=["wipe"])


def test_errors(samples, tmp_path):
    with pytest.raises(ww.TraceError, match=r"no trace format `mrs`; the formats are msr"):
        trace.open(samples / "msr.csv", "mrs")
    with pytest.raises(ww.TraceError, match="has no option `colour`"):
        trace.open(samples / "msr.csv", "msr", colour=3)
    bad = tmp_path / "bad.csv"
    bad.write_bytes((samples / "msr.csv").read_bytes() + b"1,2,3\n")
    with pytest.raises(ww.TraceError, match=r"bad\.csv, line \d+: column"):
        trace.describe(bad, "msr")
    reader = trace.open(bad, "msr", skip_bad=True)
    assert len(reader.to_frame()) == len(trace.open(samples / "msr.csv", "msr").to_frame())
    assert reader.skipped == 1
    assert "column" in reader.skipped_messages[0]
    with pytest.raises(ww.TraceError, match="no trace format `nothing`"):
        trace.convert(samples / "msr.csv", tmp_path / "x", "nothing", format="msr")


def test_reader_reports_its_position(samples):
    reader = trace.open(samples / "msr.csv", "msr")
    assert reader.format == "msr"
    assert reader.total_bytes == (samples / "msr.csv").stat().st_size
    list(reader)
    assert reader.bytes_read == reader.total_bytes
    assert isinstance(reader.volume_names, dict)


def test_formats():
    assert [entry["name"] for entry in trace.formats()] == [entry["name"] for entry in ww.list_formats()]
    assert all(entry["columns"] for entry in trace.formats())


def test_table_with_given_columns_is_read(samples, tmp_path):
    table = samples / "table.csv"
    columns = {"time": "ts:ns", "op": "type", "offset": "lba:512", "size": "len:512", "volume": "dev"}
    ours = trace.open(table, columns=columns).to_frame()
    same = trace.open(samples / "wearwell-csv.csv").to_frame()
    assert ours.equals(same)
    text = ",".join(f"{field}={column}" for field, column in columns.items())
    assert trace.describe(table, "table", columns=text)["requests"] == len(same)
    with pytest.raises(ww.TraceError, match=r"`lba` has no unit|offset=lba` has no unit"):
        trace.open(table, columns="op=type,offset=lba,size=len:512")
    guess = trace.columns(table)
    assert guess["option"] == "time=ts:us,op=type,offset=lba:sectors,size=len:sectors,volume=dev"
    assert any("the unit of `ts`" in doubt for doubt in guess["doubts"])
    (tmp_path / "text.txt").write_text("no table\n")
    assert trace.columns(tmp_path / "text.txt") is None


def test_drive_is_fitted_to_trace(samples):
    device = ww.Device(fit=True, pages_per_block=8, spare_factor=0.3, endurance_cycles=3000)
    columns = {"time": "ts:ns", "op": "type", "offset": "lba:512", "size": "len:512", "volume": "dev"}
    replay = ww.Trace(path=str(samples / "table.csv"), options={"columns": columns})
    scenario = ww.Scenario(device=device, trace=replay, measure=ww.Measure(max_warm_up=4.0, drive_writes=2.0))
    assert scenario.trace.options["columns"].startswith("time=ts:ns,op=type,")
    result = ww.run(scenario)
    batch = next(trace.open(samples / "table.csv", columns=columns))
    touched = set()
    for op, offset, length in zip(batch["op"], batch["offset_bytes"], batch["length_bytes"], strict=True):
        if trace.OPS[op] in ("read", "write"):
            touched.update(range(int(offset) // 4096, int(offset + length) // 4096))
    assert result.scenario.device.fit["touched_pages"] == len(touched)
    assert result.device.logical_pages >= len(touched)
