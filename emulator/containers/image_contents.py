"""What an image is made of, recorded in its labels: what its base was made from, and the version of every package.

A label is inherited from the image below. Slurm, Open MPI and the kernel that forwards come from Debian's packages, so
the labels say which of them a run used; every run's manifest holds them.
"""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from typing import Final

import docker
import docker.errors
from docker.models.images import Image

from emulator.containers import engine
from emulator.containers.building import readable_credentials
from emulator.model.errors import EngineUnavailable
from emulator.model.records import ImageRecord

IMAGE_LABEL: Final = "multicluster-testbed.image"
"""Label that says what an image is for: ``base``, ``node``, ``wan`` or ``broker``."""

BASE_LABEL: Final = "multicluster-testbed.base"
"""Label that says what the base was made from: a public image by its digest, or mmdebstrap and its suite."""

PACKAGES_LABEL: Final = "multicluster-testbed.packages"
"""Label that lists all Debian packages as ``name=version``, separated by spaces."""

_LIST_PACKAGES: Final = ["--show", "--showformat=${Package}=${Version} "]
_ATTEMPTS: Final = 5
_PAUSE_HOST_S: Final = 0.5


def label_contents(client: docker.DockerClient, unlabelled: str, reference: str, labels: Mapping[str, str]) -> Image:
    """Tag the image `unlabelled` as `reference`, with `labels` and its list of packages; drop its first name.

    Raises:
        EngineUnavailable: if the packages cannot be listed or the image cannot be labelled.
    """
    try:
        packages = " ".join(_installed_packages(client, unlabelled))
        with readable_credentials():
            image, _ = client.images.build(
                fileobj=io.BytesIO(f"FROM {unlabelled}\n".encode()),
                tag=reference,
                labels={**labels, PACKAGES_LABEL: packages},
                rm=True,
                forcerm=True,
            )
    except (docker.errors.BuildError, docker.errors.APIError) as error:
        raise EngineUnavailable(f"The contents of {reference} could not be recorded: {error}.") from error
    _drop_name(client, unlabelled)
    return image


def _drop_name(client: docker.DockerClient, name: str) -> None:
    """Take a name off an image; try again while a container that has ended still uses it.

    A name that the engine goes on to keep does no harm: the image that was made of it is whole.
    """
    for _ in range(_ATTEMPTS):
        try:
            client.images.remove(name, force=True, noprune=True)
        except docker.errors.NotFound:
            return
        except docker.errors.APIError:
            time.sleep(_PAUSE_HOST_S)
        else:
            return


def _installed_packages(client: docker.DockerClient, image: str) -> list[str]:
    """List an image's Debian packages; ask again if Docker loses the output, as it does now and then."""
    for _ in range(_ATTEMPTS):
        output = engine.output_of(client, image, ["dpkg-query", *_LIST_PACKAGES])
        if output.strip():
            return sorted(output.decode().split())
    raise EngineUnavailable(f"The contents of {image} could not be recorded: dpkg-query printed nothing.")


def image_records(client: docker.DockerClient, references: Mapping[str, str]) -> dict[str, ImageRecord]:
    """Return what each image of a testbed is made of; only its reference if the image is gone.

    Args:
        references: the image of each role (``node``, ``wan``, ``broker``).
    """
    records = {}
    for role, reference in references.items():
        try:
            labels = client.images.get(reference).labels
        except docker.errors.APIError:
            labels = {}
        records[role] = ImageRecord(
            reference=reference, base=labels.get(BASE_LABEL), packages=labels.get(PACKAGES_LABEL, "")
        )
    return records
