"""From a job's specification to the command line of its ranks.

An application's own arguments are the user's; where and on what it runs (components, dilation, processor, start) is
the broker's to say, and a job that tries to is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.job import JobSpecification
from emulator.model.topology import Processor

APPLICATIONS = ("poisson",)
OURS = frozenset(
    {
        "dilation",
        "clusters",
        "components",
        "start-at",
        "save",
        "native",
        "in-cache-ns-per-point",
        "out-of-cache-ns-per-point",
        "cache-bytes",
    }
)


def check_program(specification: JobSpecification) -> None:
    """Refuse what could not be run.

    Raises:
        UnknownName: if there is no such application.
        InvalidInput: if an argument is one that the broker sets.
    """
    if specification.application not in APPLICATIONS:
        raise UnknownName.among("application", specification.application, list(APPLICATIONS))
    for name in specification.arguments:
        if name in OURS:
            raise InvalidInput(f"arguments.{name}: the testbed sets this argument itself; leave it out.")


def command_line(
    specification: JobSpecification,
    part_sizes: Sequence[int],
    processor: Processor,
    dilation: Dilation,
    host_start_moment_s: float | None,
) -> list[str]:
    """The command of each rank; `part_sizes` are the processors per cluster, in the order of the ranks."""
    words = ["python3", "-m", "apps", specification.application]
    for name, value in specification.arguments.items():
        if value is True:
            words.append(f"--{name}")
        elif value is not False:
            words += [f"--{name}", str(value)]
    ours = {
        "dilation": dilation.factor,
        "clusters": len(part_sizes),
        "components": ",".join(str(size) for size in part_sizes),
        "in-cache-ns-per-point": processor.in_cache_ns_per_point,
        "out-of-cache-ns-per-point": processor.out_of_cache_ns_per_point,
        "cache-bytes": processor.cache_bytes,
    }
    if host_start_moment_s is not None:
        ours["start-at"] = f"{host_start_moment_s:.6f}"
    return words + [word for name, value in ours.items() for word in (f"--{name}", str(value))]
