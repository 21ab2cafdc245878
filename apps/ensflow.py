"""Ensflow: an ensemble of ocean states that evolve independently and meet in a Kalman analysis every few days.

The measurement study on DAS-2 ran 60 members for 20 days in steps of 24 hours, with an analysis and an update every
240 hours, and only then communication; the number of processors divides that of the members. Here a member is a layer
of ocean (`ocean`), an iteration a day of it: many steps of its flow (`kernels.shallow_water`). The analysis is that of
`assimilation`, with observations of a hidden ocean: one more member, which process 0 computes in addition and
which costs the emulated processors nothing.

Every number comes from the same operations on the same values for any number of processes: the members are, bit for
bit, those that one process computes.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from apps.application import JobContext
from apps.assimilation import Assimilation
from apps.basin import CORIOLIS_PER_S, DEPTH_M, FIELDS, REDUCED_GRAVITY_M_PER_S2, VISCOSITY_M2_PER_S
from apps.counters import HostTimes
from apps.ensemble import ANALYSIS_EVERY_DAYS, MEMBERS, EnsembleShare
from apps.failing import check_together
from apps.ocean import THICKNESS, Basin, mean_thickness_m
from apps.registry import ENSFLOW
from apps.solution import gather_error_norms, save_solution
from emulator.model.errors import InvalidInput

Values = npt.NDArray[np.float64]

# First words of the seeds of what is drawn here; the observations have another.
_HIDDEN_OCEAN, _MEMBERS = 0, 1


@dataclass(frozen=True, slots=True)
class EnsflowOptions:
    """Options of the application.

    Raises:
        InvalidInput: if the ensemble or its days are out of range.
    """

    basin: Basin
    members: int
    days: int
    analysis_every_days: int
    currents_m_per_s: float
    seed: int
    save: Path | None

    def __post_init__(self) -> None:
        if self.members < 2:
            raise InvalidInput(f"--members must be at least 2, for one has no spread, not {self.members}.")
        if self.days < 1:
            raise InvalidInput(f"--days must be at least 1, not {self.days}.")
        if self.analysis_every_days < 1:
            raise InvalidInput(f"--analysis-every-days must be at least 1, not {self.analysis_every_days}.")
        if not 0.0 < self.currents_m_per_s < math.inf:
            raise InvalidInput(f"--currents must be a positive number of m/s, not {self.currents_m_per_s}.")
        if self.seed < 0:
            raise InvalidInput(f"--seed must be zero or positive, not {self.seed}.")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the application's own options to the command line."""
    add = parser.add_argument
    add("--grid", type=int, default=128, metavar="N", help="points along each side of the basin (%(default)s)")
    add("--members", type=int, default=MEMBERS, metavar="M", help="ensemble members (%(default)s)")
    add("--days", "--iterations", dest="days", type=int, default=ENSFLOW.default_length, metavar="D",
        help="days that the ensemble evolves, each an iteration (%(default)s)")  # fmt: skip
    add("--analysis-every-days", type=int, default=ANALYSIS_EVERY_DAYS, metavar="D",
        help="days between analyses (%(default)s)")  # fmt: skip
    add("--currents", type=float, default=0.15, metavar="V", help="speed of jets and eddies, m/s (%(default)s)")
    add("--seed", type=int, default=0, metavar="S", help="of the members, the hidden ocean and its observations (0)")
    add("--save", type=Path, metavar="FILE.npy", help="write the members: thickness, eastward, northward velocity")


def read_options(arguments: argparse.Namespace) -> EnsflowOptions:
    """Read the application's options from the parsed command line.

    Raises:
        InvalidInput: as `EnsflowOptions` and `Basin`.
    """
    return EnsflowOptions(
        Basin(arguments.grid),
        arguments.members,
        arguments.days,
        arguments.analysis_every_days,
        arguments.currents,
        arguments.seed,
        arguments.save,
    )


class Ensflow:
    """One rank's part of the ensemble.

    Raises:
        InvalidInput: at every rank alike, if the processes do not divide the members.
    """

    def __init__(self, job: JobContext, options: EnsflowOptions) -> None:
        from apps.kernels.shallow_water import ShallowWater

        self._options, self._communicator = options, job.communicator
        basin, rank = options.basin, job.communicator.rank
        self._share = EnsembleShare(options.members, FIELDS * basin.points, job.communicator.size)
        self._flow = ShallowWater(
            basin.side_points, basin.spacing_m, basin.step_s,
            REDUCED_GRAVITY_M_PER_S2, CORIOLIS_PER_S, VISCOSITY_M2_PER_S,
        )  # fmt: skip
        members = self._share.members_of(rank)
        self._states = np.stack([self._first_state(_MEMBERS, member) for member in members])
        self._hidden = self._first_state(_HIDDEN_OCEAN, 0) if rank == 0 else None
        self.times = HostTimes()
        self._clock = job.phase_clock(self.times)
        self._assimilation = Assimilation(job, self._share, basin, options.seed, self._clock)
        # Every step sweeps over a state; a rank's states take turns, so the working set is one of them.
        sweeps = self._share.members_each * basin.steps_per_day
        self._day = job.pacer.phase(sweeps * job.duration_s(basin.points, ENSFLOW.form.arrays))

    def iterate(self) -> None:
        """Evolve the ensemble day by day, with an analysis every `analysis_every_days`.

        Raises:
            RunFailed: at every rank alike, if a layer had run dry before an analysis.
        """
        self._clock.begin()
        for day in range(1, self._options.days + 1):
            self._clock.compute(self._evolve, self._day)
            if day % self._options.analysis_every_days == 0:
                self._assimilation.analyse(day, self._states, self._hidden)
            self._clock.end_iteration()
        self._clock.end()

    def results(self) -> dict[str, object]:
        """Return this application's part of the record. Every rank must call this; rank 0's part is complete.

        `error_max_norm` and `error_l2_norm` are of the ensemble's mean thickness against the hidden ocean's, in metres;
        `thickness_change` is the largest relative change of a member's mean thickness since the start.

        Raises:
            RunFailed: at every rank alike, if a layer has run dry, or the members cannot be written as `--save` says.
        """
        options, basin = self._options, self._options.basin
        members = self._communicator.gather(self._states[:, :, 1:-1, 1:-1].copy(), root=0)
        analyses = self._assimilation.gather_analyses()
        ensemble = None if members is None else np.concatenate(members)
        oceans = [] if ensemble is None or self._hidden is None else [ensemble, self._hidden]
        dry = not all(np.isfinite(ocean).all() for ocean in oceans)
        complaint = f"The layer of an ocean ran dry within {options.days} days: use slower --currents."
        check_together(self._communicator, complaint if dry else None)
        save_solution(self._communicator, ensemble, options.save)
        if ensemble is None or self._hidden is None:
            gather_error_norms(self._communicator, np.empty(0), 1.0 / basin.side_points)
            return {}
        error_m = ensemble[:, THICKNESS].mean(axis=0) - self._hidden[THICKNESS, 1:-1, 1:-1]
        norms = gather_error_norms(self._communicator, error_m, 1.0 / basin.side_points) or {}
        return {
            "grid": basin.side_points,
            "members": options.members,
            "analysis_every_days": options.analysis_every_days,
            "currents_m_per_s": options.currents_m_per_s,
            "seed": options.seed,
            "steps_per_day": basin.steps_per_day,
            "members_each": self._share.members_each,
            "analyses": analyses,
            "thickness_change": max(abs(mean_thickness_m(state) / DEPTH_M - 1.0) for state in ensemble),
            **norms,
        }

    def _evolve(self) -> None:
        """Evolve this rank's members and, at rank 0, the hidden ocean by one day."""
        steps = self._options.basin.steps_per_day
        for state in self._states:
            self._flow.advance(state, steps)
        if self._hidden is not None:
            self._flow.advance(self._hidden, steps)

    def _first_state(self, purpose: int, member: int) -> Values:
        """Draw a state to start from: the same at every process."""
        generator = np.random.default_rng((self._options.seed, purpose, member))
        return self._options.basin.state(generator, self._options.currents_m_per_s)
