"""Write amplification by calculation alone: mean fields, closed forms and limits.

All functions of plain parameters take numbers or arrays, which are broadcast against each other, and return a float or
an array of their common shape. Calculations use all cores; other threads run at the same time, and Ctrl-C ends a
calculation.

>>> from wearwell import theory
>>> round(theory.single(32, 0.07, choices=9, hot_writes=0.81, hot_space=0.06), 4)
7.6481
>>> theory.random(32, [0.25, 0.5])
array([4., 2.])

``pages_per_block`` is ``b``, ``spare_factor`` the share of the physical pages beyond the logical ones, ``S_f``. A share
``hot_writes`` of the writes goes to a share ``hot_space`` of the logical pages; if both are 0, writes are uniform. The
models assume very many blocks: a simulated drive with N blocks differs by terms of order 1/N.
"""

from ._closed_forms import fifo, greedy, random, separated, windowed
from ._mean_field import double, single
from ._scenario import of_scenario
from ._search import OptimalChoices, optimal_choices, solve_spare
from ._states import ManyClasses, SteadyState, many_classes, steady_state, transient, zipf, zipf_classes
from ._vector import Law, Policy

__all__ = [
    "Law",
    "ManyClasses",
    "OptimalChoices",
    "Policy",
    "SteadyState",
    "double",
    "fifo",
    "greedy",
    "many_classes",
    "of_scenario",
    "optimal_choices",
    "random",
    "separated",
    "single",
    "solve_spare",
    "steady_state",
    "transient",
    "windowed",
    "zipf",
    "zipf_classes",
]
