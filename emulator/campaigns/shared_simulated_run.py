"""A simulation of a live run on nodes that tasks share, as a run's directory: `testbed compare` takes both.

A job claims its processors when it is placed. It starts, and releases them after its end, as late as live in the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from emulator.campaigns.shared_like_run import SharedRun
from emulator.campaigns.simulated_run import NamedJob, SimulatedRun, write_simulated_run
from emulator.fidelity.background import BackgroundMeasures
from emulator.simulator.background import BackgroundChange
from emulator.simulator.simulated_job import FinishedJob, GivenUpJob
from emulator.simulator.time_shared.finished import as_finished
from emulator.simulator.time_shared.simulation import SharedResult
from workloads.schedule import specifications_by_number, stream_job


@dataclass(frozen=True, slots=True)
class SharedEnds:
    """The jobs of a simulation of shared nodes, all of which finish; there is no background load."""

    finished: tuple[FinishedJob, ...]
    given_up: tuple[GivenUpJob, ...] = ()
    background: BackgroundMeasures | None = None
    background_changes: tuple[BackgroundChange, ...] = ()


def write_shared_run(
    path: Path, like: Path, run: SharedRun, result: SharedResult, seed: int | None, *, as_placed: bool = False
) -> None:
    """Write the directory of the simulation of the live run in `like`, whose local users were drawn if from a `seed`.

    `as_placed` says that jobs started when and where they did live.

    Raises:
        InvalidInput: if `path` is taken.
    """
    manifest = run.manifest
    alone_s = {outcome.id: outcome.alone_s for outcome in result.jobs}
    jobs = [
        stream_job(number, arrival, run.topology, alone_s[number], None)
        for number, arrival in enumerate(run.arrivals, start=1)
    ]
    asked = specifications_by_number(run.arrivals)
    ends = SharedEnds(tuple(as_finished(outcome, run.topology, asked[outcome.id]) for outcome in result.jobs))
    provenance = {
        "like": like.resolve().name,
        "composition": run.composition.name,
        "rule": run.sharing.rule,
        "bursts_of_local_users": "drawn" if seed is not None or not any(run.bursts) else "recorded",
        "seed_of_local_users": seed,
        "starts": "recorded" if as_placed else "decided",
        "starting_s": run.starting_s,
        "releasing_s": run.releasing_s,
    }
    named = {number: NamedJob.of(specification) for number, specification in asked.items()}
    simulated = SimulatedRun(
        manifest.name, run.topology, manifest.policy, manifest.queue, manifest.seed, jobs, ends,
        workload=manifest.workload, provenance=provenance, named=named,
    )  # fmt: skip
    write_simulated_run(path, simulated)
