"""The error of simulations over several seeds: each live run beside its simulation, and all runs together.

The live runs in one folder are compared with simulations of the same names in another. Runs of one campaign under one
policy are put together. Live runs of one seed are repeats of each other: they show the spread of live runs, and count
together as one seed.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from emulator.fidelity.intervals import Estimate, paired_ratio_of_means
from emulator.model.errors import InvalidInput
from emulator.model.records import MANIFEST_FILE
from emulator.reports.compared_runs import Comparison, Quantity, compare
from emulator.reports.policies_over_seeds import Case, with_first
from emulator.runs.folders import live_runs_in, runs_in
from emulator.runs.run_directory import RunRecords, read_manifest, read_run
from emulator.runs.same_campaign import campaign_of, scheduling_of
from emulator.runs.seeds import case_of


@dataclass(frozen=True, slots=True)
class ErrorOverSeeds:
    """A quantity of live runs and of their simulations, each the mean over seeds.

    `ratio` is simulated over live, with its interval over seeds. `largest` is the largest error of one seed, and
    `spread` the largest spread of the live runs of one seed, both relative; None if it is unknown.
    """

    name: str
    statistic: str
    live: float
    simulated: float
    ratio: Estimate | None
    largest: float | None
    spread: float | None


@dataclass(frozen=True, slots=True)
class ComparedCampaign:
    """The live runs of a campaign under one policy, each beside its simulation, and the errors over its `seeds`."""

    label: str
    runs: tuple[Comparison, ...]
    errors: tuple[ErrorOverSeeds, ...]
    seeds: int


@dataclass(frozen=True, slots=True)
class ComparedFolders:
    """The campaigns in a folder of live runs, and the runs that are left out, each with the reason."""

    campaigns: tuple[ComparedCampaign, ...]
    left_out: tuple[str, ...]


def compare_folders(live: Path, simulated: Path, first: str | None = None) -> ComparedFolders:
    """Compare the live runs in the folder `live` with the simulations of the same names in `simulated`.

    Policies are in the order of the runs, but for the one that is to come `first`.

    Raises:
        InvalidInput: if a live run has no simulation, or one that is not of its schedule, or no run is under `first`.
    """
    found = live_runs_in(live)
    for path in found.runs:
        if not (simulated / path.name / MANIFEST_FILE).is_file():
            raise InvalidInput(
                f"{simulated}: has no simulation {path.name!r} of that run in {live} (`testbed simulate --like {live} "
                "--out FOLDER` simulates all of them)."
            )
    groups = _grouped(live, found.runs, first)
    campaigns = [_compared(label, runs, simulated) for label, runs in zip(_labels(groups), groups, strict=True)]
    return ComparedFolders(tuple(campaigns), found.left_out)


def _grouped(folder: Path, counted: Collection[Path], first: str | None) -> list[list[RunRecords]]:
    """Return those of the runs in `folder` that are `counted`, of each campaign under each policy, in its order."""
    every = [(path, read_manifest(path)) for path in runs_in(folder)]
    groups: dict[tuple[str, ...], list[RunRecords]] = {}
    for path, manifest in with_first(first, every, lambda run: run[1]):
        # A policy keeps its place also if its first run does not count.
        group = groups.setdefault((campaign_of(manifest), *scheduling_of(manifest)), [])
        if path in counted:
            group.append(read_run(path))
    return [runs for runs in groups.values() if runs]


def _labels(groups: Sequence[Sequence[RunRecords]]) -> list[str]:
    """Return a label for each campaign: its name and its policy, and if these are not enough, its first run."""
    named = [f"{runs[0].manifest.name} {runs[0].manifest.policy}" for runs in groups]
    return [
        label if named.count(label) == 1 else f"{label} ({runs[0].path.name})"
        for label, runs in zip(named, groups, strict=True)
    ]


def _compared(label: str, runs: Sequence[RunRecords], simulated: Path) -> ComparedCampaign:
    grouped: dict[Case, list[RunRecords]] = {}
    for run in runs:
        grouped.setdefault(case_of(run.manifest), []).append(run)
    by_case = {
        case: [
            compare(run, read_run(simulated / run.path.name), [other for other in repeats if other is not run])
            for run in repeats
        ]
        for case, repeats in grouped.items()
    }
    compared = tuple(comparison for repeats in by_case.values() for comparison in repeats)
    return ComparedCampaign(label, compared, _errors(by_case), len(by_case))


def _errors(by_case: Mapping[Case, Sequence[Comparison]]) -> tuple[ErrorOverSeeds, ...]:
    """Return the error of each quantity that all comparisons have."""
    seeds = [[_by_key(comparison) for comparison in repeats] for repeats in by_case.values()]
    keys = [key for key in seeds[0][0] if all(key in found for repeats in seeds for found in repeats)]
    return tuple(_error(key, [[found[key] for found in repeats] for repeats in seeds]) for key in keys)


def _by_key(comparison: Comparison) -> dict[tuple[str, str], Quantity]:
    return {(quantity.name, quantity.statistic): quantity for quantity in comparison.quantities}


def _error(key: tuple[str, str], seeds: Sequence[Sequence[Quantity]]) -> ErrorOverSeeds:
    live = [statistics.fmean(quantity.live for quantity in repeats) for repeats in seeds]
    simulated = [statistics.fmean(quantity.simulated for quantity in repeats) for repeats in seeds]
    errors = [after / before - 1 for before, after in zip(live, simulated, strict=True) if before]
    spreads = [quantity.spread for repeats in seeds for quantity in repeats if quantity.spread is not None]
    return ErrorOverSeeds(
        *key,
        statistics.fmean(live),
        statistics.fmean(simulated),
        paired_ratio_of_means(simulated, live),
        max(errors, key=abs, default=None),
        max(spreads, default=None),
    )
