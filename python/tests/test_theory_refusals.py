"""Tests that invalid parameters are refused, and tests of the messages."""

import numpy as np
import pytest

import wearwell as ww
from wearwell import theory

HOT = {"hot_writes": 0.8, "hot_space": 0.2}


@pytest.mark.parametrize(
    ("law", "error", "message"),
    [
        (lambda masses, _: 1 / 0, ZeroDivisionError, "division"),
        (lambda masses, _: {}["a"], KeyError, "a"),
        (lambda masses: masses, TypeError, "argument"),
        (lambda masses, _: None, TypeError, "returned a NoneType"),
        (lambda masses, _: masses * np.nan, ww.ParameterError, "returned NaN for 0"),
        (lambda masses, _: masses[1:], ww.ParameterError, "8 values for 9"),
        (lambda masses, _: 2 * masses, ww.ParameterError, "sum to 2"),
        (lambda masses, _: -masses, ww.ParameterError, "less than nothing"),
    ],
)
def test_failing_selections_raise_errors(law, error, message):
    for call in (
        lambda: theory.single(8, [0.1, 0.2], policy=law),
        lambda: theory.steady_state("double", 8, 0.1, policy=law),
        lambda: theory.transient("single", "mixed", 1, 2, 8, 0.1, policy=law),
        lambda: theory.zipf(1, 1000, 8, 0.1, policy=law),
        lambda: theory.solve_spare(3, 8, policy=law),
    ):
        with pytest.raises(error, match=message):
            call()


def test_selection_without_steady_state_is_not_solved():
    def selection(masses, _):
        # The law is discontinuous: whole levels appear and disappear.
        victims = np.zeros_like(masses)
        victims[np.nonzero(masses > 0.01)[0][0]] = 1
        return victims

    with pytest.raises(ww.ConvergenceError) as caught:
        theory.single(16, [0.1, 0.2], policy=selection)
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.index == (0,)
    assert "smooth" in caught.value.__notes__[0]
    with pytest.raises(ww.ConvergenceError) as caught:
        theory.steady_state("double", 16, 0.1, policy=selection)
    assert "smooth" in caught.value.__notes__[0]


REFUSED_CALLS = [
    (lambda: theory.single(32, float("nan")), "spare_factor: NaN", "spare_factor", None),
    (lambda: theory.single(32, [0.1, 0.2, 1.0, 0.0]), r"\(element \[2\] of shape \[4\]\)", "spare_factor", (2,)),
    (lambda: theory.double(32, [[0.1], [0.2]], [9, np.nan]), "choices: NaN", "choices", (0, 1)),
    (lambda: theory.single([8, 32.5], 0.1), "32.5 is no whole number", "pages_per_block", (1,)),
    (lambda: theory.single(-1, 0.1), "pages_per_block: -1", "pages_per_block", None),
    (lambda: theory.single(8193, 0.1), "8193 is not between 1 and 8192", "pages_per_block", None),
    (lambda: theory.single(32, 0.1, hot_writes=0.8), "hot_space: 0", "hot_space", None),
    (lambda: theory.fifo(32, 0.1, [0.5, np.inf], 0.5), "hot_writes: inf", "hot_writes", (1,)),
    (lambda: theory.greedy(32, [0.5, -0.5]), "spare_factor: -0.5", "spare_factor", (1,)),
    (lambda: theory.random(32, 0), "spare_factor: 0", "spare_factor", None),
    (lambda: theory.windowed(32, 0.1, [0, 1, 2]), "window_share: 2", "window_share", (2,)),
    (lambda: theory.separated(32, 0.1, law="lifo"), 'there is no "lifo"', "law", None),
    (lambda: theory.separated(32, 0.1, 0.8, np.nan), "hot_space: NaN", "hot_space", None),
    (lambda: theory.double(2000, [0.5, 0.1], **HOT), "too many to solve; see wearwell", "classes", (0,)),
    (lambda: theory.optimal_choices(32, [0.1, 2]), r"\(element \[1\] of shape \[2\]\)", "spare_factor", (1,)),
    (lambda: theory.optimal_choices(32, 2), "spare_factor: 2 is not strictly between 0 and 1$", "spare_factor", None),
    (lambda: theory.optimal_choices(32, 0.1, max_choices=0), "max_choices: 0", "max_choices", None),
    (lambda: theory.solve_spare([2, 1], 32), "target_wa: 1", "target_wa", (1,)),
    (lambda: theory.solve_spare(1e9, 32), "outside what spare space can give", "target_wa", None),
    (lambda: theory.solve_spare(2, 32, model="magic"), 'there is no "magic"', "model", None),
    (lambda: theory.solve_spare(2, 32, 5, model="fifo"), "mean nothing", "choices", None),
    (lambda: theory.solve_spare(2, 32, **HOT, model="greedy"), "uniform", "hot_writes", None),
    (lambda: theory.solve_spare(2, 32, model="windowed"), "window_share", "window_share", None),
    (lambda: theory.steady_state("triple", 32, 0.1), 'there is no "triple"', "structure", None),
    (lambda: theory.steady_state("single", 32, [0.1]), "a single number is wanted", "spare_factor", None),
    (lambda: theory.steady_state("single", 8, 0.1, classes=[(0.5, 0.5)]), "sum to 0.5", "write_share", None),
    (lambda: theory.steady_state("single", 8, 0.1, classes=[(0.5, 0.5), (0.5, np.nan)]), "NaN", "space_share", 1),
    (lambda: theory.steady_state("single", 8, 0.1, classes=[0.5, 0.5]), "pairs", "classes", None),
    (lambda: theory.steady_state("single", 8, 0.1, **HOT, classes=[(1, 1)]), "only one", "classes", None),
    (lambda: theory.transient("single", "old", 1, 1, 8, 0.1), 'there is no "old"', "from_", None),
    (lambda: theory.transient("single", "fresh", np.nan, 1, 8, 0.1), "NaN", "drive_writes", None),
    (lambda: theory.transient("single", "fresh", 1, -1, 8, 0.1), "points: -1", "points", None),
    (lambda: theory.transient("single", "fresh", 1, 1, 8, 0.1, policy="greedy_limit"), "smooth", "policy", None),
    (lambda: theory.zipf(np.nan, 1000, 8, 0.1), "NaN", "exponent", None),
    (lambda: theory.zipf(1, 0, 8, 0.1), "logical_pages: 0", "logical_pages", None),
]


@pytest.mark.parametrize(("call", "message", "parameter", "index"), REFUSED_CALLS)
def test_errors_name_parameter_and_element(call, message, parameter, index):
    with pytest.raises(ww.ParameterError, match=message) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert (caught.value.parameter, caught.value.index) == (parameter, index)


@pytest.mark.parametrize("value", [True, "32", 1j, None, [object()]])
def test_non_numbers_are_refused(value):
    with pytest.raises(TypeError, match="spare_factor"):
        theory.single(32, value)


def test_masked_elements_are_refused():
    with pytest.raises(ww.ParameterError, match="masked"):
        theory.single(32, np.ma.masked_array([0.1, 0.2], [False, True]))
