"""Running a study: the search for saturation, simulations at loads chosen from that, and the decision on its claims.

A chart compares policies at the same gross utilization. For response times that is a share of the maximal utilization
of the chart's tightest policy: just below it for the verdicts, well below and just above to show where an ordering
vanishes or flips. Replication number r uses the seed r everywhere, so all ratios are paired.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from emulator.fidelity.intervals import Estimate, mean
from emulator.model.errors import InvalidInput
from emulator.simulator.parallel_simulations import Case, Outcome, ParallelSimulations
from emulator.studies.cases import ResponseCase, SaturationCase
from emulator.studies.catalogue import Measures, Study, claims_about
from emulator.studies.claims import DecidedClaim, decide
from emulator.studies.shared_cases import (
    INTERARRIVAL_FACTORS,
    SHARED_QUANTITIES,
    VARIED_REPLICATIONS,
    interarrival_text,
    shared_case,
)
from emulator.studies.shared_claims import simulated_latency_claim
from emulator.studies.statements import Claim, ComparedCase, Quantity, WorkloadQueue

LOAD_SHARES: Final = (0.85, 0.97, 1.03, 1.06)
"""Loads of response-time studies, as shares of the tightest policy's maximal utilization."""

HEADLINE_SHARE: Final = 0.97
"""The load just below saturation at which such a claim is decided."""

LEAST_ARRIVALS: Final = 1000
UTILIZATION_LOAD: Final = 0.4
SEARCH_REPLICATIONS: Final = 2
CURVE_REPLICATIONS: Final = 2
CURVE_STEP: Final = 0.05
CURVE_FROM: Final = 0.30
LOAD_DECIMALS: Final = 4

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Scale:
    """The size of a study: arrivals per simulation, and replications.

    A study in `steady` state does not count the first arrivals; others simulate a workload from its first job to its
    last.

    Raises:
        InvalidInput: if there are too few of either.
    """

    jobs: int = 50_000
    replications: int = 10
    steady: bool = True

    def __post_init__(self) -> None:
        least = LEAST_ARRIVALS if self.steady else 1
        if self.jobs < least:
            raise InvalidInput(f"--jobs: this study needs at least {least} arrivals per simulation, not {self.jobs}.")
        if self.replications < 2:
            raise InvalidInput(f"--replications: intervals need at least 2, not {self.replications}.")


@dataclass(frozen=True, slots=True)
class Row:
    """The results for a workload under a discipline.

    `at` names the load (a share of the tightest policy's maximum, or empty where the maximum itself was sought);
    `saturated` is the share of the replications that saturated there.
    """

    workload: str
    queue: str
    at: str
    load: float | None
    found: Mapping[Quantity, Estimate]
    saturated: float = 0.0


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A point of a response curve."""

    workload: str
    queue: str
    load: float
    response_s: float
    saturated: bool


@dataclass(frozen=True, slots=True)
class StudyResult:
    """The results of a study: rows, decided claims (at the headline load first), and response curves if it has them."""

    study: Study
    scale: Scale
    headline: str
    rows: tuple[Row, ...]
    claims: tuple[DecidedClaim, ...]
    curves: tuple[CurvePoint, ...] = ()

    @property
    def verdicts(self) -> tuple[DecidedClaim, ...]:
        """The claims as decided at the headline load."""
        return tuple(decided for decided in self.claims if decided.at == self.headline)


def scale_of(study: Study, jobs: int | None = None, replications: int | None = None) -> Scale:
    """Return the size of `study`: what is asked for, else its own.

    Raises:
        InvalidInput: if it is too small.
    """
    steady = study.measures is not Measures.SHARED_NODES
    return Scale(
        study.jobs if jobs is None else jobs, study.replications if replications is None else replications, steady
    )


def conduct(study: Study, scale: Scale, simulations: ParallelSimulations) -> StudyResult:
    """Run `study`; cases in the store of `simulations` are not simulated again.

    Raises:
        TestbedError: what a simulation raised.
    """
    if study.measures is Measures.RESPONSE:
        return _conduct_response(study, scale, simulations)
    if study.measures is Measures.SATURATION:
        return _conduct_saturation(study, scale, simulations)
    if study.measures is Measures.SHARED_NODES:
        return _conduct_shared(study, scale, simulations)
    return _conduct_utilization(study, scale, simulations)


def _conduct_response(study: Study, scale: Scale, simulations: ParallelSimulations) -> StudyResult:
    maxima = _maxima(study, scale, SEARCH_REPLICATIONS, simulations)
    tightest = {
        chart.workload: min(_mean(maxima[chart.workload, queue], Quantity.MAXIMAL_GROSS) for queue in chart.queues)
        for chart in study.charts
    }
    loads = {
        (workload, share): round(share * maximum, LOAD_DECIMALS)
        for workload, maximum in tightest.items()
        for share in LOAD_SHARES
    }
    outcomes = _responses(study.cells, loads, scale, simulations)
    rows: list[Row] = []
    for (workload, queue), share in ((cell, share) for cell in study.cells for share in LOAD_SHARES):
        found = outcomes[workload, queue, share]
        rows.append(_row((workload, queue), _at(share), loads[workload, share], found, _RESPONSE_QUANTITIES))
    claims = claims_about(study.name)
    decided = [
        _decided(claim, _at(share), {cell: outcomes[*cell, share] for cell in study.cells})
        for claim in claims
        for share in sorted(LOAD_SHARES, key=lambda share: share != HEADLINE_SHARE)
    ]
    return StudyResult(study, scale, _at(HEADLINE_SHARE), tuple(rows), tuple(decided))


def _conduct_saturation(study: Study, scale: Scale, simulations: ParallelSimulations) -> StudyResult:
    maxima = _maxima(study, scale, scale.replications, simulations)
    rows = [_row(cell, "", None, maxima[cell], _SATURATION_QUANTITIES) for cell in study.cells]
    decided = [_decided(claim, "", maxima) for claim in claims_about(study.name)]
    return StudyResult(study, scale, "", tuple(rows), tuple(decided), _curves(study, scale, maxima, simulations))


def _conduct_utilization(study: Study, scale: Scale, simulations: ParallelSimulations) -> StudyResult:
    loads = {(chart.workload, UTILIZATION_LOAD): UTILIZATION_LOAD for chart in study.charts}
    outcomes = _responses(study.cells, loads, scale, simulations)
    by_cell = {cell: outcomes[*cell, UTILIZATION_LOAD] for cell in study.cells}
    at = f"at load {UTILIZATION_LOAD:g}"
    rows = [_row(cell, at, UTILIZATION_LOAD, by_cell[cell], (Quantity.GROSS_OVER_NET,)) for cell in study.cells]
    decided = [_decided(claim, at, by_cell) for claim in claims_about(study.name)]
    return StudyResult(study, scale, at, tuple(rows), tuple(decided))


def _conduct_shared(study: Study, scale: Scale, simulations: ParallelSimulations) -> StudyResult:
    """Simulate every cell at each interarrival time; claims are decided at each, as read first."""
    cases = {
        (*cell, factor): [shared_case(cell, factor, scale.jobs, seed) for seed in range(_replications(scale, factor))]
        for factor in INTERARRIVAL_FACTORS
        for cell in study.cells
    }
    found_of = iter(simulations.outcomes([case for each in cases.values() for case in each]))
    outcomes = {key: [next(found_of) for _ in each] for key, each in cases.items()}
    rows = [_row(key[:2], interarrival_text(key[2]), None, outcomes[key], SHARED_QUANTITIES) for key in cases]
    decided: list[DecidedClaim] = []
    for factor in INTERARRIVAL_FACTORS:
        found = {cell: outcomes[*cell, factor] for cell in study.cells}
        claims = (*claims_about(study.name), simulated_latency_claim(found))
        decided += [_decided(claim, interarrival_text(factor), found) for claim in claims]
    decided.sort(key=lambda each: int(each.claim.id[1:]))
    return StudyResult(study, scale, interarrival_text(INTERARRIVAL_FACTORS[0]), tuple(rows), tuple(decided))


def _replications(scale: Scale, factor: float) -> int:
    return scale.replications if factor == INTERARRIVAL_FACTORS[0] else min(scale.replications, VARIED_REPLICATIONS)


_RESPONSE_QUANTITIES: Final = (Quantity.RESPONSE, Quantity.LOCAL_RESPONSE, Quantity.GLOBAL_RESPONSE)
_SATURATION_QUANTITIES: Final = (Quantity.MAXIMAL_GROSS, Quantity.MAXIMAL_NET)


def _at(share: float) -> str:
    return f"at {share:g} of the tightest maximum"


def _maxima(
    study: Study, scale: Scale, replications: int, simulations: ParallelSimulations
) -> dict[WorkloadQueue, list[Outcome]]:
    """Return the maximal utilization of every cell, by replication."""
    cases = [SaturationCase(*cell, scale.jobs, seed) for cell in study.cells for seed in range(replications)]
    return _grouped(study.cells, simulations.outcomes(cases), replications)


def _responses(
    cells: Sequence[WorkloadQueue],
    loads: Mapping[tuple[str, float], float],
    scale: Scale,
    simulations: ParallelSimulations,
) -> dict[tuple[str, str, float], list[Outcome]]:
    """Return response times of every cell at each of its workload's loads, by replication."""
    keys = [(*cell, share) for cell in cells for workload, share in loads if workload == cell[0]]
    cases = [
        ResponseCase(workload, queue, loads[workload, share], scale.jobs, seed)
        for workload, queue, share in keys
        for seed in range(scale.replications)
    ]
    return _grouped(keys, simulations.outcomes(cases), scale.replications)


def _grouped(keys: Sequence[Key], outcomes: Sequence[Outcome], size: int) -> dict[Key, list[Outcome]]:
    return {key: list(outcomes[size * index : size * (index + 1)]) for index, key in enumerate(keys)}


def _curves(
    study: Study, scale: Scale, maxima: Mapping[WorkloadQueue, Sequence[Outcome]], simulations: ParallelSimulations
) -> tuple[CurvePoint, ...]:
    """Return response against load, from `CURVE_FROM` to just below the maximal utilization of each cell."""
    points: list[tuple[WorkloadQueue, float]] = []
    for cell in study.cells:
        highest = round(HEADLINE_SHARE * _mean(maxima[cell], Quantity.MAXIMAL_GROSS), LOAD_DECIMALS)
        steps = math.ceil((highest - CURVE_FROM) / CURVE_STEP)
        points += [(cell, round(CURVE_FROM + CURVE_STEP * step, LOAD_DECIMALS)) for step in range(steps)]
        points.append((cell, highest))
    cases: list[Case] = [
        ResponseCase(*cell, load, scale.jobs // 2, seed) for cell, load in points for seed in range(CURVE_REPLICATIONS)
    ]
    found = _grouped(range(len(points)), simulations.outcomes(cases), CURVE_REPLICATIONS)
    return tuple(
        CurvePoint(
            *cell, load, _mean(found[index], Quantity.RESPONSE), any(outcome["saturated"] for outcome in found[index])
        )
        for index, (cell, load) in enumerate(points)
    )


def _row(
    cell: WorkloadQueue, at: str, load: float | None, outcomes: Sequence[Outcome], quantities: Sequence[Quantity]
) -> Row:
    """Return the means over the replications; one without a quantity is left out of its mean."""
    values = {
        quantity: [outcome[quantity] for outcome in outcomes if outcome[quantity] is not None]
        for quantity in quantities
    }
    found = {quantity: mean(known) for quantity, known in values.items() if known}
    saturated = sum(bool(outcome.get("saturated")) for outcome in outcomes) / len(outcomes)
    return Row(*cell, at, load, found, saturated)


def _decided(claim: Claim, at: str, outcomes: Mapping[WorkloadQueue, Sequence[Outcome]]) -> DecidedClaim:
    def values(case: ComparedCase) -> list[float]:
        return [outcome[case.quantity] for outcome in outcomes[case.workload, case.queue]]

    return decide(claim, values, at)


def _mean(outcomes: Sequence[Outcome], quantity: Quantity) -> float:
    return math.fsum(outcome[quantity] for outcome in outcomes) / len(outcomes)
