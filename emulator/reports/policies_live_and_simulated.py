"""The policies of a campaign, live and simulated, over the seeds that all of them have: means, ratios, agreement.

A seed counts if each policy has a live run of it that counts, and a simulation of that run that is not void. Times are
those of the jobs that finished under every policy, live and simulated. So all numbers of a table are of the same jobs.

A ratio to the first policy is the mean of the ratios of the single seeds, with Student's t over them. This differs from
`policies_over_seeds`, which divides the means over all seeds: only ratios of single seeds can be compared, live and
simulated, seed by seed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from emulator.fidelity.intervals import Estimate, mean, mean_of_paired_ratios
from emulator.fidelity.judgement import Judgement
from emulator.reports.compared_runs import Comparison
from emulator.reports.errors_over_seeds import ComparedFolders
from emulator.reports.policies_over_seeds import COMPARED, Case, Key, policy_labels, replications, values_of
from emulator.runs.same_campaign import assumptions_of, campaign_of, scheduling_of
from emulator.runs.seeds import case_of, drawn_in, same_jobs_in_words

_ByCase = Mapping[Case, Sequence[Comparison]]
_Ratios = tuple[Estimate | None, Estimate | None, Estimate | None]
"""The ratio to the first policy live and simulated, and the simulated one over the live one."""


@dataclass(frozen=True, slots=True)
class PolicyOnBothSides:
    """A quantity under a policy, live and simulated: the means over seeds, and the ratios to the first policy.

    Each ratio is the mean of the ratios of the single seeds. `agreement` is such a mean of the simulated ratio over the
    live one. All three are None for the first policy, and where it has a value that is not positive.
    """

    policy: str
    name: str
    statistic: str
    live: Estimate
    simulated: Estimate
    live_ratio: Estimate | None
    simulated_ratio: Estimate | None
    agreement: Estimate | None

    @property
    def same_order(self) -> bool | None:
        """Whether live and simulated the same policy has the lower value; None if an interval does not tell."""
        live, simulated = _is_above_one(self.live_ratio), _is_above_one(self.simulated_ratio)
        return None if live is None or simulated is None else live == simulated


@dataclass(frozen=True, slots=True)
class PoliciesOnBothSides:
    """A campaign under several `policies`, the first of which the others are compared with, over their common `seeds`.

    `left_out` are the seeds that not all policies have. Without a common seed there are no quantities. `drawn` is what
    the seeds draw, in words; if it is nothing, they are one case.
    """

    label: str
    policies: tuple[str, ...]
    seeds: tuple[int, ...]
    left_out: tuple[int, ...]
    quantities: tuple[PolicyOnBothSides, ...]
    drawn: tuple[str, ...]

    @property
    def remark(self) -> str:
        """A sentence if the jobs are the same with every seed; else empty."""
        return same_jobs_in_words(self.label, self.drawn)


def policies_on_both_sides(folders: ComparedFolders) -> list[PoliciesOnBothSides]:
    """Compare the policies of each campaign in `folders` that has several, live and simulated.

    Simulations that assume something else are put together apart.
    """
    found: dict[tuple[str, str], dict[tuple[str, str, str], list[Comparison]]] = {}
    for comparison in (run for campaign in folders.campaigns for run in campaign.runs):
        assumed = json.dumps(assumptions_of(comparison.simulated.manifest), sort_keys=True)
        policies = found.setdefault((campaign_of(comparison.live.manifest), assumed), {})
        policies.setdefault(scheduling_of(comparison.live.manifest), []).append(comparison)
    return [_put_together(list(policies.values())) for policies in found.values() if len(policies) > 1]


def _put_together(policies: Sequence[Sequence[Comparison]]) -> PoliciesOnBothSides:
    manifests = [of_policy[0].live.manifest for of_policy in policies]
    labels, drawn = policy_labels(manifests), drawn_in(manifests)
    by_case = [_by_case(of_policy) for of_policy in policies]
    every = {case_of(comparison.live.manifest) for of_policy in policies for comparison in of_policy}
    cases = set.intersection(*(set(of_policy) for of_policy in by_case))
    values = [_values(case, by_case) for case in sorted(cases)]
    quantities = [
        _on_both_sides(labels, place, key, values, drawn)
        for key in COMPARED
        if values and all(key in found for of_case in values for found in of_case)
        for place in range(len(policies))
    ]
    seeds, left_out = (tuple(seed for seed, _ in sorted(found)) for found in (cases, every - cases))
    return PoliciesOnBothSides(manifests[0].name, tuple(labels), seeds, left_out, tuple(quantities), drawn)


def _by_case(comparisons: Iterable[Comparison]) -> dict[Case, list[Comparison]]:
    """Return the comparisons of each seed; those with a void simulation do not count."""
    found: dict[Case, list[Comparison]] = {}
    for comparison in comparisons:
        if comparison.simulated.manifest.verdict != Judgement.VOID:
            found.setdefault(case_of(comparison.live.manifest), []).append(comparison)
    return found


def _values(case: Case, policies: Sequence[_ByCase]) -> list[dict[Key, float]]:
    """Return the quantities with one seed: live under each policy, and then simulated under each."""
    live = [[comparison.live for comparison in of_policy[case]] for of_policy in policies]
    simulated = [[comparison.simulated for comparison in of_policy[case]] for of_policy in policies]
    return values_of([*live, *simulated])


def _on_both_sides(
    labels: Sequence[str],
    place: int,
    key: Key,
    values: Sequence[Sequence[Mapping[Key, float]]],
    drawn: Sequence[str],
) -> PolicyOnBothSides:
    places = (0, place, len(labels), len(labels) + place)
    cases = replications([tuple(of_case[at][key] for at in places) for of_case in values], drawn)
    live_first, live, simulated_first, simulated = map(list, zip(*cases, strict=True))
    ratios: _Ratios = (None, None, None) if place == 0 else _ratios(live_first, live, simulated_first, simulated)
    return PolicyOnBothSides(labels[place], *key, mean(live), mean(simulated), *ratios)


def _ratios(
    live_first: Sequence[float], live: Sequence[float], simulated_first: Sequence[float], simulated: Sequence[float]
) -> _Ratios:
    live_ratio = mean_of_paired_ratios(live, live_first)
    simulated_ratio = mean_of_paired_ratios(simulated, simulated_first)
    if live_ratio is None or simulated_ratio is None:
        return live_ratio, simulated_ratio, None
    of_seeds_live = [above / under for above, under in zip(live, live_first, strict=True)]
    of_seeds_simulated = [above / under for above, under in zip(simulated, simulated_first, strict=True)]
    return live_ratio, simulated_ratio, mean_of_paired_ratios(of_seeds_simulated, of_seeds_live)


def _is_above_one(ratio: Estimate | None) -> bool | None:
    """Return whether a ratio is larger than 1; None if its interval holds 1, or there is none."""
    if ratio is None or ratio.low is None or ratio.high is None or ratio.low <= 1 <= ratio.high:
        return None
    return ratio.low > 1
