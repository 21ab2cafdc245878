"""The router of a running testbed: the kernel that forwards, programmed and read back.

There are two backends - the host's kernel in the router's namespace, and a User-Mode Linux guest - behind one
interface of the router's image: ``/opt/wan/run.sh`` runs a script in the kernel that forwards, once it forwards. So
only the name of the backend matters here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

from emulator.containers.wan.commands import router_changes, router_script
from emulator.containers.wan.handle import WanHandle
from emulator.containers.wan.program import RouterProgram
from emulator.model.errors import WideAreaUnfaithful

RUN = ("sh", "/opt/wan/run.sh")
"""Runs a script in the kernel that forwards."""


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

    handle: WanHandle

    def backend(self) -> Backend:
        """Return the kernel in use; wait until the router forwards."""
        awaited = f"SCRIPT=true {' '.join(RUN)} && cat /run/wan/backend"
        return Backend(self.handle.read(self.handle.router_container, ["sh", "-c", awaited]).strip())

    def apply(self, program: RouterProgram) -> None:
        """Program the delay lines, replacing what was there; wait until the router forwards.

        Raises:
            WideAreaUnfaithful: if the kernel refuses a command or does not answer.
        """
        self.run(router_script(program))

    def change(self, program: RouterProgram) -> None:
        """Program the delay lines of a router that was programmed for the same paths before; quicker than `apply`.

        Raises:
            WideAreaUnfaithful: if the kernel refuses a command or does not answer.
        """
        try:
            self.run(router_changes(program))
        except WideAreaUnfaithful:
            # A line is missing, as after a restart of the router.
            self.apply(program)

    def queues(self) -> list[dict[str, Any]]:
        """Return the queueing disciplines as tc reports them (``tc -j qdisc show``)."""
        output = self.handle.read(self.handle.router_container, RUN, {"SCRIPT": "tc -j qdisc show"})
        return parsed_queues(output, self.handle.router_container)

    def run(self, script: str) -> str:
        """Run a shell script in the kernel that forwards, and return its output."""
        return self.handle.execute(self.handle.router_container, RUN, {"SCRIPT": script})


def parsed_queues(output: str, container: str) -> list[dict[str, Any]]:
    """Parse the output of ``tc -j qdisc show`` in `container`.

    Raises:
        WideAreaUnfaithful: if it is not what tc prints.
    """
    try:
        queues = json.loads(output)
    except ValueError as error:
        raise WideAreaUnfaithful(f"The queues of {container} cannot be read: {output[:80]!r}.") from error
    return [queue for queue in queues if isinstance(queue, dict)]
