"""Images sent to the hosts that lack them: the stream of one engine's ``docker save`` into another's ``docker load``.

An image's tag is the hash of all that it is made of, so a host that has the tag has the image.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import docker
import docker.errors

from emulator.containers.concurrency import run_concurrently
from emulator.containers.hosts.engines import HostEngines
from emulator.containers.progress import Observer, ProgressStep
from emulator.model.errors import EngineUnavailable

_STAGE: Final = "images"
_CHUNK_BYTES: Final = 2 * 1024**2
_TOLD_EVERY_BYTES: Final = 200 * 1000**2
_MEGABYTE: Final = 1000**2


def send_images(engines: HostEngines, hosts: Sequence[str], references: Sequence[str], observe: Observer) -> None:
    """Send every image to each of the `hosts` that lacks it, to all of them at once.

    Raises:
        EngineUnavailable: if an image cannot be sent.
    """
    run_concurrently(
        [
            partial(_send, engines, host, missing, observe)
            for host in hosts
            if host != engines.central and (missing := missing_images(engines.engines[host].client, references))
        ]
    )


def missing_images(client: docker.DockerClient, references: Sequence[str]) -> list[str]:
    """Return the images that a host lacks."""
    missing = []
    for reference in references:
        try:
            client.images.get(reference)
        except docker.errors.ImageNotFound:
            missing.append(reference)
    return missing


def _send(engines: HostEngines, host: str, references: Sequence[str], observe: Observer) -> None:
    source = engines.central_client
    total_bytes = sum(int(source.images.get(reference).attrs["Size"]) for reference in references)
    observe(ProgressStep(_STAGE, f"sending {_shown(references)} to {host} ({total_bytes / _MEGABYTE:.0f} MB)"))
    try:
        # In one stream, so that layers that images share go once.
        stream = source.api.get(
            f"{source.api.base_url}/v{source.api.api_version}/images/get",
            params={"names": list(references)},
            stream=True,
        )
        stream.raise_for_status()
        counted = _counted(stream.iter_content(_CHUNK_BYTES), host, total_bytes, observe)
        for _ in engines.engines[host].client.api.load_image(counted):
            pass
    except (docker.errors.DockerException, OSError) as error:
        raise EngineUnavailable(
            f"The images could not be sent to host {host!r}: {error} (is its disk full?)."
        ) from error
    if still := missing_images(engines.engines[host].client, references):
        raise EngineUnavailable(f"Host {host!r} did not keep the image {still[0]} (is its disk full?).")
    observe(ProgressStep(_STAGE, f"sent to {host}"))


def _counted(chunks: Iterator[bytes], host: str, total_bytes: int, observe: Observer) -> Iterator[bytes]:
    sent_bytes = told_bytes = 0
    for chunk in chunks:
        yield chunk
        sent_bytes += len(chunk)
        if sent_bytes - told_bytes >= _TOLD_EVERY_BYTES:
            told_bytes = sent_bytes
            observe(
                ProgressStep(_STAGE, f"{host} has {sent_bytes / _MEGABYTE:.0f} of {total_bytes / _MEGABYTE:.0f} MB")
            )


def _shown(references: Sequence[str]) -> str:
    return ", ".join(reference.split("/")[-1].split(":")[0] for reference in references)
