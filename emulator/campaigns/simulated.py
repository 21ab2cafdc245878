"""A workload through the simulator: a campaign, a job list, a log, or the stream of a published study, by name or file.

A campaign brings its topology, its discipline and its middleware; a file brings jobs only, and is simulated without
middleware, as in the published simulations, unless told otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TextIO

from emulator.campaigns.input_files import stated_surroundings
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.scanning import Scanning
from emulator.model.stream import StreamJob
from emulator.model.topology import Middleware, Topology
from emulator.policies.state import Surroundings
from emulator.simulator.engine import FinishedJob
from emulator.simulator.runtime import RuntimeModel
from emulator.simulator.simulation import SimulationResult, admission, simulate
from emulator.simulator.studies.workloads import StudyWorkload, study_workload
from workloads.campaign import CAMPAIGNS, campaign_named
from workloads.campaign_stream import campaign_jobs
from workloads.job_lists import Check, JobOutcome, outcome_line, read_job_list
from workloads.swf import Remark, read_swf
from workloads.swf_stream import swf_jobs
from workloads.whole_files import written_whole

DEFAULT_TOPOLOGY: Final = "mini"
DEFAULT_QUEUE: Final = "placement"
DEFAULT_STREAM_JOBS: Final = 100_000
NO_OVERHEAD: Final = Middleware(base_s=0.0)
CAMPAIGN_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asks for; None leaves the choice to the workload, or to the defaults where it has none.

    `jobs` is the number of jobs of a campaign or a study's stream, `load` the gross utilization of the latter,
    `component_limit` splits the jobs of a log. `middleware` says whether placement takes the topology's overhead.
    """

    topology: str | None = None
    policy: str | None = None
    queue: str | None = None
    jobs: int | None = None
    load: float | None = None
    component_limit: int | None = None
    warm_up_jobs: int = 0
    seed: int = 0
    middleware: bool | None = None
    runtime: RuntimeModel | float | None = None


@dataclass(frozen=True)
class Subject:
    """A workload made ready: its jobs, and all that the simulator is to know of the system."""

    name: str
    jobs: Iterable[StreamJob]
    topology: Topology
    policy: str | None
    queue: str
    scanning: Scanning = field(default_factory=Scanning)
    middleware: Middleware | None = None
    runtime: RuntimeModel | float = 1.0
    surroundings: Surroundings | None = None
    remarks: tuple[Remark, ...] = field(default=())


def simulate_workload(source: str, wishes: Wishes, jobs_out: Path | None = None) -> tuple[Subject, SimulationResult]:
    """Simulate what `source` names; each job's outcome goes to `jobs_out`, which is written whole or not at all.

    Raises:
        InvalidInput: if anything cannot be meant; one sentence names the file, the line and the field.
    """
    subject = prepared(source, wishes)
    with nullcontext() if jobs_out is None else written_whole(jobs_out) as lines:
        result = simulate(
            subject.jobs,
            clusters=subject.topology,
            queue=subject.queue,
            policy=subject.policy,
            runtime=subject.runtime,
            seed=wishes.seed,
            warm_up_jobs=wishes.warm_up_jobs,
            on_finished=None if lines is None else _recorder(lines),
            scanning=subject.scanning,
            middleware=subject.middleware,
            surroundings=subject.surroundings,
        )
    return subject, result


def prepared(source: str, wishes: Wishes) -> Subject:
    """The workload that `source` names: a job list (``.jsonl``), a log (``.swf``, ``.swf.gz``), a campaign or a stream.

    Raises:
        InvalidInput: if it cannot be read, or a wish contradicts it.
        UnknownName: if nothing carries that name.
    """
    _check(wishes)
    path = Path(source)
    if path.suffix == ".jsonl":
        return _from_job_list(path, wishes)
    if path.suffix == ".swf" or path.suffixes[-2:] == [".swf", ".gz"]:
        return _from_log(path, wishes)
    if path.suffix in CAMPAIGN_SUFFIXES or (CAMPAIGNS / f"{source}.yaml").is_file():
        return _from_campaign(source, wishes)
    try:
        return _from_study(study_workload(source), wishes)
    except UnknownName as error:
        campaigns = ", ".join(sorted(file.stem for file in CAMPAIGNS.glob("*.yaml")))
        raise UnknownName(
            f"There is no workload {source!r} (give a .jsonl or .swf file, a campaign - {campaigns} -, "
            "or the stream of a study such as 25-25-25-25 with --load)."
        ) from error


def _check(wishes: Wishes) -> None:
    for option, value in (("--jobs", wishes.jobs), ("--component-limit", wishes.component_limit)):
        if value is not None and value < 1:
            raise InvalidInput(f"{option}: must be at least 1, not {value}.")
    for option, value in (("--warm-up", wishes.warm_up_jobs), ("--seed", wishes.seed)):
        if value < 0:
            raise InvalidInput(f"{option}: must be 0 or more, not {value}.")


def _refuse(wishes: Wishes, kind: str, *options: str) -> None:
    """Refuse wishes that mean nothing for a workload of this `kind`, rather than ignore them."""
    for option in options:
        if getattr(wishes, option) is not None:
            raise InvalidInput(f"--{option.replace('_', '-')}: means nothing for {kind}; leave it out.")


def _from_job_list(path: Path, wishes: Wishes) -> Subject:
    _refuse(wishes, "a job list", "jobs", "load", "component_limit")
    topology, queue = topology_named(wishes.topology or DEFAULT_TOPOLOGY), wishes.queue or DEFAULT_QUEUE
    jobs = read_job_list(path, _admission(topology, queue, wishes))
    return _of_file(path, jobs, topology, queue, wishes)


def _from_log(path: Path, wishes: Wishes) -> Subject:
    _refuse(wishes, "a log", "jobs", "load")
    topology, queue = topology_named(wishes.topology or DEFAULT_TOPOLOGY), wishes.queue or DEFAULT_QUEUE
    log = read_swf(path)
    found = swf_jobs(
        log,
        path,
        clusters=len(topology.clusters),
        component_limit=wishes.component_limit,
        seed=wishes.seed,
        check=_admission(topology, queue, wishes),
    )
    return _of_file(path, found.jobs, topology, queue, wishes, log.remarks + found.left_out)


def _of_file(
    path: Path,
    jobs: Iterable[StreamJob],
    topology: Topology,
    queue: str,
    wishes: Wishes,
    remarks: tuple[Remark, ...] = (),
) -> Subject:
    return Subject(
        path.name,
        jobs,
        topology,
        wishes.policy,
        queue,
        middleware=topology.middleware if wishes.middleware else None,
        runtime=1.0 if wishes.runtime is None else wishes.runtime,
        remarks=remarks,
    )


def _from_campaign(source: str, wishes: Wishes) -> Subject:
    _refuse(wishes, "a campaign", "load", "component_limit")
    campaign = campaign_named(source).changed(jobs=wishes.jobs, topology=wishes.topology)
    campaign = campaign.scheduled(wishes.queue, wishes.policy)
    topology = topology_named(campaign.topology)
    found = campaign_jobs(campaign, topology, wishes.seed)
    overhead = NO_OVERHEAD if wishes.middleware is False else topology.middleware or NO_OVERHEAD
    overhead = overhead.divided(campaign.time_scale)
    return Subject(
        campaign.name,
        found.jobs,
        topology,
        campaign.policy,
        campaign.queue,
        scanning=campaign.scanning,
        middleware=overhead,
        runtime=1.0 if wishes.runtime is None else wishes.runtime,
        surroundings=stated_surroundings(topology, found.files) if found.files else None,
    )


def _from_study(workload: StudyWorkload, wishes: Wishes) -> Subject:
    _refuse(wishes, "the stream of a study", "component_limit")
    if wishes.load is None or not wishes.load > 0:
        raise InvalidInput(f"--load: the stream {workload.name!r} needs a gross utilization, for instance --load 0.85.")
    topology, queue = topology_named(wishes.topology or "four-by-32"), wishes.queue or "gs"
    return Subject(
        workload.name,
        workload.stream(wishes.load, queue).jobs(wishes.jobs or DEFAULT_STREAM_JOBS, wishes.seed),
        topology,
        wishes.policy,
        queue,
        middleware=topology.middleware if wishes.middleware else None,
        runtime=workload.runtime if wishes.runtime is None else wishes.runtime,
    )


def _admission(topology: Topology, queue: str, wishes: Wishes) -> Check:
    return admission(topology, queue, wishes.policy).check


def _recorder(lines: TextIO) -> Callable[[FinishedJob], None]:
    def record(job: FinishedJob) -> None:
        lines.write(outcome_line(JobOutcome(job.id, job.start_s, job.finish_s, job.clusters)))

    return record
