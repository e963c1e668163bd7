"""Configuration of the documentation site, which shows the documents of this repository. `make site` builds the site.

No document is copied. The source folder is the root of the repository, so that links between pages work as in a
checkout; `pages.py` generates pages from code and results. The lists of `docs/index.md`, which readers of the
repository use as well, give the order of the pages.
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
# Folders without pages are excluded from the search.
exclude_patterns = [".git", ".venv", "crates", "docs/site", "target", "**/finished", "**/.ipynb_checkpoints"]

# Links without a target cause a warning, and `make site` treats warnings as errors.
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]

# Notebooks are shown with their stored output; `python/tests/test_notebooks.py` executes them again.
nb_execution_mode = "off"
# The site loads nothing from other sites. The default would load a script for widgets, which no notebook has.
nb_ipywidgets_js = {}

# The compiled part only exchanges texts and numbers with the package; the documented names are in Python.
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
# A summary would fetch the text of each page that was found. Browsers refuse this for pages that are files.
html_show_search_summary = False
