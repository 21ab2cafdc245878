"""Claims C35 to C40, on Close-to-Files (W30 and W50, one or three replicas of each file), stated on recorded runs.

Utilization is counted from the first tenth of the arrivals to the last one. The papers' shares of utilization are read
with the margin of a twentieth that the other studies use.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from emulator.fidelity.intervals import Estimate, mean, ratio_of_means
from emulator.model.counts import number_of
from emulator.model.records import JobRow
from emulator.runs.timelines import BACKGROUND, COALLOCATION, PGT, PWT
from emulator.studies.campaign_runs import (
    HEAVY_BACKGROUNDS,
    CampaignRun,
    JobValue,
    mean_of,
    mean_share,
    of_case,
    ratio_of_shares,
    values_of,
)
from emulator.studies.campaign_statements import (
    StatedPart,
    about,
    claiming_tries,
    less,
    missing,
    placement_tries,
    stated,
    transfer_s,
    wait_s,
)
from emulator.studies.statements import ABOUT_RESPONSE, ABOUT_UTILIZATION, Claim, OpenPart

W30: Final = "w30"
W50: Final = "w50"
POLICIES: Final = ("cf", "wf")
REPLICAS: Final = (1, 3)
SHORT_QUEUE: Final = 10
"""The longest queue of W30, and the waiting jobs at the end above which a system is saturated."""

INCLUDED: Final = 1 + 1e-9
"""A range excludes its ends, and *at most* does not: the end times this is just beyond it."""

LONG_QUEUE: Final = 40
"""*To 30*: a queue of W50 grows beyond that of W30, and stays below this."""

FEW_TRIES: Final = 2.0
CLOSE_TO_ONE: Final = 1.1
GAINED_PER_WASTED: Final = 3.0
"""PGT over PWT if the first claiming try succeeds at three quarters of the transfer time."""

WELL_BELOW_SHARE: Final = 0.4 / (1 + ABOUT_UTILIZATION)

Runs = Sequence[CampaignRun]


def file_claims(runs: Runs) -> tuple[Claim, ...]:
    """Return C35 to C40, stated on `runs`; only C40 is about those under a heavy background."""
    usual = [run for run in runs if not run.is_heavy]
    return (
        Claim("C35", "CF Fig. 3", "W30: total utilization is about 70% in all four cases, the queue has at most 10 "
              "jobs, the system is stable.", tuple(_stable(usual))),
        Claim("C36", "CF Fig. 4", "FTT: CF below WF with and without replication; replication cuts CF's; CF with "
              "replication is best.", tuple(_transfers(usual))),
        Claim("C37", "CF Fig. 4", "Wait time and placement tries grow with the number and the size of components.",
              tuple(_growth(usual))),
        Claim("C38", "CF Fig. 5", "Claiming tries are few; where they are close to one, PGT is about three times PWT.",
              tuple(_claiming(usual))),
        Claim("C39", "CF Figs. 6-8", "W50: total 70 to 80%, co-allocation well below 40%, a queue of up to 30, "
              "saturated; FTT of CF about that of WF; few claiming tries.", tuple(_saturated(usual))),
        Claim("C40", "CF Figs. 9, 10", "Background of 50 and 60%: saturated, total 75 to 80%, few claiming tries; more "
              "tries move PWT into PGT.", tuple(_heavy(runs))),
    )  # fmt: skip


def _cases(runs: Runs, campaign: str) -> Iterator[tuple[str, Runs]]:
    for policy in POLICIES:
        for replicas in REPLICAS:
            name = f"{campaign.upper()}, {policy}, {number_of(replicas, 'replica')}"
            yield name, of_case(runs, campaign, policy, replicas)


def _by_replicas(name: str, runs: Runs) -> Sequence[tuple[str, Runs]]:
    """Return the cases among `runs` by their number of replicas, with names; one without runs if there is none."""
    cases = {replicas: [run for run in runs if run.replicas == replicas] for replicas in REPLICAS}
    given = [(f"{name}, {number_of(replicas, 'replica')}", of_this) for replicas, of_this in cases.items() if of_this]
    return given or [(name, [])]


def _total(says: str, runs: Runs, low: float, high: float) -> StatedPart:
    """State the real total utilization; without a recorded background load the part is open."""
    says = f"{says}, total utilization, {low:.0%} to {high:.0%}"
    if not any(run.has_background for run in runs):
        share = mean_share(runs, BACKGROUND, COALLOCATION, PWT)
        found = "" if share is None else f" ({share.value:.1%} without it)"
        return OpenPart(says, f"the runs had no background load{found}")
    return stated(says, mean_share(runs, BACKGROUND, COALLOCATION, PWT), low, high, runs)


def _about_share(low: float, high: float) -> tuple[float, float]:
    return low / (1 + ABOUT_UTILIZATION), high * (1 + ABOUT_UTILIZATION)


def _longest(runs: Runs) -> Estimate:
    """Return the mean of the longest queues of runs: the longest of all would grow with their number."""
    return mean([float(run.longest_queue) for run in runs])


def _left(runs: Runs) -> Estimate:
    return mean([run.waiting_at_last_arrival for run in runs])


def _stable(runs: Runs) -> Iterator[StatedPart]:
    for name, of_this in _cases(runs, W30):
        if (without := missing(name, it=of_this)) is not None:
            yield without
            continue
        yield _total(name, of_this, *_about_share(0.7, 0.7))
        at_most = SHORT_QUEUE * INCLUDED
        says = f"{name}, mean longest queue, at most {SHORT_QUEUE}"
        yield stated(says, _longest(of_this), -math.inf, at_most, of_this)
        says = f"{name}, jobs waiting at the end of the arrivals, at most {SHORT_QUEUE}"
        yield stated(says, _left(of_this), -math.inf, at_most, of_this)


def _transfers(runs: Runs) -> Iterator[StatedPart]:
    cases = {(policy, replicas): of_case(runs, W30, policy, replicas) for policy in POLICIES for replicas in REPLICAS}
    for lower, higher in (
        (("cf", 1), ("wf", 1)), (("cf", 3), ("wf", 3)), (("cf", 3), ("cf", 1)), (("cf", 3), ("wf", 1)),
    ):  # fmt: skip
        says = f"W30, FTT: {lower[0]} with {lower[1]} < {higher[0]} with {higher[1]}"
        yield less(says, transfer_s, cases[lower], cases[higher])


def _components(job: JobRow) -> int:
    return len(job.components)


def _size(job: JobRow) -> int:
    return max(job.components)


def _growth(runs: Runs) -> Iterator[StatedPart]:
    cases = [case for policy in POLICIES for case in _by_replicas(f"W30, {policy}", of_case(runs, W30, policy))]
    for name, of_this in cases:
        for quantity, value in (("wait time", wait_s), ("placement tries", placement_tries)):
            for group, of_job in (("components", _components), ("processors in each", _size)):
                yield from _rising(f"{name}, {quantity}", value, group, of_job, of_this)


def _rising(
    says: str, value: JobValue, group: str, of_job: Callable[[JobRow], int], runs: Runs
) -> Iterator[StatedPart]:
    if (without := missing(f"{says} by {group}", it=runs)) is not None:
        yield without
        return
    by_number: dict[int, list[float]] = defaultdict(list)
    for job in (job for run in runs for job in run.jobs):
        found = value(job)
        if found is not None:
            by_number[of_job(job)].append(found)
    for fewer, many in pairwise(sorted(by_number)):
        ratio = ratio_of_means(by_number[many], by_number[fewer])
        yield stated(f"{says}: {many} {group} over {fewer}, above 1", ratio, 1, math.inf, runs)


def _few_tries(name: str, runs: Runs) -> StatedPart:
    says = f"{name}, mean claiming tries, below {FEW_TRIES:g}"
    return missing(says, it=runs) or stated(says, mean_of(runs, claiming_tries), 0, FEW_TRIES, runs)


def _claiming(runs: Runs) -> Iterator[StatedPart]:
    for name, of_this in _cases(runs, W30):
        yield _few_tries(name, of_this)
        tries = mean_of(of_this, claiming_tries) if of_this else None
        if tries is not None and tries.value <= CLOSE_TO_ONE:
            margin = 1 + ABOUT_RESPONSE
            says = f"{name}, PGT over PWT, {GAINED_PER_WASTED:g} within {ABOUT_RESPONSE:.0%}"
            ratio = ratio_of_shares(of_this, PGT, PWT)
            yield stated(says, ratio, GAINED_PER_WASTED / margin, GAINED_PER_WASTED * margin, of_this)


def _saturated(runs: Runs) -> Iterator[StatedPart]:
    for name, of_this in _cases(runs, W50):
        if (without := missing(name, it=of_this)) is not None:
            yield without
            continue
        yield _total(name, of_this, *_about_share(0.7, 0.8))
        says = f"{name}, co-allocation, below {WELL_BELOW_SHARE:.0%}"
        yield stated(says, mean_share(of_this, COALLOCATION), -1, WELL_BELOW_SHARE, of_this)
        says = f"{name}, mean longest queue, above {SHORT_QUEUE} and below {LONG_QUEUE}"
        yield stated(says, _longest(of_this), SHORT_QUEUE, LONG_QUEUE, of_this)
        yield _saturation(name, of_this)
        yield _few_tries(name, of_this)
    for replicas in REPLICAS:
        cases = [of_case(runs, W50, policy, replicas) for policy in POLICIES]
        says = f"W50, FTT with {replicas}: cf ≈ wf within {ABOUT_RESPONSE:.0%}"
        yield about(says, transfer_s, cases[0], cases[1], ABOUT_RESPONSE)


def _saturation(name: str, runs: Runs) -> StatedPart:
    says = f"{name}, jobs waiting at the end of the arrivals, more than {SHORT_QUEUE}"
    return stated(says, _left(runs), SHORT_QUEUE, math.inf, runs)


def _heavy(runs: Runs) -> Iterator[StatedPart]:
    cases = [
        (f"{name}, background {background:.0%}", of_this)
        for background in HEAVY_BACKGROUNDS
        for name, of_this in _by_replicas("W50, cf", of_case(runs, W50, "cf", background=background))
    ]
    for name, of_this in cases:
        if (without := _without_heavy(name, of_this, runs)) is not None:
            yield without
            continue
        yield _total(name, of_this, *_about_share(0.75, 0.8))
        yield _saturation(name, of_this)
        yield _few_tries(name, of_this)
        yield _moved(name, of_this)


def _without_heavy(name: str, of_this: Runs, runs: Runs) -> OpenPart | None:
    """Return the part as open if it has no run, and why heavy runs are not of it; None if it has one."""
    for run in runs:
        of_neither = run.is_heavy and run.heavy_background is None and (run.campaign, run.policy) == (W50, "cf")
        if not of_this and of_neither and run.band is not None:
            low, high = run.band
            neither = " nor ".join(f"{background:.0%}" for background in HEAVY_BACKGROUNDS)
            band = f"the band of {run.path.name}, {low:.0%} to {high:.0%}"
            return OpenPart(name, f"{band}, stands for neither {neither}: one of the two alone must lie in it")
    return missing(name, it=of_this)


def _moved(name: str, runs: Runs) -> StatedPart:
    """State that a larger share of PGT and PWT is PGT for jobs with several claiming tries.

    Without a transfer (FTT 0) processors are claimed at once, however many tries that takes: such jobs do not count.
    """
    says = f"{name}, PGT over PGT and PWT: jobs with several claiming tries over those with one, above 1"
    many = values_of(runs, _gained_share, lambda job: job.claiming_tries > 1)
    one = values_of(runs, _gained_share, lambda job: job.claiming_tries == 1)
    if not many or not one:
        return OpenPart(says, "no job with a transfer had several claiming tries, or none had one")
    return stated(says, ratio_of_means(many, one), 1, math.inf, runs)


def _gained_share(job: JobRow) -> float | None:
    gained_s, wasted_s = job.processor_gained_time_s, job.processor_wasted_time_s
    if not job.estimated_transfer_s or gained_s is None or wasted_s is None or gained_s + wasted_s <= 0:
        return None
    return gained_s / (gained_s + wasted_s)
