"""The command line of a job's ranks.

The user's arguments come first, then the broker's: where the ranks run, the dilation, the processor and the
interconnect.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from emulator.broker.jobs.mpirun_script import RANK
from emulator.model.clock import Dilation
from emulator.model.job import JobSpecification
from emulator.model.point_costs import MemoryCosts
from emulator.model.processor import Processor
from emulator.model.topology import Topology

Value = str | int | float | bool


def command_line(
    specification: JobSpecification,
    part_sizes: Sequence[int],
    topology: Topology,
    dilation: Dilation,
    host_start_timestamp_s: float | None,
) -> list[str]:
    """Return the command of each rank; `part_sizes` are the processors per cluster, in the order of the ranks."""
    options: dict[str, Value] = {
        "dilation": dilation.factor,
        "clusters": len(part_sizes),
        "components": ",".join(str(size) for size in part_sizes),
        **_processor(topology.processor, specification),
        **_messages(topology, part_sizes, specification),
        "per-node": _per_node(topology, part_sizes, specification),
    }
    if host_start_timestamp_s is not None:
        options["start-at"] = f"{host_start_timestamp_s:.6f}"
    return [RANK, specification.application, *_option_words(specification.arguments), *_option_words(options)]


def _processor(processor: Processor, specification: JobSpecification) -> dict[str, Value]:
    costs = processor.costs
    if costs is None:
        return {"native": True}
    return {
        "in-cache-ns-per-point": costs.in_cache_ns_per_point / specification.time_scale,
        "out-of-cache-ns-per-point": costs.out_of_cache_ns_per_point / specification.time_scale,
        "cache-bytes": costs.cache_bytes,
        "weight": processor.weight(specification.application),
        **({} if costs.memory is None else {"memory": _memory(costs.memory, specification.time_scale)}),
    }


def _memory(memory: MemoryCosts, time_scale: float) -> str:
    long_row_ns = memory.long_row_ns_per_point / time_scale
    return f"{memory.cache_ways}:{memory.first_level_bytes}:{memory.shared_share!r}:{long_row_ns!r}"


def _messages(topology: Topology, part_sizes: Sequence[int], specification: JobSpecification) -> dict[str, Value]:
    """Return what messages of a job of this size take, as their spread lets them, and the pattern of collectives."""
    stretch = topology.collectives.stretch(sum(part_sizes))
    interconnect = topology.interconnects.of(len(part_sizes), specification.interconnect)
    options: dict[str, Value] = {"collectives": topology.collectives.pattern}
    if interconnect is not None:
        options["interconnect"] = interconnect.stretched(stretch).as_argument
    delays_s = [topology.path(*pair).delay_s for pair in topology.ordered_pairs]
    if len(part_sizes) > 1 and stretch > 1.0 and delays_s:
        # The links have the delay between two processes, at every number of them.
        options["far-extra-s"] = statistics.fmean(delays_s) * (stretch - 1.0)
    return options


def _per_node(topology: Topology, part_sizes: Sequence[int], specification: JobSpecification) -> int:
    of_node = max(cluster.processors_per_node for cluster in topology.clusters)
    return topology.whole_nodes.per_node(sum(part_sizes), len(part_sizes), specification.interconnect, of_node)


def _option_words(arguments: Mapping[str, Value]) -> list[str]:
    """Return options as words; true gives the option alone, false omits it."""
    words: list[str] = []
    for name, value in arguments.items():
        if value is True:
            words.append(f"--{name}")
        elif value is not False:
            words += [f"--{name}", str(value)]
    return words
