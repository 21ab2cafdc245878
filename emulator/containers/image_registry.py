"""Images in a registry: pushed there by whoever makes them, pulled from there by whoever names it.

An image's tag is the hash of all that it is made of. So what is pulled under a tag is what would have been built, as
long as those who may push to the registry are trusted.
"""

from __future__ import annotations

import os
from typing import Final

import docker
import docker.errors

from emulator.containers.building import readable_credentials
from emulator.containers.image_names import IMAGE_REPOSITORY, PULLED_FROM
from emulator.containers.progress import Observer, ProgressStep
from emulator.model.errors import EngineUnavailable, InvalidInput

_IN_IMAGES: Final = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm"}
"""What an image calls the processors that it is for, where that is not what the engine calls its own."""


def there(prefix: str, reference: str) -> str:
    """Return the reference of a local image in the registry's folder `prefix`.

    Raises:
        InvalidInput: if `prefix` names no folder of a registry.
    """
    _check_folder(prefix)
    return f"{prefix}/{reference.removeprefix(f'{IMAGE_REPOSITORY}/')}"


def named_folder() -> str:
    """Return the registry's folder that the environment names; empty if it names none.

    Raises:
        InvalidInput: if what it names is no folder of a registry.
    """
    prefix = os.environ.get(PULLED_FROM, "")
    if prefix:
        _check_folder(prefix)
    return prefix


def architecture_of(client: docker.DockerClient) -> str:
    """Return the architecture of an engine's processors, as it calls them itself: ``x86_64``, ``aarch64``."""
    return str(client.info()["Architecture"])


def pull(client: docker.DockerClient, reference: str, prefix: str, observe: Observer) -> bool:
    """Pull the image that is called `reference` here from the registry's folder `prefix`; False if it is not there.

    An image for other processors than the engine's is not used either.

    Raises:
        InvalidInput: if `prefix` names no folder of a registry.
        EngineUnavailable: if the credentials for registries cannot be read.
    """
    repository, _, tag = there(prefix, reference).rpartition(":")
    observe(ProgressStep("images", f"pulling {repository}"))
    try:
        with readable_credentials():
            image = client.images.pull(repository, tag=tag)
    except docker.errors.APIError as error:
        observe(ProgressStep("images", f"{repository} is not to be had there ({_said(error)}); it is built"))
        return False
    architecture = architecture_of(client)
    made_for = image.attrs["Architecture"]
    if made_for != _IN_IMAGES.get(architecture, architecture):
        observe(ProgressStep("images", f"{repository} is for processors of {made_for} there; it is built"))
        return False
    image.tag(*_parts(reference))
    return True


def push(client: docker.DockerClient, reference: str, prefix: str, observe: Observer) -> str:
    """Push the image `reference` to the registry's folder `prefix`; return its reference there.

    Raises:
        InvalidInput: if `prefix` names no folder of a registry.
        EngineUnavailable: if the registry does not take it, or the credentials for it cannot be read.
    """
    target = there(prefix, reference)
    repository, tag = _parts(target)
    observe(ProgressStep("images", f"pushing {target}"))
    client.images.get(reference).tag(repository, tag=tag)
    try:
        with readable_credentials():
            for said in client.images.push(repository, tag=tag, stream=True, decode=True):
                if "error" in said:
                    raise EngineUnavailable(f"{target} could not be pushed: {_with_remedy(str(said['error']))}.")
    except docker.errors.APIError as error:
        raise EngineUnavailable(f"{target} could not be pushed: {_said(error)}.") from error
    return target


def _check_folder(prefix: str) -> None:
    host, _, folder = prefix.partition("/")
    if not host or not folder or folder.endswith("/") or "@" in prefix or ":" in folder or prefix != prefix.lower():
        raise InvalidInput(f"{prefix!r} is no folder of a registry: name one such as registry.example:5000/group.")


def _parts(reference: str) -> tuple[str, str]:
    repository, _, tag = reference.rpartition(":")
    return repository, tag


def _with_remedy(said: str) -> str:
    is_denied = any(word in said.lower() for word in ("denied", "unauthorized", "no basic auth"))
    return f"{said} (`docker login` opens it)" if is_denied else said


def _said(error: docker.errors.APIError) -> str:
    return str(error.explanation or error).rstrip(".")
