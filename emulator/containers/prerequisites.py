"""What must be there before anything is installed: ``python3 -m emulator.containers.prerequisites``.

The Makefile runs it with the system's Python, before the environment of ``.venv`` exists. So it needs the standard
library only, and an old Python understands it. It prints a sentence with the remedy for each thing that is missing, and
then exits 1. `doctor` says more, once the environment is there.
"""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import quote

from emulator.containers import mmdebstrap
from emulator.containers.compose_command import compose_command
from emulator.containers.docker_address import TAKE_OWN_ENGINE, UNIX, engine_address, is_elsewhere
from emulator.containers.image_names import PINNED_BY, PULLED_FROM, base_reference, public_image
from emulator.model.errors import EngineUnavailable

OLDEST_PYTHON: Final = (3, 11)
REGISTRY_WITHIN_HOST_S: Final = 20.0
_ANSWER_WITHIN_HOST_S: Final = 10.0
_OK: Final = 200
_LOG_IN: Final = (401, 403)
"""The answers of a registry that wants a login. Docker logs in when it pulls, with what `docker login` keeps."""


def lacking() -> Iterator[str]:
    """Yield a sentence for each thing that is missing."""
    yield from _python()
    yield from _compose()
    yield from _images()


def _python() -> Iterator[str]:
    if sys.version_info[:2] < OLDEST_PYTHON:
        found = ".".join(str(part) for part in sys.version_info[:3])
        yield f"Python 3.11 or newer is needed, and this is {found} (name a newer one: `make PYTHON=python3.12 ...`)."
    elif find_spec("venv") is None or find_spec("ensurepip") is None:
        yield "Python lacks the module `venv` (on Debian: `apt-get install python3-venv`)."


def _compose() -> Iterator[str]:
    if shutil.which("docker-compose"):
        return  # not asked for its version, which takes it a second
    try:
        compose_command()
    except EngineUnavailable as error:
        yield str(error)


def _images() -> Iterator[str]:
    """Find out whether Docker answers and has, or could get, the base of the images; the network is asked last."""
    host = engine_address()
    if is_elsewhere(host):
        yield f"DOCKER_HOST names an engine of another machine: {host} ({TAKE_OWN_ENGINE})."
        return
    if not host.startswith(UNIX):
        return  # `testbed up` asks it.
    docker = Path(host[len(UNIX) :])
    try:
        if _answer(docker, "/_ping", _ANSWER_WITHIN_HOST_S) != _OK:
            yield "Docker does not answer as it should (look at `docker info`)."
            return
        if os.environ.get(PULLED_FROM):
            return  # The images come from there, without the base.
        if _has_image(docker, base_reference()) or _has_image(docker, public_image()):
            return
    except PermissionError:
        yield "Docker refuses this user (add it to the group `docker`, log in again, or use sudo)."
        return
    except (OSError, http.client.HTTPException):
        yield f"Docker does not answer at {docker} (install Docker, or start it: `systemctl start docker`)."
        return
    yield from _base_from_elsewhere(docker)


def _base_from_elsewhere(docker: Path) -> Iterator[str]:
    if _can_pull(docker):
        return
    if os.environ.get(PINNED_BY):
        yield f"{public_image()}, which {PINNED_BY} asks for, cannot be pulled (reach its registry, or unset that)."
        return
    missing = mmdebstrap.missing_programs()
    if missing:
        yield (
            f"The base image can neither be pulled ({public_image()}) nor made: mmdebstrap is missing, and so is "
            f"{missing[0]}, which would fetch it (reach a container registry, or install mmdebstrap)."
        )


def _has_image(docker: Path, image: str) -> bool:
    return _answer(docker, f"/images/{_in_path(image)}/json", _ANSWER_WITHIN_HOST_S) == _OK


def _can_pull(docker: Path) -> bool:
    print(f"asking the registry for {public_image()}", file=sys.stderr)
    try:
        status = _answer(docker, f"/distribution/{_in_path(public_image())}/json", REGISTRY_WITHIN_HOST_S)
    except (OSError, http.client.HTTPException):
        return False
    return status in (_OK, *_LOG_IN)


def _in_path(image: str) -> str:
    return quote(image, safe="/:@")


def _answer(docker: Path, path: str, within_host_s: float) -> int:
    """Return the status of Docker's answer to a request for `path`.

    Raises:
        OSError: if there is no answer within `within_host_s` seconds.
    """
    connection = http.client.HTTPConnection("localhost", timeout=within_host_s)
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.sock.settimeout(within_host_s)
        connection.sock.connect(str(docker))
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def main() -> int:
    """Print a sentence for each thing that lacks; return the exit code."""
    sentences = list(lacking())
    for sentence in sentences:
        print(f"testbed: {sentence}", file=sys.stderr)
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
