"""A campaign's jobs on nodes that tasks share in time, as the simulation of shared nodes takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from apps.partners import PATTERNS, partners
from apps.registry import SYNTHETIC, SYNTHETIC_MESSAGE_BYTES
from emulator.model.errors import InvalidInput
from emulator.model.interconnects import Interconnect
from emulator.model.job import JobSpecification
from emulator.model.request import JobRequest, RequestKind
from emulator.model.time_sharing.rules import rule_named
from emulator.model.topology import Topology
from emulator.model.units import BYTES_PER_MEGABYTE, rate_bytes_per_s
from emulator.policies.names import policy_name, queue_name
from emulator.policies.nodes.compositions import Composition, composition_named
from emulator.policies.nodes.limits import NodeLimits
from emulator.policies.nodes.stated import stated_limits, stated_users
from emulator.policies.registry import JOB_SELECTIONS, chooses_nodes
from emulator.simulator.simulated_job import FinishedJob
from emulator.simulator.time_shared.finished import as_finished
from emulator.simulator.time_shared.simulation import SharedSetting, simulate_shared
from workloads.campaign import Campaign
from workloads.parallel_programs import Steps
from workloads.schedule import Arrival
from workloads.shared_node_jobs import SharedNodeJob


def simulated_on_shared_nodes(
    campaign: Campaign, arrivals: Sequence[Arrival], seed: int, topology: Topology
) -> list[FinishedJob] | None:
    """Return the life of each job of a campaign on shared nodes, in the order of arrival and numbered from 0.

    Return None where that cannot be simulated: nodes are not shared, the discipline is no job selection, the steps of a
    job are not known, or a job fits only as Slurm would place it.
    """
    sharing, of_policy = topology.time_sharing, chooses_nodes(campaign.policy, campaign.sources)
    if sharing is None or (of_policy and queue_name(campaign.queue) not in JOB_SELECTIONS):
        return None
    composition = composition_of(campaign.policy, campaign.queue, campaign.sources, topology)
    limits = NodeLimits(composition.most_jobs, sharing.contract)
    setting = SharedSetting(topology, stated_users(topology), composition, limits, rule_named(sharing.rule), seed)
    try:
        jobs = [shared_job(number, arrival, topology, of_policy=of_policy) for number, arrival in enumerate(arrivals)]
        outcomes = simulate_shared(setting, jobs).jobs
    except InvalidInput:
        return None
    lives = [as_finished(outcome, topology, arrivals[outcome.id].specification) for outcome in outcomes]
    return sorted(lives, key=lambda life: life.id)


def composition_of(policy: str, queue: str, sources: Mapping[str, str], topology: Topology) -> Composition:
    """Return the composition of a live run by its policy and its queue.

    Where the policy does not choose the nodes, it is *normal*: Slurm takes the least loaded ones.
    """
    most_jobs = stated_limits(topology).most_jobs
    if not chooses_nodes(policy, sources):
        return replace(composition_named("normal"), most_jobs=most_jobs)
    nodes, jobs = policy_name(policy), queue_name(queue)
    return Composition(f"{nodes}+{jobs}", nodes, jobs, most_jobs, sources=sources)


def shared_job(number: int, arrival: Arrival, topology: Topology, *, of_policy: bool) -> SharedNodeJob:
    """Return a job of a live run on shared nodes; `of_policy` says whether its policy chose the nodes.

    Raises:
        InvalidInput: if its steps are not known, or `topology` states no interconnect.
    """
    interconnect = topology.interconnects.single_cluster
    if interconnect is None:
        raise InvalidInput(f"topology {topology.name!r} states no interconnect, which shared nodes need.")
    job = arrival.specification
    steps = steps_of_job(job, interconnect)
    if of_policy:
        return SharedNodeJob(number, arrival.arrival_s, job.name, job.request_in(topology), steps)
    # Slurm chose the nodes, whatever the clusters were: `normal` stands in, as if the job asked for these components.
    share = steps.compute_s * steps.steps / steps.execution_s
    kind = RequestKind.TOTAL if len(job.components) == 1 else RequestKind.UNORDERED
    request = JobRequest(
        kind, job.components, estimate_s=job.estimate_s,
        memory_bytes=round(job.memory_mb * BYTES_PER_MEGABYTE), processor_share=share,
    )  # fmt: skip
    return SharedNodeJob(number, arrival.arrival_s, job.name, request, steps)


def steps_of_job(job: JobSpecification, interconnect: Interconnect) -> Steps:
    """Return the steps of a synthetic job; its exchange takes as long as its messages do one after another.

    Raises:
        InvalidInput: if it is of another application, does not state what a step is, or has sums over all tasks.
    """
    stated, tasks = job.arguments, sum(job.components)
    pattern, compute_s = str(stated.get("pattern", "")), stated.get("compute-s")
    steps = stated.get(SYNTHETIC.length, SYNTHETIC.default_length)
    has_known_messages = pattern in PATTERNS and "collective-every" not in stated
    is_known = job.application == SYNTHETIC.name and has_known_messages
    if not is_known or not isinstance(compute_s, int | float) or not isinstance(steps, int | float):
        raise InvalidInput(
            f"job {job.name!r}: only the steps of synthetic jobs are known that state compute-s and one of the "
            f"patterns {', '.join(PATTERNS)}, and no collective-every."
        )
    messages = len(partners(pattern, 0, 0, tasks)[0])
    message_bytes = float(stated.get("message-bytes", SYNTHETIC_MESSAGE_BYTES))
    each_s = interconnect.message_s + message_bytes / rate_bytes_per_s(interconnect.rate_mbit)
    exchange_s = interconnect.latency_s + messages * each_s if messages else 0.0
    return Steps(pattern, int(steps), float(compute_s), exchange_s)
