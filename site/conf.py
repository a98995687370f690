"""Settings of Sphinx for the site (``make site``)."""

from __future__ import annotations

import sys
from pathlib import Path

import fairdrop

sys.path.insert(0, str(Path(__file__).parent))

project = "fairdrop"
author = "The fairdrop authors"
project_copyright = "The fairdrop authors, MIT or Apache-2.0"
version = release = fairdrop.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "diagrams",
]

# Notebooks are shown with the outputs that they are kept with; tests run them.
nb_execution_mode = "off"
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
# Some pages begin a section at the third level, where a generated part is put in.
suppress_warnings = ["myst.header"]

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_title = "fairdrop"
html_baseurl = ""
html_static_path = ["static"]
templates_path = ["templates"]
html_favicon = "static/favicon.svg"
html_context = {"default_mode": "auto"}
html_css_files = ["site.css"]
html_js_files = ["vendor/tablesort.min.js", "tables.js"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "fairdrop"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["playground-link", "theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages without others below them.
ALONE = ("index", "docs/tutorial", "docs/comparison", "docs/features", "gallery", "CHANGELOG", "CONTRIBUTING")
html_sidebars: dict[str, list[str]] = {page: [] for page in ALONE}
pygments_style = "a11y-high-contrast-light"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
