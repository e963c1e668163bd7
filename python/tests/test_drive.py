import json
from pathlib import Path

import pytest

import wearwell as ww

SAMPLES = Path(__file__).parents[2] / "docs" / "samples"
SHEET = {"capacity": "1.92 TB", "raw_capacity": "2 TiB", "tbw": 3504, "warranty_years": 5, "cells": "tlc"}


def test_data_sheet_figures_agree_with_the_document():
    found = ww.drive.sheet(**SHEET, gb_per_day=800, pages_per_block=16)
    assert found.rating.dwpd == pytest.approx(1.0)
    assert found.write_amplification_limit == pytest.approx(3000 * 2**41 / 3504e12)
    assert found.usage.rated_years == pytest.approx(3504e3 / 800 / 365.25)
    assert found.predictions[0].model == "sequential"
    assert found == ww.drive.sheet(**(SHEET | {"tbw": None, "dwpd": 1}), gb_per_day=800, pages_per_block=16)


def test_reports_are_read_from_files_and_from_dictionaries():
    june, july = SAMPLES / "nvme-june.json", str(SAMPLES / "nvme-july.json")
    seen = ww.drive.smart(july, since=june, pages_per_block=4)
    assert seen.between.write_amplification.value == pytest.approx(3.18, abs=1e-4)
    assert seen.between.days.value == 30
    by = {life.method: life.years for life in seen.life}
    assert by["percentage_used"].low < by["percentage_used"].value < by["percentage_used"].high
    random = seen.effective[-1]
    assert random.spare_factor.value == pytest.approx(1 / seen.between.write_amplification.value)
    sata = json.loads((SAMPLES / "sata.json").read_text())
    assert ww.drive.smart(sata, pages_per_block=4) == ww.drive.smart(SAMPLES / "sata.json", pages_per_block=4)
    health = {"data_units_written": 1000, "percent_used": 1, "power_on_hours": 240}
    ocp = {"Physical media units written": {"hi": 0, "lo": 1_024_000_000}}
    both = ww.drive.smart([health, ocp], days=5)
    assert both.since_new.write_amplification.value == 2.0
    assert both.since_new.gb_per_day.value == pytest.approx(0.1024)
    assert both.capacity_bytes is None
    assert both.effective == []


def test_drive_scenario_runs():
    scenario = ww.drive.scenario(capacity="960 GB", tbw=1752, warranty_years=5, cells="slc", scaled_to="64 MiB")
    result = ww.run(scenario, **{"measure.warm_up": 1.0, "measure.drive_writes": 1.0})
    assert result.rating.dwpd == pytest.approx(1.0)
    assert result.rating.life_ratio == pytest.approx(result.lifetime.tbw / result.rating.tbw)
    rating = {"rated_tbw": "tbw", "rated_dwpd": "dwpd", "rated_years": "years", "life_ratio": "life_ratio"}
    summary = result.summary()
    assert {name: summary[name] for name in rating} == {name: result.rating[key] for name, key in rating.items()}
    assert summary["write_amplification_limit"] == result.rating.write_amplification_limit


def test_errors_name_figure_or_file():
    for figures, key in [
        ({}, "capacity"),
        ({"capacity": "1 TB", "over_provisioning": float("inf")}, None),
        ({"capacity": "1 TB", "tbw": -1}, "tbw"),
        ({"capacity": "1 TB", "tbw": 600, "dwpd": 3, "warranty_years": 5}, "dwpd"),
        ({"capacity": "1 TB", "cells": "plc"}, "cells"),
        ({"capacity": "many"}, None),
        ({"capacty": 1}, None),
        ({"capacity": "1 TB", "pages_per_block": 10**9}, "pages_per_block"),
    ]:
        with pytest.raises(ww.ParameterError) as error:
            ww.drive.sheet(**figures)
        assert error.value.parameter == key, figures
    with pytest.raises(ww.ReportError, match="is neither of") as refused:
        ww.drive.smart({"a": 1})
    assert refused.value.file == "report"
    with pytest.raises(ww.ReportError, match="wrong order") as reversed_:
        ww.drive.smart(SAMPLES / "nvme-june.json", since=SAMPLES / "nvme-july.json")
    assert reversed_.value.key == "data_units_written"
    with pytest.raises(ww.ParameterError, match="days"):
        ww.drive.smart(SAMPLES / "sata.json", days=float("nan"))
    with pytest.raises(FileNotFoundError):
        ww.drive.smart("no-such-file.json")
    with pytest.raises(ww.ParameterError, match="cells"):
        ww.drive.scenario(capacity="1 TB")
