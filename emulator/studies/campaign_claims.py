"""Claims C29 to C40, of the papers on campaigns, decided by recorded runs.

Live and simulated runs are never mixed: each claim is decided once for each kind of run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.records import RunKind
from emulator.runs.timelines import Timelines
from emulator.studies.campaign_runs import CampaignRun
from emulator.studies.claims import DecidedClaim, decide
from emulator.studies.file_claims import W30, W50, file_claims
from emulator.studies.placement_claims import W1, W2, placement_claims

PUBLISHED: Final = frozenset((W1, W2, W30, W50))
"""The campaigns that the claims are about, by their names."""


def decided_claims(runs: Sequence[Timelines]) -> list[DecidedClaim]:
    """Return the claims with their decisions, in order; `at` is the kind of the runs that decided them.

    Raises:
        InvalidInput: if `objection` has one.
    """
    against = objection(runs)
    if against is not None:
        raise InvalidInput(against)
    decided: list[DecidedClaim] = []
    factors = [row for run in runs for row in run.records.extension_factors]
    kinds = list(dict.fromkeys(run.records.manifest.kind for run in runs))
    for kind in [kind for kind in kinds if kind is not RunKind.MEASUREMENT] or kinds[:1]:
        of_kind = [CampaignRun(run) for run in runs if run.records.manifest.kind is kind]
        found = (*placement_claims(of_kind, factors), *file_claims(of_kind))
        decided += [decide(claim, at=kind.value) for claim in found]
    return sorted(decided, key=lambda claim: claim.claim.id)


def objection(runs: Sequence[Timelines]) -> str | None:
    """Return why `runs` cannot decide claims together: repeats would count twice, unlike ones give no mean."""
    return repeated_case(runs) or unlike_runs(runs)


def unlike_runs(runs: Sequence[Timelines]) -> str | None:
    """Return a sentence about two runs of published campaigns that differ in more than their case and seed."""
    seen: dict[tuple[object, ...], tuple[Timelines, object]] = {}
    for run in (CampaignRun(of_any) for of_any in runs):
        manifest = run.timelines.records.manifest
        if run.campaign not in PUBLISHED:
            continue
        kind, band = manifest.kind, run.timelines.band
        is_further = run.is_heavy and run.campaign in (W30, W50)
        held = "none" if band is None else f"{band[0]:.0%} to {band[1]:.0%}"
        settings: dict[tuple[object, ...], object] = {
            (kind, "time scale"): f"{manifest.time_scale:g}",
            (kind, run.campaign, "queue"): manifest.queue,
            (kind, run.campaign, "topology"): manifest.topology.name,
            (kind, run.campaign, "number of jobs"): manifest.jobs,
            **({} if is_further else {(kind, run.campaign, "background load"): held}),
        }
        for setting, value in settings.items():
            first, expected = seen.setdefault(setting, (run.timelines, value))
            if value != expected:
                return (
                    f"{run.timelines.records.path}: has {setting[-1]} {value}, and {first.records.path} has "
                    f"{expected}: give runs that are alike but for their policy, replicas and seed."
                )
    return None


def repeated_case(runs: Sequence[Timelines]) -> str | None:
    """Return a sentence about two runs that are of one case of a published campaign and one seed; None without any."""
    seen: dict[tuple[object, ...], CampaignRun] = {}
    for run in (CampaignRun(of_any) for of_any in runs):
        kind = run.timelines.records.manifest.kind
        case = (kind, run.campaign, run.policy, run.replicas, run.timelines.band, run.seed)
        if case in seen:
            return (
                f"{run.timelines.records.path}: is a run of the same campaign, policy and seed as "
                f"{seen[case].timelines.records.path}: give one of them, or runs of other seeds."
            )
        if run.campaign in PUBLISHED:
            seen[case] = run
    return None
