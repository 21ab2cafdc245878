"""When and where each job of a live run on shared nodes started, from the run's decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from emulator.model.errors import InvalidInput
from emulator.model.node_names import node_index
from emulator.model.placement import Component, Placement
from emulator.model.records import DECISIONS_FILE
from emulator.model.topology import Topology
from emulator.model.views import EventKind, JobView
from emulator.runs.replay import recorded_events
from emulator.simulator.time_shared.simulation import RecordedStart
from workloads.schedule import Arrival


def recorded_starts(path: Path, arrivals: Sequence[Arrival], topology: Topology) -> Mapping[int, RecordedStart]:
    """Return the start of each of the `arrivals` of the run in `path`, numbered from 1.

    Raises:
        InvalidInput: if the record lacks the start of a job, or its nodes because Slurm chose them.
    """
    started = {
        (job.specification.name, job.intended_arrival_s): job
        for event in recorded_events(path / DECISIONS_FILE)
        if event.kind is EventKind.STARTED and (job := event.job) is not None
    }
    found = {}
    for number, arrival in enumerate(arrivals, start=1):
        job = started.get((arrival.specification.name, arrival.arrival_s))
        if job is None:
            raise InvalidInput(
                f"{path}: its {DECISIONS_FILE} does not say when job {arrival.specification.name!r} started, which "
                "--as-placed needs (copy the whole directory of the run, or leave the option out)."
            )
        found[number] = _recorded_start(path, job, topology)
    return found


def _recorded_start(path: Path, job: JobView, topology: Topology) -> RecordedStart:
    if not all(part.nodes for part in job.components):
        raise InvalidInput(
            f"{path}: its policy left the nodes of job {job.specification.name!r} to Slurm, and does not record them: "
            "--as-placed needs a policy that chooses nodes."
        )
    placement = Placement(
        tuple(
            Component(topology.cluster_names.index(part.cluster), part.processors, tuple(map(node_index, part.nodes)))
            for part in job.components
        )
    )
    return RecordedStart(job.placed_s or 0.0, job.started_s or 0.0, placement)
