"""Sphinx makes the documentation site of these files: ``make docs``.

Nothing is fetched: the theme brings its own fonts and scripts, the search runs in the browser.
"""

from __future__ import annotations

from scrapy_simhash import __version__

project = "scrapy-simhash"
author = "scrapy-simhash contributors"
project_copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_static"]

# Links like (settings.md#the-index), which GitHub resolves too.
myst_heading_anchors = 4

# A name in a signature has no page here if it belongs to another project, or is no part of what
# the package promises.
nitpick_ignore = [("py:exc", "SettingsError")]  # with its module in api.md
nitpick_ignore_regex = [
    ("py:.*", r"(collections|pathlib|scrapy|typing_extensions)\..*"),
    ("py:.*", r"(Action|AddressRule|array|BaseSettings|Crawler|Path|Request|Response|Self)"),
    (
        "py:.*",
        r"scrapy_simhash\.(url_rules|urls|analysis\.analyser|decision\.holdings|tables\.design).*",
    ),
]
# scrapy_simhash.testing imports it; the fixtures themselves are described in testing.md.
autodoc_mock_imports = ["pytest"]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"

html_theme = "furo"
html_title = f"scrapy-simhash {release}"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
# The search and the page of the API find names; these tables do not fit a telephone.
html_use_index = html_domain_indices = False
# One copy of each file is enough: the repository has it.
html_copy_source = False
