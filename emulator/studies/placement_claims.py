"""Claims C29 to C34, on communication-aware placement (W1 and W2 under WF, CM and FCM), stated on recorded runs."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from emulator.fidelity.intervals import Estimate, ratio_of_means
from emulator.model.cell_rows import ExtensionFactorRow
from emulator.model.records import JobRow
from emulator.runs.equal_jobs import but_for_its_length
from emulator.studies.campaign_runs import CampaignRun, difference_over, of_case, ratio_of
from emulator.studies.campaign_statements import (
    StatedPart,
    clusters_combined,
    execution_s,
    less,
    missing,
    more,
    overhead_s,
    queue_s,
    response_s,
    stated,
    wait_s,
)
from emulator.studies.statements import MUCH, Claim, OpenPart, Range, ValuePart

W1: Final = "w1"
W2: Final = "w2"
POLICIES: Final = ("wf", "cm", "fcm")
APPLICATIONS: Final = ("laplace", "heat")
MARKEDLY: Final = 1 / MUCH
"""*Rises markedly*: by more than a fifth, from the fewest to the most clusters."""

SIMILAR_QUEUES: Final = 0.1
"""Queue times are similar if they differ by less than this share of WF's response time."""

DOMINATES: Final = 0.5
"""What dominates the wait is more than this share of it."""


def placement_claims(runs: Sequence[CampaignRun], factors: Sequence[ExtensionFactorRow]) -> tuple[Claim, ...]:
    """Return C29 to C34, stated on `runs` and on measured `factors`."""
    cases = {(campaign, policy): of_case(runs, campaign, policy) for campaign in (W1, W2) for policy in POLICIES}
    every = [run for of_this in cases.values() for run in of_this]
    return (
        execution_claim(every, factors),
        Claim("C30", "CA Fig. 7a, b", "Response and wait: FCM below CM below WF, in W1 and W2.",
              tuple(_order(cases))),
        Claim("C31", "CA Fig. 7c-e", "Execution time and clusters combined grow from W1 to W2; FCM and CM are below "
              "WF; FCM uses more clusters than CM in W2.", tuple(_growth(cases))),
        Claim("C32", "CA Fig. 7f", "Queue times are similar in W1; FCM's is much the lowest in W2.",
              tuple(_queues(cases))),
        Claim("C33", "CA Fig. 7", "The wait is dominated by overhead in W1, by queueing in W2.",
              tuple(_dominance(cases))),
        Claim("C34", "CA Fig. 8", "Overhead grows with the number of components, and with contention.",
              tuple(_overheads(every))),
    )  # fmt: skip


def execution_claim(runs: Sequence[CampaignRun], factors: Sequence[ExtensionFactorRow]) -> Claim:
    """Return C29, stated on `runs` of W1 and W2 and on measured `factors`."""
    parts = (*_measured_factors(factors), *_by_clusters(runs))
    nothing = "no run of W1 or W2 with jobs of Laplace or Heat over several numbers of clusters, nor measured factors"
    return Claim(
        "C29", "CA Fig. 5", "Execution time rises markedly with the clusters combined.",
        parts or (OpenPart("execution time by clusters", nothing),),
    )  # fmt: skip


Cases = Mapping[tuple[str, str], Sequence[CampaignRun]]


def _measured_factors(factors: Sequence[ExtensionFactorRow]) -> Iterator[StatedPart]:
    """State the factor of each problem over the most clusters on which it was measured."""
    # In one cluster a factor is 1 by definition, or that of the interconnect alone.
    coallocated = [row for row in factors if row.application in APPLICATIONS and row.clusters > 1]
    by_problem: dict[tuple[str, int | None, int], list[ExtensionFactorRow]] = defaultdict(list)
    for row in coallocated:
        if row.extension_factor is not None:
            by_problem[row.application, row.grid, row.processors].append(row)
    for (application, grid, processors), measured in by_problem.items():
        most = max(row.clusters for row in measured)
        problem = application if grid is None else f"{application} grid {grid}"
        says = f"measured factor of {problem} on {processors} processors in {most} clusters, above {MARKEDLY:g}"
        for row in measured:
            if row.clusters == most:
                value = Estimate(row.extension_factor or math.nan, row.ci_low, row.ci_high, row.n)
                yield ValuePart(says, value, Range(MARKEDLY), void=row.verdict == "void" or row.ci_low is None)


def _by_clusters(runs: Sequence[CampaignRun]) -> Iterator[StatedPart]:
    by_job: dict[tuple[str, str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for job in (job for run in runs for job in run.jobs):
        if job.application in APPLICATIONS and job.clusters is not None and job.execution_time_s is not None:
            arguments, length = but_for_its_length(job)
            by_job[job.application, arguments, job.processors][job.clusters].append(job.execution_time_s / length)
    for (application, _, processors), by_clusters in sorted(by_job.items()):
        numbers = sorted(by_clusters)
        if len(numbers) > 1:
            fewest, most = numbers[0], numbers[-1]
            says = f"{application} on {processors} processors: {most} clusters over {fewest}, above {MARKEDLY:g}"
            ratio = ratio_of_means(by_clusters[most], by_clusters[fewest])
            yield stated(says, ratio, MARKEDLY, math.inf, runs)


def _order(cases: Cases) -> Iterator[StatedPart]:
    for campaign in (W1, W2):
        for name, value in (("response", response_s), ("wait", wait_s)):
            for lower, higher in (("fcm", "cm"), ("cm", "wf")):
                says = f"{campaign.upper()}, {name}: {lower} < {higher}"
                yield less(says, value, cases[campaign, lower], cases[campaign, higher])


def _growth(cases: Cases) -> Iterator[StatedPart]:
    quantities = (("execution", execution_s), ("clusters combined", clusters_combined))
    for name, value in quantities:
        for policy in POLICIES:
            yield more(f"{policy}, {name}: W2 > W1", value, cases[W2, policy], cases[W1, policy])
        for campaign in (W1, W2):
            for policy in ("fcm", "cm"):
                says = f"{campaign.upper()}, {name}: {policy} < wf"
                yield less(says, value, cases[campaign, policy], cases[campaign, "wf"])
    yield more("W2, clusters combined: fcm > cm", clusters_combined, cases[W2, "fcm"], cases[W2, "cm"])


def _queues(cases: Cases) -> Iterator[StatedPart]:
    for policy in ("cm", "fcm"):
        says = f"W1, queue time: {policy} and wf differ by less than {SIMILAR_QUEUES:.0%} of wf's response time"
        mine, others = cases[W1, policy], cases[W1, "wf"]
        yield missing(says, W1_under_it=mine, W1_under_wf=others) or stated(
            says, difference_over(mine, others, queue_s, response_s), -SIMILAR_QUEUES, SIMILAR_QUEUES, (*mine, *others)
        )
    for policy in ("cm", "wf"):
        yield less(f"W2, queue time: fcm < {policy} × {MUCH:.3g}", queue_s, cases[W2, "fcm"], cases[W2, policy], MUCH)


def _dominance(cases: Cases) -> Iterator[StatedPart]:
    for campaign, name, value in ((W1, "overhead", overhead_s), (W2, "queue time", queue_s)):
        for policy in POLICIES:
            runs = cases[campaign, policy]
            says = f"{campaign.upper()}, {policy}: {name} over wait, above {DOMINATES:g}"
            yield missing(says, it=runs) or stated(says, ratio_of(runs, value, runs, wait_s), DOMINATES, math.inf, runs)


def _overheads(runs: Sequence[CampaignRun]) -> Iterator[StatedPart]:
    by_components: dict[int, list[float]] = defaultdict(list)
    for job in (job for run in runs for job in run.jobs if job.overhead_s is not None):
        by_components[len(job.execution_clusters)].append(job.overhead_s or 0.0)
    numbers = sorted(by_components)
    for fewer, many in pairwise(numbers):
        ratio = ratio_of_means(by_components[many], by_components[fewer])
        yield stated(f"overhead: {many} components over {fewer}, above 1", ratio, 1.0, math.inf, runs)
    if len(numbers) < 2:
        yield OpenPart("overhead by components", "no runs of W1 or W2 with different numbers of components")
    says = "overhead of jobs placed while others start, over that of jobs that start alone, above 1"
    crowded, alone = _by_contention(runs)
    yield (
        stated(says, ratio_of_means(crowded, alone), 1.0, math.inf, runs)
        if crowded and alone
        else OpenPart(says, "no run of W1 or W2 in which some jobs start together and others alone")
    )


def _by_contention(runs: Sequence[CampaignRun]) -> tuple[list[float], list[float]]:
    """Return overheads, over the mean of jobs with as many components, of jobs placed beside others and alone."""
    crowded: list[float] = []
    alone: list[float] = []
    for run in runs:
        usual = _usual_overheads(run.jobs)
        starting = [job for job in run.jobs if job.placed_s is not None and job.started_s is not None]
        begins = sorted(job.placed_s or 0.0 for job in starting)
        ends = sorted(job.started_s or 0.0 for job in starting)
        for job in starting:
            at_s = job.placed_s or 0.0
            beside = bisect_right(begins, at_s) - bisect_left(ends, at_s) - 1
            relative = (job.overhead_s or 0.0) / (usual[len(job.execution_clusters)] or 1.0)
            (crowded if beside > 0 else alone).append(relative)
    return crowded, alone


def _usual_overheads(jobs: Sequence[JobRow]) -> dict[int, float]:
    found: dict[int, list[float]] = defaultdict(list)
    for job in jobs:
        found[len(job.execution_clusters)].append(job.overhead_s or 0.0)
    return {components: sum(values) / len(values) for components, values in found.items()}
