"""The synthetic job streams of "Scheduling Policies for Processor Coallocation in Multicluster Systems", section 3.

A composition states the shares of the jobs with 1, 2, 3 and 4 components, and the share that each queue receives.
Component sizes are independent and drawn from D(q).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Final

from emulator.model.names import named_among
from emulator.model.request import JobRequest, RequestKind
from workloads.job_mix import JobClass, JobMix
from workloads.sizes import SizeDistribution, skewed_to_powers_of_two

BALANCED: Final = (0.25, 0.25, 0.25, 0.25)
UNBALANCED: Final = (0.40, 0.20, 0.20, 0.20)

DEFAULT_COMPONENT_SIZES: Final = skewed_to_powers_of_two(0.9, 1, 8)
"""D(0.9) on [1,8]. The paper does not state its D(q); of those in related papers, this one shows most of its claims."""


@dataclass(frozen=True, slots=True)
class Composition:
    """Percentages of jobs with 1, 2, 3 and 4 components, and the share of the jobs that each queue receives."""

    percentages: tuple[int, int, int, int]
    queue_shares: tuple[float, ...] = BALANCED

    @property
    def name(self) -> str:
        """The name, for instance ``50-25-25-0`` or ``80-0-0-20-unbalanced``."""
        return "-".join(str(share) for share in self.percentages) + ("" if self.is_balanced else "-unbalanced")

    @property
    def is_balanced(self) -> bool:
        """Whether all queues receive the same share of the jobs."""
        return len(set(self.queue_shares)) == 1

    def mix(self, sizes: SizeDistribution = DEFAULT_COMPONENT_SIZES) -> JobMix:
        """Return the mix of jobs: unordered requests with service of mean 1 s, independent of their size.

        Jobs with the same components in another order form one class, because placements of unordered requests do not
        depend on the order.
        """
        classes: list[JobClass] = []
        for number, percentage in enumerate(self.percentages, start=1):
            if percentage == 0:
                continue
            for components, share in _multisets(sizes, number):
                request = JobRequest(RequestKind.UNORDERED, components)
                classes.append(JobClass(request, percentage / 100 * share))
        return JobMix(f"{self.name} of {sizes.name}", tuple(classes))


def _multisets(sizes: SizeDistribution, number: int) -> list[tuple[tuple[int, ...], float]]:
    """Return every choice of `number` sizes, largest first, with its multinomial probability."""
    share_of = dict(sizes.items())
    found: list[tuple[tuple[int, ...], float]] = []
    for components in combinations_with_replacement(sorted(share_of, reverse=True), number):
        orders = math.factorial(number)
        for repeated in Counter(components).values():
            orders //= math.factorial(repeated)
        found.append((components, orders * math.prod(share_of[size] for size in components)))
    return found


COMPOSITIONS: Final = {
    composition.name: composition
    for composition in (
        Composition((25, 25, 25, 25)),
        Composition((50, 0, 0, 50)),
        Composition((50, 25, 25, 0)),
        Composition((50, 50, 0, 0)),
        Composition((80, 0, 0, 20)),
        Composition((90, 0, 0, 10)),
        Composition((100, 0, 0, 0)),
        Composition((0, 0, 0, 100)),
        Composition((0, 50, 50, 0)),
        Composition((80, 0, 0, 20), UNBALANCED),
    )
}
"""The ten job streams behind Figures 2 to 7, by name."""


def composition_named(name: str) -> Composition:
    """Return the published composition of that name.

    Raises:
        UnknownName: if there is none.
    """
    return COMPOSITIONS[named_among("job-stream composition", name, COMPOSITIONS)]
