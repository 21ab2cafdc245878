"""Where this host's Docker engine answers, as Docker's own command finds it: DOCKER_HOST, or its current context.

The Docker SDK knows no contexts. Rootless Docker and Docker Desktop make one current, whose engine may be another than
that at the usual socket. Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from emulator.containers.loopback import is_on_loopback

UNIX: Final = "unix://"
USUAL: Final = "unix:///var/run/docker.sock"
_USUAL_CONTEXT: Final = "default"
_HTTP_UNIX: Final = "http+unix://"
_PIPE: Final = "npipe://"

TAKE_OWN_ENGINE: Final = "unset it; for several hosts, use `testbed up --hosts`"
"""The remedy where DOCKER_HOST names another machine."""


def engine_address() -> str:
    """Return the address of the engine: that of the current context if it is a socket of this host, else the usual."""
    if stated := os.environ.get("DOCKER_HOST"):
        return stated
    folder = client_folder()
    context = os.environ.get("DOCKER_CONTEXT") or _entry(folder / "config.json", "currentContext") or _USUAL_CONTEXT
    if context == _USUAL_CONTEXT:
        return USUAL
    kept = folder / "contexts" / "meta" / hashlib.sha256(context.encode()).hexdigest() / "meta.json"
    host = _entry(kept, "Endpoints", "docker", "Host")
    return host if host.startswith(UNIX) else USUAL


def client_folder() -> Path:
    """Return the folder of Docker's client, which holds its configuration and its contexts."""
    return Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")


def is_elsewhere(address: str) -> bool:
    """Return whether an engine is another machine's: it sees no file of this host, nor publishes ports at it."""
    return not (address.startswith((UNIX, _HTTP_UNIX, _PIPE)) or is_on_loopback(address) or _is_own(address))


def _is_own(address: str) -> bool:
    """Return whether the host of a URL is an address of this machine, to which a socket can be bound."""
    try:
        host = urlsplit(address).hostname or ""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
            bound.bind((host, 0))
    except (OSError, ValueError):
        return False
    return bool(host)


def _entry(file: Path, *keys: str) -> str:
    """Return the text under `keys` in a file of JSON; empty if it is not there."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        for key in keys:
            found = found[key]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return found if isinstance(found, str) else ""
