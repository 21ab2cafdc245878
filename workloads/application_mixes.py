"""Mixes of the measured applications under the coallocation rules.

Source: "A Measurement-Based Simulation Study of Processor Co-Allocation in Multicluster Systems", section 5. The
applications of a mix are equally likely. So are the total sizes of an application, and the splits of a size that the
rule admits. The components of a job are equal. Execution times are measured ones.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from typing import Final

from emulator.model.errors import UnknownName
from emulator.model.names import named_among
from emulator.model.project import PROJECT_ROOT
from emulator.model.request import JobRequest, RequestKind
from emulator.model.rules import Coallocation, SystemRules
from workloads.job_mix import JobClass, JobMix

CLUSTER_PROCESSORS: Final = 32
MOST_COMPONENTS: Final = 4
EXECUTION_TIMES_FILE: Final = PROJECT_ROOT / "workloads" / "reference" / "das2_execution_times_for_simulation.csv"

APPLICATION_SIZES: Final[Mapping[str, tuple[int, ...]]] = {"poisson": (8, 16, 32), "ensflow": (12, 15, 20, 30)}
NEVER_SPLIT: Final = frozenset({("poisson", 8, 4)})
"""Each (application, processors, components) that the study leaves out although the size is divisible."""

MIXES: Final[Mapping[str, tuple[str, ...]]] = {
    "poisson": ("poisson",),
    "ensflow": ("ensflow",),
    "half-and-half": ("poisson", "ensflow"),
}
"""The study's workloads: one application only, or half of each."""

ExecutionTimes = Mapping[tuple[str, int, int], float]


@cache
def measured_execution_times_s() -> ExecutionTimes:
    """Read the seconds by (application, processors, components) measured on the DAS-2 (the paper's Tables 4 and 5)."""
    with EXECUTION_TIMES_FILE.open(newline="", encoding="utf-8") as lines:
        return {
            (row["application"], int(row["processors"]), int(row["components"])): float(row["runtime_s"])
            for row in csv.DictReader(lines)
        }


def admitted_splits(application: str, processors: int, rule: Coallocation) -> list[tuple[int, ...]]:
    """Return the splits of a job that `rule` admits, in order of their number of components."""
    rules = SystemRules(coallocation=rule, cluster_processors=CLUSTER_PROCESSORS)
    splits = [
        (processors // number,) * number
        for number in range(1, MOST_COMPONENTS + 1)
        if processors % number == 0 and (application, processors, number) not in NEVER_SPLIT
    ]
    return [split for split in splits if rules.admits(split)]


def application_mix(name: str, rule: Coallocation) -> JobMix:
    """Return the mix called `name` under `rule`; `service_s` of a class is the measured time in a single cluster.

    Raises:
        UnknownName: if there is no such mix.
    """
    name = named_among("application mix", name, MIXES)
    times_s = measured_execution_times_s()
    classes: list[JobClass] = []
    for application in MIXES[name]:
        sizes = APPLICATION_SIZES[application]
        for processors in sizes:
            splits = admitted_splits(application, processors, rule)
            share = 1 / (len(MIXES[name]) * len(sizes) * len(splits))
            single_s = times_s[application, processors, 1]
            classes += [
                JobClass(JobRequest(RequestKind.UNORDERED, split), share, single_s, application) for split in splits
            ]
    return JobMix(f"{name}, {rule}", tuple(classes))


def measured_extension(job_class: JobClass) -> float:
    """Return the measured extension factor of a class of these mixes.

    Raises:
        UnknownName: if such a job was not measured.
    """
    times_s = measured_execution_times_s()
    key = (job_class.application, job_class.request.processors, len(job_class.request.components))
    if key not in times_s:
        raise UnknownName(
            f"{EXECUTION_TIMES_FILE.name}: {key[0]!r} on {key[1]} processors in {key[2]} was not measured."
        )
    return times_s[key] / times_s[*key[:2], 1]
