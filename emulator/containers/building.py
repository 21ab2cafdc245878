"""What every build of an image shares: the proxies and credentials that it uses, and what it said last."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import docker.errors
from docker.credentials.errors import StoreError

from emulator.containers.docker_address import client_folder
from emulator.containers.loopback import is_on_loopback
from emulator.model.errors import EngineUnavailable

_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY")
_EXCEPTIONS: Final = "NO_PROXY"


def proxy_arguments() -> dict[str, str]:
    """Return this shell's proxies, and their exceptions, as arguments of a build; Docker takes them undeclared.

    A proxy on this host's loopback is left out: a build does not reach it.
    """
    reached = {name: value for name, value in _stated(*_PROXIES).items() if not is_on_loopback(value)}
    return reached | _stated(_EXCEPTIONS)


def _stated(*names: str) -> dict[str, str]:
    """Return the variables of these names, in capitals or not, that this shell states."""
    return {name: os.environ[name] for upper in names for name in (upper, upper.lower()) if os.environ.get(name)}


@contextmanager
def readable_credentials() -> Iterator[None]:
    """Say it in a sentence if the credentials for registries cannot be read, which each pull, push and build needs.

    Raises:
        EngineUnavailable: if the program that keeps them is missing or fails.
    """
    try:
        yield
    except (StoreError, docker.errors.DockerException) as error:
        # A build raises the helper's own error; a pull and a push wrap it.
        refusal = error if isinstance(error, StoreError) else error.__cause__
        if not isinstance(refusal, StoreError):
            raise
        said = " ".join(str(refusal).split()).rstrip(".")
        raise EngineUnavailable(
            f"Docker's credentials for registries cannot be read: {said} (take `credsStore` and "
            f"`credHelpers` out of {client_folder() / 'config.json'}, or install or unlock that helper)."
        ) from error


def last_lines(error: docker.errors.BuildError) -> str:
    """Return the last lines of a build that failed."""
    said = [str(entry.get("stream") or entry.get("error") or "").strip() for entry in error.build_log]
    lines = [line for text in said for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-3:])
