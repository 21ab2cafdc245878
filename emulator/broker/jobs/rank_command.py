"""The command line of a job's ranks.

The user's arguments come first, then the broker's: where the ranks run, the dilation, the processor and the
interconnect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from emulator.broker.jobs.mpirun_script import RANK
from emulator.model.clock import Dilation
from emulator.model.interconnects import Interconnect
from emulator.model.job import JobSpecification, Numerics
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
        **_interconnect(topology.interconnects.of(len(part_sizes), specification.interconnect)),
    }
    if specification.numerics is not Numerics.REAL:
        options["numerics"] = specification.numerics.value
    if host_start_timestamp_s is not None:
        options["start-at"] = f"{host_start_timestamp_s:.6f}"
    return [RANK, specification.application, *_option_words(specification.arguments), *_option_words(options)]


def _processor(processor: Processor, specification: JobSpecification) -> dict[str, Value]:
    costs = processor.costs
    if costs is None:
        return {"native": True}
    return {
        "in-cache-ns-per-point": costs.in_cache_ns_per_point / specification.processor_speed,
        "out-of-cache-ns-per-point": costs.out_of_cache_ns_per_point / specification.processor_speed,
        "cache-bytes": costs.cache_bytes,
        "weight": processor.weight(specification.application),
    }


def _interconnect(interconnect: Interconnect | None) -> dict[str, Value]:
    return {} if interconnect is None else {"interconnect": interconnect.as_argument}


def _option_words(arguments: Mapping[str, Value]) -> list[str]:
    """Return options as words; true gives the option alone, false omits it."""
    words: list[str] = []
    for name, value in arguments.items():
        if value is True:
            words.append(f"--{name}")
        elif value is not False:
            words += [f"--{name}", str(value)]
    return words
