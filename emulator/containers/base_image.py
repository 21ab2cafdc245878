"""The base of every image: Debian with Slurm, Open MPI and SSH, pulled where possible, else made by mmdebstrap.

Both ways take their packages from ``images/base/packages.txt``. If the environment variable ``TESTBED_BASE_IMAGE`` is
set, the base is made from that public image and from no other: ``debian@sha256:...`` pins it by its digest.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import docker
import docker.errors

from emulator.containers import mmdebstrap
from emulator.containers.building import last_lines, proxy_arguments, readable_credentials
from emulator.containers.cache import cache_folder
from emulator.containers.image_contents import BASE_LABEL, IMAGE_LABEL, label_contents
from emulator.containers.image_names import BASE_REPOSITORY, PINNED_BY, base_reference, public_image
from emulator.containers.progress import Observer, ProgressStep
from emulator.model.errors import EngineUnavailable
from emulator.model.escapes import last_line
from emulator.model.project import PROJECT_ROOT

SUITE: Final = "bookworm"
_UNNEEDED: Final = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*")


def packages() -> list[str]:
    """Return the Debian packages of the base."""
    lines = (PROJECT_ROOT / "images" / "base" / "packages.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def ensure(client: docker.DockerClient, observe: Observer) -> str:
    """Return the base's reference, and make the base if it does not exist.

    Raises:
        EngineUnavailable: if Debian's image cannot be pulled and mmdebstrap cannot be fetched or fails; if an image is
            pinned and cannot be pulled; if the credentials for registries cannot be read.
    """
    image_name = base_reference()
    try:
        client.images.get(image_name).tag(BASE_REPOSITORY, tag="dev")
        return image_name
    except docker.errors.ImageNotFound:
        pass
    observe(ProgressStep("images", f"making {BASE_REPOSITORY} (once; some minutes)"))
    unlabelled = f"{image_name}-unlabelled"
    if can_pull(client):
        origin = _build_on_public_image(client, unlabelled)
    elif os.environ.get(PINNED_BY):
        raise EngineUnavailable(f"{public_image()}, which {PINNED_BY} asks for, cannot be pulled.")
    else:
        origin = _bootstrap(client, unlabelled)
    image = label_contents(client, unlabelled, image_name, {IMAGE_LABEL: "base", BASE_LABEL: origin})
    image.tag(BASE_REPOSITORY, tag="dev")
    observe(ProgressStep("images", f"made {BASE_REPOSITORY}"))
    return image_name


def can_pull(client: docker.DockerClient) -> bool:
    """Return whether the public image is here or can be pulled.

    Raises:
        EngineUnavailable: if the credentials for registries cannot be read, without which nothing can be built either.
    """
    try:
        client.images.get(public_image())
    except docker.errors.ImageNotFound:
        try:
            with readable_credentials():
                client.images.pull(public_image())
        except (docker.errors.DockerException, OSError):
            return False
    return True


def _build_on_public_image(client: docker.DockerClient, tag: str) -> str:
    """Build the base; return the public image that it was built on, by its digest where Docker knows one."""
    folder = str(PROJECT_ROOT / "images" / "base")
    try:
        stated = {"PUBLIC_IMAGE": public_image(), **proxy_arguments()}
        with readable_credentials():
            client.images.build(path=folder, tag=tag, buildargs=stated, rm=True, forcerm=True)
        attributes = client.images.get(public_image()).attrs
    except docker.errors.BuildError as error:
        raise EngineUnavailable(f"The base image could not be built: {last_lines(error)}") from error
    except docker.errors.APIError as error:
        raise EngineUnavailable(f"The base image could not be built: {error.explanation or error}.") from error
    return str(next(iter(attributes.get("RepoDigests") or ()), f"{public_image()} {attributes['Id']}"))


def _bootstrap(client: docker.DockerClient, tag: str) -> str:
    """Make the base by mmdebstrap; return what made it."""
    program = mmdebstrap.ensure()
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        archive = Path(folder) / "base.tar"
        excluded = [f"--dpkgopt=path-exclude={pattern}" for pattern in _UNNEEDED]
        command = [str(program), "--quiet", "--variant=minbase", *excluded]
        command += [f"--include={','.join(packages())}", SUITE, str(archive)]
        # It calls programs of its own package.
        path = f"{program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        answer = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False)
        if answer.returncode != 0:
            raise EngineUnavailable(f"mmdebstrap could not make the base image: {last_line(answer.stderr)}.")
        repository, name = tag.rsplit(":", 1)
        client.api.import_image_from_file(str(archive), repository=repository, tag=name)
    return f"mmdebstrap {SUITE} {client.images.get(tag).id}"
