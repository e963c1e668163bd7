"""Extension of the site: tables of contents, and pages that are generated from code and results.

A comment on its own line of a document is replaced by generated text in the site: `<!-- gallery -->`, `<!-- commands
-->`, `<!-- python -->`. In the repository, such a comment is invisible.
"""

import os
import posixpath
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Documents whose lists determine the order of the pages below them.
INDEXES = ("docs/index", "docs/design/README", "experiments/results/README")

# Modules that are documented from their docstrings, in this order.
PYTHON = ("wearwell", "wearwell.trace", "wearwell.theory", "wearwell.drive", "wearwell.plot")

LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+\.(?:md|ipynb))\)")


def contents(docname, text):
    """Return the tables of contents of an index, one for each heading: links of the lists, or those to pages below."""
    folder = posixpath.dirname(docname)
    tables, heading = {}, ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line[3:]
        for title, target in LINK.findall(line):
            page = posixpath.splitext(posixpath.normpath(posixpath.join(folder, target)))[0]
            is_below = page.startswith(f"{folder}/")
            if line.startswith("- ") if docname == INDEXES[0] else is_below:
                tables.setdefault(heading, {}).setdefault(page, title.replace("`", ""))
    for heading, pages in tables.items():
        entries = "\n".join(f"{title} </{page}>" for page, title in pages.items())
        caption = f":caption: {heading}\n" if heading else ""
        yield f"\n```{{toctree}}\n:hidden:\n{caption}\n{entries}\n```\n"


def without_folders(docname, text):
    """Return the text with each link to a folder replaced by its words, because the site has no pages for folders."""
    here = ROOT / posixpath.dirname(docname)
    folder = re.compile(r"\[([^\]]+)\]\(([^)#:\s]+)\)")
    return folder.sub(lambda link: link[1] if (here / link[2]).is_dir() else link[0], text)


def gallery():
    """Return all figures of the results by paper, each with its verdict and a link to its data."""
    results = ROOT / "experiments" / "results"
    for _, target in LINK.findall((results / "README.md").read_text()):
        page = results / target
        title, *items = re.split(r"^#{1,2} ", page.read_text(), flags=re.MULTILINE)[1:]
        if not any("](" in item and ".svg)" in item for item in items):
            continue
        yield f"\n## {title.splitlines()[0]}\n\n:::{{container}} gallery\n"
        for item in items:
            heading = item.splitlines()[0]
            verdict = re.search(r"^\*\*([A-Z][^*]+)\*\*", item, re.MULTILINE)
            for alt, picture in re.findall(r"!\[([^\]]*)\]\(([^)]+\.svg)\)", item):
                link = f"../experiments/results/{target}#{anchor(heading)}"
                said = f"<br>{verdict[1]}" if verdict else ""
                yield f"![{alt}](../experiments/results/{page.parent.name}/{picture})\n[{heading}]({link}){said}\n"
        yield ":::\n"


def anchor(heading):
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def program():
    """Return the path of the most recently built program, or None."""
    built = [ROOT / "target" / profile / "wearwell" for profile in ("release", "debug")]
    if named := os.environ.get("WEARWELL"):
        built = [Path(named)]
    return max((path for path in built if path.exists()), key=lambda path: path.stat().st_mtime, default=None)


def commands():
    """Return the help text of each command of the program. The list of commands comes from its manual pages."""
    binary = program()
    if binary is None:
        print("NOT RUN: the page of all commands, which needs the program (make build)")
        yield "*This copy of the site was built without the program: `wearwell help` says the same.*\n"
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, "man", folder], check=True, stdout=subprocess.DEVNULL)
        pages = sorted(path.stem for path in Path(folder).glob("*.1"))
    environment = {**os.environ, "COLUMNS": "100"}
    words = {}
    for page in pages:
        # `wearwell-theory-solve-spare` is the command `solve-spare` of `wearwell-theory`.
        above = max((other for other in words if page.startswith(f"{other}-")), key=len, default="")
        words[page] = [*words.get(above, []), page.removeprefix(above).removeprefix("-")]
        asked = [binary, *words[page][1:], "--help"]
        said = subprocess.run(asked, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
        yield f"\n## {' '.join(words[page])}\n\n```text\n{said.rstrip()}\n```\n"


def python():
    """Return the directives that document the package."""
    for module in PYTHON:
        yield f"\n## {module}\n\n```{{eval-rst}}\n.. automodule:: {module}\n   :members:\n   :imported-members:\n```\n"


MADE = {"gallery": gallery, "commands": commands, "python": python}


def read(app, docname, source):
    """Add the generated text to a document."""
    text = without_folders(docname, source[0])
    for name, make in MADE.items():
        mark = f"\n<!-- {name} -->\n"
        if mark in text:
            text = text.replace(mark, "\n" + "\n".join(make()))
    if docname in INDEXES:
        text += "".join(contents(docname, text))
    source[0] = text


def setup(app):
    """Register the extension with Sphinx."""
    app.connect("source-read", read)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
