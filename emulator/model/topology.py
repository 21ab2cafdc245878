"""Topologies: clusters of equal processors, their access links, and the delays between them.

A `Topology` is read from YAML (``compose/*.yaml``) and describes the emulated system, independent of containers and
hosts. All delays are one-way and all values are emulated. The costs of its processors are in ``processor``, the
carriers of messages inside a cluster in ``interconnects``. A cluster that states ``ssh`` is *real*: an existing Slurm
cluster, whose links are neither shaped nor measured.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import Field, PositiveFloat, PositiveInt, field_validator, model_validator

from emulator.model.collectives import Collectives, WholeNodes
from emulator.model.documents import DocumentModel, Name, is_name
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.interconnects import Interconnects
from emulator.model.local_users import profile_named
from emulator.model.names import named_among
from emulator.model.node_names import node_names
from emulator.model.processor import Processor, processor_named
from emulator.model.real_head import RealHead
from emulator.model.shared_nodes import TimeSharing
from emulator.model.uncertainty import Uncertainty

__all__ = ["AccessLink", "Cluster", "Link", "Middleware", "Name", "Path", "Processor", "Topology", "is_name"]

NonNegative = Annotated[float, Field(ge=0)]


class AccessLink(DocumentModel):
    """The link of a cluster to the wide area, shared by all its traffic; rates are at layer 2."""

    up_mbit: PositiveFloat
    down_mbit: PositiveFloat


class Cluster(DocumentModel):
    """Processors under one local resource manager: `nodes` nodes of `processors_per_node` each.

    An emulated cluster has an access link; a real one has a head, which `ssh` names. `on` names the host that carries
    an emulated cluster, where a testbed spreads over several (`testbed up --hosts`); elsewhere it says nothing. Where
    jobs share nodes, the memory of a node limits how many do. Where tasks share nodes in time, `local_users` says at
    which nodes (``n1``, ``n2``, ...) somebody works, with the profile (`emulator.model.local_users`).
    """

    name: Name
    nodes: PositiveInt
    processors_per_node: PositiveInt = 2
    node_memory_mb: PositiveFloat | None = None
    stated_access_link: AccessLink | None = Field(default=None, alias="access_link")
    ssh: RealHead | None = None
    on: Name | None = None
    local_users: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_users_at_its_nodes(self) -> Self:
        for node, profile in self.local_users.items():
            if node not in node_names(self.nodes):
                raise ValueError(
                    f"local_users: cluster {self.name!r} has no node {node!r} (it has n1 to n{self.nodes})"
                )
            try:
                profile_named(profile)
            except UnknownName as error:
                sentence = str(error)
                raise ValueError(f"local_users: {sentence[:1].lower()}{sentence[1:]}") from error
        return self

    @model_validator(mode="after")
    def _is_emulated_or_real(self) -> Self:
        if self.ssh is None and self.stated_access_link is None:
            raise ValueError(f"cluster {self.name!r} states neither an access_link nor ssh")
        if self.ssh is not None and self.stated_access_link is not None:
            raise ValueError(f"cluster {self.name!r} is real (ssh): its links are not shaped, leave out access_link")
        if self.ssh is not None and self.on is not None:
            raise ValueError(f"cluster {self.name!r} is real (ssh): no host of the testbed carries it, leave out on")
        return self

    @property
    def processors(self) -> int:
        """All processors of the cluster."""
        return self.nodes * self.processors_per_node

    @property
    def is_real(self) -> bool:
        """Whether the cluster is a real one, not a container."""
        return self.ssh is not None

    @property
    def access_link(self) -> AccessLink:
        """The access link of an emulated cluster.

        Raises:
            InvalidInput: if the cluster is real.
        """
        if self.stated_access_link is None:
            raise InvalidInput(f"Cluster {self.name!r} is real: nothing is known of its links (choose emulated ones).")
        return self.stated_access_link


class Path(DocumentModel):
    """The wide area from one cluster to another: one-way delay, its jitter, and the share of packets lost."""

    delay_s: NonNegative
    jitter_s: NonNegative = 0.0
    loss: Annotated[float, Field(ge=0, lt=1)] = 0.0

    def stretched(self, factor: float) -> Self:
        """Return it with its delay and its jitter taken `factor` times as long."""
        return self.model_copy(update={"delay_s": self.delay_s * factor, "jitter_s": self.jitter_s * factor})


class Link(Path):
    """A path between two named clusters; it holds for both directions unless `one_way`."""

    source: Name = Field(alias="from")
    target: Name = Field(alias="to")
    one_way: bool = False

    @model_validator(mode="after")
    def _joins_two(self) -> Self:
        if self.source == self.target:
            raise ValueError(f"a link joins two clusters, but both ends are {self.source!r}")
        return self


class NodeUse(StrEnum):
    """How jobs use the nodes of a cluster: they share them, or each takes whole ones for itself."""

    SHARED = "shared"
    EXCLUSIVE = "exclusive"


class Middleware(DocumentModel):
    """The emulated time that the grid middleware takes from placement to start of a job.

    Each head's gatekeeper serves the submissions of components one at a time, `gatekeeper_s` each; what a job waits for
    its turns comes on top of its overhead.
    """

    base_s: NonNegative
    per_component_s: NonNegative = 0.0
    gatekeeper_s: NonNegative = 0.0

    def overhead_s(self, components: int) -> float:
        """Return the emulated seconds for a job of `components` components, without gatekeepers."""
        return self.base_s + self.per_component_s * components

    def divided(self, time_scale: float) -> Middleware:
        """Return the same with its times divided by `time_scale`."""
        stated_s = {"base_s": self.base_s, "per_component_s": self.per_component_s, "gatekeeper_s": self.gatekeeper_s}
        return self.model_copy(update={key: each_s / time_scale for key, each_s in stated_s.items()})


class Topology(DocumentModel):
    """A multicluster: its clusters in order, and a path for each ordered pair of them.

    `links` states paths by pair; `default_link` applies to all other pairs of emulated clusters. A `processor` given by
    name is read together with the topology, so that a topology is always complete. Where `nodes` are exclusive, a
    component of a job takes whole nodes. With `time_sharing` a node has one processor, which its `processors_per_node`
    tasks share.
    """

    name: Name
    description: str = ""
    processor: Processor
    interconnects: Interconnects = Interconnects()
    collectives: Collectives = Collectives()
    whole_nodes: WholeNodes = WholeNodes()
    uncertainty: Uncertainty | None = None
    middleware: Middleware | None = None
    nodes: NodeUse = NodeUse.SHARED
    time_sharing: TimeSharing | None = None
    clusters: Annotated[tuple[Cluster, ...], Field(min_length=1)]
    default_link: Path | None = None
    links: tuple[Link, ...] = ()

    @field_validator("processor", mode="before", json_schema_input_type=str | Processor)
    @classmethod
    def _profile_if_named(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        try:
            return processor_named(given)
        except InvalidInput as error:
            sentence = str(error)
            raise ValueError(sentence[:1].lower() + sentence[1:]) from error

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        names = self.cluster_names
        for name, count in Counter(names).items():
            if count > 1:
                raise ValueError(f"clusters: two clusters are named {name!r}")
        for index, link in enumerate(self.links):
            for end, name in (("from", link.source), ("to", link.target)):
                if name not in names:
                    raise ValueError(f"links.{index}.{end}: there is no cluster {name!r} (known: {', '.join(names)})")
                if self.cluster(name).is_real:
                    raise ValueError(f"links.{index}.{end}: cluster {name!r} is real (ssh), its links are not shaped")
        pairs = [pair for link in self.links for pair in _pairs(link)]
        for (source, target), count in Counter(pairs).items():
            if count > 1:
                raise ValueError(f"links: the path from {source!r} to {target!r} is given twice")
        if self.default_link is None:
            given = set(pairs)
            for source, target in self.ordered_pairs:
                if (source, target) not in given:
                    raise ValueError(f"links: no path from {source!r} to {target!r} (name it, or give a default_link)")
        return self

    @model_validator(mode="after")
    def _has_nodes_to_take(self) -> Self:
        if self.nodes is NodeUse.SHARED:
            return self
        sizes = sorted({cluster.processors_per_node for cluster in self.clusters})
        if len(sizes) > 1:
            listed = ", ".join(map(str, sizes))
            raise ValueError(
                f"nodes: where nodes are exclusive, processors_per_node is the same in all clusters, not {listed} "
                "(make them equal, or leave nodes out)"
            )
        for cluster in self.real_clusters:
            raise ValueError(
                f"nodes: cluster {cluster.name!r} is real (ssh), and its own Slurm says who shares its nodes (leave "
                "nodes out)"
            )
        if self.whole_nodes != WholeNodes():
            raise ValueError(
                "whole_nodes: where nodes are exclusive, a job holds no more of them than its processors need (leave "
                "out whole_nodes, or nodes)"
            )
        return self

    @model_validator(mode="after")
    def _has_nodes_to_share(self) -> Self:
        if self.time_sharing is None:
            for cluster in self.clusters:
                if cluster.local_users:
                    raise ValueError(
                        f"local_users: cluster {cluster.name!r} has people at its nodes, who need time_sharing (state "
                        "it, or leave them out)"
                    )
            return self
        if self.nodes is NodeUse.EXCLUSIVE:
            raise ValueError("time_sharing: nodes that are exclusive are not shared (leave out nodes, or time_sharing)")
        if self.processor.unpaced:
            raise ValueError("time_sharing: an unpaced processor is shared as the host does it (state its costs)")
        if self.whole_nodes != WholeNodes():
            raise ValueError("whole_nodes: where tasks share nodes, no job gets whole ones (leave this out)")
        for cluster in self.real_clusters:
            raise ValueError(
                f"time_sharing: cluster {cluster.name!r} is real (ssh), and its own system shares its nodes (leave "
                "this out)"
            )
        return self

    @property
    def processors_taken_together(self) -> int:
        """How many processors a component of a job takes at a time: those of a node if nodes are exclusive, else 1."""
        return self.clusters[0].processors_per_node if self.nodes is NodeUse.EXCLUSIVE else 1

    @property
    def cluster_names(self) -> list[str]:
        """The names of the clusters, in the topology's order."""
        return [cluster.name for cluster in self.clusters]

    @property
    def ordered_pairs(self) -> list[tuple[str, str]]:
        """Every (source, target) pair of different clusters whose path is emulated."""
        names = [cluster.name for cluster in self.clusters if not cluster.is_real]
        return [(a, b) for a in names for b in names if a != b]

    @property
    def real_clusters(self) -> tuple[Cluster, ...]:
        """The real clusters, in the topology's order."""
        return tuple(cluster for cluster in self.clusters if cluster.is_real)

    @property
    def emulated(self) -> Topology | None:
        """The topology of the emulated clusters only, which the wide area connects; None if all clusters are real."""
        clusters = tuple(cluster for cluster in self.clusters if not cluster.is_real)
        return self.model_copy(update={"clusters": clusters}) if clusters else None

    @property
    def processors(self) -> int:
        """All processors of the multicluster."""
        return sum(cluster.processors for cluster in self.clusters)

    def cluster(self, name: str) -> Cluster:
        """Return the cluster called `name`.

        Raises:
            UnknownName: if there is none.
        """
        return self.clusters[self.index(name)]

    def index(self, name: str) -> int:
        """Return the index of the cluster called `name`, from 0.

        Raises:
            UnknownName: if there is none.
        """
        return self.cluster_names.index(named_among("cluster", name, self.cluster_names))

    def among(self, processes: int) -> Topology:
        """Return the topology for a job of that number of processes: messages and delays stretched by their spread."""
        factor = self.collectives.stretch(processes)
        if factor == 1.0:
            return self
        default = self.default_link
        return self.model_copy(
            update={
                "interconnects": self.interconnects.stretched(factor),
                "collectives": self.collectives.model_copy(update={"spread": 0.0}),
                "links": tuple(link.stretched(factor) for link in self.links),
                "default_link": None if default is None else default.stretched(factor),
            }
        )

    def path(self, source: str, target: str) -> Path:
        """Return the path from cluster `source` to cluster `target`.

        Raises:
            UnknownName: if there is no such cluster, or one of the two is real, so that no path is emulated.
        """
        for name in (source, target):
            if self.cluster(name).is_real:
                raise UnknownName(f"Cluster {name!r} is real: no path to it is emulated.")
        for link in self.links:
            if (source, target) in _pairs(link):
                return link
        if self.default_link is None:
            raise UnknownName(f"There is no path from {source!r} to {target!r}.")
        return self.default_link

    def path_rate_mbit(self, source: str, target: str) -> float:
        """Return the rate of the slower access link on the path from cluster `source` to cluster `target`."""
        return min(self.cluster(source).access_link.up_mbit, self.cluster(target).access_link.down_mbit)


def _pairs(link: Link) -> list[tuple[str, str]]:
    forward = (link.source, link.target)
    return [forward] if link.one_way else [forward, (link.target, link.source)]
