"""What a multicluster is: clusters of equal processors, their access links, and the delays between them.

A `Topology` is read from YAML (``compose/*.yaml``) and says everything that is emulated; it knows nothing of
containers or hosts. All delays are one-way and all values are emulated. What its processors cost stands in
``processor``, what carries messages inside a cluster in ``interconnects``. A cluster that states ``ssh`` is *real*:
somebody's own, whose links are what they are, so that nothing is asked of them and nothing is measured.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, PositiveFloat, PositiveInt, field_validator, model_validator

from emulator.model.documents import DocumentModel
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.interconnects import Interconnects
from emulator.model.names import Name, is_name
from emulator.model.processor import Processor, processor_named
from emulator.model.real_head import RealHead

__all__ = ["AccessLink", "Cluster", "Link", "Middleware", "Name", "Path", "Processor", "Topology", "is_name"]

NonNegative = Annotated[float, Field(ge=0)]

MAX_CLUSTERS = 15
"""Sites that one router serves: a prio root has 16 bands, one per source and one for the rest."""


class AccessLink(DocumentModel):
    """A cluster's one link to the wide area, shared by all that crosses it; rates at layer 2."""

    up_mbit: PositiveFloat
    down_mbit: PositiveFloat


class Cluster(DocumentModel):
    """Processors under one local resource manager: `nodes` nodes of `processors_per_node` each.

    It is emulated, and has an access link, or it is a real one, at the head that `ssh` names.
    """

    name: Name
    nodes: PositiveInt
    processors_per_node: PositiveInt = 2
    stated_access_link: AccessLink | None = Field(default=None, alias="access_link")
    ssh: RealHead | None = None

    @model_validator(mode="after")
    def _is_emulated_or_real(self) -> Self:
        if self.ssh is None and self.stated_access_link is None:
            raise ValueError(f"cluster {self.name!r} states neither an access_link nor ssh")
        if self.ssh is not None and self.stated_access_link is not None:
            raise ValueError(f"cluster {self.name!r} is real (ssh): its links are not shaped, leave out access_link")
        return self

    @property
    def processors(self) -> int:
        """All processors of the cluster."""
        return self.nodes * self.processors_per_node

    @property
    def is_real(self) -> bool:
        """Whether it is somebody's own cluster, not a container."""
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


class Link(Path):
    """A path between two named clusters; both directions alike unless `one_way`."""

    source: Name = Field(alias="from")
    target: Name = Field(alias="to")
    one_way: bool = False

    @model_validator(mode="after")
    def _joins_two(self) -> Self:
        if self.source == self.target:
            raise ValueError(f"a link joins two clusters, but both ends are {self.source!r}")
        return self


class Middleware(DocumentModel):
    """Emulated time that the grid middleware takes from placement to start of a job."""

    base_s: NonNegative
    per_component_s: NonNegative = 0.0

    def overhead_s(self, components: int) -> float:
        """Emulated seconds for a job of `components` components."""
        return self.base_s + self.per_component_s * components

    def divided(self, time_scale: float) -> Middleware:
        """The same in seconds of a run whose times are divided by `time_scale`."""
        return Middleware(base_s=self.base_s / time_scale, per_component_s=self.per_component_s / time_scale)


class Topology(DocumentModel):
    """A multicluster: its clusters in order, and a path for each ordered pair of them.

    `links` states paths by pair; `default_link` stands for every pair of emulated clusters that none names. A
    `processor` given by name is read when the topology is, so that a topology always holds all that it says.
    """

    name: Name
    description: str = ""
    processor: Processor
    interconnects: Interconnects = Interconnects()
    middleware: Middleware | None = None
    clusters: Annotated[tuple[Cluster, ...], Field(min_length=1, max_length=MAX_CLUSTERS)]
    default_link: Path | None = None
    links: tuple[Link, ...] = ()

    @field_validator("processor", mode="before")
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
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"clusters: two clusters are named {name!r}")
        for index, link in enumerate(self.links):
            for end, name in (("from", link.source), ("to", link.target)):
                if name not in names:
                    raise ValueError(f"links.{index}.{end}: there is no cluster {name!r} (known: {', '.join(names)})")
                if self.cluster(name).is_real:
                    raise ValueError(f"links.{index}.{end}: cluster {name!r} is real (ssh), its links are not shaped")
        pairs = [pair for link in self.links for pair in _pairs(link)]
        for pair in pairs:
            if pairs.count(pair) > 1:
                raise ValueError(f"links: the path from {pair[0]!r} to {pair[1]!r} is given twice")
        missing = [pair for pair in self.ordered_pairs if pair not in pairs]
        if missing and self.default_link is None:
            raise ValueError(
                f"links: no path from {missing[0][0]!r} to {missing[0][1]!r} (name it, or give a default_link)"
            )
        return self

    @property
    def cluster_names(self) -> list[str]:
        """Names of the clusters, in the topology's order."""
        return [cluster.name for cluster in self.clusters]

    @property
    def ordered_pairs(self) -> list[tuple[str, str]]:
        """Every (source, target) pair of different clusters whose path is emulated."""
        names = [cluster.name for cluster in self.clusters if not cluster.is_real]
        return [(a, b) for a in names for b in names if a != b]

    @property
    def real_clusters(self) -> tuple[Cluster, ...]:
        """The clusters that are somebody's own, in the topology's order."""
        return tuple(cluster for cluster in self.clusters if cluster.is_real)

    @property
    def emulated(self) -> Topology | None:
        """The topology of the emulated clusters alone, between which the wide area is; nothing if all are real."""
        clusters = tuple(cluster for cluster in self.clusters if not cluster.is_real)
        return self.model_copy(update={"clusters": clusters}) if clusters else None

    @property
    def processors(self) -> int:
        """Processors of the whole multicluster."""
        return sum(cluster.processors for cluster in self.clusters)

    def cluster(self, name: str) -> Cluster:
        """The cluster called `name`.

        Raises:
            UnknownName: if there is none.
        """
        return self.clusters[self.index(name)]

    def index(self, name: str) -> int:
        """Position of the cluster called `name`, from 0.

        Raises:
            UnknownName: if there is none.
        """
        if name not in self.cluster_names:
            raise UnknownName.among("cluster", name, self.cluster_names)
        return self.cluster_names.index(name)

    def path(self, source: str, target: str) -> Path:
        """The wide area from cluster `source` to cluster `target`.

        Raises:
            UnknownName: if there is no such cluster, or no emulated path, since one of them is real.
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
        """The rate of the slower of the two access links on the way from cluster `source` to cluster `target`."""
        return min(self.cluster(source).access_link.up_mbit, self.cluster(target).access_link.down_mbit)


def _pairs(link: Link) -> list[tuple[str, str]]:
    forward = (link.source, link.target)
    return [forward] if link.one_way else [forward, (link.target, link.source)]
