"""The command line of a job's ranks.

The user's arguments come first, then the broker's: where the ranks run, the dilation, the processor and the
interconnect. The start is announced to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

from emulator.broker.jobs.mpirun_script import RANK
from emulator.clusters.protocol import Part
from emulator.model.clock import Dilation
from emulator.model.job import JobSpecification, Numerics
from emulator.model.point_costs import MemoryCosts
from emulator.model.processor import Processor
from emulator.model.topology import Topology

Value = str | int | float | bool


def command_line(
    specification: JobSpecification,
    part_sizes: Sequence[int],
    topology: Topology,
    dilation: Dilation,
    clusters: Sequence[str] = (),
) -> list[str]:
    """Return the command of each rank; `part_sizes` are the processors per cluster, in the order of the ranks.

    `clusters` names those; without, they count as the topology's first ones.
    """
    clusters = clusters or topology.cluster_names[: len(part_sizes)]
    options: dict[str, Value] = {
        "dilation": dilation.factor,
        "clusters": len(part_sizes),
        "components": ",".join(str(size) for size in part_sizes),
        **_processor(topology.processor, specification),
        **_messages(topology, clusters, part_sizes, specification),
        "per-node": ",".join(map(str, _per_node(topology, clusters, part_sizes, specification))),
        "start-announced": True,
    }
    if specification.numerics is not Numerics.REAL:
        options["numerics"] = specification.numerics.value
    return [RANK, specification.application, *_option_words(specification.arguments), *_option_words(options)]


def shared_nodes(parts: Sequence[Part]) -> list[str]:
    """Return the option that names the node of each rank, where tasks share nodes in time."""
    nodes = [share.node for part in parts for share in part.nodes for _ in range(share.processors)]
    return [f"--shared-nodes={','.join(nodes)}"]


def clocks_ahead(clusters: Sequence[str], ahead_s: Mapping[str, float]) -> list[str]:
    """Return the option that says how far the clock in each cluster is ahead, if one is."""
    stated = [ahead_s.get(cluster, 0.0) for cluster in clusters]
    return [f"--clocks-ahead-s={','.join(map(repr, stated))}"] if any(stated) else []


def _processor(processor: Processor, specification: JobSpecification) -> dict[str, Value]:
    costs = processor.costs
    if costs is None:
        return {"native": True}
    return {
        "in-cache-ns-per-point": costs.in_cache_ns_per_point / specification.processor_speed,
        "out-of-cache-ns-per-point": costs.out_of_cache_ns_per_point / specification.processor_speed,
        "cache-bytes": costs.cache_bytes,
        "weight": processor.weight(specification.application),
        **({} if costs.memory is None else {"memory": _memory(costs.memory, specification.processor_speed)}),
    }


def _memory(memory: MemoryCosts, processor_speed: float) -> str:
    long_row_ns = memory.long_row_ns_per_point / processor_speed
    return f"{memory.cache_ways}:{memory.first_level_bytes}:{memory.shared_share!r}:{long_row_ns!r}"


def _messages(
    topology: Topology, clusters: Sequence[str], part_sizes: Sequence[int], specification: JobSpecification
) -> dict[str, Value]:
    """Return what messages of a job of this size take, as their spread lets them, and the pattern of collectives."""
    stretch = topology.collectives.stretch(sum(part_sizes))
    interconnect = topology.interconnects.of(len(part_sizes), specification.interconnect)
    options: dict[str, Value] = {"collectives": topology.collectives.pattern}
    if interconnect is not None:
        options["interconnect"] = interconnect.stretched(stretch).as_argument
    if stretch > 1.0:
        # The links have the delay between two processes, whatever their number.
        delays_s = [_delay_s(topology, *pair) for pair in permutations(clusters, 2)]
        if any(delays_s):
            options |= {"far-stretch": stretch, "far-delays-s": ",".join(map(repr, delays_s))}
    return options


def _delay_s(topology: Topology, source: str, target: str) -> float:
    """Return the delay between two clusters; 0 if one is real, since nothing is known of its links."""
    is_known = not (topology.cluster(source).is_real or topology.cluster(target).is_real)
    return topology.path(source, target).delay_s if is_known else 0.0


def _per_node(
    topology: Topology, clusters: Sequence[str], part_sizes: Sequence[int], specification: JobSpecification
) -> list[int]:
    """Return how many ranks a node has in each cluster, as `testbed predict` counts them.

    Tasks that share a processor in time do not compute at once.
    """
    if topology.time_sharing is not None:
        return [1] * len(part_sizes)
    processors, which = sum(part_sizes), specification.interconnect
    of_nodes = [topology.cluster(name).processors_per_node for name in clusters]
    return [topology.whole_nodes.per_node(processors, len(part_sizes), which, of_node) for of_node in of_nodes]


def _option_words(arguments: Mapping[str, Value]) -> list[str]:
    """Return options as words; true gives the option alone, false omits it.

    A value is in the word of its option: argparse would take a word of its own such as -1e-05 for an option.
    """
    words: list[str] = []
    for name, value in arguments.items():
        if value is True:
            words.append(f"--{name}")
        elif value is not False:
            words.append(f"--{name}={value}")
    return words
