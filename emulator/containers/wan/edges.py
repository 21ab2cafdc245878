"""The clusters' ends of their access links: programmed by short-lived helpers, read back without any privilege.

A cluster's container holds no capability over its network. A helper container that shares its network namespace, made
from the router's image and with NET_ADMIN alone, programs the edge and is removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from docker.errors import APIError, ContainerError

from emulator.containers.names import LABEL, ROLE_LABEL
from emulator.containers.wan.commands import edge_script
from emulator.containers.wan.handle import WanHandle, last_line
from emulator.containers.wan.program import EdgeProgram
from emulator.containers.wan.router import parsed_queues
from emulator.model.errors import TestbedNotUp, WideAreaUnfaithful


def apply_edges(handle: WanHandle, programs: Sequence[EdgeProgram]) -> None:
    """Program every cluster's edge, all at once, replacing what was programmed before.

    Raises:
        TestbedNotUp: if a cluster's container does not run.
        WideAreaUnfaithful: if the host's kernel refuses a command.
    """
    image = handle.container(handle.router_container).image.id
    with ThreadPoolExecutor(max_workers=len(programs)) as pool:
        list(
            pool.map(
                lambda container, program: _apply(handle, image, container, program),
                handle.cluster_containers,
                programs,
            )
        )


def edge_queues(handle: WanHandle, container: str) -> list[dict[str, Any]]:
    """Return the queueing disciplines of a cluster's container as tc reports them (``tc -j qdisc show``)."""
    return parsed_queues(handle.read(container, ["tc", "-j", "qdisc", "show"]), container)


def _apply(handle: WanHandle, image: str, container: str, program: EdgeProgram) -> None:
    try:
        handle.client.containers.run(
            image,
            command=["-c", edge_script(program)],
            entrypoint=["sh"],
            network_mode=f"container:{container}",
            cap_drop=["ALL"],
            cap_add=["NET_ADMIN"],
            labels={LABEL: handle.testbed, ROLE_LABEL: "helper"},
            remove=True,
            stderr=True,
        )
    except ContainerError as error:
        said = last_line(bytes(error.stderr or b"").decode(errors="replace"))
        raise WideAreaUnfaithful(f"The access link of {program.cluster} cannot be programmed: {said}.") from error
    except APIError as error:
        raise TestbedNotUp(
            f"The access link of {program.cluster} cannot be programmed: {error.explanation or error}."
        ) from error
