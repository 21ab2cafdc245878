"""What makes a job or a run suspect or void, and what is not reason enough."""

from __future__ import annotations

import pytest

from emulator.fidelity.background import BackgroundMeasures
from emulator.fidelity.conditions import Conditions
from emulator.fidelity.measures import JobMeasures, RunMeasures, wait_lateness_share
from emulator.fidelity.verdict import (
    Judgement,
    Verdict,
    judge_job,
    judge_links,
    judge_real,
    judge_run,
    judge_unfinished,
    judge_unwatched,
)
from emulator.model.clock import Dilation
from emulator.model.evidence import LinkCheck, LinkFault
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
        (JobMeasures(overhead_lateness_share=0.02), Judgement.VALID),
        (JobMeasures(overhead_lateness_share=0.05), Judgement.SUSPECT),
        (JobMeasures(overhead_lateness_share=0.5), Judgement.VOID),
        (JobMeasures(unpaced=True), Judgement.SUSPECT),
        (JobMeasures(own_program=True), Judgement.SUSPECT),
        (JobMeasures(standstill_share=0.02), Judgement.VALID),
        (JobMeasures(standstill_share=0.05), Judgement.SUSPECT),
        (JobMeasures(standstill_share=0.2), Judgement.VOID),
        (JobMeasures(late_phase_share=0.9, lateness_share=0.0, lateness_adds_up=False), Judgement.VALID),
    ],
)
def test_a_job_is_judged_by_how_wrong_its_times_may_be(measures: JobMeasures, judgement: Judgement) -> None:
    verdict = judge_job(measures)
    assert verdict.judgement is judgement
    assert bool(verdict.reasons) is (judgement is not Judgement.VALID)


QUIET = {
    "other_cpu_share": 0.04,
    "contending_cpu_share": 0.02,
    "cpu_pressure": 0.3,
    "memory_pressure": 0.0,
    "io_pressure": 0.05,
    "stolen_cpu_share": 0.001,
    "stolen_wanted_share": 0.001,
    "throttled_share": 0.0,
    "stopped_share": 0.0,
    "least_memory_share": 0.5,
    "swapped_pages": 0,
    "killed_processes": 0,
    "host_write_max_s": 0.02,
    "unexplained_timeouts": 0,
    "datagram_share": 0.0001,
    "unasked_drops": 0,
}


def test_a_reason_names_the_host_that_it_is_about_unless_it_is_the_first():
    busy = {**QUIET, "contending_cpu_share": 0.3}
    first, second = Conditions(10, **QUIET), Conditions(10, **busy, host="right")
    found = judge_job(JobMeasures(execution_s=10, conditions=(first, second)))
    assert found.judgement is Judgement.SUSPECT
    assert found.reasons == ("host right: other work took 30.0% of the host's processors",)


def judged_under(*, unpaced: bool = False, **disturbance: object) -> Verdict:
    conditions = Conditions(host_duration_s=10, **{**QUIET, **disturbance})  # type: ignore[arg-type]
    return judge_job(JobMeasures(execution_s=10, conditions=(conditions,), unpaced=unpaced))


def test_a_quiet_host_spoils_nothing() -> None:
    assert judged_under() == VALID


def test_what_tcp_sends_again_without_a_timeout_is_its_answer_to_a_full_link() -> None:
    assert judged_under(retransmissions=170) == VALID


@pytest.mark.parametrize(
    ("disturbance", "judgement", "named"),
    [
        ({"contending_cpu_share": 0.5}, Judgement.SUSPECT, "other work took 50.0% of the host's processors"),
        ({"cpu_pressure": 0.9}, Judgement.SUSPECT, "waited for a processor 90.0% of the time"),
        ({"stolen_cpu_share": 0.12}, Judgement.SUSPECT, "12.0% of the processors stolen by the hypervisor"),
        ({"stolen_cpu_share": 0.5}, Judgement.SUSPECT, "stolen by the hypervisor"),
        ({"stolen_cpu_share": 0.06, "crosses": True}, Judgement.SUSPECT, "stolen by the hypervisor"),
        ({"throttled_share": 0.05, "throttled_part": "delft"}, Judgement.SUSPECT, "delft throttled by its CPU quota"),
        ({"throttled_share": 0.5, "throttled_part": "wan"}, Judgement.VOID, "wan throttled"),
        ({"stopped_share": 0.04, "stopped_part": "delft"}, Judgement.SUSPECT, "delft stood still 4.0% of the time"),
        ({"stopped_share": 0.2, "stopped_part": "wan"}, Judgement.VOID, "wan stood still"),
        ({"memory_pressure": 0.1}, Judgement.SUSPECT, "waited for memory 10.0%"),
        ({"least_memory_share": 0.01}, Judgement.SUSPECT, "only 1.0% of the host's memory available"),
        ({"swapped_pages": 100_000}, Judgement.SUSPECT, "100000 pages swapped"),
        ({"killed_processes": 1}, Judgement.SUSPECT, "killed for want of memory"),
        ({"io_pressure": 0.5}, Judgement.SUSPECT, "waited for a disk 50.0%"),
        ({"host_write_max_s": 2.0}, Judgement.SUSPECT, "2.0 s of host time to reach the disk"),
        ({"host_clock_step_s": -3600.0}, Judgement.SUSPECT, "the host's clock was set by -3600.0 s"),
        ({"unexplained_timeouts": 3}, Judgement.SUSPECT, "no full link explains, worth 6.0% of the execution time"),
        ({"unexplained_timeouts": 30}, Judgement.VOID, "timeouts of TCP"),
        ({"datagram_share": 0.2}, Judgement.SUSPECT, "datagrams of others on its way, 20.0% of TCP's segments"),
        ({"unasked_drops": 2}, Judgement.SUSPECT, "2 packets dropped that nobody asked for"),
        ({"changed_links": ("delft up: tbf rate 2 to 1",)}, Judgement.VOID, "programmed anew meanwhile: delft up"),
    ],
)
def test_a_disturbance_is_held_against_a_job_and_named(
    disturbance: dict[str, object], judgement: Judgement, named: str
) -> None:
    verdict = judged_under(**disturbance)
    assert verdict.judgement is judgement
    assert len(verdict.reasons) == 1
    assert named in verdict.reasons[0]


def test_what_a_hypervisor_takes_while_paced_processors_sleep_costs_nothing() -> None:
    assert judged_under(stolen_wanted_share=0.5, stolen_cpu_share=0.06) == VALID


@pytest.mark.parametrize(("share", "judgement"), [(0.05, Judgement.SUSPECT), (0.2, Judgement.VOID)])
def test_all_that_an_unpaced_job_did_took_longer_by_what_a_hypervisor_stole(share: float, judgement: Judgement) -> None:
    verdict = judged_under(unpaced=True, stolen_wanted_share=share)
    assert verdict.judgement is judgement
    assert any("of the CPU time stolen by the hypervisor" in reason for reason in verdict.reasons)


def test_timeouts_after_drops_of_a_full_link_belong_to_the_emulated_network() -> None:
    assert judged_under(timeouts=149, unexplained_timeouts=0) == VALID


def test_other_work_on_a_host_with_processors_to_spare_does_not_matter() -> None:
    assert judged_under(other_cpu_share=0.5, contending_cpu_share=0.02) == VALID


def test_what_a_host_does_not_tell_is_not_held_against_a_job() -> None:
    assert judged_under(**dict.fromkeys(QUIET)) == VALID


@pytest.mark.parametrize(
    ("interconnects", "adds_up"),
    [("myrinet", False), ("shared-memory", True), ("ethernet+wide-area", True), ("shared-memory+wide-area", True)],
)
def test_lateness_adds_up_where_messages_are_real(interconnects: str, adds_up: bool) -> None:
    job = JobView.model_validate(
        {
            "id": 1,
            "run": 1,
            "state": "finished",
            "specification": {"application": "poisson", "components": [4]},
            "submitted_s": 0.0,
            "result": {"interconnects": interconnects, "phases": 100, "late_phases": 60, "paced_messages": 100,
                       "late_messages": 90, "runtime_s": 10.0, "host_message_lateness_max_s": 1.6},
        }
    )  # fmt: skip
    measures = JobMeasures.of(job, Dilation(8))
    assert measures.lateness_adds_up is adds_up
    assert judge_job(measures).judgement is (Judgement.SUSPECT if adds_up else Judgement.VALID)


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
                "standstill_s": 2.0,
            },
        }
    )
    measures = JobMeasures.of(job, Dilation(8))
    assert measures.standstill_share == pytest.approx(0.05)
    assert measures.late_phase_share == pytest.approx(0.01)
    assert measures.lateness_share == pytest.approx(6.4 / 8 / 40)
    assert measures.arrival_lateness_share == pytest.approx(0.01)
    assert measures.overhead_lateness_share == pytest.approx(0.04)
    assert wait_lateness_share([job, job]) == pytest.approx(2.0 / 10.5)


def test_a_job_that_did_not_finish_is_void() -> None:
    assert judge_unfinished("failed", "no memory") == Verdict(Judgement.VOID, ("failed: no memory",))


@pytest.mark.parametrize(
    ("check", "judgement"),
    [
        (LinkCheck("before"), Judgement.VALID),
        (LinkCheck("before", (LinkFault("rate from delft to leiden", 0.04),)), Judgement.SUSPECT),
        (LinkCheck("after", (LinkFault("delay from delft to leiden", 0.5),)), Judgement.VOID),
        (LinkCheck("before", carried=False), Judgement.SUSPECT),
    ],
)
def test_a_failed_link_check_is_held_against_the_run_and_names_the_link(check: LinkCheck, judgement: Judgement) -> None:
    verdict = judge_run(RunMeasures((check,)), [VALID])
    assert verdict.judgement is judgement
    for fault in check.faults:
        assert fault.what in verdict.reasons[0]


@pytest.mark.parametrize(
    ("fault", "clusters", "judgement"),
    [
        (LinkFault("delay", 0.5, "delft", "leiden"), ("delft", "leiden"), Judgement.VOID),
        (LinkFault("delay", 0.5, "delft", "leiden"), ("amsterdam", "delft"), Judgement.VALID),
        (LinkFault("rate", 0.05, source="delft"), ("amsterdam", "delft"), Judgement.SUSPECT),
        (LinkFault("rate", 0.05, source="delft"), ("delft",), Judgement.VALID),
        (LinkFault("the check itself", 1.0), ("amsterdam", "delft"), Judgement.VOID),
        (LinkFault("the check itself", 1.0), ("amsterdam",), Judgement.VALID),
    ],
)
def test_a_fault_of_a_link_concerns_the_jobs_that_crossed_it(
    fault: LinkFault, clusters: tuple[str, ...], judgement: Judgement
) -> None:
    assert judge_links([LinkCheck("before", (fault,))], clusters).judgement is judgement
    assert judge_links([LinkCheck("before", (fault,))]).judgement is not Judgement.VALID


@pytest.mark.parametrize(
    ("share_in_band", "longest_above_s", "judgement"),
    [
        (0.96, 0.0, Judgement.VALID),
        (0.94, 0.0, Judgement.SUSPECT),
        (0.99, 60.0, Judgement.VALID),
        (0.99, 61.0, Judgement.VOID),
        (None, 0.0, Judgement.VALID),
    ],
)
def test_a_run_is_judged_by_how_its_background_load_kept_to_its_band(
    share_in_band: float | None, longest_above_s: float, judgement: Judgement
) -> None:
    kept = BackgroundMeasures(share_in_band, longest_above_s, void_after_s=60)
    assert judge_run(RunMeasures(background=kept), [VALID]).judgement is judgement


def test_one_void_job_among_many_makes_a_run_suspect_and_many_make_it_void() -> None:
    assert judge_run(RunMeasures(jobs_expected=20), [VALID] * 19 + [VOID]).judgement is Judgement.SUSPECT
    assert judge_run(RunMeasures(jobs_expected=20), [VALID] * 10 + [VOID] * 10).judgement is Judgement.VOID
    assert judge_run(RunMeasures(jobs_expected=20), [VALID] * 15 + [SUSPECT] * 5).judgement is Judgement.SUSPECT
    assert judge_run(RunMeasures(jobs_expected=20), [VALID] * 20) == VALID


@pytest.mark.parametrize(
    ("share", "judgement"),
    [(None, Judgement.VALID), (0.02, Judgement.VALID), (0.05, Judgement.SUSPECT), (0.2, Judgement.VOID)],
)
def test_late_middleware_is_held_against_the_run_s_mean_wait(share: float | None, judgement: Judgement) -> None:
    assert judge_run(RunMeasures(wait_lateness_share=share), [VALID]).judgement is judgement


@pytest.mark.parametrize(
    ("share", "judgement"),
    [(None, Judgement.VALID), (0.0, Judgement.VALID), (0.02, Judgement.VALID), (0.05, Judgement.SUSPECT)],
)
def test_background_traffic_that_was_not_sent_is_held_against_a_run(share: float | None, judgement: Judgement) -> None:
    assert judge_run(RunMeasures(missing_traffic_share=share), [VALID]).judgement is judgement


def test_a_run_that_lacks_jobs_is_void() -> None:
    assert judge_run(RunMeasures(jobs_expected=20), [VALID] * 19).judgement is Judgement.VOID
    assert judge_run(RunMeasures(jobs_expected=20, jobs_failed=1), [VALID] * 19).judgement is Judgement.SUSPECT
    assert judge_run(RunMeasures(jobs_expected=4, jobs_failed=1), [VALID] * 3).judgement is Judgement.VOID


def test_reasons_are_kept_once_each() -> None:
    assert Verdict.worst_of([SUSPECT, SUSPECT, VALID]) == SUSPECT


def test_a_job_that_used_a_real_cluster_is_suspect_since_nothing_of_it_was_emulated():
    assert judge_real([]) == Verdict()
    verdict = judge_real({"das"})
    assert verdict.judgement is Judgement.SUSPECT
    assert verdict.reasons == ("processors and links of das are real, not emulated",)


def test_a_job_on_hosts_that_nobody_watched_is_suspect_and_names_them():
    assert judge_unwatched([]) == Verdict()
    verdict = judge_unwatched(["two", "three"])
    assert verdict.judgement is Judgement.SUSPECT
    assert verdict.reasons == ("nobody watched what disturbed it on three, two",)


def test_one_job_is_not_many_in_a_reason():
    failed = judge_run(RunMeasures(jobs_expected=2, jobs_failed=1), [VALID])
    assert failed.reasons == ("1 job failed, 0 jobs cancelled",)
    assert judge_run(RunMeasures(jobs_expected=1), []).reasons == ("only 0 of 1 job finished",)
    (reason,) = judge_run(RunMeasures(jobs_expected=1), [SUSPECT]).reasons
    assert reason.startswith("of 1 job 1 is suspect and 0 void")
