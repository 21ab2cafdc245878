"""The base of every image: Debian with Slurm, Open MPI and SSH, pulled where possible, else made by mmdebstrap.

Both ways take their packages from ``images/base/packages.txt``.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import docker
import docker.errors

from emulator.containers.caches import cache_folder
from emulator.containers.events import Observer, Progress
from emulator.containers.names import IMAGE_REPOSITORY
from emulator.model.errors import EngineUnavailable
from emulator.model.house import HOUSE

SUITE: Final = "bookworm"
PUBLIC_IMAGE: Final = "debian:bookworm-slim"
_REPOSITORY: Final = f"{IMAGE_REPOSITORY}/base"
_UNNEEDED: Final = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*")


def packages() -> list[str]:
    """The Debian packages of the base."""
    lines = (HOUSE / "images" / "base" / "packages.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def reference() -> str:
    """The base's reference: its tag is the hash of what it is made from."""
    folder = HOUSE / "images" / "base"
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.iterdir())))
    return f"{_REPOSITORY}:{digest.hexdigest()[:16]}"


def ensure(client: docker.DockerClient, observe: Observer) -> str:
    """The reference of the base, made if it does not exist.

    Raises:
        EngineUnavailable: if Debian's image cannot be pulled and mmdebstrap is missing or fails.
    """
    wanted = reference()
    try:
        client.images.get(wanted)
        return wanted
    except docker.errors.ImageNotFound:
        pass
    observe(Progress("images", f"making {_REPOSITORY} (once; some minutes)"))
    if can_pull(client):
        _build_on_public_image(client, wanted)
    else:
        _bootstrap(client, wanted)
    client.images.get(wanted).tag(_REPOSITORY, tag="dev")
    observe(Progress("images", f"made {_REPOSITORY}"))
    return wanted


def can_pull(client: docker.DockerClient) -> bool:
    """Whether Debian's public image is here or can be pulled."""
    try:
        client.images.get(PUBLIC_IMAGE)
    except docker.errors.ImageNotFound:
        try:
            client.images.pull(PUBLIC_IMAGE)
        except (docker.errors.APIError, OSError):
            return False
    return True


def _build_on_public_image(client: docker.DockerClient, wanted: str) -> None:
    try:
        client.images.build(path=str(HOUSE / "images" / "base"), tag=wanted, rm=True, forcerm=True)
    except (docker.errors.BuildError, docker.errors.APIError) as error:
        raise EngineUnavailable(f"The base image could not be built: {error}.") from error


def _bootstrap(client: docker.DockerClient, wanted: str) -> None:
    if shutil.which("mmdebstrap") is None:
        raise EngineUnavailable(
            f"{PUBLIC_IMAGE} cannot be pulled, and mmdebstrap, which would make it, is not installed "
            "(reach a registry, or `apt-get install mmdebstrap`)."
        )
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        archive = Path(folder) / "base.tar"
        excluded = [f"--dpkgopt=path-exclude={pattern}" for pattern in _UNNEEDED]
        command = ["mmdebstrap", "--quiet", "--variant=minbase", *excluded]
        command += [f"--include={','.join(packages())}", SUITE, str(archive)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            words = (answer.stderr.strip().splitlines() or ["it gave no reason"])[-1]
            raise EngineUnavailable(f"mmdebstrap could not make the base image: {words}.")
        repository, tag = wanted.rsplit(":", 1)
        client.api.import_image_from_file(str(archive), repository=repository, tag=tag)
