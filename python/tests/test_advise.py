import pytest

import wearwell as ww

STACK = {
    "device": {"blocks_per_plane": 160, "pages_per_block": 16, "load": 0.85, "endurance_cycles": 3000},
    "log": [{"name": "store", "segment_size": "128 KiB", "spare_factor": 0.25, "trim": False}],
    "workload": {"kind": "hot_cold", "hot_writes": 0.9, "hot_space": 0.1},
    "measure": {"warm_up": 15.0, "drive_writes": 30.0, "tolerance": 0.2},
}


def test_advice_settings_reproduce_its_figures():
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


TREE = {
    "device": {"capacity": "16 MiB", "over_provisioning": 0.1, "pages_per_block": 16},
    "log": [
        {
            "name": "tree",
            "structure": {
                "kind": "lsm",
                "memtable_size": "128 KiB",
                "table_size": "64 KiB",
                "write_ahead_log": "256 KiB",
            },
        }
    ],
    "workload": {"kind": "uniform"},
    "measure": {"warm_up": 3.0, "drive_writes": 2.0, "tolerance": 1.0},
}


def test_merge_tree_advice_has_rocksdb_options_and_costs():
    table = ww.advise(TREE, only=["merge_tree"], replicas=2, depth=1)
    tiered = table[table.change.str.contains("tiered with 4")].iloc[0]
    assert "+compaction_style=kCompactionStyleUniversal" in tiered.options
    assert tiered.price.startswith("capacity -")
    # The reference is the unchanged tree with the same capacity.
    assert tiered.saving == pytest.approx(
        1 - tiered.write_amplification / tiered.reference_write_amplification, abs=0.01
    )
    run = ww.run(TREE, **tiered.settings)
    assert run.write_amplification == tiered.first_write_amplification


def test_unknown_families_and_invalid_numbers_are_refused():
    with pytest.raises(ww.ScenarioError, match="one of segments, capacity"):
        ww.advise(STACK, only=["segmets"])
    with pytest.raises(ww.ScenarioError, match="at least 1"):
        ww.advise(STACK, replicas=0)

    def enough(*_):
        raise LookupError("enough")

    with pytest.raises(LookupError):
        ww.advise(STACK, quick=True, progress=enough)
