"""What makes a job or a run suspect or void, and what is not reason enough."""

from __future__ import annotations

import pytest

from emulator.fidelity.measures import JobMeasures, LinkCheck, RunMeasures
from emulator.fidelity.verdict import Judgement, Verdict, judge_job, judge_run, judge_unfinished
from emulator.model.clock import Dilation
from emulator.model.views import JobView

VALID = Verdict()
SUSPECT = Verdict(Judgement.SUSPECT, ("why",))
VOID = Verdict(Judgement.VOID, ("why",))


@pytest.mark.parametrize(
    ("measures", "judgement"),
    [
        (JobMeasures(), Judgement.VALID),
        (JobMeasures(late_phase_share=0.4, lateness_share=0.02), Judgement.VALID),
        (JobMeasures(late_phase_share=0.6, lateness_share=0.02), Judgement.SUSPECT),
        (JobMeasures(late_phase_share=0.05, lateness_share=0.05), Judgement.SUSPECT),
        (JobMeasures(late_phase_share=0.9, lateness_share=0.3), Judgement.VOID),
        (JobMeasures(arrival_lateness_share=0.05), Judgement.SUSPECT),
        (JobMeasures(arrival_lateness_share=0.2), Judgement.VOID),
        (JobMeasures(overhead_lateness_share=0.03), Judgement.VALID),
        (JobMeasures(overhead_lateness_share=0.5), Judgement.SUSPECT),
        (JobMeasures(unpaced=True), Judgement.SUSPECT),
    ],
)
def test_a_job_is_judged_by_how_wrong_its_times_may_be(measures: JobMeasures, judgement: Judgement) -> None:
    verdict = judge_job(measures)
    assert verdict.judgement is judgement
    assert bool(verdict.reasons) is (judgement is not Judgement.VALID)


def test_the_measures_of_a_job_come_from_its_record() -> None:
    job = JobView.model_validate(
        {
            "id": 1,
            "run": 1,
            "state": "finished",
            "specification": {"application": "poisson", "components": [4]},
            "intended_arrival_s": 10.0,
            "submitted_s": 10.5,
            "placed_s": 11.0,
            "started_s": 21.0,
            "finished_s": 60.5,
            "overhead_late_s": 2.0,
            "result": {
                "phases": 400,
                "late_phases": 4,
                "host_critical_lateness_s": 6.4,
                "processors": 4,
                "runtime_s": 40.0,
            },
        }
    )
    measures = JobMeasures.of(job, Dilation(8))
    assert measures.late_phase_share == pytest.approx(0.01)
    assert measures.lateness_share == pytest.approx(6.4 / 8 / 40)
    assert measures.arrival_lateness_share == pytest.approx(0.01)
    assert measures.overhead_lateness_share == pytest.approx(0.2)


def test_a_job_that_did_not_finish_is_void() -> None:
    assert judge_unfinished("failed", "no memory") == Verdict(Judgement.VOID, ("failed: no memory",))


@pytest.mark.parametrize(
    ("check", "judgement"),
    [
        (LinkCheck("before"), Judgement.VALID),
        (LinkCheck("before", 0.04, "rate from delft to leiden"), Judgement.SUSPECT),
        (LinkCheck("after", 0.5, "delay from delft to leiden"), Judgement.VOID),
        (LinkCheck("before", carried=False), Judgement.SUSPECT),
    ],
)
def test_a_failed_link_check_is_held_against_the_run_and_names_the_link(check: LinkCheck, judgement: Judgement) -> None:
    verdict = judge_run(RunMeasures((check,)), [VALID])
    assert verdict.judgement is judgement
    if check.worst is not None:
        assert check.worst in verdict.reasons[0]


def test_one_void_job_among_many_makes_a_run_suspect_and_many_make_it_void() -> None:
    assert judge_run(RunMeasures(jobs_expected=20), [VALID] * 19 + [VOID]).judgement is Judgement.SUSPECT
    assert judge_run(RunMeasures(jobs_expected=20), [VALID] * 10 + [VOID] * 10).judgement is Judgement.VOID
    assert judge_run(RunMeasures(jobs_expected=20), [VALID] * 15 + [SUSPECT] * 5).judgement is Judgement.SUSPECT
    assert judge_run(RunMeasures(jobs_expected=20), [VALID] * 20) == VALID


def test_a_run_that_lacks_jobs_is_void() -> None:
    assert judge_run(RunMeasures(jobs_expected=20), [VALID] * 19).judgement is Judgement.VOID
    assert judge_run(RunMeasures(jobs_expected=20, jobs_failed=1), [VALID] * 19).judgement is Judgement.SUSPECT
    assert judge_run(RunMeasures(jobs_expected=4, jobs_failed=1), [VALID] * 3).judgement is Judgement.VOID


def test_reasons_are_kept_once_each() -> None:
    assert Verdict.worst_of([SUSPECT, SUSPECT, VALID]) == SUSPECT
