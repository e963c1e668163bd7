"""Holds the site to what it promises: it opens without a network, and fetches nothing from anybody else."""

import re
from pathlib import Path

# What a browser fetches by itself; a link that a reader may follow is none of these.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|data)\s*=\s*[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|<link\b[^>]*?\bhref\s*=\s*[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|(?:url\(|@import)\s*[\"']?(?:https?:)?//[^\s\"')]+",
    re.IGNORECASE,
)


def fetched(folder):
    """Return what pages and styles in a folder have a browser fetch from other sites, each with its file."""
    found = []
    for path in sorted(Path(folder).rglob("*")):
        if path.suffix in {".html", ".css"}:
            found += [f"{path.relative_to(folder)}: {hit[0]}" for hit in FETCHED.finditer(path.read_text())]
    return found


def look(app, exception):
    """Refuse a site with a resource from outside."""
    if exception or app.builder.format != "html":
        return
    if found := fetched(app.outdir):
        raise RuntimeError("resources from other sites:\n" + "\n".join(found))


def setup(app):
    """Tell Sphinx."""
    app.connect("build-finished", look)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
