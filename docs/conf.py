"""How Sphinx makes the site; `docs/build` calls it."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

project = "sfl-verify"
copyright = "2026, sfl-verify"
extensions = [
    "myst_parser",
    "made.site",
]
exclude_patterns = ["made"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "house"
html_theme = "furo"
html_title = "sfl-verify"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
default_role = "code"
pygments_style = "friendly"
pygments_dark_style = "native"
