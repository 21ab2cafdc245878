"""The manual as a site: ``make site`` builds it into build/site, strictly and without a network.

Sphinx with the theme Furo: unlike those of other site generators, its search also works where the pages are opened as
files. MyST-NB reads Markdown and notebooks, and shows the outputs that the notebooks hold; nothing is executed.
"""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

project = "Multicluster Testbed"
author = "The Multicluster Testbed maintainers"
release = version = installed_version("multicluster-testbed")
copyright = f"2026, {author}"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "reference_pages"]
exclude_patterns = ["conf.py", "drawing", "reference_pages.py"]
suppress_warnings = ["misc.highlighting_failure"]  # examples leave out parts with `...`

html_theme = "furo"
html_title = f"{project} {release}"
html_copy_source = False
html_show_sphinx = False
highlight_language = "none"
smartquotes = False

myst_heading_anchors = 4
nb_execution_mode = "off"

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
napoleon_numpy_docstring = False
