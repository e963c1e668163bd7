"""Theory applied to a scenario."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .. import _core
from .._record import Record
from .._source import add_origin, scenario_dict

if TYPE_CHECKING:
    from .._source import ScenarioLike


def of_scenario(scenario: ScenarioLike, **overrides: Any) -> Record:
    """Predict the write amplification of the layer to which the workload of a scenario writes.

    Parameters
    ----------
    scenario : Scenario, dict, Result, path or TOML text
        Scenario; it is not run.
    **overrides
        Keys of the scenario to replace, as in `run`.

    Returns
    -------
    Record
        ``write_amplification`` (of ``layer``, for its number of blocks), ``write_amplification_limit`` (for very many),
        ``model`` and ``spare_factor``, which leaves out ``held_back_pages``: erased pages that wait while a victim is
        chosen. ``notes`` list differences between the scenario and the model.

    Raises
    ------
    ScenarioError
        If the scenario cannot be run.
    ParameterError
        If no model fits the scenario; the message names the setting.

    Examples
    --------
    >>> from wearwell import theory
    >>> drive = {"capacity": "256 MiB", "spare_factor": 0.1, "pages_per_block": 64}
    >>> said = theory.of_scenario({"device": drive, "ftl": {"victim": "greedy"}, "workload": {"kind": "uniform"}})
    >>> said.model, round(said.write_amplification, 3), round(said.write_amplification_limit, 3)
    ('greedy, closed form', 4.929, 4.814)
    """
    with add_origin(scenario):
        return json.loads(  # type: ignore[no-any-return]
            _core.theory_of_scenario(json.dumps(scenario_dict(scenario, overrides))), object_pairs_hook=Record
        )
