"""The analysis and update of a distributed ensemble by all its processes together.

Process 0 collects the members' predictions of the observations, finds the weights of the analysis (`kalman`) and
distributes them. Then all processes exchange parts of states (`ensemble`), so that each combines one part of all
members, and exchange the analysed parts back. All of it goes through the paced collectives. The combination is a
compute phase; finding the weights, a members x members matrix, is too short to be one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apps.application import JobContext
from apps.basin import OBSERVATIONS
from apps.collectives import Collectives
from apps.ensemble import EnsembleShare
from apps.kalman import analysis_weights
from apps.ocean import OBSERVATION_DEVIATION_M, THICKNESS, Basin
from apps.phase_clock import PhaseClock
from emulator.model.errors import RunFailed

Values = npt.NDArray[np.float64]

_OBSERVATION_ERRORS = 2
# A Poisson update, the unit of a processor's cost, is six floating-point operations; a combination takes two a member.
_COMBINED_PER_UPDATE = 3


@dataclass(frozen=True, slots=True)
class _PartStatistics:
    """Statistics of an ensemble's thickness in one process's part: the mean, and the sum of the variances."""

    mean: Values
    variances: float

    @classmethod
    def of_thickness(cls, thickness: Values) -> _PartStatistics:
        mean = thickness.mean(axis=0)
        return cls(mean, float(np.sum((thickness - mean) ** 2)) / (len(thickness) - 1))


class Assimilation:
    """One rank's part in the analyses of an ensemble.

    Each rank keeps its statistics of the analyses until `gather_analyses`, so that they cost no message in the loop;
    process 0 keeps the thickness of the observed ocean.
    """

    def __init__(self, job: JobContext, share: EnsembleShare, basin: Basin, seed: int, clock: PhaseClock) -> None:
        from apps.kernels.combination import combine

        self._combine = combine
        self._communicator, self._collectives = job.communicator, job.collectives
        self._share, self._basin, self._seed, self._clock = share, basin, seed, clock
        part = share.part_of(job.communicator.rank)
        # The thickness comes first in a state, so that a part begins with what it has of it.
        self._thickness_length = max(0, min(part.stop, basin.points) - part.start)
        combined_s = job.duration_s(share.members * share.part_length, arrays=1) / job.setting.weight
        self._combination = job.pacer.phase(combined_s * share.members / _COMBINED_PER_UPDATE)
        self._days: list[int] = []
        self._statistics: list[tuple[_PartStatistics, _PartStatistics]] = []
        self._observed_thickness: list[Values] = []

    def analyse(self, day: int, states: Values, observed_ocean: Values | None) -> None:
        """Replace this rank's states by their analysis; rank 0 gives `observed_ocean`.

        Raises:
            RunFailed: at every rank alike, if a value that a member predicts for an observation is not finite.
        """
        inner = states[:, :, 1:-1, 1:-1]
        weights = self._weights(day, states, observed_ocean)
        forecast = exchange_for_parts(self._share, self._collectives, inner.reshape(len(states), -1))
        self._clock.end_exchange()
        analysis = np.empty_like(forecast)
        self._combine(weights, forecast, analysis)
        self._note(day, forecast, analysis, observed_ocean)
        self._clock.end_compute(self._combination)
        inner[...] = exchange_for_states(self._share, self._collectives, analysis).reshape(inner.shape)
        self._clock.end_exchange()

    def gather_analyses(self) -> list[dict[str, float]]:
        """Return the quality of each analysis at rank 0, nothing at the others. Every rank must call this.

        In metres of thickness, before (`forecast`) and after (`analysis`): the root mean square error of the ensemble's
        mean against the observed ocean, and the ensemble's spread.
        """
        gathered = self._communicator.gather(self._statistics, root=0)
        if gathered is None:
            return []
        return [
            {"day": day, **self._quality("forecast", before, truth), **self._quality("analysis", after, truth)}
            for day, truth, pairs in zip(self._days, self._observed_thickness, zip(*gathered, strict=True), strict=True)
            for before, after in [zip(*pairs, strict=True)]
        ]

    def _weights(self, day: int, states: Values, observed_ocean: Values | None) -> Values:
        share, predicted = self._share, self._basin.observe(states)
        weights = np.full((share.members, share.members), np.nan)
        if observed_ocean is None:
            self._collectives.gather(predicted, None)
        else:
            predictions = np.empty((share.members, OBSERVATIONS))
            self._collectives.gather(predicted, list(predictions.reshape(share.processes, -1, OBSERVATIONS)))
            if np.isfinite(predictions).all():
                weights[...] = analysis_weights(
                    predictions, self._observations(day, observed_ocean), OBSERVATION_DEVIATION_M
                )
        self._collectives.broadcast(weights)
        if not np.isfinite(weights).all():
            raise RunFailed(f"The layer of an ocean ran dry before the analysis of day {day}: use slower --currents.")
        return weights

    def _observations(self, day: int, observed_ocean: Values) -> Values:
        errors = np.random.default_rng((self._seed, _OBSERVATION_ERRORS, day)).standard_normal(OBSERVATIONS)
        observations: Values = self._basin.observe(observed_ocean[None])[0] + OBSERVATION_DEVIATION_M * errors
        return observations

    def _note(self, day: int, forecast: Values, analysis: Values, observed_ocean: Values | None) -> None:
        thickness = slice(0, self._thickness_length)
        self._statistics.append(
            (_PartStatistics.of_thickness(forecast[:, thickness]), _PartStatistics.of_thickness(analysis[:, thickness]))
        )
        self._days.append(day)
        if observed_ocean is not None:
            self._observed_thickness.append(observed_ocean[THICKNESS, 1:-1, 1:-1].ravel())

    def _quality(self, name: str, parts: tuple[_PartStatistics, ...], truth: Values) -> dict[str, float]:
        error_m = np.concatenate([part.mean for part in parts]) - truth
        variance_m2 = sum(part.variances for part in parts) / self._basin.points
        return {
            f"{name}_error_m": math.sqrt(float(np.mean(error_m**2))),
            f"{name}_spread_m": math.sqrt(variance_m2),
        }


def pack_states(share: EnsembleShare, states: Values) -> Values:
    """Return a process's whole states (a row each) as a row for each process: its part of these members, padded."""
    padded = np.zeros((len(states), share.processes * share.part_length))
    padded[:, : share.values] = states
    parts = padded.reshape(len(states), share.processes, share.part_length).swapaxes(0, 1)
    return np.ascontiguousarray(parts).reshape(share.processes, -1)


def unpack_parts(share: EnsembleShare, received: Values) -> Values:
    """Return what all processes packed for this one as a row for each member of the ensemble, in order."""
    return received.reshape(share.members, share.part_length)


def unpack_states(share: EnsembleShare, received: Values) -> Values:
    """Return the whole states (a row each) of a process's members, from a row of their parts from each process."""
    parts = received.reshape(share.processes, -1, share.part_length).swapaxes(0, 1)
    return parts.reshape(parts.shape[0], -1)[:, : share.values]


def exchange_for_parts(share: EnsembleShare, collectives: Collectives, states: Values) -> Values:
    """Exchange this process's whole states for its part of all members' states, a row for each member."""
    return unpack_parts(share, collectives.all_to_all(pack_states(share, states)))


def exchange_for_states(share: EnsembleShare, collectives: Collectives, parts: Values) -> Values:
    """Exchange this process's part of all members' states for its own members' whole states."""
    return unpack_states(share, collectives.all_to_all(parts.reshape(share.processes, -1)))
