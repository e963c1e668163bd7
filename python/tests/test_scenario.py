import json
from dataclasses import MISSING, fields

import numpy as np
import pytest

import wearwell as ww
from wearwell import _core
from wearwell._plain import set_key

TEXT = """
workload = { kind = "zipf", exponent = 0.9 }
[device]
capacity = "16 MiB"
spare_factor = 0.1
pages_per_block = 32
page_size = "4 KiB"
[ftl.victim]
policy = "d_choices"
choices = 3
"""


def layers_of(schema):
    """Return the keys of all kinds of layers; no kind has all of them."""
    forms = [form for name in ("FtlConfig", "LayerConfig") for form in schema["$defs"][name]["anyOf"]]
    tables = [form["properties"] for form in forms if "properties" in form]
    return {"properties": {key: {} for table in tables for key in table}}


def schema_of(cls):
    schema = json.loads(_core.scenario_schema())
    if cls is ww.Log:
        return layers_of(schema)
    names = {ww.Tenant: "TenantConfig", ww.Trace: "TraceConfig", ww.Timing: "TimingConfig"}
    names |= {ww.Power: "PowerConfig"}
    return schema if cls is ww.Scenario else schema["$defs"][names.get(cls, cls.__name__)]


@pytest.mark.parametrize(
    "cls", [ww.Scenario, ww.Device, ww.Log, ww.Tenant, ww.Trace, ww.Timing, ww.Power, ww.Precondition, ww.Measure]
)
def test_fields_and_defaults_are_those_of_the_schema(cls):
    properties = schema_of(cls)["properties"]
    assert {item.name for item in fields(cls)} == set(properties)
    required = set(schema_of(cls).get("required", []))
    for item in fields(cls):
        has_default = item.default is not MISSING or item.default_factory is not MISSING
        assert has_default == (item.name not in required), item.name
        theirs = properties[item.name].get("default")
        if isinstance(theirs, dict):
            continue  # a table of defaults, compared field by field
        if item.default is not MISSING and theirs is not None:
            assert item.default == theirs, item.name


def test_dataclass_defaults_change_nothing():
    bare = {"device": {"capacity": "16 MiB", "spare_factor": 0.1, "pages_per_block": 32, "page_size": 4096}}
    bare["workload"] = {"kind": "uniform"}
    given = ww.Scenario.from_dict(bare).to_dict()
    assert _core.resolve(json.dumps(bare)) == _core.resolve(json.dumps(given))


def test_toml_round_trip(tmp_path):
    scenario = ww.Scenario.from_toml(TEXT)
    assert scenario.ftl.victim == {"policy": "d_choices", "choices": 3}
    assert ww.Scenario.from_toml(scenario.to_toml()) == scenario
    path = tmp_path / "a.toml"
    path.write_text(scenario.to_toml())
    assert ww.Scenario.from_toml(path) == ww.Scenario.from_toml(str(path)) == scenario


def test_traces_are_relative_to_the_scenario_file(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text('[device]\ncapacity = "1 GiB"\n[trace]\npath = "x.csv"\n')
    assert ww.Scenario.from_toml(path).trace.path == str(tmp_path / "x.csv")


def test_all_scenario_forms_give_equal_runs(tmp_path, small):
    path = tmp_path / "a.toml"
    path.write_text(small.to_toml())
    result = ww.run(small)
    for form in (small.to_dict(), path, str(path), path.read_text(), result, small.resolve()):
        assert ww.run(form) == result
    result.to_json(tmp_path / "result.json")
    assert ww.run(tmp_path / "result.json") == result


@pytest.mark.parametrize(
    ("overrides", "key", "part"),
    [
        ({"device__spare_factr": 0.1}, "device.spare_factr", "unknown field `spare_factr`, expected one of"),
        ({"device__spare_factor": "much"}, "device.spare_factor", "expected f64"),
        ({"device__spare_factor": 1.5}, None, "spare_factor"),
        ({"device__spare_factor": float("nan")}, "device.spare_factor", "finite"),
        ({"victim": "gredy"}, "ftl.victim", "`greedy`"),
        ({"victim": {"policy": "d_choices", "choices": 0}}, "ftl.victim.choices", "at least one"),
        ({"workload": "unifrom"}, "workload", "uniform"),
        ({"workload": {"kind": "zipf", "slope": 1}}, "workload", "slope"),
        ({"measure__tolerance": -1}, "measure.tolerance", "above 0"),
        ({"log[0].trim": True}, None, "expected a sequence"),
        ({"ftl..x": 1}, "ftl..x", "no key"),
        ({"seed": object()}, "seed", "object"),
        ({"seed": -1}, "seed", "-1"),
    ],
)
def test_errors_name_the_key_and_the_choices(small, overrides, key, part):
    with pytest.raises(ww.ScenarioError) as caught:
        ww.run(small, **overrides)
    assert part in str(caught.value)
    assert " at line " not in str(caught.value)
    if key is not None:
        assert caught.value.key == key
        assert key in str(caught.value)


def test_dataclasses_refuse_unknown_keys():
    with pytest.raises(ww.ScenarioError, match=r"device\.blocks: there is no such key; expected one of preset"):
        ww.Scenario.from_dict({"device": {"blocks": 3}})


def test_file_errors_name_the_file(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("[device]\ncapacity = 3\n")
    with pytest.raises(ww.ScenarioError) as caught:
        ww.run(path)
    assert caught.value.__notes__ == [f"in {path}"]
    path.write_text("[device\n")
    with pytest.raises(ww.ScenarioError, match=r"bad\.toml: .*line 1"):
        ww.run(path)


def test_keys_address_lists_and_named_parts():
    scenario = {"ftl": {"victim": "d_choices"}, "log": [{"name": "a"}], "trace": {"path": "x"}}
    set_key(scenario, "ftl.victim.choices", 3)
    set_key(scenario, "log[0].trim", True)
    set_key(scenario, "workload", "uniform")
    assert scenario == {
        "ftl": {"victim": {"policy": "d_choices", "choices": 3}},
        "log": [{"name": "a", "trim": True}],
        "workload": "uniform",
    }


def test_numpy_values_are_plain_numbers(small):
    assert ww.run(small, seed=np.int64(7), device__spare_factor=np.float64(0.25)).scenario.seed == 7


def test_ftl_can_be_given_by_name():
    # Metadata and reserve of such an FTL take more than a tenth of so small a drive.
    text = TEXT.replace('[ftl.victim]\npolicy = "d_choices"\nchoices = 3\n', "").replace("0.1", "0.3", 1)
    scenario = ww.Scenario.from_toml(f'ftl = "gecko"\n{text}')
    assert scenario.ftl.structure == "gecko"
    resolved = scenario.resolve()
    assert resolved.ftl.structure["validity"]["kind"] == "gecko"
    assert resolved.ftl.structure["cache_entries"] == 64


def test_keys_inside_of_an_ftl_by_name_can_be_set():
    scenario = {"ftl": "gecko"}
    set_key(scenario, "ftl.structure.cache_entries", 9)
    assert scenario == {"ftl": {"structure": {"kind": "gecko", "cache_entries": 9}}}
    assert {"gecko", "fast"} <= {ftl["name"] for ftl in ww.list_ftls()}
    assert {"gecko", "ram_bitmap"} <= {store["name"] for store in ww.list_validities()}


def test_power_cuts_are_counted():
    scenario = ww.Scenario(
        device=ww.Device(capacity="4 MiB", spare_factor=0.3, pages_per_block=16, page_size="4 KiB"),
        ftl=ww.Log(structure="fast"),
        workload="uniform",
        power=ww.Power(random=3, at_end=True),
        measure=ww.Measure(warm_up=0.5, drive_writes=1.0),
    )
    result = ww.run(scenario)
    assert result.power["cuts"] > 0
    assert result.layer("ftl").ftl["recovery"]["seconds"] > 0
