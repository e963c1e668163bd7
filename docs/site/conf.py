"""The documentation site: the documents of this repository, where they are, as one web site. `make site` builds it.

Nothing is copied. The folder of sources is the repository's root, so that pages link to each other as they do in a
checkout; `pages.py` generates pages from code and results. The lists of `docs/index.md`, which readers of the repository
use as well, give the order of the pages.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python")]

project = "Wearwell"
copyright = "the Wearwell maintainers; MIT or Apache 2.0"
html_title = "Wearwell"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "pages", "offline"]
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/**",
    "experiments/README.md",
    "experiments/results/**",
    "traces/README.md",
    "traces/samples/README.md",
]
# Folders that have no pages are not looked through.
exclude_patterns = [".git", ".venv", "crates", "docs/site", "target", "**/finished", "**/.ipynb_checkpoints"]

# A link that leads nowhere is a warning, and `make site` makes warnings errors.
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]

# Notebooks are shown as they were executed; `python/tests/test_notebooks.py` executes them again.
nb_execution_mode = "off"
# Nothing from other sites: the default fetches what draws widgets, which no notebook has.
nb_ipywidgets_js = {}

# The compiled half has only text and numbers to exchange; the documented names are in Python.
autodoc_mock_imports = ["wearwell._core"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
default_role = "py:obj"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["index.html"]
html_copy_source = False
html_show_sphinx = False
# The text of a page found would be fetched, which browsers refuse of pages that are files.
html_show_search_summary = False
