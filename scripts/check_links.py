#!/usr/bin/env python3
"""Check that every link of the documents leads to a file of the repository, and to one of its headings, and that
docs/index.md leads to every page of docs.

The script checks the Markdown files that git tracks or would add. Links to other sites are not followed.
"""

import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INDEX = ROOT / "docs" / "index.md"

FENCE = re.compile(r"\s*(```|~~~)")
CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*\s*$")


def prose(path):
    """Yield (number, line) of the lines outside of blocks of code."""
    in_code = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if FENCE.match(line):
            in_code = not in_code
        elif not in_code:
            yield number, line


@functools.cache
def anchors(path):
    """Return the names by which links reach the headings of a document, as hosts of repositories make them."""
    names, seen = set(), {}
    for _, line in prose(path):
        if heading := HEADING.match(line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "")
            name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            repeats = seen.get(name, 0)
            seen[name] = repeats + 1
            names.add(f"{name}-{repeats}" if repeats else name)
    return names


def link_problem(document, link):
    """Return the problem with a link, or None."""
    if re.match(r"[a-z]+:", link):
        return None
    path, _, anchor = link.partition("#")
    target = (document.parent / path).resolve() if path else document
    if not target.exists():
        return "leads nowhere"
    if not target.is_relative_to(ROOT):
        return "leads out of the repository"
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return "names no heading there"
    return None


def main():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    documents = [path for name in listed.splitlines() if (path := ROOT / name).exists()]
    links, broken = 0, 0
    listed_pages = set()
    for document in documents:
        for number, line in prose(document):
            for link in LINK.findall(CODE.sub("", line)):
                links += 1
                if document == INDEX:
                    listed_pages.add((document.parent / link.partition("#")[0]).resolve())
                if wrong := link_problem(document, link):
                    broken += 1
                    print(f"{document.relative_to(ROOT)}:{number}: the link to {link} {wrong}", file=sys.stderr)
    for page in documents:
        # The design notes have a separate list.
        if INDEX.parent in page.parents and page.parent.name != "design" and page not in {INDEX, *listed_pages}:
            broken += 1
            print(f"{page.relative_to(ROOT)}: docs/index.md does not list it", file=sys.stderr)
    if broken or not links:
        sys.exit(f"check_links: {broken} faults in {links} links")
    print(f"{links} links in {len(documents)} documents lead somewhere")


if __name__ == "__main__":
    main()
