#!/usr/bin/env python3
"""Print the licences of all crates that are compiled into the program, for its redistribution.

    usage: third_party.py [--target TRIPLE] [--package NAME]

The texts are taken from the sources that cargo has fetched. A crate without a text of its licence is listed with its
name.
"""

import argparse
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

TEXTS = ("licen", "copying", "copyright", "notice", "unlicense")

# These licences are offered as an alternative to the licence that is used, or for parts that are not compiled;
# deny.toml ensures this.
EXCLUDED = ("GNU GENERAL PUBLIC LICENSE", "GNU LESSER GENERAL PUBLIC LICENSE")


def crates(package, target):
    """Return the crates on which the package depends, except itself and test dependencies, by name and version."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    if target:
        command += ["--filter-platform", target]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
    packages = {one["id"]: one for one in metadata["packages"]}
    nodes = {one["id"]: one for one in metadata["resolve"]["nodes"]}
    first = next(one["id"] for one in metadata["packages"] if one["name"] == package and one["source"] is None)
    found, waiting = set(), [first]
    while waiting:
        crate = waiting.pop()
        if crate not in found:
            found.add(crate)
            deps = nodes[crate]["deps"]
            waiting += [dep["pkg"] for dep in deps if any(kind["kind"] is None for kind in dep["dep_kinds"])]
    foreign = [packages[crate] for crate in found if packages[crate]["source"] is not None]
    return sorted(foreign, key=lambda one: (one["name"], one["version"]))


def texts(crate):
    """Return the texts of the licence that a crate ships, including those of sources in other languages."""
    folder = pathlib.Path(crate["manifest_path"]).parent
    inner = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    paths = [path for place in [folder, *inner] for path in sorted(place.iterdir())]
    named = [path for path in paths if path.is_file() and path.name.lower().startswith(TEXTS)]
    texts = [path.read_text(errors="replace").strip() for path in named]
    return [text for text in texts if not text.startswith(EXCLUDED)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", help="the system that it is built for; all unless given")
    parser.add_argument("--package", default="wearwell", help="the crate that is passed on (default: wearwell)")
    arguments = parser.parse_args()
    by_text = {}
    for crate in crates(arguments.package, arguments.target):
        name = f"{crate['name']} {crate['version']} ({crate['license']})"
        for text in dict.fromkeys(texts(crate) or [""]):
            by_text.setdefault(text, []).append(name)
    for text, names in sorted(by_text.items(), key=lambda item: item[1]):
        print("=" * 100, *names, "", text or "(no text of the licence is shipped with these)", "", sep="\n")


if __name__ == "__main__":
    main()
