"""What a campaign is: a stream of jobs, the topology it runs on, and how it is scheduled.

A `Campaign` is read from YAML (``workloads/campaigns/*.yaml``, or a file of one's own).
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, PositiveInt, model_validator

from emulator.model.claiming import StatedClaiming
from emulator.model.documents import read_document, validate
from emulator.model.errors import InvalidInput
from emulator.model.house import HOUSE, locate
from emulator.model.job import (
    DEFAULT_RUN_TIME_LIMIT_S,
    MAX_COMPONENT_PROCESSORS,
    MAX_COMPONENTS,
    ArgumentName,
    JobName,
    RunTimeLimit,
    TimeScale,
)
from emulator.model.request import RequestKind
from emulator.model.rules import StatedRules
from emulator.model.scanning import Scanning, StatedScanning
from emulator.model.sources import Sources
from emulator.model.topology import Name
from emulator.policies.registry import default_policy, own_file
from workloads.distributions import Exponential
from workloads.job_choices import InputFiles, JobChoice, UniformService

CAMPAIGNS = HOUSE / "workloads" / "campaigns"
MAX_JOBS = 1_000_000

Count = Annotated[PositiveInt, Field(le=MAX_COMPONENTS)]
Size = Annotated[PositiveInt, Field(le=MAX_COMPONENT_PROCESSORS)]


class Campaign(StatedScanning):
    """A workload and the conditions it runs under.

    Each job has one of `component_counts` components, all of the same one of `component_sizes` processors; both are
    uniform choices. Where that is not enough, `choices` takes the place of `application`, `arguments` and both.
    `dilation` is the default that a command may override; where neither states one, the planner chooses. `service_s` is
    how long jobs run in one cluster where they are simulated; `input_files` is what they need to read. A job is ended
    when it has run for `run_time_limit_s`. Jobs that `rules` forbid are never submitted. `claiming` is how a live
    broker claims what it has placed. `time_scale` divides all that is stated here of times and of files, and the
    topology's overhead, but never its links, so that a long campaign meets the same contention in less time; all that
    is derived of the campaign, `schedule` and `campaign_jobs`, is in the seconds so divided. `sources` are the files
    that `policy` and `queue` point into, as they were read when it was begun; no campaign file states them.
    """

    name: Name
    description: str = ""
    topology: str
    jobs: Annotated[PositiveInt, Field(le=MAX_JOBS)]
    interarrival: Exponential
    application: Name = "poisson"
    arguments: dict[ArgumentName, int | float | bool | JobName] = Field(default_factory=dict, max_length=32)
    request: RequestKind = RequestKind.NON_FIXED
    component_counts: tuple[Count, ...] = ()
    component_sizes: tuple[Size, ...] = ()
    choices: tuple[JobChoice, ...] = ()
    service_s: UniformService | None = None
    input_files: InputFiles | None = None
    run_time_limit_s: RunTimeLimit = DEFAULT_RUN_TIME_LIMIT_S
    dilation: Annotated[float, Field(gt=0, le=10_000)] = 1.0
    policy: str = "wf"
    queue: str = "placement"
    rules: StatedRules = StatedRules()
    claiming: StatedClaiming = StatedClaiming()
    time_scale: TimeScale = 1.0
    sources: Sources = Field(default_factory=dict)

    @model_validator(mode="after")
    def _says_what_jobs_ask_for(self) -> Self:
        counted = bool(self.component_counts), bool(self.component_sizes)
        if self.choices and (any(counted) or self.arguments or "application" in self.model_fields_set):
            raise ValueError("choices: name applications, arguments and components there or beside it, not both")
        if not self.choices:
            for key, given in zip(("component_counts", "component_sizes"), counted, strict=True):
                if not given:
                    raise ValueError(f"{key}: at least one is needed where there are no choices")
            if "application" not in self.model_fields_set:
                raise ValueError("application: this key is missing")
        return self

    @property
    def scanning(self) -> Scanning:
        """How its queue is scanned, in divided seconds."""
        return super().scanning.divided(self.time_scale)

    @property
    def states_dilation(self) -> bool:
        """Whether it names the dilation to run at."""
        return "dilation" in self.model_fields_set

    def changed(self, **changes: object) -> Campaign:
        """This campaign with those `changes` that are not None.

        Raises:
            InvalidInput: if a changed value is out of range.
        """
        wanted = {key: value for key, value in changes.items() if value is not None}
        return validate({**self.model_dump(exclude_unset=True), **wanted}, Campaign, source=f"campaign {self.name!r}")

    def scheduled(self, queue: str | None, policy: str | None) -> Campaign:
        """This campaign under another queue or policy; a queue of another name brings the policy that goes with it.

        With a queue of one's own goes the campaign's.
        """
        if queue is not None and queue != self.queue and policy is None and own_file(queue) is None:
            policy = default_policy(queue)
        return self.changed(queue=queue, policy=policy)


def campaign_named(name_or_path: str) -> Campaign:
    """The campaign of that name in ``workloads/campaigns/``, or in the YAML file at that path.

    Raises:
        UnknownName: if neither exists.
        InvalidInput: if it is no valid campaign.
    """
    path = locate("campaign", name_or_path, CAMPAIGNS)
    campaign = read_document(path, Campaign)
    if campaign.sources:
        # Who reads a campaign somebody wrote does not expect to run a program of theirs.
        raise InvalidInput(f"{path}: sources: a campaign file holds no source; name its file (policy: FILE.py:CLASS).")
    return campaign


def shipped_campaigns() -> dict[str, Campaign]:
    """The campaigns that come with the testbed, by the name that `campaign_named` knows them by."""
    return {path.stem: read_document(path, Campaign) for path in sorted(CAMPAIGNS.glob("*.yaml"))}
