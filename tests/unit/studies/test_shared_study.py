"""The study of non-dedicated clusters: cases, and claims decided from what they find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.model.errors import InvalidInput
from emulator.model.project import MANUAL
from emulator.reports.figures.study import study_figures
from emulator.reports.study_folders import read_studies
from emulator.reports.study_pages import write_study
from emulator.simulator.parallel_simulations import Case, Outcome, ParallelSimulations
from emulator.studies import shared_cases
from emulator.studies.catalogue import Chart, study_named
from emulator.studies.claims import ClaimOutcome, decide
from emulator.studies.shared_cases import (
    INTERARRIVAL_FACTORS,
    MOST_BESIDE,
    SHARED_QUANTITIES,
    SharedCase,
    interarrival_text,
    latency_key,
    shared_case,
)
from emulator.studies.shared_claims import LATENCY_CELL, shared_claims, simulated_latency_claim
from emulator.studies.simulation_study import Scale, conduct, scale_of
from emulator.studies.statements import Quantity, Range, RatioPart

STUDY = study_named("non-dedicated")


class AtOnce(ParallelSimulations):
    """Simulations in this process, one after another."""

    def __init__(self) -> None:
        super().__init__(client=None)

    def outcomes(self, cases: Sequence[Case]) -> list[Outcome]:
        found = {case.key: case.run() for case in cases}
        return [found[case.key] for case in cases]


def test_a_case_depends_on_nothing_but_itself() -> None:
    case = SharedCase("3dbf-light/ccs", 0.5, 3, 3)
    assert case.run() == case.run() == replace(case).run()
    assert case.run() != replace(case, seed=4).run()
    assert len({replace(case, jobs=4).key, replace(case, factor=1.0).key, replace(case, seed=1).key}) == 3


def test_a_case_of_another_version_is_another_case(monkeypatch: pytest.MonkeyPatch) -> None:
    case = SharedCase("3dbf-light/ccs", 0.5, 3, 3)
    key = case.key
    monkeypatch.setattr(shared_cases, "OUTCOMES_VERSION", shared_cases.OUTCOMES_VERSION + 1)
    assert case.key != key


def test_a_case_of_both_workloads_is_simulated_once() -> None:
    assert shared_case(("sit", "basic/ccs"), 1.0, 90, 2) == shared_case(("dit", "basic/ccs"), 0.5, 90, 2)
    assert shared_case(("sit", "basic/ccs"), 1.0, 90, 2) == SharedCase("basic/ccs", 0.5, 90, 2)


def test_the_whole_study_in_small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two jobs of a few steps each: every claim has a decision at each interarrival time, and a page is written."""
    from workloads import parallel_programs, shared_node_jobs

    brief = parallel_programs.Between(1.0, 2.0)
    programs = parallel_programs.PROGRAMS.items()
    short = {name: replace(program, steps=3, execution_s=brief) for name, program in programs}
    monkeypatch.setattr(shared_node_jobs, "PROGRAMS", short)
    for module in (shared_node_jobs, shared_cases):
        monkeypatch.setattr(module, "INTERARRIVAL_S", {"sit": 0.5, "dit": 1.0})
    result = conduct(STUDY, Scale(jobs=2, replications=2, steady=False), AtOnce())
    assert {decided.claim.id for decided in result.claims} == {f"C{number}" for number in range(41, 49)}
    assert len(result.verdicts) == 8
    assert {decided.at for decided in result.claims} == {interarrival_text(factor) for factor in INTERARRIVAL_FACTORS}
    page, picture, *_ = write_study(result, tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "`testbed study non-dedicated --jobs 2 --replications 2`" in text
    assert "not counted" not in text
    assert picture.stat().st_size > 10_000
    (folder,) = read_studies(tmp_path)
    (figure,) = study_figures(folder)
    assert len(figure.rows) == len(STUDY.cells) * len(INTERARRIVAL_FACTORS)


def test_a_study_has_a_size_of_its_own() -> None:
    assert scale_of(STUDY) == Scale(90, 30, steady=False)
    assert scale_of(STUDY, 12, 2) == Scale(12, 2, steady=False)
    assert scale_of(study_named("compositions")) == Scale()
    with pytest.raises(InvalidInput, match="at least 1 arrivals"):
        scale_of(STUDY, jobs=0)
    with pytest.raises(InvalidInput, match="--replications"):
        scale_of(STUDY, replications=0)


def test_claims_are_decided_by_what_was_found() -> None:
    """As the paper says: everything shows. The other way around, what compares two cells does not."""
    claims = {claim.id: claim for claim in shared_claims()}
    (faster, *alike) = [part for part in claims["C41"].parts if isinstance(part, RatioPart)]
    assert faster.ratio.above[0].queue == "uniform-hard/ccs"
    assert len(alike) == 3

    def values(case):
        return [{"uniform-hard/ccs": 90.0, "normal/ccs": 100.0}.get(case.queue, 95.0)] * 3

    decided = decide(claims["C41"], values)
    assert decided.decisions[0].verdict is ClaimOutcome.SHOWN
    assert decided.verdict is ClaimOutcome.NOT_SHOWN, "90 and 100 are not about equal"
    stated = " ".join((MANUAL / "reports.md").read_text(encoding="utf-8").split())
    assert "*about* means a tenth" in stated
    assert {part.range for part in alike} == {Range.within_share(0.10)}


def test_what_is_equal_is_within_a_twentieth_as_the_manual_says() -> None:
    stated = " ".join((MANUAL / "reports.md").read_text(encoding="utf-8").split())
    assert "*equal* (C47) if they differ by at most a twentieth" in stated
    (equal,) = [
        part
        for claim in shared_claims()
        if claim.id == "C47"
        for part in claim.parts
        if isinstance(part, RatioPart) and part.range.low > 0.9
    ]
    assert equal.range == Range.within_share(0.05)


def test_a_case_whose_users_are_beside_no_job_has_no_latency() -> None:
    """One job gets nodes at which nobody works. All bursts are beside no job, and none of them waits."""
    outcome = SharedCase("normal/ccs", 0.5, 1, 3).run()
    assert outcome[latency_key(0)] == pytest.approx(0.0, abs=1e-9)
    assert outcome[Quantity.LATENCY] is None


def test_a_replication_without_latency_is_left_out_of_the_mean() -> None:
    """One of three replications has no burst beside a job; the others have a mean delay of 0.1 and 0.3 s."""

    class WithoutLatency(AtOnce):
        def outcomes(self, cases: Sequence[Case]) -> list[Outcome]:
            delays_s = {0: None, 1: 0.1, 2: 0.3}
            others: dict[str, float | None] = {quantity.value: 1.0 for quantity in SHARED_QUANTITIES}
            others |= {latency_key(beside): None for beside in range(MOST_BESIDE + 1)}
            key = Quantity.LATENCY.value
            return [others | {key: delays_s[case.seed]} for case in cases if isinstance(case, SharedCase)]

    rows = conduct(STUDY, Scale(jobs=2, replications=3, steady=False), WithoutLatency()).rows
    latency = rows[0].found[Quantity.LATENCY]
    assert (latency.value, latency.n) == (pytest.approx(0.2), 2)
    assert rows[0].found[Quantity.EXECUTION].n == 3


def outcomes(latency_s: float | None) -> dict[tuple[str, str], list[Outcome]]:
    outcome = {latency_key(beside): latency_s for beside in range(MOST_BESIDE + 1)}
    return {LATENCY_CELL: [outcome, outcome, outcome]}


@pytest.mark.parametrize(
    ("latency_s", "verdict"),
    [
        (0.0, ClaimOutcome.SHOWN),
        (0.39, ClaimOutcome.SHOWN),
        (0.41, ClaimOutcome.NOT_SHOWN),
        (None, ClaimOutcome.UNDECIDED),
    ],
)
def test_latency_is_decided_at_each_level(latency_s: float | None, verdict: ClaimOutcome) -> None:
    decided = decide(simulated_latency_claim(outcomes(latency_s)))
    assert [part.verdict for part in decided.decisions] == [verdict] * 4


def test_charts_are_the_workloads() -> None:
    assert [chart.workload for chart in STUDY.charts] == ["sit", "dit"]
    assert isinstance(STUDY.charts[0], Chart)
    assert len(STUDY.cells) == 40
