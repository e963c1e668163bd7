"""Tests of calculated write amplification: published values, shapes, user-defined laws, refusals."""

import doctest
import inspect
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import wearwell as ww
from wearwell import theory

HOT = {"hot_writes": 0.8, "hot_space": 0.2}


def nine_choices(masses, mean_valid_pages):
    """Calculate ``S_j ** 9 - S_{j + 1} ** 9`` without subtracting numbers that may be nearly equal."""
    above = np.append(np.cumsum(masses[::-1])[::-1][1:], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(above > 0, above**9 * np.expm1(9 * np.log1p(masses / above)), masses**9)


def test_examples_in_the_docstring():
    assert doctest.testmod(theory).failed == 0


def test_everything_is_documented():
    for name in set(theory.__all__) - {"Law", "Policy"}:
        assert inspect.getdoc(getattr(theory, name)), name


def test_published_rows():
    """Van Houdt (2013), tables 1 and 2, ODE columns."""
    single = theory.single([16, 32, 32], [0.1, 0.07, 0.13], [16, 9, 14], [0.92, 0.81, 0.87], [0.23, 0.06, 0.12])
    assert single == pytest.approx([4.5925, 7.6481, 4.4551], abs=5e-5)
    double = theory.double([16, 64, 64], [0.05, 0.05, 0.09], [12, 6, 3], [0.83, 0.87, 0.94], [0.24, 0.12, 0.06])
    assert double == pytest.approx([6.7745, 8.2524, 4.6364], abs=5e-5)


def test_one_choice_is_random():
    spare = np.linspace(0.05, 0.9, 7)
    by_choices, by_name = theory.single(16, spare, 1, 0.8, 0.2), theory.single(16, spare, policy="random")
    for found in (by_choices, by_name, theory.random(9, spare)):
        assert found == pytest.approx(1 / spare, rel=1e-9)


def test_shapes():
    pages, spare = np.array([8, 16])[:, None], np.array([0.1, 0.2, 0.3])
    table = theory.double(pages, spare, 4, **HOT)
    assert table.shape == (2, 3)
    assert table.dtype == np.float64
    assert isinstance(theory.double(8, 0.1), float)
    assert isinstance(theory.double(np.int64(8), np.float32(0.25)), float)
    assert theory.double(8, [0.1]).shape == (1,)
    assert theory.double(8, []).shape == (0,)
    assert theory.double(8, np.empty((0, 3)), [1, 2, 3]).shape == (0, 3)
    assert theory.single(8, pd.Series([0.1, 0.2])).shape == (2,)
    # This tests unusual strides and read-only arrays.
    frozen = np.linspace(0.1, 0.6, 6)[::-2]
    frozen.flags.writeable = False
    assert theory.fifo(8, frozen).shape == (3,)
    with pytest.raises(ValueError, match=r"pages_per_block \(2,\), spare_factor \(3,\)"):
        theory.single([8, 16], spare)


def test_scalar_and_vector_calls_agree():
    random = np.random.default_rng(3)
    pages = random.integers(2, 20, 12)
    spare, window = random.uniform(0.05, 0.5, (2, 12))
    choices = random.uniform(1, 12, 12)
    writes, space = random.uniform(0.5, 0.9, 12), random.uniform(0.1, 0.5, 12)
    calls = {
        theory.single: (pages, spare, choices, writes, space),
        theory.double: (pages, spare, choices, writes, space),
        theory.fifo: (pages, spare, writes, space),
        theory.greedy: (pages, spare),
        theory.windowed: (pages, spare, window),
        theory.random: (pages, spare),
        theory.separated: (pages, spare, writes, space),
    }
    for function, columns in calls.items():
        rows = [function(*(value.item() for value in row)) for row in zip(*columns, strict=True)]
        assert all(isinstance(row, float) for row in rows)
        # The results are bitwise equal, because no result depends on the number of cores.
        assert function(*columns).tolist() == rows, function.__name__


def test_closed_forms():
    assert theory.fifo(32, 0.1) == pytest.approx(5.1787, abs=5e-5)
    assert theory.windowed(32, 0.1, [0, 1]) == pytest.approx([theory.fifo(32, 0.1), theory.greedy(32, 0.1)])
    assert theory.single(32, 0.1, policy="greedy_limit") == pytest.approx(theory.greedy(32, 0.1), rel=1e-8)
    assert theory.separated(32, 0.1) == theory.greedy(32, 0.1)
    assert theory.separated(32, 0.1, law="random") == pytest.approx(10)
    laws = [theory.separated(32, 0.1, **HOT, law=law) for law in ("greedy", "fifo", "random")]
    assert laws == sorted(laws)


def test_policies():
    names = ("random", "random_plus_plus", "random_not_full")
    by_name = {name: theory.single(16, 0.1, **HOT, policy=name) for name in names}
    assert by_name["random"] == pytest.approx(10)
    assert by_name["random_plus_plus"] < by_name["random_not_full"] < by_name["random"]
    with pytest.raises(ww.ParameterError, match='there is no "gready"; there are d_choices') as caught:
        theory.single(16, 0.1, policy="gready")
    assert caught.value.parameter == "policy"
    with pytest.raises(ww.ParameterError, match="only d_choices"):
        theory.single(16, 0.1, 10, policy="random")
    with pytest.raises(TypeError, match="neither a name nor a function"):
        theory.single(16, 0.1, policy=3)


@pytest.mark.parametrize("function", [theory.single, theory.double])
def test_user_defined_selection(function):
    spare = [[0.1], [0.3]]
    own = function([8, 32], spare, **HOT, policy=nine_choices)
    assert own == pytest.approx(function([8, 32], spare, 9, **HOT), rel=1e-9)


def test_selection_may_call_the_theory():
    inner = []

    def selection(masses, mean_valid_pages):
        if not inner:
            inner.append(theory.single(8, [0.1, 0.2, 0.3]))
            inner.append(theory.single(8, [0.1, 0.2], policy=lambda masses, _: masses))
        return masses

    assert theory.single(8, [0.1, 0.2], policy=selection) == pytest.approx([10, 5])
    assert inner[1] == pytest.approx([10, 5])


def test_optimal_choices():
    found = theory.optimal_choices(32, 0.08, [0.8, 0.9], [0.05, 0.1], max_choices=20)
    assert found.choices.tolist() == [9, 8]
    assert found.write_amplification == pytest.approx([4.4498, 4.4714], abs=1e-4)
    assert found.scan.shape == (2, 20)
    assert not found.is_at_the_end.any()
    assert found.scan[1, 4] == theory.double(32, 0.08, 5, 0.9, 0.1)
    one = theory.optimal_choices(16, 0.1, **HOT, max_choices=7, structure="single")
    assert (one.choices, one.is_at_the_end, one.scan.shape) == (7, True, (7,))
    assert isinstance(one.choices, int)
    assert isinstance(one.write_amplification, float)


@pytest.mark.parametrize("model", ["single", "double", "fifo", "greedy", "windowed", "random", "separated"])
def test_solve_spare_inverts_the_models(model):
    target = np.array([2.5, 5.0])
    extra = {"window_share": 0.3} if model == "windowed" else {}
    hot = {} if model in ("greedy", "windowed", "random") else HOT
    spare = theory.solve_spare(target, 16, **hot, **extra, model=model)
    assert getattr(theory, model)(16, spare, **hot, **extra) == pytest.approx(target, rel=1e-8)
    one = theory.solve_spare(2.5, 16, **hot, **extra, model=model)
    assert isinstance(one, float)
    assert one == spare[0]


def test_steady_states():
    for structure, function in (("single", theory.single), ("double", theory.double)):
        state = theory.steady_state(structure, 16, 0.1, 9, **HOT)
        assert state.write_amplification == function(16, 0.1, 9, **HOT)
        assert state.host_pages_per_victim * state.write_amplification == pytest.approx(16)
        levels = np.arange(17)
        assert state.valid_pages.sum() == pytest.approx(1)
        assert levels @ state.valid_pages == pytest.approx(16 * 0.9)
        assert 16 - levels @ state.victim_valid_pages == pytest.approx(state.host_pages_per_victim)
        assert state.moved_shares.sum() == pytest.approx(1)
        assert np.array(state.classes) == pytest.approx(np.array([[0.8, 0.2], [0.2, 0.8]]))
        assert state.over_provisioning.alpha == pytest.approx(1 / 0.9)
        assert set(state.over_provisioning) == {"alpha", "spare_factor", "over_provisioning", "load"}
        assert state.residual < 1e-8
        assert state.evaluations > 0
        frame = state.to_frame()
        assert frame.columns.tolist() == ["blocks", "victims"]
        assert frame.index.name == "valid_pages"
        assert len(frame) == 17
        with pytest.raises(AttributeError):
            state.residual = 0


def test_classes_in_any_order():
    pairs = [(0.2, 0.7), (0.5, 0.1), (0.3, 0.2)]
    state = theory.steady_state("double", 8, 0.1, classes=pairs)
    assert state.classes == ((0.5, 0.1), (0.3, 0.2), (0.2, 0.7))
    again = theory.steady_state("double", 8, 0.1, classes=np.array(pairs)[::-1])
    assert again.write_amplification == state.write_amplification
    two = theory.steady_state("double", 8, 0.1, classes=[(0.2, 0.8), (0.8, 0.2)])
    assert two.write_amplification == pytest.approx(theory.double(8, 0.1, **HOT))


def test_transients_end_in_the_steady_state():
    path = theory.transient("double", "fresh", 80, 160, 8, 0.2, 5, **HOT)
    assert path.columns.tolist() == ["drive_writes", "write_amplification", "erased", "mean_valid_pages"]
    assert path.drive_writes.to_numpy() == pytest.approx(np.arange(1, 161) / 2)
    assert path.write_amplification[0] == pytest.approx(1)
    assert path.erased[0] > 0
    last = path.iloc[-1]
    assert last.erased == 0
    assert last.mean_valid_pages == pytest.approx(8 * 0.8, rel=1e-6)
    assert last.write_amplification == pytest.approx(theory.double(8, 0.2, 5, **HOT), rel=1e-6)
    own = theory.transient("double", "mixed", 1, 2, 8, 0.2, **HOT, policy=nine_choices)
    built_in = theory.transient("double", "mixed", 1, 2, 8, 0.2, 9, **HOT)
    assert own.to_numpy() == pytest.approx(built_in.to_numpy(), rel=1e-9)


def test_many_classes():
    classes = theory.zipf_classes(0.99, 28_800)
    assert classes.shape[1] == 2
    assert classes.sum(axis=0) == pytest.approx([1, 1])
    found = theory.zipf(0.99, 28_800, 16, 0.1, structure="double")
    # The value is from a simulation with 2,000 blocks and 200 drive writes.
    assert found.write_amplification == pytest.approx(3.4818, rel=0.005)
    assert list(found.merged) == [3, 4]
    assert [len(state.classes) for state in found.merged.values()] == [3, 4]
    assert theory.many_classes("double", classes, 16, 0.1).write_amplification == found.write_amplification
    few = theory.many_classes("single", [(0.8, 0.2), (0.2, 0.8)], 16, 0.1, 9)
    assert few.write_amplification == pytest.approx(theory.single(16, 0.1, 9, **HOT))


def test_other_threads_run_during_calculation():
    """With a huge switch interval, another thread runs only if this thread releases the interpreter's lock."""
    count, end = 0, threading.Event()

    def work():
        nonlocal count
        while not end.is_set():
            count += 1
            end.wait(0.0001)

    other = threading.Thread(target=work)
    interval = sys.getswitchinterval()
    moved = []
    try:
        sys.setswitchinterval(1000)
        other.start()
        for _ in range(100):
            before = count
            theory.double(64, [0.05, 0.06, 0.07, 0.08], **HOT)
            moved.append(count > before)
            if moved[-1]:
                break
    finally:
        sys.setswitchinterval(interval)
        end.set()
        other.join()
    assert any(moved)


def test_several_threads_at_once():
    laws = [nine_choices, "d_choices", lambda masses, _: 1 / 0, nine_choices]
    expected = theory.double(16, [0.1, 0.2], 9, **HOT)

    def calculate(policy):
        return theory.double(16, [0.1, 0.2], 9 if policy == "d_choices" else None, **HOT, policy=policy)

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(calculate, policy) for policy in laws]
    for policy, future in zip(laws, futures, strict=True):
        if callable(policy) and policy is not nine_choices:
            with pytest.raises(ZeroDivisionError):
                future.result()
        else:
            assert future.result() == pytest.approx(expected, rel=1e-9)


@pytest.mark.skipif(os.name == "nt", reason="no such signals")
@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.double(128, np.full(100_000, 0.05), **HOT),
        lambda: theory.steady_state("double", 440, 1e-4, **HOT),
        lambda: theory.transient("double", "mixed", 9e5, 1, 64, 0.05, **HOT),
        lambda: theory.single(32, np.full(100_000, 0.05), **HOT, policy=nine_choices),
        lambda: theory.windowed(8192, np.full(1_000_000, 0.05), 0.5),
    ],
    ids=["array", "single drive", "path", "own law", "closed form"],
)
def test_interrupts(call):
    # A shell starts background jobs with this signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


def test_scenarios_have_the_values_of_their_models():
    device = {"blocks_per_plane": 500, "pages_per_block": 16, "spare_factor": 0.1}
    parts = {"victim": {"policy": "d_choices", "choices": 5}, "placement": "single", "reclaim": "in_place"}
    scenario = {"device": device, "ftl": parts, "workload": {"kind": "hot_cold", "hot_writes": 0.8, "hot_space": 0.2}}
    said = theory.of_scenario(scenario)
    assert np.isclose(said.write_amplification, theory.single(16, 0.1, choices=5, **HOT), rtol=1e-3)
    assert said.notes == []
    measured = ww.run(scenario, measure__warm_up=1.0, measure__drive_writes=1.0)
    assert measured.theory == said


def test_scenario_without_model_states_reason():
    device = {"blocks_per_plane": 500, "pages_per_block": 16, "spare_factor": 0.1}
    scenario = {"device": device, "workload": {"kind": "sequential"}}
    with pytest.raises(ww.ParameterError, match="no model applies: of the workload `sequential`"):
        theory.of_scenario(scenario)
