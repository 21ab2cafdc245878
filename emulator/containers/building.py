"""What every build of an image shares: the proxies that it uses, and what it said last."""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import urlsplit

import docker.errors

_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_HERE: Final = ("localhost", "::1")


def proxy_arguments() -> dict[str, str]:
    """Return the proxies of this shell as arguments of a build, which Docker takes without being told of them.

    A proxy on this host's loopback is left out: a build does not reach it.
    """
    stated = {name: os.environ[name] for upper in _PROXIES for name in (upper, upper.lower()) if os.environ.get(name)}
    return {name: value for name, value in stated.items() if not _is_here(value)}


def last_lines(error: docker.errors.BuildError) -> str:
    """Return the last lines of a build that failed."""
    said = [str(entry.get("stream") or entry.get("error") or "").strip() for entry in error.build_log]
    lines = [line for text in said for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-3:])


def _is_here(proxy: str) -> bool:
    host = urlsplit(proxy if "//" in proxy else f"//{proxy}").hostname or ""
    return host in _HERE or host.startswith("127.")
