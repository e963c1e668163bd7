"""Draws the picture of the README: `.venv/bin/python docs/images/readme.py`, after `make python`.

Write amplification over spare space on hot and cold data. The points are simulated drives of 1 GiB, with intervals over
three seeds; the curves are the results of theory for very many blocks.
"""

from pathlib import Path

import numpy as np

import wearwell as ww
from wearwell import plot, theory

PICTURE = Path(__file__).with_suffix(".svg")
PAGES_PER_BLOCK = 128
HOT = {"hot_writes": 0.9, "hot_space": 0.1}
SCENARIO = {
    "device": {"capacity": "1 GiB", "spare_factor": 0.1, "pages_per_block": PAGES_PER_BLOCK, "page_size": "4 KiB"},
    "workload": {"kind": "hot_cold", **HOT},
    "measure": {"warm_up": 4.0, "drive_writes": 4.0},
}
TEN = {"policy": "d_choices", "choices": 10}

# Variants of cleaning: the settings of the drives, and the theory.
WAYS = {
    "any block": (
        {"victim": "random", "placement": "single"},
        lambda spare: theory.random(PAGES_PER_BLOCK, spare),
    ),
    "the emptiest of ten": (
        {"victim": TEN, "placement": "single"},
        lambda spare: theory.single(PAGES_PER_BLOCK, spare, choices=10, **HOT),
    ),
    "the same, moved pages apart": (
        {"victim": TEN, "placement": "double"},
        lambda spare: theory.double(PAGES_PER_BLOCK, spare, choices=10, **HOT),
    ),
}


def draw(points=(0.07, 0.1, 0.15, 0.2, 0.25, 0.3), replicas=3, scenario=SCENARIO):
    """Return the axes with the curves and points, and the means of the simulated results."""
    spare = np.linspace(min(points) - 0.01, max(points) + 0.01, 80)
    ax = plot.curves(spare, {name: curve(spare) for name, (_, curve) in WAYS.items()}, width=5.6)
    found = {}
    for line, (name, (settings, _)) in zip(ax.get_lines(), WAYS.items(), strict=True):
        table = ww.sweep(scenario, {"device.spare_factor": list(points)}, replicas=replicas, **settings)
        found[name] = means = ww.means(table)
        heights, half_widths = means["write_amplification"], means["write_amplification_ci95"]
        ax.errorbar(means["device.spare_factor"], heights, half_widths, fmt="o", markersize=4, color=line.get_color())
    ax.set_ylim(bottom=1)
    return ax, found


if __name__ == "__main__":
    plot.save(draw()[0], PICTURE)
