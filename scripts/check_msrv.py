#!/usr/bin/env python3
"""Check that all statements of the manifests about the minimum Rust version agree.

The version is that of the workspace's Cargo.toml. Every crate of the workspace must state the same version, because
clippy finds library items that are newer only in crates that state it. No dependency in Cargo.lock may require a
newer version, and README.md must name the version. Only a compiler of that version can tell if the code uses newer
features of the language.
"""

import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent


def number(version):
    """Return a version as a tuple of three numbers; 1.88 and 1.88.0 are equal."""
    parts = [int(part) for part in version.split(".")]
    return tuple(parts + [0] * (3 - len(parts)))


def main():
    minimum = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
    members = set(metadata["workspace_members"])
    complaints = []
    for package in metadata["packages"]:
        name, needed = f"{package['name']} {package['version']}", package["rust_version"]
        if package["id"] in members:
            if needed != minimum:
                complaints.append(f"{name}: rust-version is {needed}, not the workspace's {minimum}")
        elif needed and number(needed) > number(minimum):
            complaints.append(f"{name} needs Rust {needed}, newer than {minimum}")
    if not re.search(rf"\bRust {re.escape(minimum)}\b", (ROOT / "README.md").read_text()):
        complaints.append(f"README.md does not say that Rust {minimum} is needed")
    for complaint in complaints:
        print(f"check_msrv: {complaint}", file=sys.stderr)
    if complaints:
        sys.exit(1)
    print(f"Rust {minimum}: said by {len(members)} crates and README.md, enough for {len(metadata['packages'])} crates")


if __name__ == "__main__":
    main()
