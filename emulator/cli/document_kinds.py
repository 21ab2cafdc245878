"""The kinds of documents that a user writes: how one is told from another, its schema, and its faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from apps.registry import check_program
from emulator.containers.names import PartNames
from emulator.hosts.inventory import HostInventory
from emulator.model.catalogue import topology_named
from emulator.model.documents import read_content
from emulator.model.errors import InvalidInput
from emulator.model.faults import all_faults, shown
from emulator.model.job import JobSpecification
from emulator.model.names import DEFAULT_TESTBED
from emulator.model.processor import Processor
from emulator.model.topology import Topology
from emulator.model.views import DEFAULT_RUN_REQUEST
from emulator.policies.admission import Admitting
from workloads.campaign import Campaign, refuse_sources
from workloads.custom_sources import carrying_sources

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

MOST_SEEDS: Final = 1000
"""The seeds, from 0, whose job lists are looked for."""


@dataclass(frozen=True, slots=True)
class DocumentKind:
    """A kind of document: its model, and the checks of the verb that takes it beyond the model's own.

    `check(value, path, topology)` raises `InvalidInput`; `topology` is the one that a job is meant for, if it is named.
    A document never states the keys that are `hidden`.
    """

    name: str
    model: type[BaseModel]
    check: Callable[[Any, Path, str | None], object]
    hidden: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What people call such a document."""
        return getattr(self.model, "called", "") or self.name

    @property
    def keys(self) -> frozenset[str]:
        """The keys at the top of such a document."""
        fields = self.model.model_fields.items()
        return frozenset(field.alias or name for name, field in fields if name not in self.hidden)

    def schema(self) -> dict[str, Any]:
        """Return its JSON schema."""
        found = self.model.model_json_schema()
        for key in self.hidden:
            del found["properties"][key]
        return {"$schema": DIALECT, **found}

    def faults(self, content: Mapping[str, Any], path: Path, topology: str | None) -> list[str]:
        """Return a sentence for each fault of a document with this `content`, which was read from `path`."""
        try:
            self.check(self.model.model_validate(content), path, topology)
        except ValidationError as error:
            return all_faults(error)
        except InvalidInput as error:
            return [str(error).removeprefix(f"{path}: ")]
        return []


def _check_topology(topology: Topology, path: Path, named: str | None) -> None:
    names = PartNames(DEFAULT_TESTBED)
    for cluster in topology.clusters:
        names.cluster(cluster.name)


def _check_campaign(campaign: Campaign, path: Path, named: str | None) -> None:
    from emulator.campaigns.live import arrivals_on  # only where a campaign is checked: it loads much

    refuse_sources(campaign, path)
    campaign = campaign.located(path.parent)
    topology = topology_named(named or campaign.topology)
    for seed in _checked_seeds(campaign, path.parent):
        arrivals_on(topology, carrying_sources(campaign.carrying_jobs(path.parent, topology, seed)), seed)


def _checked_seeds(campaign: Campaign, folder: Path) -> Sequence[int]:
    """Return the seeds with which a campaign is checked: if each has its own job list, those with one in `folder`."""
    listed = campaign.job_list
    if listed is None or not listed.is_per_seed:
        return (0,)
    return [seed for seed in range(MOST_SEEDS) if (folder / listed.file_of(seed)).is_file()] or (0,)


def _check_job(job: JobSpecification, path: Path, named: str | None) -> None:
    if not job.command:
        check_program(job.application, job.arguments, job.processor_speed)
    if named is not None:
        topology, default = topology_named(named), DEFAULT_RUN_REQUEST
        job.request_in(topology)
        if job.file is None:
            Admitting(topology, default.queue, default.policy, default.rules).admit(1, job)


KINDS: Final = {
    kind.name: kind
    for kind in (
        DocumentKind("topology", Topology, _check_topology),
        DocumentKind("campaign", Campaign, _check_campaign, hidden=("sources", "listed", "left_out")),
        DocumentKind("job", JobSpecification, _check_job),
        DocumentKind("processor", Processor, lambda processor, path, named: None),
        DocumentKind("hosts", HostInventory, lambda inventory, path, named: None),
    )
}
"""Every kind by its name."""

_NAMES: Final = "topology, a campaign, a job, a processor profile or a hosts inventory"


def schema_text(name: str) -> str:
    """Return the JSON schema of the kind of document called `name`, as it is kept in ``docs/schemas``."""
    return json.dumps(KINDS[name].schema(), indent=2, ensure_ascii=False) + "\n"


def keys_in(path: Path) -> dict[str, Any]:
    """Return the keys in the YAML or JSON file at `path`, with their values.

    Raises:
        InvalidInput: if it cannot be read or holds no keys.
    """
    content = read_content(path)
    if not isinstance(content, dict):
        held = "is empty" if content is None else f"holds {shown(content)}"
        raise InvalidInput(f"{path}: {held}, but needs the keys of a {_NAMES} (`testbed schema NAME` lists them).")
    return content


def kind_of(content: Mapping[str, Any], path: Path) -> DocumentKind:
    """Return the kind that has most of the keys in `content`.

    Raises:
        InvalidInput: if no kind has any.
    """
    shared = {kind.name: len(kind.keys & content.keys()) for kind in KINDS.values()}
    best = max(shared, key=lambda name: shared[name])
    if shared[best] == 0:
        raise InvalidInput(f"{path}: none of its keys is one of a {_NAMES} (`testbed schema NAME` lists them).")
    return KINDS[best]
