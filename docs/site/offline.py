"""Holds the site to what it promises: it opens without a network, and fetches nothing from anybody else."""

import re
from pathlib import Path

from sphinx.errors import ExtensionError

# What a browser fetches by itself; a link that a reader may follow is none of these.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|data)\s*=\s*[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|<link\b[^>]*?\bhref\s*=\s*[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|(?:url\(|@import)\s*[\"']?(?:https?:)?//[^\s\"')]+",
    re.IGNORECASE,
)


def look(app, exception):
    """Refuse a site with a resource from outside."""
    if exception or app.builder.format != "html":
        return
    found, looked_at = [], 0
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix in {".html", ".css"}:
            looked_at += 1
            found += [f"{path.relative_to(app.outdir)}: {hit[0]}" for hit in FETCHED.finditer(path.read_text())]
    if found or not looked_at:
        raise ExtensionError("resources from other sites:\n" + "\n".join(found))


def setup(app):
    """Tell Sphinx."""
    app.connect("build-finished", look)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
