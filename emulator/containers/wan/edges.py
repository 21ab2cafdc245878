"""The clusters' ends of their access links: programmed by short-lived helpers, read back without any privilege.

A cluster's container holds no capability over its network. A helper container that shares its network namespace, made
from the router's image and with NET_ADMIN alone, programs the edge and is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from docker.errors import APIError, ContainerError

from emulator.containers.names import LABEL, ROLE_LABEL
from emulator.containers.wan.program import EdgeProgram, edge_script
from emulator.containers.wan.router import parsed_queues
from emulator.containers.wan.stand import Stand, last_line
from emulator.model.errors import NotStanding, WideAreaUnfaithful


def apply_edges(stand: Stand, programs: Sequence[EdgeProgram]) -> None:
    """Program every cluster's edge, all at once, replacing what was programmed before.

    Raises:
        NotStanding: if a cluster's container does not run.
        WideAreaUnfaithful: if the host's kernel refuses a command.
    """
    image = stand.container(stand.router_container).image.id
    with ThreadPoolExecutor(max_workers=len(programs)) as pool:
        list(
            pool.map(
                lambda container, program: _apply(stand, image, container, program),
                stand.cluster_containers,
                programs,
            )
        )


def edge_queues(stand: Stand, container: str) -> list[dict[str, Any]]:
    """The queueing disciplines of a cluster's container as tc reports them (``tc -j qdisc show``)."""
    return parsed_queues(stand.read(container, ["tc", "-j", "qdisc", "show"]), container)


def _apply(stand: Stand, image: str, container: str, program: EdgeProgram) -> None:
    try:
        stand.client.containers.run(
            image,
            command=["-c", edge_script(program)],
            entrypoint=["sh"],
            network_mode=f"container:{container}",
            cap_drop=["ALL"],
            cap_add=["NET_ADMIN"],
            labels={LABEL: stand.testbed, ROLE_LABEL: "helper"},
            remove=True,
            stderr=True,
        )
    except ContainerError as error:
        said = last_line(bytes(error.stderr or b"").decode(errors="replace"))
        raise WideAreaUnfaithful(f"The access link of {program.cluster} cannot be programmed: {said}.") from error
    except APIError as error:
        raise NotStanding(
            f"The access link of {program.cluster} cannot be programmed: {error.explanation or error}."
        ) from error
