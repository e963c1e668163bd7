"""Check that the site works without a network and loads nothing from other sites."""

import re
from pathlib import Path

# Resources that a browser loads without a click; links are not among them.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|data)\s*=\s*[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|<link\b[^>]*?\bhref\s*=\s*[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|(?:url\(|@import)\s*[\"']?(?:https?:)?//[^\s\"')]+",
    re.IGNORECASE,
)


def fetched(folder):
    """Return the resources that the pages and styles in a folder load from other sites, each with its file."""
    found = []
    for path in sorted(Path(folder).rglob("*")):
        if path.suffix in {".html", ".css"}:
            found += [f"{path.relative_to(folder)}: {hit[0]}" for hit in FETCHED.finditer(path.read_text())]
    return found


def look(app, exception):
    """Raise an error if the site loads resources from other sites."""
    if exception or app.builder.format != "html":
        return
    if found := fetched(app.outdir):
        raise RuntimeError("resources from other sites:\n" + "\n".join(found))


def setup(app):
    """Register the check with Sphinx."""
    app.connect("build-finished", look)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
