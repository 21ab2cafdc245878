"""Policies over seeds: the runs of a campaign under several policies, put together over the seeds that all have.

Runs of one seed have the same jobs under every policy. So two policies are compared seed by seed, and what a seed does
to both of them cancels out. Several runs of one seed under one policy count together as one.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from emulator.fidelity.intervals import Estimate, mean, paired_ratio_of_means
from emulator.fidelity.judgement import Judgement
from emulator.model.errors import InvalidInput
from emulator.model.records import Manifest, RunKind
from emulator.policies.names import plain_name, policy_name
from emulator.reports.compared_runs import MAKESPAN, UTILIZATION, finished_names, quantities_of
from emulator.runs.run_directory import RunRecords, was_cut_short
from emulator.runs.same_campaign import campaign_of, scheduling_of
from emulator.runs.seeds import case_of, drawn_in, same_jobs_in_words

AnyRun = TypeVar("AnyRun")

LEAST_SEEDS: Final = 2

Key = tuple[str, str]
"""The name of a quantity, and its statistic."""

COMPARED: Final[tuple[Key, ...]] = (
    ("response", "mean"), ("response", "95%"), ("wait", "mean"), ("execution", "mean"), (MAKESPAN, ""),
    (UTILIZATION, ""),
)  # fmt: skip
"""The quantities that are compared."""

Case = tuple[int, str]
"""A seed, and the jobs of its own list if it has one (`emulator.runs.seeds.case_of`)."""

_ByCase = Mapping[Case, Sequence[RunRecords]]


@dataclass(frozen=True, slots=True)
class OverSeeds:
    """A quantity under a policy: its mean over seeds, and that mean over the one under the first policy.

    `ratio` is paired by seed; it is None for the first policy, and where the mean under that one is not positive.
    """

    policy: str
    name: str
    statistic: str
    mean: Estimate
    ratio: Estimate | None


@dataclass(frozen=True, slots=True)
class ComparedPolicies:
    """A campaign under several `policies`, the first of which the others are compared with, over `seeds`.

    `drawn` is what the seeds draw, in words. If it is nothing, they are one case.
    """

    label: str
    policies: tuple[str, ...]
    seeds: tuple[int, ...]
    quantities: tuple[OverSeeds, ...]
    drawn: tuple[str, ...]

    @property
    def remark(self) -> str:
        """A sentence if the seeds do not draw the jobs, or change nothing; else empty."""
        if self.drawn and self.quantities and all(found.mean.n == 1 for found in self.quantities):
            return f"All seeds of {self.label} give the same: they count as one case (n = 1), which has no interval."
        return same_jobs_in_words(self.label, self.drawn)


def with_first(policy: str | None, runs: Sequence[AnyRun], manifest_of: Callable[[AnyRun], Manifest]) -> list[AnyRun]:
    """Return `runs` in their order, those under `policy` before all others: the others are compared with it.

    It is the name of a policy, or ``POLICY / QUEUE``. Without one the first run's policy stays the first.

    Raises:
        InvalidInput: if no run is under it.
    """
    if policy is None:
        return list(runs)
    wanted = {_spelled(name) for name in (policy, policy_name(policy), plain_name(policy))}
    others = [run for run in runs if not wanted & _called(manifest_of(run))]
    if len(others) == len(runs):
        named = ", ".join(dict.fromkeys(manifest_of(run).policy for run in runs)) or "none"
        raise InvalidInput(f"--first: no run is under {policy!r} (policies of the runs: {named}).")
    return [*(run for run in runs if wanted & _called(manifest_of(run))), *others]


def _called(manifest: Manifest) -> set[str]:
    """Return what a run's policy may be called, by itself and with its queue."""
    return {_spelled(manifest.policy), _spelled(f"{manifest.policy}/{manifest.queue}")}


def _spelled(name: str) -> str:
    return "".join(name.split()).lower()


def compared_policies(runs: Sequence[RunRecords]) -> list[ComparedPolicies]:
    """Compare the policies of each campaign among `runs` that has several, and two or more seeds under all of them.

    Runs that are void or were cut short do not count. Times are those of the jobs that finished under every policy.
    """
    campaigns: dict[str, dict[tuple[str, str, str], dict[Case, list[RunRecords]]]] = {}
    for run in (run for run in runs if run.manifest.kind is not RunKind.MEASUREMENT):
        policies = campaigns.setdefault(campaign_of(run.manifest), {})
        # A policy keeps its place also if its first run does not count.
        by_case = policies.setdefault(scheduling_of(run.manifest), {})
        if _counts(run):
            by_case.setdefault(case_of(run.manifest), []).append(run)
    compared = [_compared(list(filter(None, policies.values()))) for policies in campaigns.values()]
    return [found for found in compared if found is not None]


def _counts(run: RunRecords) -> bool:
    return run.manifest.verdict != Judgement.VOID and not was_cut_short(run.path, run.manifest)


def _compared(policies: Sequence[_ByCase]) -> ComparedPolicies | None:
    if len(policies) < 2:
        return None
    cases = sorted(set.intersection(*(set(of_policy) for of_policy in policies)))
    if len(cases) < LEAST_SEEDS:
        return None
    manifests = [next(iter(of_policy.values()))[0].manifest for of_policy in policies]
    labels, drawn = policy_labels(manifests), drawn_in(manifests)
    values = [values_of([of_policy[case] for of_policy in policies]) for case in cases]
    quantities = [
        _over_seeds(labels, place, key, replications([(each[0][key], each[place][key]) for each in values], drawn))
        for key in COMPARED
        if all(key in found for each in values for found in each)
        for place in range(len(policies))
    ]
    seeds = tuple(seed for seed, _ in cases)
    return ComparedPolicies(manifests[0].name, tuple(labels), seeds, tuple(quantities), drawn)


def values_of(groups: Sequence[Sequence[RunRecords]]) -> list[dict[Key, float]]:
    """Return the quantities of each group of runs, the means of its runs.

    All runs have the same jobs. Times are those of the jobs that finished in every run of every group.
    """
    names = set.intersection(*(finished_names(run) for repeats in groups for run in repeats))
    measured = [[quantities_of(run, names) for run in repeats] for repeats in groups]
    return [
        {key: statistics.fmean(found[key] for found in repeats) for key in repeats[0]
         if all(key in found for found in repeats)}
        for repeats in measured
    ]  # fmt: skip


def replications(cases: Sequence[tuple[float, ...]], drawn: Sequence[str]) -> list[tuple[float, ...]]:
    """Return the values of each case, but of one if they are all equal, or the means if the seeds draw nothing.

    One case has no interval: differences between its runs are those of the host.
    """
    if len(set(cases)) == 1:
        return list(cases[:1])
    return list(cases) if drawn else [tuple(map(statistics.fmean, zip(*cases, strict=True)))]


def _over_seeds(labels: Sequence[str], place: int, key: Key, pairs: Sequence[tuple[float, ...]]) -> OverSeeds:
    """Return a quantity by its values under the first policy and under the one at `place`."""
    first, found = zip(*pairs, strict=True)
    ratio = None if place == 0 else paired_ratio_of_means(found, first)
    return OverSeeds(labels[place], *key, mean(found), ratio)


def policy_labels(manifests: Sequence[Manifest]) -> list[str]:
    """Return a label for the policy of each manifest: its name, also the queue where that differs, else numbered."""
    several_queues = len({manifest.queue for manifest in manifests}) > 1
    named = [f"{each.policy} / {each.queue}" if several_queues else each.policy for each in manifests]
    return [
        label if named.count(label) == 1 else f"{label} ({named[: place + 1].count(label)})"
        for place, label in enumerate(named)
    ]
