"""Debian's Chromium without a window: loads a page, and returns what became of it."""

from __future__ import annotations

import shutil
import subprocess
from html import unescape
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--mute-audio",
    "--virtual-time-budget=15000",
)  # fmt: skip


def loaded(link: str, profile: Path, *, width: int = 1440, height: int = 900) -> str:
    """Return the page behind `link` as HTML after its scripts have run."""
    found = subprocess.run(
        [installed_browser(), *OPTIONS, f"--user-data-dir={profile}", f"--window-size={width},{height}",
         "--dump-dom", link],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return found.stdout


def texts(page: str, identity: str) -> str:
    """Return the HTML between the element with that identity and the next identity."""
    after = page.partition(f'id="{identity}"')[2]
    assert after, f"the page has no {identity}"
    return unescape(after.partition(' id="')[0])


def installed_browser() -> str:
    binary = next((path for name in NAMES if (path := shutil.which(name))), None)
    assert binary is not None, "Chromium is not installed (on Debian: apt-get install chromium)"
    return binary
