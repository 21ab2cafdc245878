"""The live page: a running testbed, or a finished run, in a browser.

record   a run's directory as the page reads it
serving  a loopback server for the page of one recorded run

The page itself is in the folder ``assets``: HTML, CSS and JavaScript of our own, served as they are. The broker serves
the same for a running testbed (``emulator.broker.http.page``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

ASSETS: Final = Path(__file__).resolve().parent / "assets"
"""The folder of the page's files."""
