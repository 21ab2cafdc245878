"""Jobs like those in the log of the first DAS, split by a limit on component sizes.

Source: "Scheduling Policies for Processor Coallocation in Multicluster Systems", section 4. The log is not public;
total sizes come from the surrogates in ``sizes``.
"""

from __future__ import annotations

from typing import Final

from emulator.model.request import JobRequest, RequestKind
from workloads.job_mix import JobClass, JobMix, merged
from workloads.sizes import SizeDistribution
from workloads.splitting import split_by_limit

COMPONENT_SIZE_LIMITS: Final = (16, 24, 32)
MOST_COMPONENTS: Final = 4
DAS_EXTENSION_FACTOR: Final = 1.25
"""The paper's factor on the service of every multicomponent job."""

DAS_SERVICE_CV: Final = 2.05
"""Coefficient of variation of service of jobs of at most 900 s. It is from memory and untestable without the log."""


def das_mix(sizes: SizeDistribution, component_size_limit: int) -> JobMix:
    """Return jobs of `sizes`, split by the limit into at most four components; service has mean 1 s at every size."""
    return JobMix(
        f"{sizes.name}, components of at most {component_size_limit}",
        merged(
            JobClass(
                JobRequest(RequestKind.UNORDERED, split_by_limit(size, component_size_limit, MOST_COMPONENTS)), share
            )
            for size, share in sizes.items()
        ),
    )
