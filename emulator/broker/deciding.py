"""Who decides in a run: its discipline and policy, here or, if one is a researcher's own, in a process of their own."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.broker.policy_process import OwnAdmission, OwnDeciders, PolicyProcess
from emulator.model.topology import Topology
from emulator.model.views import RunRequest
from emulator.policies.admission import Admitting
from emulator.policies.factory import DecisionMaker, check_live, deciders
from emulator.policies.names import custom_file
from emulator.policies.nodes.stated import stated_limits


@dataclass(frozen=True, slots=True)
class Deciding:
    """The deciders of a run, its admission, and the process in which they are; None if they are the testbed's own."""

    deciders: DecisionMaker
    admitting: Admitting
    process: PolicyProcess | None = None

    def close(self) -> None:
        """End the process, if there is one."""
        if self.process is not None:
            self.process.close()


def deciding(request: RunRequest, topology: Topology) -> Deciding:
    """Make the deciders and the admission of a run; this may take seconds if a process must be started.

    Raises:
        UnknownName: if the request names a policy or queue that is neither the testbed's nor in its sources.
        InvalidInput: if one of them cannot run here or cannot be loaded, or the queue cannot be scanned as requested.
    """
    check_live(request.queue, request.policy, request.sources, topology)
    rules = (topology, request.queue, request.policy, request.rules)
    together = topology.processors_taken_together
    if custom_file(request.queue) is None and custom_file(request.policy) is None:
        made = deciders(
            request.queue, request.policy, request.scanning, request.seed, quota=request.quota, together=together,
            limits=stated_limits(topology),
        )  # fmt: skip
        return Deciding(made, Admitting(*rules, quota=request.quota))
    process = PolicyProcess(request, together)
    try:
        admitting = Admitting(*rules, quota=request.quota, asked=OwnAdmission(process, request.quota, together))
        return Deciding(OwnDeciders(process), admitting, process)
    except BaseException:
        process.close()
        raise
