"""Claims C29 to C48, of the papers on campaigns and on non-dedicated clusters, decided by recorded runs.

Live and simulated runs are never mixed: each claim is decided once for each kind of run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final

from emulator.model.cell_rows import ExtensionFactorRow
from emulator.model.errors import InvalidInput
from emulator.model.records import Manifest, RunKind
from emulator.runs.same_campaign import assumptions_of, clusters_of, system_of
from emulator.runs.timelines import Timelines
from emulator.studies.campaign_runs import CampaignRun
from emulator.studies.claims import DecidedClaim, decide
from emulator.studies.file_claims import W30, W50, file_claims
from emulator.studies.live_shared_claims import cell_of, live_shared_claims
from emulator.studies.placement_claims import W1, W2, execution_claim, placement_claims
from emulator.studies.shared_claims import WORKLOADS
from emulator.studies.statements import Claim

PUBLISHED: Final = frozenset((W1, W2, W30, W50))
"""The campaigns that the claims are about, by their names."""

_DIGITS: Final = 8
"""How many digits tell two topologies of one name apart."""


def decided_claims(timelines: Iterable[Timelines]) -> list[DecidedClaim]:
    """Return the claims with their decisions, in order; `at` is the kind of the runs that decided them.

    Only what claims need of each run is kept in memory.

    Raises:
        InvalidInput: if a run would count twice, or runs are too unlike for a mean.
    """
    runs = [CampaignRun.of(run) for run in timelines]
    against = repeated_case(runs) or unlike_runs(runs)
    if against is not None:
        raise InvalidInput(against)
    decided: list[DecidedClaim] = []
    factors = [row for run in runs for row in run.factors]
    for kind in _deciding_kinds(runs):
        found = _claims([run for run in runs if run.manifest.kind is kind], kind, factors)
        decided += [decide(claim, at=kind.value) for claim in found]
    return sorted(decided, key=lambda claim: claim.claim.id)


def _deciding_kinds(runs: Sequence[CampaignRun]) -> list[RunKind]:
    """Return the kinds of `runs` that decide claims of their own: measurements are part of what live campaigns show."""
    kinds = list(dict.fromkeys(run.manifest.kind for run in runs))
    if RunKind.CAMPAIGN in kinds:
        return [kind for kind in kinds if kind is not RunKind.MEASUREMENT]
    return kinds


def _claims(runs: Sequence[CampaignRun], kind: RunKind, factors: Sequence[ExtensionFactorRow]) -> tuple[Claim, ...]:
    """Return the claims stated on `runs` of one kind: without those on campaigns if only shared nodes are about.

    Measured `factors` are live values, so simulations are not judged by them.
    """
    if kind is RunKind.MEASUREMENT:
        return (execution_claim((), factors),)
    shared = live_shared_claims(runs)
    if shared and not any(run.campaign in PUBLISHED for run in runs):
        return shared
    live = factors if kind is RunKind.CAMPAIGN else ()
    return (*placement_claims(runs, live), *file_claims(runs), *shared)


def unlike_runs(runs: Sequence[CampaignRun]) -> str | None:
    """Return a sentence about two runs of published campaigns that differ in more than their case and seed."""
    seen: dict[tuple[object, ...], tuple[CampaignRun, object]] = {}
    for run in runs:
        for setting, value in _settings(run).items():
            first, expected = seen.setdefault(setting, (run, value))
            if value != expected:
                return (
                    f"{run.path}: has {setting[-1]} {_in_words(value)}, and {first.path} has "
                    f"{_in_words(expected)}: give runs that are alike but for their policy, replicas and seed."
                )
    return None


def _settings(run: CampaignRun) -> dict[tuple[object, ...], object]:
    """Return what other runs must share with `run`; none for a run that no claim is about.

    A key is the kind and, where only runs of the same campaign must share it, the campaign, and then what it is called.
    W1 is compared with W2, and W30 with W50, so the assumptions of simulations are those of both.
    """
    manifest, kind, cell = run.manifest, run.manifest.kind, cell_of(run)
    if run.campaign not in PUBLISHED and cell is None:
        return {}
    settings: dict[tuple[object, ...], object] = {
        (kind, "time scale"): f"{manifest.time_scale:g}",
        (kind, run.campaign, "number of jobs"): manifest.jobs,
        (kind, run.campaign, "interarrival time"): _mean_interarrival(manifest),
        (kind, run.campaign, "quota"): manifest.workload.get("quota"),
    }
    if cell is None:
        settings[kind, run.campaign, "queue"] = manifest.queue
        settings[kind, run.campaign, "topology"] = manifest.topology.name
        if not (run.is_heavy and run.campaign in (W30, W50)):
            held = None if run.band is None else f"{run.band[0]:.0%} to {run.band[1]:.0%}"
            settings[kind, run.campaign, "background load"] = held
        compared = (W30, W50) if run.campaign in (W30, W50) else (W1, W2)
        for name, value in assumptions_of(manifest).items():
            settings[kind, compared, name.replace("_", " ")] = value
    settings[kind, run.campaign, "clusters"] = dict(clusters_of(manifest))
    if cell is None:
        settings[kind, run.campaign, "details of the topology (digest)"] = _digest(system_of(manifest))
    else:
        # Claims compare SIT with DIT, too.
        details = "details of the topology besides its rule (digest)"
        settings[kind, WORKLOADS, details] = _digest(_shared_system(manifest))
    return settings


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGITS]


def _shared_system(manifest: Manifest) -> str:
    """Return, as text, what must be alike in all runs of a cell: the system without its name and time-sharing rule."""
    topology = manifest.topology
    sharing = topology.time_sharing
    without_rule = None if sharing is None else sharing.model_copy(update={"rule": ""})
    changes = {"name": "", "time_sharing": without_rule}
    return system_of(manifest.model_copy(update={"topology": topology.model_copy(update=changes)}))


def _in_words(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {stated}" for name, stated in value.items())
    return "none" if value is None else str(value)


def _mean_interarrival(manifest: Manifest) -> str:
    """Return the mean time between arrivals to three digits: a factor and a stated mean may differ in the next ones."""
    interarrival = manifest.workload.get("interarrival")
    mean_s = interarrival.get("mean_s") if isinstance(interarrival, dict) else None
    return "unknown" if mean_s is None else f"{mean_s:.3g} s"


def repeated_case(runs: Sequence[CampaignRun]) -> str | None:
    """Return a sentence about two runs that are of one case of a published campaign and one seed; None without any."""
    seen: dict[tuple[object, ...], CampaignRun] = {}
    for run in runs:
        kind = run.manifest.kind
        cell = cell_of(run)
        case = (kind, cell or (run.campaign, run.policy, run.replicas, run.band), run.seed)
        if case in seen:
            return (
                f"{run.path}: is a run of the same campaign, policy and seed as "
                f"{seen[case].path}: give one of them, or runs of other seeds."
            )
        if run.campaign in PUBLISHED or cell is not None:
            seen[case] = run
    return None
