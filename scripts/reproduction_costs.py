#!/usr/bin/env python3
"""Write experiments/costs.toml from the costs that `wearwell reproduce` has measured.

    scripts/reproduction_costs.py FOLDER ...

Each FOLDER is the output of `wearwell reproduce ... --quick` or `--full`. An item that was resumed has no measured
cost and keeps the known one. If several folders have a cost of an item, the last one counts.
"""

import json
import pathlib
import sys
import tomllib

COSTS = pathlib.Path(__file__).resolve().parent.parent / "experiments" / "costs.toml"
HEAD = "# Core time of each item, seconds, as measured on the machine of record: written by scripts/reproduction_costs.py.\n"
MIN_SECONDS = 0.1


def main(folders: list[str]) -> int:
    if not folders:
        print(__doc__, file=sys.stderr)
        return 2
    costs = tomllib.loads(COSTS.read_text(encoding="utf-8"))
    for folder in folders:
        for path in sorted(pathlib.Path(folder).glob("*/*/item.json")):
            record = json.loads(path.read_text(encoding="utf-8"))
            if record["core_seconds"] is not None:
                costs[f"{record['effort']}_core_seconds"][record["item"]] = max(record["core_seconds"], MIN_SECONDS)
    text = HEAD
    for effort in ("quick_core_seconds", "full_core_seconds"):
        text += f"\n[{effort}]\n"
        text += "".join(f'"{item}" = {seconds:.1f}\n' for item, seconds in sorted(costs[effort].items()))
    COSTS.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
