"""Images in a registry: pushed there by whoever makes them, pulled from there by whoever names it.

An image's tag is the hash of all that it is made of. So what is pulled under a tag is what would have been built, as
long as those who may push to the registry are trusted.
"""

from __future__ import annotations

import os

import docker
import docker.errors

from emulator.containers.image_names import IMAGE_REPOSITORY, PULLED_FROM
from emulator.containers.progress import Observer, ProgressStep
from emulator.model.errors import EngineUnavailable, InvalidInput


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


def pull(client: docker.DockerClient, reference: str, prefix: str, observe: Observer) -> bool:
    """Pull the image that is called `reference` here from the registry's folder `prefix`; False if it is not there."""
    repository, _, tag = there(prefix, reference).rpartition(":")
    observe(ProgressStep("images", f"pulling {repository}"))
    try:
        image = client.images.pull(repository, tag=tag)
    except docker.errors.APIError as error:
        observe(ProgressStep("images", f"{repository} is not to be had there ({_said(error)}); it is built"))
        return False
    image.tag(*_parts(reference))
    return True


def push(client: docker.DockerClient, reference: str, prefix: str, observe: Observer) -> str:
    """Push the image `reference` to the registry's folder `prefix`; return its reference there.

    Raises:
        InvalidInput: if `prefix` names no folder of a registry.
        EngineUnavailable: if the registry does not take it.
    """
    target = there(prefix, reference)
    repository, tag = _parts(target)
    observe(ProgressStep("images", f"pushing {target}"))
    client.images.get(reference).tag(repository, tag=tag)
    try:
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
