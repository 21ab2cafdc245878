"""Calibration of a processor profile from the duration of an iteration: arithmetic only, nothing is measured here.

An iteration consists of the slowest process's computation and of the rest: borders, reduction, waiting. The duration
without the rest is divided by the work. For Poisson that gives the cost of a grid-point update, in cache or out of it;
for another application it gives the application's weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from apps.descriptor import Work
from emulator.model.documents import validate
from emulator.model.errors import InvalidInput
from emulator.model.processor import REFERENCE_APPLICATION, PointCosts, Processor
from emulator.model.units import NANOSECONDS_PER_SECOND

DIGITS: Final = 4
"""Significant digits of the solution: more than any runtime has."""


@dataclass(frozen=True, slots=True)
class Iteration:
    """The duration of an iteration on the processor to be described, and the part of it that is not computation.

    Raises:
        InvalidInput: if one of them is no duration, or nothing is left for the computation.
    """

    iteration_s: float
    overhead_s: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.iteration_s < math.inf:
            raise InvalidInput(f"An iteration takes a positive number of seconds, not {self.iteration_s:g}.")
        if not 0 <= self.overhead_s < math.inf:
            raise InvalidInput(f"An iteration's overhead is zero or more seconds, not {self.overhead_s:g}.")
        if self.compute_s <= 0:
            raise InvalidInput(
                f"An iteration of {self.iteration_s:g} s leaves nothing for computation, since {self.overhead_s:g} s "
                "of it are not: calibrate with a larger grid, or measure at a larger dilation."
            )

    @property
    def compute_s(self) -> float:
        """The part that is computation."""
        return self.iteration_s - self.overhead_s


@dataclass(frozen=True, slots=True)
class Calibration:
    """A calibrated profile, the key that was solved for (``weights.laplace``), and its value before and after."""

    processor: Processor
    key: str
    before: float
    after: float


def calibrated(processor: Processor, application: str, work: Work, iteration: Iteration) -> Calibration:
    """Return `processor` changed so that an iteration with that work takes the given time.

    Raises:
        InvalidInput: if the processor is unpaced, and so has nothing to calibrate.
    """
    costs = _costs(processor)
    if application != REFERENCE_APPLICATION:
        return weighed(processor, application, iteration.compute_s / (work.sweeps * costs.duration_s(work.points)))
    key = "in_cache_ns_per_point" if costs.fits_cache(work.points) else "out_of_cache_ns_per_point"
    after = _rounded(iteration.compute_s * NANOSECONDS_PER_SECOND / work.updates)
    return Calibration(_changed(processor, {key: after}), key, getattr(costs, key), after)


def weighed(processor: Processor, application: str, weight: float) -> Calibration:
    """Return `processor` with that weight for `application`.

    Raises:
        InvalidInput: if the processor is unpaced, or the application the one that others are weighed by.
    """
    _costs(processor)
    if application == REFERENCE_APPLICATION:
        raise InvalidInput(
            f"{application.capitalize()} weighs 1 by definition: what can be calibrated is its cost of a grid point."
        )
    after = _rounded(weight)
    changed = _changed(processor, {"weights": {**processor.weights, application: after}})
    return Calibration(changed, f"weights.{application}", processor.weight(application), after)


def _costs(processor: Processor) -> PointCosts:
    if processor.costs is None:
        raise InvalidInput(
            f"The profile {processor.name!r} is unpaced and has no costs to calibrate: name another by --profile."
        )
    return processor.costs


def _changed(processor: Processor, changes: dict[str, object]) -> Processor:
    return validate({**processor.model_dump(), **changes}, Processor, source="calibrate")


def predicted_compute_s(processor: Processor, application: str, work: Work) -> float:
    """Return the emulated seconds that `processor` computes in an iteration with that work.

    Raises:
        InvalidInput: if the processor is unpaced.
    """
    costs = _costs(processor)
    return work.sweeps * costs.duration_s(work.points) * processor.weight(application)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
