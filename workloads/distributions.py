"""How quantities of a workload are drawn, each from a stream of random numbers of its own.

A stream depends on the seed and the quantity's name only, so that changing how one quantity is drawn, or adding one,
leaves the others as they were; and the first n values are the same however many follow.
"""

from __future__ import annotations

import zlib
from typing import Annotated, Literal, TypeVar

import numpy
from pydantic import Field, PositiveFloat

from emulator.model.documents import DocumentModel

Value = TypeVar("Value")


def stream(seed: int, quantity: str) -> numpy.random.Generator:
    """The random numbers from which `quantity` is drawn under `seed`."""
    key = zlib.crc32(quantity.encode())
    return numpy.random.default_rng(numpy.random.SeedSequence(entropy=seed, spawn_key=(key,)))


class Exponential(DocumentModel):
    """Exponentially distributed durations of mean `mean_s`: between the arrivals of a Poisson process."""

    distribution: Literal["exponential"] = "exponential"
    mean_s: Annotated[PositiveFloat, Field(le=1e7)]

    def draw_s(self, count: int, generator: numpy.random.Generator) -> list[float]:
        """`count` durations in seconds."""
        return [float(self.mean_s * generator.standard_exponential()) for _ in range(count)]


def uniform_choices(values: tuple[Value, ...], count: int, generator: numpy.random.Generator) -> list[Value]:
    """`count` independent choices among `values`, each as likely as any other."""
    return [values[int(generator.integers(len(values)))] for _ in range(count)]
