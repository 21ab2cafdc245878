"""Choices of a campaign's jobs where applications differ in size: an application, a total, and a split of the total.

Each is a uniform choice given the one before, as in the workloads of "Communication-Aware Job Placement Policies",
section 5. This module also has two properties of jobs that are not part of the request: the execution time in a single
cluster (for the simulator) and the input file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, Self

import numpy
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from emulator.model.counts import number_of
from emulator.model.documents import DocumentModel
from emulator.model.job import ArgumentName, JobName
from emulator.model.topology import Name
from workloads.distributions import stream

Arguments = Mapping[str, int | float | bool | str]
Split = Annotated[tuple[PositiveInt, ...], Field(min_length=1)]


class JobChoice(DocumentModel):
    """The jobs of one application: for each total size in processors, the splits into component sizes.

    `memory_mb`, `processor_share` and `time_alone_s` are those of a `JobSpecification`; the last is still to be divided
    by the time scale.
    """

    application: Name
    arguments: dict[ArgumentName, int | float | bool | JobName] = Field(default_factory=dict, max_length=32)
    splits: Annotated[dict[PositiveInt, Annotated[tuple[Split, ...], Field(min_length=1)]], Field(min_length=1)]
    memory_mb: NonNegativeFloat | None = None
    processor_share: Annotated[float, Field(gt=0, le=1)] | None = None
    time_alone_s: PositiveFloat | None = None

    def needs(self, time_scale: float) -> dict[str, float]:
        """Return what is stated of a task's needs, by the keys of a `JobSpecification`, at this time scale."""
        time_s = None if self.time_alone_s is None else self.time_alone_s / time_scale
        stated = {"memory_mb": self.memory_mb, "processor_share": self.processor_share, "time_alone_s": time_s}
        return {key: value for key, value in stated.items() if value is not None}

    @model_validator(mode="after")
    def _splits_make_their_total(self) -> Self:
        for total, splits in self.splits.items():
            for split in splits:
                if sum(split) != total:
                    raise ValueError(f"splits.{total}: {list(split)} makes {number_of(sum(split), 'processor')}")
        return self


class UniformService(DocumentModel):
    """Execution times in a single cluster, uniform between `low_s` and `high_s`."""

    distribution: Literal["uniform"] = "uniform"
    low_s: PositiveFloat
    high_s: PositiveFloat

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.low_s > self.high_s:
            raise ValueError(f"high_s: must be at least low_s, which is {self.low_s:g}")
        return self

    def draw_s(self, count: int, generator: numpy.random.Generator) -> list[float]:
        """Draw `count` execution times in seconds."""
        drawn: list[float] = (self.low_s + (self.high_s - self.low_s) * generator.random(count)).tolist()
        return drawn


class InputFiles(DocumentModel):
    """The input file of each job: uniform choices of its size, its number of replicas, and the clusters of these."""

    sizes_bytes: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    replicas: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]


class ChosenJob(NamedTuple):
    """The choices for one job; `choice` is that of a campaign's `choices` which it comes from."""

    application: str
    arguments: Arguments
    components: tuple[int, ...]
    choice: JobChoice | None = None


def chosen_jobs(choices: Sequence[JobChoice], count: int, seed: int) -> list[ChosenJob]:
    """Draw `count` jobs; application, total and split each have a separate random stream."""
    uniform = [stream(seed, quantity).random(count).tolist() for quantity in ("application", "total size", "split")]
    return [_chosen(choices, *numbers) for numbers in zip(*uniform, strict=True)]


def _chosen(choices: Sequence[JobChoice], first: float, second: float, third: float) -> ChosenJob:
    choice = choices[int(first * len(choices))]
    splits = list(choice.splits.values())[int(second * len(choice.splits))]
    return ChosenJob(choice.application, choice.arguments, splits[int(third * len(splits))], choice)
