"""Tests of what the documentation site adds to the documents; `make site` builds the whole site."""

import re
import runpy

import pytest
from conftest import ROOT

PAGES = runpy.run_path(str(ROOT / "docs" / "site" / "pages.py"))
OFFLINE = runpy.run_path(str(ROOT / "docs" / "site" / "offline.py"))


def listed(docname):
    """Return the captions and pages of an index."""
    tables = "".join(PAGES["contents"](docname, (ROOT / f"{docname}.md").read_text()))
    return re.findall(r"^:caption: (.*)$", tables, re.MULTILINE), re.findall(r"</(.*)>$", tables, re.MULTILINE)


def test_index_lists_match_site_contents():
    captions, pages = listed("docs/index")
    assert captions == ["Begin", "How to", "Notebooks", "Reference", "What was reproduced", "Inside"]
    below = [page for index in PAGES["INDEXES"][1:] for page in listed(index)[1]]
    documents = {
        path.relative_to(ROOT).with_suffix("").as_posix()
        for pattern in ("*.md", "docs/**/*.md", "docs/notebooks/*.ipynb", "experiments/**/*.md", "traces/**/*.md")
        for path in ROOT.glob(pattern)
        if "finished" not in path.parts
    }
    assert {*pages, *below} == documents - {"docs/index"}
    assert len(pages) == len(set(pages))


def test_gallery_has_every_result_figure():
    gallery = "".join(PAGES["gallery"]())
    shown = set()
    for page in (ROOT / "experiments" / "results").glob("*/README.md"):
        pictures = re.findall(r"!\[[^\]]*\]\(([^)]+\.svg)\)", page.read_text())
        shown |= {f"../experiments/results/{page.parent.name}/{picture}" for picture in pictures}
    assert set(re.findall(r"\]\((\S+\.svg)\)", gallery)) == shown
    assert len(shown) > 50
    assert gallery.count("<br>") == gallery.count(".svg)")
    assert set(re.findall(r"<br>(.*)", gallery)) <= {"Reproduced", "Partly reproduced", "Not reproduced"}


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ('<script src="https://cdn.example/a.js"></script>', 1),
        ('<link rel="stylesheet" href="//fonts.example/css">', 1),
        ('<img alt="" src=http://example/a.png>', 1),
        ("@font-face { src: url('https://fonts.example/a.woff2') }", 1),
        ('<a href="https://example/">read on</a> <img src="../a.svg">', 0),
        ('<link rel="stylesheet" href="_static/a.css"><script src="_static/a.js"></script>', 0),
    ],
)
def test_resources_of_other_sites_are_refused(text, refused, tmp_path):
    (tmp_path / "page.html").write_text(text)
    assert len(OFFLINE["fetched"](tmp_path)) == refused
