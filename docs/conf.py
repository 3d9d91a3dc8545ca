"""The site: `make docs` builds it from the whole checkout, vignettes executed, warnings as errors."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from tempfile import mkdtemp

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

from reference import type_links  # noqa: E402  # an extension beside this file

project = "tobitgp"
author = "The tobitgp developers"
copyright = "the tobitgp developers"
version = release = installed_version("tobitgp")

# The source folder is the checkout, so that pages link to each other as they do where the code is hosted.
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "vignettes/**",
    "datasets/README.md",
    "benchmarks/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "NOTATION.md",
]
exclude_patterns = [
    "[.][a-z]*/**",
    "out/**",
    "scratch/**",
    "tests/**",
    "tobitgp/**",
    "**/.ipynb_checkpoints/**",
    "docs/_*/**",
]

extensions = [
    "pictures",
    "reference",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_design",
]

# Vignettes. TOBITGP_VIGNETTES=off builds the rest alone, while writing.
nb_execution_mode = os.environ.get("TOBITGP_VIGNETTES", "force")
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
# Figures of cells have two pixels for each pixel of the page, so that they are sharp on all screens.
profile = Path(mkdtemp()) / "profile_default"
profile.mkdir()
(profile / "ipython_kernel_config.py").write_text("c.InlineBackend.figure_formats = {'retina'}\n")
os.environ["IPYTHONDIR"] = str(profile.parent)

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
mathjax3_config = {"chtml": {"displayAlign": "left", "displayIndent": "1.5em"}}  # centred, narrow screens cut more

# The reference. Single backticks in docstrings are links to what they name, and have to resolve.
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
default_role = "py:obj"
nitpicky = True
python_maximum_signature_line_length = 88
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = type_links()
# Examples are copied without their prompts and output.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "furo"
pygments_dark_style = "github-dark"  # the default underlines modules as if they were links
html_title = "tobitgp"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "_static" / "search.js")  # Sphinx would look for it beside the checkout's root
html_extra_path = ["_root"]
html_show_sphinx = False
html_copy_source = False
templates_path = [str(HERE / "_templates")]  # autosummary would look for them beside the checkout's root


def setup(app: Sphinx) -> None:
    """Let several processes read pages: the extension that copies MathJax at the end does not say that it allows it."""
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True
