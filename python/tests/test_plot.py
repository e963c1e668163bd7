"""Tests of figures, and of results in notebooks."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import wearwell as ww
from wearwell import plot, theory

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

VARY = {"device.spare_factor": [0.3, 0.2], "victim": ["greedy", {"policy": "d_choices", "choices": 2}]}


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def runs():
    device = ww.Device(blocks_per_plane=64, spare_factor=0.2, pages_per_block=32, page_size=4096)
    scenario = ww.Scenario(device=device, workload="uniform", measure=ww.Measure(warm_up=1.0, drive_writes=2.0))
    return ww.sweep(scenario, VARY, replicas=3)


@pytest.fixture
def table(runs):
    return runs.copy()


def test_means_have_student_t_intervals(table):
    means = ww.means(table, "write_amplification", "erases_mean")
    assert list(means.columns) == [
        *VARY, "write_amplification", "write_amplification_ci95", "erases_mean", "erases_mean_ci95", "runs"
    ]  # fmt: skip
    assert list(means.runs) == [3] * 4
    first = table.iloc[:3].write_amplification
    assert means.write_amplification[0] == pytest.approx(first.mean(), rel=1e-12)
    # The number is the quantile of Student's t for two degrees of freedom, from tables.
    assert means.write_amplification_ci95[0] == pytest.approx(4.302653 * first.std() / np.sqrt(3), rel=1e-6)
    assert means.victim[1] == VARY["victim"][1]


def test_single_run_has_batch_interval_and_failed_run_none(table):
    one = ww.means(table[table.replica == 0])
    assert list(one.write_amplification_ci95) == list(table[table.replica == 0].write_amplification_ci95)
    assert ww.means(table[table.replica == 0], "erases_mean").erases_mean_ci95.isna().all()
    table.loc[:2, "write_amplification"] = None
    means = ww.means(table)
    assert np.isnan(means.write_amplification[0])
    assert list(means.runs) == [0, 3, 3, 3]


def test_a_sweep_as_a_figure(table):
    ax = plot.sweep(table, "device.spare_factor")
    assert ax.get_xlabel() == "spare factor"
    assert ax.get_ylabel() == "write amplification"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["greedy", "d_choices 2"]
    means = ww.means(table)
    lines = ax.containers
    assert len(lines) == 2
    for at, container in enumerate(lines):
        drawn = container.lines[0]
        rows = means.iloc[[2 + at, at]]
        assert list(drawn.get_xdata()) == [0.2, 0.3]
        assert np.allclose(drawn.get_ydata(), rows.write_amplification)
        bars = container.lines[2][0].get_segments()
        assert np.allclose([bar[1][1] - bar[0][1] for bar in bars], 2 * rows.write_amplification_ci95)
    assert ax.figure.get_size_inches()[0] == pytest.approx(3.4)


def test_lines_differ_in_colour_dash_and_marker(table):
    ax = plot.sweep(table, "victim", by="device.spare_factor", width="page")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["greedy", "d_choices 2"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["spare factor 0.3", "spare factor 0.2"]
    looks = [container.lines[0] for container in ax.containers]
    assert len({line.get_color() for line in looks}) == 2
    assert len({line.get_linestyle() for line in looks}) == 2
    assert len({line.get_marker() for line in looks}) == 2
    assert ax.figure.get_size_inches()[0] == pytest.approx(7.0)


def test_colours_differ_in_grey_for_a_few_lines():
    def luminance(colour):
        red, green, blue = matplotlib.colors.to_rgb(colour)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for colours in (plot.COLOURS[:2], plot.COLOURS[:1] + plot.COLOURS[5:6]):
        assert abs(luminance(colours[0]) - luminance(colours[1])) > 0.3


def test_theory_is_drawn_with_a_sweep(table):
    spare = np.linspace(0.2, 0.3, 5)
    ax = plot.sweep(table, "device.spare_factor", by="victim")
    before = ax.get_ylabel()
    assert plot.curves(spare, {"greedy, theory": theory.greedy(32, spare)}, ax=ax, ylabel="x") is ax
    assert ax.get_ylabel() == before
    assert "greedy, theory" in [text.get_text() for text in ax.get_legend().get_texts()]
    alone = plot.curves(spare, theory.greedy(32, spare))
    assert alone.get_xlabel() == "spare factor"
    assert alone.get_legend() is None


def test_courses_and_shares(small):
    result = ww.run(small, name="one")
    ax = result.plot()
    line = ax.get_lines()[0]
    assert len(line.get_xdata()) == len(result.windows)
    assert line.get_xdata()[-1] == pytest.approx(5.0, abs=0.01)
    assert ax.get_xlabel() == "drive writes"
    both = plot.course([result, ww.run(small, victim="fifo")])
    assert [text.get_text() for text in both.get_legend().get_texts()] == ["one", "run 2"]
    named = plot.course({"a": result, "b": result}, ax=plt.figure().gca())
    assert [text.get_text() for text in named.get_legend().get_texts()] == ["a", "b"]
    assert len(theory.steady_state("double", 16, 0.2).plot().get_lines()) == 2


def test_response_times(small):
    timing = {"read_us": 50, "program_us": 600, "erase_us": 3000, "channel_mb_per_s": 400}
    result = ww.run(small, timing=timing, workload={"kind": "uniform", "read_ratio": 0.5})
    ax = plot.response_times({"a": result, "b": result})
    assert ax.get_xlabel() == "response time of a read (µs)"
    assert list(ax.get_lines()[0].get_xdata()) == [
        at.response_ns / 1e3 for at in result.timing.requests.read.percentiles
    ]
    with pytest.raises(ww.ParameterError, match="there is no 'erase'; there are"):
        plot.response_times(result, "erase")
    with pytest.raises(ValueError, match="not timed"):
        plot.response_times(ww.run(small))


def test_saved_figures_are_vectors_and_reproducible(table, tmp_path):
    ax = plot.sweep(table, "device.spare_factor")
    for end in ("pdf", "svg"):
        first, second = tmp_path / f"a.{end}", tmp_path / f"b.{end}"
        plot.save(ax, first)
        plot.save(ax.figure, second)
        assert first.read_bytes() == second.read_bytes()
    assert b"/Type3" not in (tmp_path / "a.pdf").read_bytes()
    root = ET.parse(tmp_path / "a.svg").getroot()
    assert root.get("width") == f"{3.4 * 72:g}pt"
    # Text is stored as text, not as outlines.
    assert "write amplification" in "".join(root.itertext())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda table: plot.sweep(table, "seed"),
            ww.ParameterError,
            "x: 'seed' was not varied; device.spare_factor, vic",
        ),
        (lambda table: plot.sweep(table, "victim", "nonsense"), ww.ParameterError, "no figure 'nonsense'.*there are"),
        (lambda table: plot.sweep(table, "victim", "error"), ww.ParameterError, "no figure 'error'"),
        (lambda table: plot.sweep(table, "victim", by="victim"), ww.ParameterError, "by: 'victim' is not among"),
        (lambda table: plot.sweep(table.drop(columns="replica"), "victim"), ww.ParameterError, "no column replica"),
        (lambda table: plot.course([]), TypeError, "not nothing"),
        (lambda table: plot.course([3]), TypeError, "not a int"),
        (lambda table: plot.course(table), TypeError, "not a str"),
        (lambda table: plot.curves([1, 2], [1, 2, 3]), ww.ParameterError, r"shape \(3,\), and x has \(2,\)"),
        (lambda table: plot.curves([1], [1], width="wide"), ww.ParameterError, "width: is 'wide'; column, page"),
        (lambda table: plot.curves([1], [1], width=float("nan")), ww.ParameterError, "width: is nan"),
    ],
)
def test_invalid_figures_are_errors(table, call, error, message):
    with pytest.raises(error, match=message):
        call(table)


def test_mixed_settings_are_refused(small):
    table = ww.sweep(small, {**VARY, "placement": ["single", "double"]})
    with pytest.raises(ww.ParameterError, match="victim would be mixed in one line"):
        plot.sweep(table, "device.spare_factor", by="placement")
    plot.sweep(table[table.victim == "greedy"], "device.spare_factor", by="placement")


def test_without_matplotlib_the_error_names_the_extra(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'wearwell\[plot\]'") as caught:
        ww.run(small).plot()
    assert caught.value.name == "matplotlib"
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"pip install 'wearwell\[polars\]'"):
        ww.run(small).to_polars()


def test_package_import_does_not_import_matplotlib():
    program = "import sys, wearwell; sys.exit(bool({'matplotlib', 'pandas', 'polars'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def shown(thing):
    """Return the HTML for a notebook, after checking that it is well-formed and has neither scripts
    nor colours."""
    text = thing._repr_html_()
    assert not re.search(r"<script|javascript:|\bon[a-z]+=|#[0-9a-f]{3}|https?://(?!www\.w3\.org/2000/svg)", text)
    return ET.fromstring(f"<div>{text}</div>")


def test_results_in_a_notebook(small):
    root = shown(ww.run(small, name="a <b> & 'c'"))
    assert root.find(".//caption").text == "a <b> & 'c'"
    assert "write amplification" in [cell.text for cell in root.iter("th")]
    assert len(root.find(".//{*}polyline").get("points").split()) > 20
    nothing = shown(ww.run(small, precondition__fill="none", measure__warm_up=0, measure__drive_writes=0.1))
    assert nothing.find(".//{*}polyline") is None
    assert "Warning:" in [bold.text for bold in nothing.iter("b")]
    timing = {"read_us": 50, "program_us": 600, "erase_us": 3000, "channel_mb_per_s": 400}
    log = {"name": "upper", "segment_size": "128 KiB", "spare_factor": 0.4}
    stacked = shown(ww.run(small, timing=timing, device__spare_factor=0.4, log=[log]))
    assert [each.text for each in stacked.iter("caption")] == ["Result", "Layers", "Response times"]


def test_theory_in_a_notebook():
    state = shown(theory.steady_state("double", 8, 0.2, hot_writes=0.8, hot_space=0.2))
    assert len(list(state.findall(".//{*}rect"))) == 9
    assert [each.text for each in state.iter("caption")] == ["Steady state", "Classes of pages, hottest first"]
    assert "all, extrapolated" in [cell.text for cell in shown(theory.zipf(0.9, 1000, 8, 0.2)).iter("td")]
    best = shown(theory.optimal_choices(16, 0.2, 0.8, 0.2, max_choices=20))
    assert best.find(".//{*}polyline") is not None
    assert "2" in [cell.text for cell in shown(theory.optimal_choices(16, [0.2, 0.3], max_choices=3)).iter("td")]
