"""The clusters' ends of their access links: programmed and read back by commands in the clusters' containers.

Nothing that a cluster's entry point starts has a capability over the network. Only what the engine executes in the
container has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from emulator.containers.wan.commands import edge_script
from emulator.containers.wan.handle import WanHandle
from emulator.containers.wan.program import EdgeProgram
from emulator.containers.wan.router import parsed_queues
from emulator.model.errors import WideAreaUnfaithful


def apply_edges(handle: WanHandle, programs: Sequence[EdgeProgram]) -> None:
    """Program every cluster's edge, all at once, replacing what was programmed before.

    Raises:
        TestbedNotUp: if a cluster's container does not run.
        WideAreaUnfaithful: if the host's kernel refuses a command.
    """
    with ThreadPoolExecutor(max_workers=len(programs)) as pool:
        list(pool.map(partial(_apply, handle), handle.cluster_containers, programs))


def edge_queues(handle: WanHandle, container: str) -> list[dict[str, Any]]:
    """Return the queueing disciplines of a cluster's container as tc reports them (``tc -j qdisc show``)."""
    return parsed_queues(handle.read(container, ["tc", "-j", "qdisc", "show"]), container)


def _apply(handle: WanHandle, container: str, program: EdgeProgram) -> None:
    try:
        handle.execute(container, ["sh", "-c", edge_script(program)])
    except WideAreaUnfaithful as error:
        raise WideAreaUnfaithful(f"The access link of {program.cluster} cannot be programmed: {error}") from error
