"""From a job's specification to the command line of its ranks.

What the user says comes first, what the broker says after it: where the ranks run, at which dilation, on which
processors, over which interconnect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from emulator.broker.ranks import RANK
from emulator.model.clock import Dilation
from emulator.model.interconnects import Interconnect
from emulator.model.job import JobSpecification
from emulator.model.processor import Processor
from emulator.model.topology import Topology

Value = str | int | float | bool


def command_line(
    specification: JobSpecification,
    part_sizes: Sequence[int],
    topology: Topology,
    dilation: Dilation,
    host_start_moment_s: float | None,
) -> list[str]:
    """The command of each rank; `part_sizes` are the processors per cluster, in the order of the ranks."""
    ours: dict[str, Value] = {
        "dilation": dilation.factor,
        "clusters": len(part_sizes),
        "components": ",".join(str(size) for size in part_sizes),
        **_processor(topology.processor, specification),
        **_interconnect(topology.interconnects.of(len(part_sizes), specification.interconnect)),
    }
    if host_start_moment_s is not None:
        ours["start-at"] = f"{host_start_moment_s:.6f}"
    return [RANK, specification.application, *_words(specification.arguments), *_words(ours)]


def _processor(processor: Processor, specification: JobSpecification) -> dict[str, Value]:
    costs = processor.costs
    if costs is None:
        return {"native": True}
    return {
        "in-cache-ns-per-point": costs.in_cache_ns_per_point / specification.time_scale,
        "out-of-cache-ns-per-point": costs.out_of_cache_ns_per_point / specification.time_scale,
        "cache-bytes": costs.cache_bytes,
        "weight": processor.weight(specification.application),
    }


def _interconnect(interconnect: Interconnect | None) -> dict[str, Value]:
    return {} if interconnect is None else {"interconnect": interconnect.as_argument}


def _words(arguments: Mapping[str, Value]) -> list[str]:
    """Options as words; one that is true stands alone, one that is false is left out."""
    words: list[str] = []
    for name, value in arguments.items():
        if value is True:
            words.append(f"--{name}")
        elif value is not False:
            words += [f"--{name}", str(value)]
    return words
