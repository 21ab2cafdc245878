"""Distributions of job and component sizes: D(q), and a surrogate of the sizes in the log of the first DAS.

A `SizeDistribution` is finite and explicit, so that its means and shares are computed, not sampled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from emulator.model.errors import InvalidInput

POWER_OF_TWO_FACTOR: Final = 3
"""The factor of D(q) on the probability of a power of two."""


@dataclass(frozen=True, slots=True)
class SizeDistribution:
    """Sizes in processors, ascending, and the probability of each.

    Raises:
        InvalidInput: if sizes are not positive and ascending, or probabilities do not sum to 1.
    """

    name: str
    sizes: tuple[int, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.probabilities) or not self.sizes:
            raise InvalidInput(f"sizes {self.name!r}: needs one probability for each size, and one size at least.")
        if self.sizes[0] < 1 or any(a >= b for a, b in zip(self.sizes, self.sizes[1:], strict=False)):
            raise InvalidInput(f"sizes {self.name!r}: must be at least 1 and ascending, not {list(self.sizes)}.")
        if min(self.probabilities) < 0 or not math.isclose(math.fsum(self.probabilities), 1.0, abs_tol=1e-9):
            raise InvalidInput(f"sizes {self.name!r}: probabilities must be 0 or more and sum to 1.")

    @property
    def mean(self) -> float:
        """The mean size in processors."""
        return math.fsum(size * share for size, share in self.items())

    @property
    def coefficient_of_variation(self) -> float:
        """The standard deviation over the mean."""
        square = math.fsum(size * size * share for size, share in self.items())
        return math.sqrt(max(0.0, square - self.mean**2)) / self.mean

    def items(self) -> list[tuple[int, float]]:
        """Return the pairs (size, probability), ascending in size."""
        return list(zip(self.sizes, self.probabilities, strict=True))

    def cut_at(self, largest: int) -> SizeDistribution:
        """Return the distribution without the sizes above `largest`, as if such jobs had not been submitted.

        Raises:
            InvalidInput: if nothing remains.
        """
        kept = {size: share for size, share in self.items() if size <= largest}
        return _normalized(f"{self.name}, at most {largest}", kept)


def skewed_to_powers_of_two(
    q: float, smallest: int, largest: int, *, favour_size_one: bool = False
) -> SizeDistribution:
    """Return D(q) on [`smallest`, `largest`]: p(i) proportional to q**i, and three times that for powers of two.

    Source: "Scheduling Policies for Processor Coallocation in Multicluster Systems", section 3. The paper does not say
    whether size 1 counts as a power of two. The means in related papers (3.996 for D(0.9) on [1,8]) hold only if it
    does not, which is the default.

    Raises:
        InvalidInput: if q is not positive and finite, or the range is empty or starts below 1.
    """
    if not (math.isfinite(q) and q > 0):
        raise InvalidInput(f"D(q): q must be a positive number, not {q}.")
    if not 1 <= smallest <= largest:
        raise InvalidInput(f"D(q): sizes must lie in a range from at least 1, not [{smallest}, {largest}].")
    weights = {
        size: q**size * (POWER_OF_TWO_FACTOR if _is_favoured(size, favour_size_one) else 1)
        for size in range(smallest, largest + 1)
    }
    return _normalized(f"D({q:g}) on [{smallest},{largest}]", weights)


def _is_favoured(size: int, favour_size_one: bool) -> bool:
    return size & (size - 1) == 0 and (size > 1 or favour_size_one)


def _normalized(name: str, weights: Mapping[int, float]) -> SizeDistribution:
    if not weights:
        raise InvalidInput(f"sizes {name!r}: no size remains.")
    total = math.fsum(weights.values())
    return SizeDistribution(name, tuple(weights), tuple(weight / total for weight in weights.values()))


DAS_S_128_SURROGATE: Final = _normalized(
    "surrogate of DAS-s-128",
    {
        1: 0.091, 2: 0.130, 3: 0.014, 4: 0.087, 5: 0.009, 6: 0.012, 8: 0.066, 10: 0.011, 12: 0.003, 16: 0.090,
        18: 0.201, 24: 0.024, 28: 0.003, 32: 0.039, 40: 0.009, 56: 0.001, 64: 0.190, 68: 0.003, 105: 0.005, 128: 0.012,
    },
)  # fmt: skip
"""A surrogate of the total sizes in the log of the 128-processor cluster of the DAS, which is not public.

It meets every share, mean and ratio of that log that "Scheduling Policies for Processor Coallocation in Multicluster
Systems", section 4, publishes. Within these constraints, the probabilities of the single sizes that are not powers of
two are invented.
"""

DAS_S_64_SURROGATE: Final = DAS_S_128_SURROGATE.cut_at(64)
"""The surrogate of the same log cut at 64 processors."""
