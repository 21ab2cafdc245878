"""Which faults are made, where, when and for how long: drawn from a seed, so that a run can be made again. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

TOGETHER = 0.2
"""The share of turns in which two faults are made at once."""


class Part(StrEnum):
    """What a fault is made in."""

    BROKER = "broker"
    JOURNAL = "journal's disk"
    ROUTER = "router"
    CLUSTER = "cluster"
    NODE = "node"
    HOST = "host"
    CENTRAL_HOST = "central host"
    ALL = "all"


ON_SEVERAL_HOSTS = (Part.HOST, Part.CENTRAL_HOST)
"""What only a testbed over several hosts has."""
ON_ONE_HOST = (Part.JOURNAL,)
"""What only a testbed on one host has: an engine that ends takes a disk in memory with it."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where faults can be made: how many nodes each cluster has, and the hosts but the central one."""

    nodes: Mapping[str, int]
    hosts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault: where it is made, between how many host seconds it lasts, and how often it is drawn.

    After one that `needs_up`, the testbed is mended by `testbed up`; it recovers from all others by itself.
    """

    name: str
    part: Part
    host_lasts_s: tuple[float, float] = (0.0, 0.0)
    weight: float = 1.0
    needs_up: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that was drawn; `cluster` and `host` are empty and `node` is zero where it is made in none."""

    kind: Kind
    cluster: str
    node: int
    host: str
    host_lasts_s: float

    @property
    def shown(self) -> str:
        """The fault in words."""
        where = f" of {self.cluster}" if self.cluster else f" ({self.host})" if self.host else ""
        node = f", node n{self.node}" if self.node else ""
        return f"{self.kind.name}{where}{node}" + (f", {self.host_lasts_s:.0f} s" if self.host_lasts_s else "")


@dataclass(frozen=True, slots=True)
class Turn:
    """Faults that are made at once, `host_pause_s` after the testbed was well."""

    host_pause_s: float
    faults: tuple[Fault, ...]

    @property
    def needs_up(self) -> bool:
        """Whether the testbed must be mended after this turn."""
        return any(fault.kind.needs_up for fault in self.faults)

    @property
    def host_lasts_s(self) -> float:
        """How long the longest of the faults lasts."""
        return max(fault.host_lasts_s for fault in self.faults)


def turns(seed: int, kinds: Sequence[Kind], places: Places, host_mean_pause_s: float) -> Iterator[Turn]:
    """Draw turns without end.

    In the first turns every kind is drawn once, in random order, so that a short run misses few.
    """
    rng = random.Random(seed)
    first = rng.sample(list(kinds), len(kinds))
    while True:
        kind = first.pop() if first else rng.choices(kinds, [each.weight for each in kinds])[0]
        drawn = [_fault(rng, kind, places)]
        if rng.random() < TOGETHER:
            other = _fault(rng, rng.choice([each for each in kinds if each.part is not kind.part]), places)
            drawn.append(other)
        yield Turn(rng.expovariate(1.0 / host_mean_pause_s), tuple(drawn))


def _fault(rng: random.Random, kind: Kind, places: Places) -> Fault:
    in_cluster = kind.part in (Part.CLUSTER, Part.NODE)
    cluster = rng.choice(sorted(places.nodes)) if in_cluster else ""
    node = rng.randint(1, places.nodes[cluster]) if kind.part is Part.NODE else 0
    host = rng.choice(places.hosts) if kind.part is Part.HOST else ""
    return Fault(kind, cluster, node, host, rng.uniform(*kind.host_lasts_s))
