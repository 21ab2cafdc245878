"""The numbers of a topology that a table of runtimes can decide, and how to set them.

Physics is the same for all sets of a table: the costs of a point and of a message. Two numbers differ from day to day,
so each set has its own: what a message of co-allocated jobs costs (software on loaded machines), and the delay between
clusters (loaded routers). Delays keep their differences from pair to pair: one factor lengthens all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from emulator.model.interconnects import Interconnect, Interconnects
from emulator.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number of a topology: its key there, its unit in tables for people, whether each day has its own, and why."""

    key: str
    unit: str
    unit_s: float
    of_day: bool
    reason: str
    read: Callable[[Topology], float | None]
    write: Callable[[Topology, float], Topology]


def _processor(field: str) -> tuple[Callable[[Topology], float | None], Callable[[Topology, float], Topology]]:
    def read(topology: Topology) -> float | None:
        value = getattr(topology.processor, field)
        return None if value is None else float(value)

    def write(topology: Topology, value: float) -> Topology:
        return topology.model_copy(update={"processor": topology.processor.model_copy(update={field: value})})

    return read, write


def _memory(field: str) -> tuple[Callable[[Topology], float | None], Callable[[Topology, float], Topology]]:
    def read(topology: Topology) -> float | None:
        memory = topology.processor.memory
        return None if memory is None else float(getattr(memory, field))

    def write(topology: Topology, value: float) -> Topology:
        memory = topology.processor.memory
        assert memory is not None
        changed = topology.processor.model_copy(update={"memory": memory.model_copy(update={field: value})})
        return topology.model_copy(update={"processor": changed})

    return read, write


def _interconnect(
    which: str, field: str
) -> tuple[Callable[[Topology], float | None], Callable[[Topology, float], Topology]]:
    def read(topology: Topology) -> float | None:
        stated: Interconnect | None = getattr(topology.interconnects, which)
        return None if stated is None else float(getattr(stated, field))

    def write(topology: Topology, value: float) -> Topology:
        stated: Interconnect = getattr(topology.interconnects, which)
        both: dict[str, Any] = {
            "single_cluster": topology.interconnects.single_cluster,
            "coallocated": topology.interconnects.coallocated,
        }
        both[which] = stated.model_copy(update={field: value})
        return topology.model_copy(update={"interconnects": Interconnects.model_construct(**both)})

    return read, write


def _spread() -> tuple[Callable[[Topology], float | None], Callable[[Topology, float], Topology]]:
    def read(topology: Topology) -> float | None:
        return topology.collectives.spread

    def write(topology: Topology, value: float) -> Topology:
        return topology.model_copy(update={"collectives": topology.collectives.model_copy(update={"spread": value})})

    return read, write


def _delay() -> tuple[Callable[[Topology], float | None], Callable[[Topology, float], Topology]]:
    def read(topology: Topology) -> float | None:
        if len(topology.clusters) < 2 or topology.real_clusters:
            return None
        return topology.path(*topology.cluster_names[:2]).delay_s or None

    def write(topology: Topology, value: float) -> Topology:
        factor = value / (read(topology) or value)
        default = topology.default_link
        changes: dict[str, Any] = {
            "links": tuple(link.model_copy(update={"delay_s": link.delay_s * factor}) for link in topology.links)
        }
        if default is not None:
            changes["default_link"] = default.model_copy(update={"delay_s": default.delay_s * factor})
        return topology.model_copy(update=changes)

    return read, write


PARAMETERS: Final = (
    Parameter(
        "processor.in_cache_ns_per_point", "ns", 1.0, False,
        "an update whose points are in cache", *_processor("in_cache_ns_per_point"),
    ),
    Parameter(
        "processor.out_of_cache_ns_per_point", "ns", 1.0, False,
        "an update out of cache, alone on its node", *_processor("out_of_cache_ns_per_point"),
    ),
    Parameter(
        "processor.memory.shared_share", "", 1.0, False,
        "both processors of a node share its memory", *_memory("shared_share"),
    ),
    Parameter(
        "processor.memory.long_row_ns_per_point", "ns", 1.0, False,
        "rows too long for the first-level cache", *_memory("long_row_ns_per_point"),
    ),
    Parameter(
        "interconnects.single_cluster.message_s", "us", 1e-6, False,
        "software and interface of a message", *_interconnect("single_cluster", "message_s"),
    ),
    Parameter(
        "interconnects.single_cluster.rate_mbit", "Mbit/s", 1.0, False,
        "bytes of a message, with copies", *_interconnect("single_cluster", "rate_mbit"),
    ),
    Parameter(
        "interconnects.coallocated.rate_mbit", "Mbit/s", 1.0, False,
        "bytes of a message, with copies", *_interconnect("coallocated", "rate_mbit"),
    ),
    Parameter(
        "collectives.spread", "", 1.0, False,
        "a step waits for the slowest of its messages", *_spread(),
    ),
    Parameter(
        "interconnects.coallocated.message_s", "us", 1e-6, True,
        "software and interface of a message", *_interconnect("coallocated", "message_s"),
    ),
    Parameter(
        "links.delay_s", "ms", 1e-3, True,
        "one way between the first two clusters", *_delay(),
    ),
)  # fmt: skip
"""All of them, physics first."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A parameter, of one set or (None) of all, and the value to start from."""

    parameter: Parameter
    set: str | None
    start: float

    @property
    def name(self) -> str:
        """The key, and the set of a number of the day."""
        return self.parameter.key if self.set is None else f"{self.parameter.key} ({self.set})"


def unknowns(topology: Topology, sets: tuple[str, ...]) -> list[Unknown]:
    """Return what there is to find: what `topology` states with a positive number, for each of the `sets`."""
    found: list[Unknown] = []
    for parameter in PARAMETERS:
        start = parameter.read(topology)
        if start is None or start <= 0.0:
            continue
        found += [Unknown(parameter, each, start) for each in (sets if parameter.of_day else (None,))]
    return found


def with_values(topology: Topology, set_name: str, values: Mapping[Unknown, float]) -> Topology:
    """Return `topology` with these numbers, those of the day from the set `set_name`."""
    for unknown, value in values.items():
        if unknown.set in (None, set_name):
            topology = unknown.parameter.write(topology, value)
    return topology
