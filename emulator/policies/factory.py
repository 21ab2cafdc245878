"""The discipline, policy and random numbers of a run, made from its run request.

The broker makes them here for a live run, and replay makes them here from the run's records, so the same request gives
the same decisions. The simulator gets its disciplines and random numbers here, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy
from numpy.random import Generator

from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.scheduling import Scanning
from emulator.model.topology import Topology
from emulator.policies.names import SINGLE_CLUSTER, custom_file, is_entry_point, policy_name, queue_name
from emulator.policies.nodes.limits import NodeLimits
from emulator.policies.placement.exclusive_nodes import ExclusiveNodes
from emulator.policies.placement.fixed import AcceptingFixed
from emulator.policies.placement.quota import Quota
from emulator.policies.protocols import PlacementPolicy, QueueDiscipline, Reject, SchedulingEvent, Start
from emulator.policies.registry import (
    JOB_SELECTIONS,
    NODE_SELECTIONS,
    PLACEMENT_POLICIES,
    QUEUE_DISCIPLINES,
    SCANNING_DISCIPLINES,
    placement_policy,
    queue_discipline,
)
from emulator.policies.state import SystemState
from emulator.policies.traits import need_running_jobs, traits_of_placement

DISCIPLINE_STREAM: Final = 0x51
"""Second part of the discipline's seed; it separates its random numbers from those of workloads with the same seed."""


class WaitingQueue(Protocol):
    """The questions that a run's driver may ask its queue discipline between decisions."""

    def waiting(self) -> Collection[int]:
        """Return the identities of the waiting jobs, in the order in which they would be tried."""
        ...

    def next_scan_s(self) -> float | None:
        """Get the emulated timestamp of the next scan, or None."""
        ...


class DecisionMaker(Protocol):
    """The maker of a run's decisions: `Deciders`, in this process or in a process of their own."""

    @property
    def discipline(self) -> WaitingQueue:
        """The queue discipline, which decides which job is next."""
        ...

    @property
    def needs_running_jobs(self) -> bool:
        """Whether the discipline or the policy reads the running jobs and their estimated ends."""
        ...

    def decide(self, event: SchedulingEvent, state: SystemState) -> Sequence[Start | Reject]:
        """Return the discipline's answers to `event`."""
        ...

    def snapshot(self) -> dict[str, Any]:
        """Return all internal state that the next decision depends on, as plain values for `restore`."""
        ...

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes."""
        ...


@dataclass(frozen=True, slots=True)
class Deciders:
    """The discipline, policy and random numbers that make a run's decisions, given events and states."""

    discipline: QueueDiscipline
    policy: PlacementPolicy
    rng: Generator

    @property
    def needs_running_jobs(self) -> bool:
        """Whether the discipline or the policy reads the running jobs and their estimated ends."""
        return need_running_jobs(self.discipline, self.policy)

    def decide(self, event: SchedulingEvent, state: SystemState) -> Sequence[Start | Reject]:
        """Return the discipline's answers to `event`."""
        return list(self.discipline.decide(event, state, self.policy, self.rng))

    def snapshot(self) -> dict[str, Any]:
        """Return all internal state that the next decision depends on, as plain values for `restore`."""
        return {"discipline": self.discipline.snapshot(), "rng": self.rng.bit_generator.state}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes."""
        self.discipline.restore(snapshot["discipline"])
        self.rng.bit_generator.state = snapshot["rng"]


def deciders(
    queue: str,
    policy: str,
    scanning: Scanning,
    seed: int,
    sources: Mapping[str, str] | None = None,
    quota: float | None = None,
    together: int = 1,
    limits: NodeLimits | None = None,
) -> Deciders:
    """Make the deciders of a run; under every policy of clusters a fixed request is placed on those it names.

    A component of a job takes `together` processors at a time (`Topology.processors_taken_together`). A policy that
    chooses nodes keeps `limits`.

    Raises:
        UnknownName: if there is no such queue or policy.
        InvalidInput: if `scanning` has options that the queue does not support, a file of `sources` cannot be used, or
            `quota` is not a share of a cluster.
    """
    return Deciders(
        discipline_scanned(queue, scanning, sources),
        accepting_fixed(placement_policy(policy, sources, limits), quota, together),
        discipline_generator(seed),
    )


def accepting_fixed(policy: PlacementPolicy, quota: float | None, together: int = 1) -> PlacementPolicy:
    """Return `policy` extended to fixed requests, placed on the clusters that they name, and limited to any `quota`.

    A component of a job takes `together` processors at a time: those of a node, where nodes are exclusive.
    A policy that chooses nodes is returned as it is: a fixed request names no nodes.

    Raises:
        InvalidInput: if `quota` does not lie in 0 (excluded) to 1, or the policy chooses nodes, which know no quota.
    """
    if traits_of_placement(policy).chooses_nodes:
        if quota is not None:
            raise InvalidInput("quota: means nothing for a policy that chooses nodes; leave it out.")
        return policy
    accepting: PlacementPolicy = AcceptingFixed(policy)
    if together > 1:
        accepting = ExclusiveNodes(accepting, together)
    return accepting if quota is None else Quota(accepting, quota)


def discipline_scanned(queue: str, scanning: Scanning, sources: Mapping[str, str] | None = None) -> QueueDiscipline:
    """Return the discipline named `queue` with the options in `scanning`.

    Raises:
        UnknownName: if there is no such queue.
        InvalidInput: if `scanning` has options that the queue does not support.
    """
    queue = queue_name(queue)
    if queue in QUEUE_DISCIPLINES and queue not in SCANNING_DISCIPLINES:
        stated = {
            "adaptive_scans": scanning.adaptive,
            "tries_threshold": scanning.tries_threshold is not None,
            "scans_at_departures": scanning.at_departures,
        }
        for key, is_stated in stated.items():
            if is_stated:
                raise InvalidInput(f"{key}: queue {queue!r} is never scanned, so this means nothing; leave it out.")
    return queue_discipline(queue, scanning, sources)


def discipline_generator(seed: int) -> Generator:
    """Return the random number generator of a discipline in a run with this seed."""
    return numpy.random.default_rng([seed, DISCIPLINE_STREAM])


def check_nodes(queue: str, policy: str, topology: Topology, *, chooses: bool) -> None:
    """Check that a policy that `chooses` nodes has a queue that goes with it, and nodes that are shared in time.

    No other queue goes with it: others do not put the tasks of a start on nodes before they ask about the next job.

    Raises:
        InvalidInput: if this is not so.
    """
    goes_with = queue_name(queue) in JOB_SELECTIONS
    if goes_with and not chooses:
        raise InvalidInput(
            f"queue: {queue!r} goes with a policy that chooses nodes ({', '.join(NODE_SELECTIONS)}, or a class of your "
            f"own with chooses_nodes = True), not {policy!r}."
        )
    if chooses and not goes_with:
        raise InvalidInput(
            f"policy: {policy!r} chooses nodes, so its queue is one of {', '.join(JOB_SELECTIONS)}, not {queue!r}."
        )
    if chooses and topology.time_sharing is None:
        raise InvalidInput(
            f"policy: {policy!r} chooses nodes that tasks share in time, and topology {topology.name!r} has none "
            "(state time_sharing there, or choose a policy of clusters)."
        )


def check_live(queue: str, policy: str, sources: Mapping[str, str], topology: Topology) -> None:
    """Check that a queue and a policy can run on a testbed of `topology`.

    A class in a file passes if the file is in `sources`; `deciders` checks later that the class can be used, and
    `Admitting` whether it goes with the queue.

    Raises:
        UnknownName: if the queue or the policy comes neither with the testbed nor with the request.
        InvalidInput: if the queue or the policy needs a testbed of one cluster, and there are more; if it is the entry
            point of a package, which the broker does not have; or if nodes are chosen that are not shared in time.
    """
    if custom_file(policy) is None:
        check_nodes(queue, policy, topology, chooses=policy_name(policy) in NODE_SELECTIONS)
    clusters = len(topology.clusters)
    policies = ("policy", policy_name(policy), [*PLACEMENT_POLICIES, *NODE_SELECTIONS])
    queues = ("queue", queue_name(queue), [*QUEUE_DISCIPLINES, *JOB_SELECTIONS])
    for kind, name, known in (policies, queues):
        if name == SINGLE_CLUSTER and clusters != 1:
            raise InvalidInput(
                f"{kind}: {name!r} is live only on a topology of one cluster, and here are {clusters} "
                "(use `testbed simulate`, which makes one of them)."
            )
        if name not in known and custom_file(name) not in sources:
            if is_entry_point(name):
                raise InvalidInput(
                    f"{kind}: {name!r} is an entry point of a package, which only simulations have; a live run takes "
                    f"the file with the class (`--{kind} FILE.py:CLASS`)."
                )
            raise UnknownName.among(f"live {kind}", name, known)
