"""The router of a standing testbed: which kernel forwards, and how it is programmed and read back.

There are two backends - the host's kernel in the router's namespace, and a User-Mode Linux guest - behind one seam in
the router's image: ``/opt/wan/run.sh`` runs a script in whichever kernel forwards, once it does. So nothing here
depends on the backend but its name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

from emulator.containers.wan.program import RouterProgram, router_script
from emulator.containers.wan.stand import Stand
from emulator.model.errors import WideAreaUnfaithful

RUN = ("sh", "/opt/wan/run.sh")
"""Runs a script in whichever kernel forwards."""


class Backend(Enum):
    """The kernel that delays: the host's own, or a guest's where the host's has no netem."""

    KERNEL = "kernel"
    GUEST = "uml"

    @property
    def shown(self) -> str:
        """The backend as `status` shows it."""
        return {Backend.KERNEL: "kernel (host)", Backend.GUEST: "user-mode-linux"}[self]


@dataclass(frozen=True, slots=True)
class Router:
    """The router's container, seen as a kernel that runs scripts."""

    stand: Stand

    def backend(self) -> Backend:
        """The kernel in use; waits until the router forwards."""
        self.run("true")
        return Backend(self.stand.read(self.stand.router_container, ["cat", "/run/wan/backend"]).strip())

    def apply(self, program: RouterProgram) -> None:
        """Program the delay lines; waits until the router forwards, replaces what was programmed before.

        Raises:
            WideAreaUnfaithful: if the kernel refuses a command or does not answer.
        """
        self.run(router_script(program))

    def queues(self) -> list[dict[str, Any]]:
        """The queueing disciplines as tc reports them (``tc -j qdisc show``)."""
        output = self.stand.read(self.stand.router_container, RUN, {"SCRIPT": "tc -j qdisc show"})
        return parsed_queues(output, self.stand.router_container)

    def run(self, script: str) -> str:
        """What a shell script prints in the kernel that forwards."""
        return self.stand.execute(self.stand.router_container, RUN, {"SCRIPT": script})


def parsed_queues(output: str, container: str) -> list[dict[str, Any]]:
    """What ``tc -j qdisc show`` printed in `container`.

    Raises:
        WideAreaUnfaithful: if it is not what tc prints.
    """
    try:
        queues = json.loads(output)
    except ValueError as error:
        raise WideAreaUnfaithful(f"The queues of {container} cannot be read: {output[:80]!r}.") from error
    return [queue for queue in queues if isinstance(queue, dict)]
