"""Executes the notebooks of the documentation again, and compares their numbers with the stored ones."""

import re
import runpy

import pytest
from conftest import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def numbers(cell):
    """Return the numbers that a cell printed or showed, ignoring words and blanks.

    Objects with an HTML form are omitted, because their text contains complete arrays.
    """
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    shown = [text for text in texts if not re.match(r"<Figure|<Axes|SteadyState", text)]
    return [float(number) for number in NUMBER.findall("\n".join(shown))]


def figures(cell):
    """Return the number of figures that a cell shows."""
    return sum("image/png" in output.get("data", {}) for output in cell.outputs)


def test_each_user_group_has_a_notebook():
    assert [path.stem for path in NOTEBOOKS] == ["drive_vendor", "operator", "researcher", "software", "teacher"]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_outputs_are_unchanged(path):
    kept = nbformat.read(path, as_version=4)
    again = nbformat.read(path, as_version=4)
    run = nbclient.NotebookClient(
        again, timeout=1200, kernel_name="python3", resources={"metadata": {"path": path.parent}}
    )
    run.execute()
    compared = 0
    for before, after in zip(kept.cells, again.cells, strict=True):
        if before.cell_type == "code":
            assert not [output for output in before.outputs if output.output_type == "error"], before.source
            assert numbers(after) == pytest.approx(numbers(before), rel=1e-6), before.source
            assert figures(after) == figures(before), before.source
            compared += len(numbers(before))
    assert compared >= 20
    assert any(figures(cell) for cell in kept.cells if cell.cell_type == "code")


def test_readme_picture_is_drawn_from_runs():
    """Uses a smaller drive and fewer points than the picture: the simulated points must lie on the curves."""
    path = ROOT / "docs" / "images" / "readme.py"
    program = runpy.run_path(str(path))
    scenario = program["SCENARIO"] | {"device": program["SCENARIO"]["device"] | {"capacity": "512 MiB"}}
    ax, found = program["draw"](points=(0.1, 0.3), replicas=2, scenario=scenario)
    assert set(found) == {text.get_text() for text in ax.get_legend().get_texts()}
    for name, means in found.items():
        curve = program["WAYS"][name][1](means["device.spare_factor"].to_numpy())
        assert means["write_amplification"].to_numpy() == pytest.approx(curve, rel=0.03), name
    assert path.with_suffix(".svg").read_text().count("<use ") >= 18
