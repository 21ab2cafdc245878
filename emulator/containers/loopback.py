"""Whether an address leads to this host itself. Standard library only."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

_NAMES: Final = ("localhost", "::1")


def is_on_loopback(address: str) -> bool:
    """Return whether a URL, or a host with its port, is on this host's loopback; what is neither is not."""
    try:
        host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:
        return False
    return host in _NAMES or host.startswith("127.")
