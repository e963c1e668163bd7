import pytest

import wearwell as ww

STACK = {
    "device": {"blocks_per_plane": 160, "pages_per_block": 16, "load": 0.85, "endurance_cycles": 3000},
    "log": [{"name": "store", "segment_size": "128 KiB", "spare_factor": 0.25, "trim": False}],
    "workload": {"kind": "hot_cold", "hot_writes": 0.9, "hot_space": 0.1},
    "measure": {"warm_up": 15.0, "drive_writes": 30.0, "tolerance": 0.2},
}


def test_advice_is_a_table_whose_settings_repeat_it():
    seen = []
    table = ww.advise(STACK, only=["trim", "capacity"], replicas=4, progress=lambda *counts: seen.append(counts))
    assert table.kind.iloc[0] == "base"
    assert table.change.iloc[1] == "log `store` trims each page as soon as it dies"
    assert table.verdict.iloc[1] == "saves"
    assert seen[-1][0] == seen[-1][1]
    for _, row in table.iterrows():
        one = ww.run(STACK, **row.settings)
        assert one.write_amplification == row.first_write_amplification
    assert table.attrs["skipped"][0]["reason"]
    assert table.equals(ww.advise(STACK, only=["trim", "capacity"], replicas=4, threads=1))


def test_what_cannot_be_advised():
    with pytest.raises(ww.ScenarioError, match="one of segments, capacity"):
        ww.advise(STACK, only=["segmets"])
    with pytest.raises(ww.ScenarioError, match="at least 1"):
        ww.advise(STACK, replicas=0)

    def enough(*_):
        raise LookupError("enough")

    with pytest.raises(LookupError):
        ww.advise(STACK, quick=True, progress=enough)
