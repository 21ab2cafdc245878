"""Campaigns: a stream of jobs, the topology it runs on, and its scheduling parameters.

A `Campaign` is read from YAML (``workloads/campaigns/*.yaml``, or a user's file).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from emulator.model.background import Background, parse_band
from emulator.model.catalogue import topology_named
from emulator.model.documents import Count, read_document, validate
from emulator.model.errors import InvalidInput
from emulator.model.job import (
    DEFAULT_RUN_TIME_LIMIT_S,
    MAX_COMPONENT_PROCESSORS,
    MAX_COMPONENTS,
    ArgumentName,
    Command,
    DilationFactor,
    JobName,
    Numerics,
    RunTimeLimit,
    TimeScale,
)
from emulator.model.project import CAMPAIGNS, is_path, locate, path_beside
from emulator.model.request import RequestKind
from emulator.model.rules import StatedRules
from emulator.model.scheduling import Scanning, Sources, StatedClaiming, StatedScheduling
from emulator.model.topology import Name, Topology
from emulator.policies.names import NODE_POLICIES, custom_file, policy_name, queue_name
from emulator.policies.nodes.compositions import composition_named, is_composition
from emulator.policies.registry import default_policy
from workloads.distributions import Exponential
from workloads.job_choices import InputFiles, JobChoice, UniformService
from workloads.local_jobs import digest_of_log
from workloads.stated_jobs import JobList, StatedJob, is_list, is_log, read_stated_jobs, spaced_jobs

MAX_JOBS = 1_000_000
NO_BAND = "none"

ComponentCount = Annotated[Count, Field(le=MAX_COMPONENTS)]
Size = Annotated[Count, Field(le=MAX_COMPONENT_PROCESSORS)]


class Campaign(StatedScheduling):
    """A workload and its conditions.

    The number of components of each job is a uniform choice of `component_counts`. All components have the same size, a
    uniform choice of `component_sizes`. For other workloads, `choices` replaces `application`, `arguments` and these
    two. A `job_list` replaces all that is drawn: arrivals, components and execution times are those of its jobs. They
    are `listed` once the file has been read, and the first `jobs` of them are taken; `left_out` counts the records of
    a log that cannot be taken. A `command` replaces `application` and `arguments` by a program of the user's own.
    `dilation` is a default that a command may override; if neither states one, pilots find it. `service_s` is the
    distribution of execution times in one cluster: simulated jobs take them, live jobs make as many iterations as take
    so long by the model (`workloads.job_lengths`). `input_files` describes the files that jobs read. A job is ended
    after `run_time_limit_s`. Jobs that `rules` forbid are never submitted. With sampled `numerics` live jobs take their
    time without computing a solution. `claiming` holds the parameters of claiming in a live run. `background` is the
    load of other users. `quota` is the share of each cluster that jobs may fill.

    `time_scale` divides how long everything is: iterations, all times and file sizes that are stated here, and the
    topology's overhead. It changes neither its links nor what an iteration costs, so that a long campaign meets the
    same contention in less time, and extension factors stay. `schedule` and `campaign_jobs` return divided seconds.
    `sources` holds the files of `policy` and `queue`, as read when the campaign was started; campaign files do not
    state it.
    """

    name: Name
    description: str = ""
    topology: str
    jobs: Annotated[Count, Field(le=MAX_JOBS)] = MAX_JOBS
    interarrival: Exponential | None = None
    job_list: JobList | None = None
    listed: tuple[StatedJob, ...] = ()
    left_out: Annotated[int, Field(ge=0)] = 0
    application: Name = "poisson"
    command: Command = ()
    arguments: dict[ArgumentName, int | float | bool | JobName] = Field(default_factory=dict, max_length=32)
    request: RequestKind = RequestKind.NON_FIXED
    component_counts: tuple[ComponentCount, ...] = ()
    component_sizes: tuple[Size, ...] = ()
    choices: tuple[JobChoice, ...] = ()
    service_s: UniformService | None = None
    input_files: InputFiles | None = None
    run_time_limit_s: RunTimeLimit = DEFAULT_RUN_TIME_LIMIT_S
    numerics: Numerics = Numerics.REAL
    dilation: DilationFactor = 1.0
    policy: str = "wf"
    queue: str = "placement"
    rules: StatedRules = StatedRules()
    claiming: StatedClaiming = StatedClaiming()
    background: Background | None = None
    time_scale: TimeScale = 1.0
    sources: Sources = Field(default_factory=dict)

    @field_validator("policy")
    @classmethod
    def _policy_as_spelled(cls, name: str) -> str:
        return policy_name(name)

    @field_validator("queue")
    @classmethod
    def _queue_as_spelled(cls, name: str) -> str:
        return queue_name(name)

    @model_validator(mode="after")
    def _says_what_jobs_ask_for(self) -> Self:
        if self.job_list is not None:
            return self._with_nothing_drawn()
        for key in ("jobs", "interarrival"):
            if key not in self.model_fields_set:
                raise ValueError(f"{key}: this key is missing")
        counted = bool(self.component_counts), bool(self.component_sizes)
        if self.command and (self.choices or self.arguments or "application" in self.model_fields_set):
            raise ValueError("command: stands in place of application, arguments and choices; leave them out")
        if self.choices and (any(counted) or self.arguments or "application" in self.model_fields_set):
            raise ValueError("choices: name applications, arguments and components there or beside it, not both")
        if not self.choices:
            for key, given in zip(("component_counts", "component_sizes"), counted, strict=True):
                if not given:
                    raise ValueError(f"{key}: at least one is needed where there are no choices")
            if "application" not in self.model_fields_set and not self.command:
                raise ValueError("application: this key is missing")
        return self

    def _with_nothing_drawn(self) -> Self:
        for key in ("interarrival", "component_counts", "component_sizes", "choices", "service_s"):
            if getattr(self, key):
                raise ValueError(f"{key}: the job list states this; leave it out")
        if self.command and (self.arguments or "application" in self.model_fields_set):
            raise ValueError("command: stands in place of application and arguments; leave them out")
        return self

    @property
    def scanning(self) -> Scanning:
        """The scanning of its queue, in divided seconds."""
        return super().scanning.divided(self.time_scale)

    @property
    def scaled_background(self) -> Background | None:
        """The background load, in divided seconds; None if there is none."""
        return None if self.background is None else self.background.divided(self.time_scale)

    @property
    def states_dilation(self) -> bool:
        """Whether the campaign states its dilation."""
        return "dilation" in self.model_fields_set

    @property
    def states_services(self) -> bool:
        """Whether it says how long its jobs execute in one cluster."""
        return self.service_s is not None or bool(self.listed)

    @property
    def has_list_per_seed(self) -> bool:
        """Whether each seed has a job list of its own."""
        return self.job_list is not None and self.job_list.is_per_seed

    def located(self, folder: Path) -> Campaign:
        """Return this campaign, whose file is in `folder`, with its topology and its log where the command finds them.

        The digest of the log is noted, so that a run that goes on later takes no other one.
        """
        topology = path_beside(folder, self.topology) if is_path(self.topology) else self.topology
        campaign = self if topology == self.topology else self.changed(topology=topology)
        background = self.background
        if background is None or background.log is None:
            return campaign
        log = path_beside(folder, background.log)
        digest = background.log_digest or digest_of_log(Path(log))
        stated = background.model_dump(exclude_unset=True)
        return campaign.changed(background={**stated, "local_jobs": log, "log_digest": digest})

    def carrying_jobs(self, folder: Path, topology: Topology | None = None, seed: int | None = None) -> Campaign:
        """Return this campaign with the jobs of its list, whose path is relative to `folder`; itself without a list.

        Jobs of a log are split for `topology`, or else for its own one. If each seed has a list of its own, that of
        `seed` is read; without a seed none is.

        Raises:
            InvalidInput: if the list cannot be used, a job has arguments where the campaign has a command, or neither
                names an application.
        """
        if self.job_list is None or (self.has_list_per_seed and seed is None):
            return self
        clusters = (topology or topology_named(self.topology)).clusters
        path = folder / self.job_list.file_of(seed or 0)
        listed, left_out = read_stated_jobs(self.job_list, path, [cluster.processors for cluster in clusters])
        if not self.command and "application" not in self.model_fields_set:
            for number, job in enumerate(listed, start=1):
                if not job.application:
                    raise InvalidInput(
                        f"{path}: the job that arrives as number {number} names no application, and campaign "
                        f"{self.name!r} states none for all."
                    )
        if self.command and any(job.arguments for job in listed):
            raise InvalidInput(
                f"{path}: arguments: campaign {self.name!r} runs a command instead of applications; leave them out."
            )
        jobs = min(self.jobs, len(listed))
        return self.changed(listed=[job.model_dump() for job in listed], left_out=left_out, jobs=jobs)

    def changed(self, **changes: object) -> Campaign:
        """Return this campaign with those `changes` that are not None.

        Raises:
            InvalidInput: if a changed value is out of range.
        """
        given = {key: value for key, value in changes.items() if value is not None}
        return validate({**self.model_dump(exclude_unset=True), **given}, Campaign, source=f"campaign {self.name!r}")

    def under_band(self, band: str | None) -> Campaign:
        """Return this campaign with its background load in another `band`, such as ``30-40`` percent, or in none.

        Raises:
            InvalidInput: if it is no band.
        """
        if band is None:
            return self
        if band.lower() == NO_BAND:
            return self.model_copy(update={"background": None})
        stated = {} if self.background is None else self.background.model_dump(exclude_unset=True)
        return self.changed(background={**stated, "band": parse_band(band)})

    def spaced(self, factor: float | None) -> Campaign:
        """Return this campaign with its mean interarrival time multiplied by `factor`.

        Raises:
            InvalidInput: if it is not positive and finite.
        """
        if factor is None:
            return self
        if not 0.0 < factor < math.inf:
            raise InvalidInput(f"--interarrival-factor: must be positive and finite, not {factor:g}.")
        if self.job_list is not None:
            listed = [job.model_dump() for job in spaced_jobs(self.listed, factor)]
            return self.changed(job_list=self.job_list.spaced(factor).model_dump(), listed=listed)
        if self.interarrival is None:
            return self
        mean_s = self.interarrival.mean_s * factor
        return self.changed(interarrival={**self.interarrival.model_dump(), "mean_s": mean_s})

    def replicated(self, replicas: int | None) -> Campaign:
        """Return this campaign with that many replicas of every input file, at different sites.

        Raises:
            InvalidInput: if its jobs read no files.
        """
        if replicas is None:
            return self
        if self.input_files is None:
            raise InvalidInput(f"--replicas: the jobs of campaign {self.name!r} read no files; leave it out.")
        return self.changed(input_files={**self.input_files.model_dump(), "replicas": (replicas,)})

    def scheduled(self, queue: str | None, policy: str | None) -> Campaign:
        """Return this campaign under another queue or policy.

        A new queue without a policy changes the policy to the default of that queue. If the queue is a user's file, the
        campaign's policy is kept. A composition (`emulator.policies.nodes.compositions`) named as policy says both.

        Raises:
            InvalidInput: if a composition and a queue are named, or the composition has no names live.
        """
        if policy is not None and is_composition(policy) and policy_name(policy) not in NODE_POLICIES:
            if queue is not None:
                raise InvalidInput(f"queue: the composition {policy!r} has one of its own; leave out {queue!r}.")
            policy, queue = composition_named(policy).live_names
        if queue is not None and queue_name(queue) != self.queue and policy is None and custom_file(queue) is None:
            policy = default_policy(queue)
        return self.changed(queue=queue, policy=policy)


def campaign_named(name_or_path: str, topology: Topology | None = None, seed: int | None = None) -> Campaign:
    """Read the campaign of that name from ``workloads/campaigns/``, or from the YAML file at that path.

    Files that it states are beside it. If it is to run on another `topology` than its own, the jobs of its log are
    split for that one. If each seed has a job list of its own, that of `seed` is read; without a seed the campaign has
    no jobs yet.

    Raises:
        UnknownName: if neither exists.
        InvalidInput: if the file is not a valid campaign, or a job list or a log.
    """
    if is_list(Path(name_or_path)) or is_log(Path(name_or_path)):
        raise InvalidInput(
            f"{name_or_path}: holds jobs, and is no campaign: write one that names it (job_list: {name_or_path})."
        )
    path = locate("campaign", name_or_path, CAMPAIGNS)
    campaign = read_document(path, Campaign)
    refuse_sources(campaign, path)
    return campaign.located(path.parent).carrying_jobs(path.parent, topology, seed)


def recorded_campaign(workload: Mapping[str, Any], *, source: str) -> Campaign:
    """Return the campaign whose keys a manifest records, all of them, as `workload`.

    Raises:
        InvalidInput: if it is none; the message names `source`.
    """
    stated = dict(workload)
    if stated.get("choices"):
        # Choices are stated instead of these, which a record holds nevertheless.
        for key in ("application", "arguments", "component_counts", "component_sizes"):
            stated.pop(key, None)
    elif stated.get("command"):
        # So is a command.
        for key in ("application", "arguments"):
            stated.pop(key, None)
    return validate(stated, Campaign, source=source)


def refuse_sources(campaign: Campaign, path: Path) -> None:
    """Refuse a campaign file that contains a program, which a user who runs someone else's file does not expect.

    Nor does it contain the jobs of a list, which only a record holds.

    Raises:
        InvalidInput: if it does.
    """
    if campaign.sources:
        raise InvalidInput(
            f"{path}: sources: a campaign file holds no source; name its file (policy: FILE.py:CLASS), or run a record "
            "once more (`testbed campaign run --like RUN`)."
        )
    if campaign.listed or campaign.left_out:
        key = "listed" if campaign.listed else "left_out"
        raise InvalidInput(
            f"{path}: {key}: a campaign file holds no jobs; name their file (job_list: FILE.jsonl), or run a record "
            "once more (`testbed campaign run --like RUN`)."
        )


def shipped_campaigns() -> dict[str, Campaign]:
    """Read the campaigns that come with the testbed, by the names that `campaign_named` accepts."""
    return {path.stem: read_document(path, Campaign) for path in sorted(CAMPAIGNS.glob("*.yaml"))}
