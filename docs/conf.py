"""Sphinx: Markdown pages, and those that `generate` writes from the commands, machines and docstrings themselves."""

import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

project = "dmaverify"
author = "the dmaverify authors"
copyright = author
version = release = import_module("dmaverify").__version__
extensions = ["myst_parser"]
exclude_patterns = ["_build", "README.md"]
html_theme = "furo"
html_title = f"dmaverify {release}"
html_show_copyright = False
html_theme_options = {"source_view_link": None, "top_of_page_buttons": []}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
highlight_language = "text"
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]

import_module("generate").write_pages(HERE / "reference")
