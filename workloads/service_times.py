"""Distributions of execution times around their mean: constant, exponential and hyperexponential.

Each distribution draws factors of mean 1, which multiply the mean service of a class. Drawing n values and then m gives
the same numbers as drawing n + m, so that a stream does not depend on the size of its chunks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy
from numpy.typing import NDArray

from emulator.model.errors import InvalidInput


class ServiceFactors(Protocol):
    """A distribution of mean 1."""

    @property
    def coefficient_of_variation(self) -> float:
        """The standard deviation over the mean."""
        ...

    def draw(self, count: int, generator: numpy.random.Generator) -> NDArray[numpy.float64]:
        """Draw `count` independent factors."""
        ...


@dataclass(frozen=True, slots=True)
class ConstantService:
    """Constant execution times: every job takes exactly its mean."""

    @property
    def coefficient_of_variation(self) -> float:
        """The coefficient of variation, 0."""
        return 0.0

    def draw(self, count: int, generator: numpy.random.Generator) -> NDArray[numpy.float64]:
        """Return `count` ones; nothing is drawn."""
        return numpy.ones(count)


@dataclass(frozen=True, slots=True)
class ExponentialService:
    """Exponential execution times."""

    @property
    def coefficient_of_variation(self) -> float:
        """The coefficient of variation of an exponential distribution, 1."""
        return 1.0

    def draw(self, count: int, generator: numpy.random.Generator) -> NDArray[numpy.float64]:
        """Draw `count` independent factors."""
        return generator.standard_exponential(count)


@dataclass(frozen=True, slots=True)
class HyperexponentialService:
    """A mixture of two exponential distributions with balanced means, for coefficients of variation above 1.

    Raises:
        InvalidInput: if the coefficient is not above 1.
    """

    coefficient_of_variation: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.coefficient_of_variation) and self.coefficient_of_variation > 1):
            raise InvalidInput(
                f"hyperexponential service: the coefficient of variation must be above 1, "
                f"not {self.coefficient_of_variation}."
            )

    @property
    def short_share(self) -> float:
        """The probability of the branch with the shorter mean; each branch has half of the work."""
        square = self.coefficient_of_variation**2
        return (1 + math.sqrt((square - 1) / (square + 1))) / 2

    def draw(self, count: int, generator: numpy.random.Generator) -> NDArray[numpy.float64]:
        """Draw `count` independent factors, from two uniform numbers each."""
        uniform = generator.random((count, 2))
        is_short = uniform[:, 0] < self.short_share
        means = numpy.where(is_short, 0.5 / self.short_share, 0.5 / (1 - self.short_share))
        drawn: NDArray[numpy.float64] = -numpy.log1p(-uniform[:, 1]) * means
        return drawn
