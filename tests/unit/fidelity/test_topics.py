"""Every reason that a verdict can give is about something that a light stands for."""

from emulator.fidelity.background import BackgroundMeasures
from emulator.fidelity.conditions import Conditions
from emulator.fidelity.measures import JobMeasures, RunMeasures
from emulator.fidelity.strangers import StrangersTraffic
from emulator.fidelity.topics import Topic, reasons_by_topic
from emulator.fidelity.verdict import (
    Verdict,
    judge_clocks,
    judge_job,
    judge_links,
    judge_real,
    judge_run,
    judge_traffic,
    judge_unfinished,
    judge_unwatched,
)
from emulator.model.evidence import LinkCheck, LinkFault
from emulator.model.underlay import Underlay

HOST = Conditions(
    host_duration_s=1.0, contending_cpu_share=1.0, cpu_pressure=1.0, stolen_cpu_share=1.0, stolen_wanted_share=1.0,
    memory_pressure=1.0, io_pressure=1.0, throttled_share=1.0, throttled_part="delft", stopped_share=1.0,
    stopped_part="delft", least_memory_share=0.0, swapped_pages=10**9, killed_processes=3, host_write_max_s=99.0,
    host_clock_step_s=-3.0,
)  # fmt: skip
WIRES = Conditions(
    host_duration_s=1.0, unexplained_timeouts=100, unasked_drops=100, datagram_share=1.0,
    changed_links=("delft up: rate 10 to 20",), crosses=True,
)  # fmt: skip
FAULT = LinkFault("delay from delft to amsterdam", 0.5, "delft", "amsterdam")


def topics(verdict: Verdict) -> list[Topic]:
    assert verdict.reasons
    return [topic for topic, _ in reasons_by_topic(verdict.reasons)]


def test_a_busy_host():
    for unpaced in (True, False):
        found = topics(judge_job(JobMeasures(conditions=(HOST,), unpaced=unpaced)))
        assert found.count(Topic.HOST) == 12
        assert found.count(Topic.PHASES) == (1 if unpaced else 0)
        assert len(found) == 12 + unpaced


def test_ranks_that_stood_still_and_hosts_that_nobody_watched():
    assert topics(judge_job(JobMeasures(standstill_share=1.0))) == [Topic.HOST]
    assert topics(judge_unwatched({"second"})) == [Topic.HOST]


def test_a_clock_that_is_off():
    underlay = Underlay(host_delay_s=0.0, host_jitter_s=0.0, host_clock_ahead_s=0.0, host_clock_bound_s=0.5)
    assert topics(judge_clocks([LinkCheck("before", underlays={"two": underlay})], {"two"}, 1.0)) == [Topic.HOST]


def test_a_program_of_one_s_own():
    assert topics(judge_job(JobMeasures(own_program=True))) == [Topic.PHASES]


def test_late_phases_middleware_and_arrivals():
    late = JobMeasures(
        late_phase_share=1.0, lateness_share=1.0, arrival_lateness_share=1.0, overhead_lateness_share=1.0
    )
    assert topics(judge_job(late)) == [Topic.PHASES] * 4
    assert topics(judge_run(RunMeasures(wait_lateness_share=1.0), [])) == [Topic.PHASES]


def test_links():
    assert topics(judge_job(JobMeasures(conditions=(WIRES,), execution_s=1.0))) == [Topic.LINKS] * 4
    assert topics(judge_links([LinkCheck("before", (FAULT,)), LinkCheck("after", carried=False)])) == [Topic.LINKS] * 2
    assert topics(judge_real({"delft"})) == [Topic.LINKS]
    strangers = StrangersTraffic(0.5, "delft up")
    assert topics(judge_job(JobMeasures(strangers=strangers))) == [Topic.LINKS]
    assert topics(judge_run(RunMeasures(strangers=strangers), [])) == [Topic.LINKS]
    assert topics(judge_run(RunMeasures(missing_traffic_share=0.5), [])) == [Topic.LINKS]
    assert topics(judge_traffic(None)) == [Topic.LINKS]


def test_jobs_and_background():
    for found in (BackgroundMeasures(0.5, 0.0, 60.0), BackgroundMeasures(0.5, 90.0, 60.0)):
        assert topics(judge_run(RunMeasures(background=found), [])) == [Topic.BACKGROUND]
    assert topics(judge_unfinished("failed", "throttled by its CPU quota")) == [Topic.JOBS]
    assert topics(judge_run(RunMeasures(jobs_expected=3), [Verdict()])) == [Topic.JOBS]
    assert topics(judge_run(RunMeasures(jobs_expected=3, jobs_failed=3), [])) == [Topic.JOBS]
    void = judge_unfinished("cancelled", "")
    assert topics(judge_run(RunMeasures(jobs_expected=1), [void])) == [Topic.JOBS]
