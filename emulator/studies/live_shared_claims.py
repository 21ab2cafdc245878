"""Claims C41 to C48, on non-dedicated clusters, stated on recorded runs of SIT and DIT on nodes shared in time.

A part compares two runs of the cells that it is about, paired by their seeds, as parts on other campaigns are: one run
of each is divided into batches of jobs, and has one makespan, which decides nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from emulator.fidelity.intervals import Estimate, mean, paired_ratio_of_means
from emulator.model.records import LocalBurstRow
from emulator.policies.names import policy_name, queue_name
from emulator.policies.nodes.compositions import COMPOSITIONS
from emulator.runs.run_directory import read_rows
from emulator.studies.campaign_runs import CampaignRun, independent, paired_by_seed, ratio_of
from emulator.studies.campaign_statements import execution_s, finish_s, missing, response_s, stated
from emulator.studies.shared_claims import LATENCY_CELL, WORKLOADS, latency_claim, shared_claims
from emulator.studies.statements import Claim, ComparedCase, OpenPart, Quantity, RatioPart, ValuePart, WorkloadQueue

Cells = Mapping[WorkloadQueue, Sequence[CampaignRun]]
TIMES: Final = {Quantity.EXECUTION: execution_s, Quantity.TURNAROUND: response_s}


def live_shared_claims(runs: Sequence[CampaignRun]) -> tuple[Claim, ...]:
    """Return C41 to C48, stated on those of `runs` that are of a cell of the study; none if there is no such run."""
    cells: dict[WorkloadQueue, list[CampaignRun]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.seed):
        cell = cell_of(run)
        if cell is not None:
            cells[cell].append(run)
    if not cells:
        return ()
    claims = [Claim(claim.id, claim.source, claim.statement, tuple(_parts(claim, cells))) for claim in shared_claims()]
    with_bursts = cells.get(LATENCY_CELL, ())
    too_few, void = "the runs recorded too few such bursts", any(run.is_void for run in with_bursts)
    return (*claims, latency_claim(_latencies(with_bursts), too_few, void=void))


def cell_of(run: CampaignRun) -> WorkloadQueue | None:
    """Return the workload of a run, with its composition and time-sharing rule; None if the study has no such cell."""
    sharing = run.manifest.topology.time_sharing
    if run.campaign not in WORKLOADS or sharing is None:
        return None
    chosen = policy_name(run.policy), queue_name(run.manifest.queue)
    names = [name for name, found in COMPOSITIONS.items() if found.live_names == chosen]
    return (run.campaign, f"{names[0]}/{sharing.rule}") if names else None


def _parts(claim: Claim, cells: Cells) -> Iterator[ValuePart | OpenPart]:
    for part in claim.parts:
        assert isinstance(part, RatioPart)
        (above,), (below,) = part.ratio.above, part.ratio.below
        first, second = (list(cells.get((case.workload, case.queue), ())) for case in (above, below))
        names = {_text(above): first, _text(below): second}
        yield missing(part.says, **names) or stated(
            part.says, _ratio(above.quantity, first, second), part.range.low, part.range.high, (*first, *second)
        )


def _text(case: ComparedCase) -> str:
    return f"{case.workload} under {case.queue}"


def _ratio(quantity: Quantity, above: Sequence[CampaignRun], below: Sequence[CampaignRun]) -> Estimate | None:
    if quantity is not Quantity.MAKESPAN:
        return ratio_of(above, TIMES[quantity], below)
    pairs = paired_by_seed(above, finish_s, below, finish_s)
    paired = [(makespan_s(mine), makespan_s(theirs)) for mine, theirs in pairs]
    if len(paired) == 1:
        return Estimate(paired[0][0] / paired[0][1], None, None, 1)
    return paired_ratio_of_means([one for one, _ in paired], [other for _, other in paired])


def makespan_s(run: CampaignRun) -> float:
    """Return the time from the first submission to the last end of the jobs that finished, at least one."""
    return max(job.finished_s or 0.0 for job in run.jobs) - min(job.submitted_s for job in run.jobs)


def _latencies(runs: Sequence[CampaignRun]) -> dict[int, Estimate]:
    """Return the mean delay of local users' bursts by the number of tasks beside them, where there are enough."""
    delays_s: dict[int, list[list[float]]] = defaultdict(lambda: [[] for _ in runs])
    for of_run, run in enumerate(runs):
        for burst in read_rows(run.path, LocalBurstRow):
            delays_s[burst.beside][of_run].append(burst.delay_s)
    found = {beside: independent(of_runs) for beside, of_runs in delays_s.items()}
    return {beside: mean(values) for beside, values in found.items() if len(values) > 1}
