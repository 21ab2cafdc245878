"""The published campaigns, each under every policy that a claim compares, as simulations that leave run directories."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_run import OUTCOMES
from emulator.campaigns.simulated_workload import SimulationOptions, with_own_processors
from emulator.model.catalogue import topology_named
from emulator.model.counts import number_of
from emulator.model.errors import InvalidInput
from emulator.runs.run_directory import read_manifest
from emulator.simulator.parallel_simulations import OUTCOMES_VERSION, Outcome, ParallelSimulations, ReportSimulations
from workloads.campaign import campaign_named

PLACED: Final = tuple((campaign, policy) for campaign in ("W1", "W2") for policy in ("wf", "cm", "fcm"))
"""Campaigns and policies of "Communication-Aware Job Placement Policies", section 5.2."""

WITH_FILES: Final = tuple(
    (campaign, policy, replicas) for campaign in ("W30", "W50") for policy in ("cf", "wf") for replicas in (1, 3)
)
"""Campaigns, policies and replicas of "An Evaluation of the Close-to-Files Policy", section 4.3."""

HEAVY_BANDS: Final = ("45-55", "55-65")
"""The background loads in percent under which that paper ran W50 with `cf` once more."""


@dataclass(frozen=True, slots=True)
class PublishedCase:
    """One run of a published campaign: its policy and seed and, where they are stated, replicas, band and topology."""

    campaign: str
    policy: str
    replicas: int | None
    band: str | None
    seed: int
    jobs: int | None
    folder: Path
    topology: str | None = None

    @property
    def key(self) -> str:
        """The name of its run directory."""
        parts = [self.campaign.lower(), self.policy]
        parts += [] if self.replicas is None else [f"{self.replicas}-replicas"]
        parts += [] if self.band is None else [f"band-{self.band}"]
        parts += [] if self.topology is None else [Path(self.topology).stem]
        return "-".join([*parts, f"seed-{self.seed}"])

    @property
    def path(self) -> Path:
        """Its run directory, which is there once it has been simulated."""
        return self.folder / self.key

    def run(self) -> Outcome:
        """Simulate it; its run directory is written whole or not at all."""
        part = self.folder / f"{self.key}.part"
        shutil.rmtree(part, ignore_errors=True)
        options = SimulationOptions(
            policy=self.policy, replicas=self.replicas, band=self.band, seed=self.seed, jobs=self.jobs,
            topology=self.topology,
        )  # fmt: skip
        simulate_workload(self.campaign, options, out=part)
        part.rename(self.path)
        return {}


def published_cases(
    folder: Path, seeds: int, jobs: int | None = None, topology: str | None = None
) -> Sequence[PublishedCase]:
    """Return every case with the seeds 1, 2, ...

    It has the published number of jobs unless `jobs` are stated, and its campaign's topology unless another one is.

    Raises:
        InvalidInput: if there is no seed.
    """
    if seeds < 1:
        raise InvalidInput(f"--simulate: must be at least 1, not {seeds}.")
    return [
        PublishedCase(campaign, policy, replicas, band, seed, jobs, folder, topology)
        for seed in range(1, seeds + 1)
        for campaign, policy, replicas, band in (
            *((*placed, None, None) for placed in PLACED),
            *((*with_files, None) for with_files in WITH_FILES),
            *(("W50", "cf", 1, band) for band in HEAVY_BANDS),
        )
    ]


def simulate_cases(
    cases: Sequence[PublishedCase], client: Any, report_progress: ReportSimulations = lambda progress: None
) -> None:
    """Simulate `cases` on the workers of a dask client, all but those whose run directories are there already.

    Raises:
        InvalidInput: if one that is there had other jobs, another topology, or another version of the simulator.
    """
    kept = [case for case in cases if case.path.exists()]
    for case in kept:
        _check_same(case)
    ParallelSimulations(client, None, report_progress).outcomes([case for case in cases if case not in kept])


def _check_same(case: PublishedCase) -> None:
    manifest, campaign = read_manifest(case.path), campaign_named(case.campaign)
    if manifest.versions.get(OUTCOMES) != str(OUTCOMES_VERSION):
        raise InvalidInput(
            f"{case.path}: was simulated by another version of the simulator (remove it, or choose another --out)."
        )
    jobs = case.jobs or campaign.jobs
    if manifest.jobs != jobs:
        raise InvalidInput(
            f"{case.path}: was simulated with {number_of(manifest.jobs, 'job')}, not {jobs} (choose another --out)."
        )
    if manifest.topology != with_own_processors(topology_named(case.topology or campaign.topology)):
        raise InvalidInput(f"{case.path}: was simulated on another topology (choose another --out).")
