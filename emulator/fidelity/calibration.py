"""Calibration of a processor profile from the duration of an iteration: arithmetic only, nothing is measured here.

An iteration consists of the slowest process's computation and of the rest: borders, reduction, waiting. The duration
without the rest is divided by the work. For Poisson that gives the cost of a grid-point update, in cache or out of it;
for another application it gives the application's weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from apps.descriptor import Work
from apps.registry import application_named
from emulator.model.documents import validate
from emulator.model.errors import InvalidInput
from emulator.model.point_costs import PointCosts, WorkingSet
from emulator.model.processor import REFERENCE_APPLICATION, Processor
from emulator.model.units import BYTES_PER_POINT, NANOSECONDS_PER_SECOND

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


def calibrated(
    processor: Processor, application: str, work: Work, iteration: Iteration, computing: int = 1
) -> Calibration:
    """Return `processor` changed so that an iteration with that work takes the given time.

    `computing` processors of each node compute at once.

    Raises:
        InvalidInput: if the processor is unpaced, and so has nothing to calibrate, or no cost would do.
    """
    costs = _costs(processor)
    working_set = _working_set(application, work)
    if application != REFERENCE_APPLICATION:
        swept_s = work.sweeps * costs.duration_s(working_set, computing)
        return weighed(processor, application, iteration.compute_s / swept_s)
    asked_ns = iteration.compute_s * NANOSECONDS_PER_SECOND / work.updates
    key = "in_cache_ns_per_point" if costs.mostly_in_cache(working_set) else "out_of_cache_ns_per_point"
    after = _rounded(_solved(costs, key, working_set, computing, asked_ns))
    if after <= 0:
        raise InvalidInput(
            f"A point that takes {asked_ns:.4g} ns is cheaper than the rest of {processor.name!r} allows: calibrate the"
            " cost in cache first, on a small grid."
        )
    return Calibration(_changed(processor, {key: after}), key, getattr(costs, key), after)


def _solved(costs: PointCosts, key: str, working_set: WorkingSet, computing: int, asked_ns: float) -> float:
    """Return the cost `key` with which a point of `working_set` takes `asked_ns`; a point's cost is linear in it."""
    at_zero_ns, at_one_ns = (_with(costs, key, value).ns_per_point(working_set, computing) for value in (0.0, 1.0))
    return (asked_ns - at_zero_ns) / (at_one_ns - at_zero_ns)


def _with(costs: PointCosts, key: str, value: float) -> PointCosts:
    if key == "in_cache_ns_per_point":
        return replace(costs, in_cache_ns_per_point=value)
    return replace(costs, out_of_cache_ns_per_point=value)


def _working_set(application: str, work: Work) -> WorkingSet:
    touched = application_named(application).form.arrays * BYTES_PER_POINT
    return WorkingSet(work.points, touched, work.row_points)


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


def predicted_compute_s(processor: Processor, application: str, work: Work, computing: int = 1) -> float:
    """Return the emulated seconds that `processor` computes in an iteration with that work.

    `computing` processors of each node compute at once.

    Raises:
        InvalidInput: if the processor is unpaced.
    """
    costs = _costs(processor)
    return work.sweeps * costs.duration_s(_working_set(application, work), computing) * processor.weight(application)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
