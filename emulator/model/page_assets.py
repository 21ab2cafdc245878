"""The files of the live page, and the headers that they are served with, by the broker and by `testbed page RUN`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emulator.model.errors import InvalidInput

FIRST_PAGE: Final = "index.html"
ASSETS_PATH: Final = "/page/"
"""The path below which the files are served; the first page is served at ``/``."""

_MEDIA_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
"""Nothing is loaded from elsewhere, nothing runs that is not a file of the page, and no other page embeds it."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page."""

    content: bytes
    media_type: str


def read_assets(folder: Path) -> dict[str, Asset]:
    """Read the page's files in `folder`, by the path at which each is served.

    Raises:
        InvalidInput: if the first page is missing.
    """
    if not (folder / FIRST_PAGE).is_file():
        raise InvalidInput(f"{folder}: holds no live page (it has no {FIRST_PAGE}).")
    return {
        _served_at(file.name): Asset(file.read_bytes(), _MEDIA_TYPES[file.suffix])
        for file in sorted(folder.iterdir())
        if file.suffix in _MEDIA_TYPES
    }


def _served_at(name: str) -> str:
    return "/" if name == FIRST_PAGE else f"{ASSETS_PATH}{name}"
