"""What a campaign is: a stream of jobs, the topology it runs on, and how it is scheduled.

A `Campaign` is read from YAML (``workloads/campaigns/*.yaml``, or a file of one's own).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PositiveInt

from emulator.model.catalogue import HOUSE, locate
from emulator.model.documents import DocumentModel, read_document, validate
from emulator.model.job import MAX_COMPONENT_PROCESSORS, MAX_COMPONENTS, ArgumentName, JobName
from emulator.model.request import RequestKind
from emulator.model.topology import Name
from workloads.distributions import Exponential

CAMPAIGNS = HOUSE / "workloads" / "campaigns"
MAX_JOBS = 1_000_000

Count = Annotated[PositiveInt, Field(le=MAX_COMPONENTS)]
Size = Annotated[PositiveInt, Field(le=MAX_COMPONENT_PROCESSORS)]


class Campaign(DocumentModel):
    """A workload and the conditions it runs under.

    Each job has one of `component_counts` components, all of the same one of `component_sizes` processors; both are
    uniform choices. `dilation` is the default that a command may override.
    """

    name: Name
    description: str = ""
    topology: str
    jobs: Annotated[PositiveInt, Field(le=MAX_JOBS)]
    interarrival: Exponential
    application: Name
    arguments: dict[ArgumentName, int | float | bool | JobName] = Field(default_factory=dict, max_length=32)
    request: RequestKind = RequestKind.NON_FIXED
    component_counts: Annotated[tuple[Count, ...], Field(min_length=1)]
    component_sizes: Annotated[tuple[Size, ...], Field(min_length=1)]
    dilation: Annotated[float, Field(gt=0, le=10_000)] = 1.0
    policy: str = "wf"
    queue: str = "placement"
    scan_interval_s: Annotated[float, Field(gt=0, le=86_400)] = 4.0

    def changed(self, **changes: object) -> Campaign:
        """This campaign with those `changes` that are not None.

        Raises:
            InvalidInput: if a changed value is out of range.
        """
        wanted = {key: value for key, value in changes.items() if value is not None}
        return validate({**self.model_dump(), **wanted}, Campaign, source=f"campaign {self.name!r}")


def campaign_named(name_or_path: str) -> Campaign:
    """The campaign of that name in ``workloads/campaigns/``, or in the YAML file at that path.

    Raises:
        UnknownName: if neither exists.
        InvalidInput: if it is no valid campaign.
    """
    return read_document(locate("campaign", name_or_path, CAMPAIGNS), Campaign)


def shipped_campaigns() -> list[Campaign]:
    """The campaigns that come with the testbed, by name."""
    return [read_document(path, Campaign) for path in sorted(CAMPAIGNS.glob("*.yaml"))]
