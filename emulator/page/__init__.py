"""The live page: a running testbed, or a finished run, in a browser.

assets   the page itself: HTML, CSS and JavaScript of our own, served as they are
record   a run's directory as the page reads it
serving  a loopback server for the page of one recorded run

The broker serves the same assets for a running testbed (``emulator.broker.http.page``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

ASSETS: Final = Path(__file__).resolve().parent / "assets"
"""The folder of the page's files."""
