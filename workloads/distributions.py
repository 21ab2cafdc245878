"""Random quantities of a workload, with a separate stream of random numbers for each.

A stream depends only on the seed and the name of the quantity. A change to one quantity, or a new one, therefore does
not affect the others. The first n values are the same for every number of values drawn.
"""

from __future__ import annotations

import zlib
from typing import Annotated, Literal, TypeVar

import numpy
from pydantic import Field, PositiveFloat

from emulator.model.documents import DocumentModel

Value = TypeVar("Value")


def stream(seed: int, quantity: str) -> numpy.random.Generator:
    """Return the random number generator of `quantity` under `seed`."""
    key = zlib.crc32(quantity.encode())
    return numpy.random.default_rng(numpy.random.SeedSequence(entropy=seed, spawn_key=(key,)))


class Exponential(DocumentModel):
    """Exponentially distributed durations of mean `mean_s`, as between the arrivals of a Poisson process."""

    distribution: Literal["exponential"] = "exponential"
    mean_s: Annotated[PositiveFloat, Field(le=1e7)]

    def draw_s(self, count: int, generator: numpy.random.Generator) -> list[float]:
        """Draw `count` durations in seconds."""
        return [float(self.mean_s * generator.standard_exponential()) for _ in range(count)]


def uniform_choices(values: tuple[Value, ...], count: int, generator: numpy.random.Generator) -> list[Value]:
    """Draw `count` independent, equally likely choices of `values`."""
    return [values[int(generator.integers(len(values)))] for _ in range(count)]
