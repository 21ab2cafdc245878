"""From what a probe saw to a host's costs: jobs of a host whose costs are known give these costs back."""

from __future__ import annotations

import pytest

from apps.pacing import OVERSHOOT_EDGES_HOST_S
from apps.registry import all_updates
from emulator.containers.usage import Usage
from emulator.model.documents import read_document
from emulator.model.job import JobState
from emulator.model.topology import Topology
from emulator.model.views import JobView
from emulator.planning.costs import HostCosts, MessagesOver
from emulator.planning.host_costs import remembered_costs
from emulator.planning.host_probe import PROBE_FILE, TRIALS, Probe, ProbeJob
from emulator.planning.host_readings import host_costs_from
from emulator.planning.planned_jobs import planned_job

TOPOLOGY = read_document(PROBE_FILE, Topology)
KERNEL_NS, MESSAGE_CPU_S, OWN_TIME_S = 2.5, 90e-6, 700e-6
START_BASE_S, START_RANK_S = 1.2, 0.025


def job_of(trial: ProbeJob, late_share: float = 0.25) -> JobView:
    """How `trial` runs on a host of these costs; such a share of the phases of ranks that wake is 150 us late."""
    specification = trial.specification(TOPOLOGY.cluster_names)
    planned = planned_job(
        specification, list(zip(specification.clusters, specification.components, strict=True)), TOPOLOGY
    )
    rank_iterations = trial.ranks * trial.iterations
    kernel_s = trial.iterations * all_updates(trial.application, trial.grid) * KERNEL_NS * 1e-9
    host_s = trial.dilation.host_duration_s(planned.phases * planned.phase_s + planned.delays_s) + OWN_TIME_S
    counts = [0] * (len(OVERSHOOT_EDGES_HOST_S) + 1)
    late_class = sum(1 for edge_s in OVERSHOOT_EDGES_HOST_S if edge_s < 150e-6)
    late = round(trial.iterations * planned.waking * late_share)
    counts[0], counts[late_class] = rank_iterations - late, late
    start_s = START_BASE_S + START_RANK_S * trial.ranks
    return JobView(
        id=1, run=1, specification=specification, state=JobState.FINISHED, submitted_s=0.0, claimed_s=1.0,
        started_s=1.0 + trial.dilation.emulated_duration_s(start_s),
        result={
            "iterations": trial.iterations,
            "phases": rank_iterations,
            "late_phases": rank_iterations // 8,
            "iteration_s": trial.dilation.emulated_duration_s(host_s),
            "host_cpu_s": kernel_s + rank_iterations * MESSAGE_CPU_S,
            "host_kernel_cpu_s": kernel_s,
            "host_critical_lateness_s": 300e-6 * trial.iterations,
            "overshoots": {"host_edges_s": OVERSHOOT_EDGES_HOST_S, "phases": counts},
        },
    )  # fmt: skip


def costs_of(probe: Probe) -> HostCosts:
    # The router is busy for 0.1 s of each second while nothing crosses it, and needs 40 us for each of 10,000 packets.
    idle, busy = Usage(10.0, 1.0, 0, 0), Usage(10.0, 1.4, 0, 10_000)
    nothing = Usage(0.0, 0.0, 0, 0)
    probe.router = {trial: [(nothing, busy if trial.clusters > 1 else idle)] for trial in TRIALS}
    probe.idle_bytes, probe.cluster_idle_bytes, probe.busy_bytes = 400_000_000, 100_000_000, 740_000_000
    probe.record_bytes = 7_000
    return host_costs_from(probe, "a-host", 0.1)


@pytest.fixture
def costs() -> HostCosts:
    probe = Probe(TOPOLOGY, router_backend="uml")
    probe.jobs = {trial: [job_of(trial)] * trial.rounds for trial in TRIALS}
    return costs_of(probe)


@pytest.mark.parametrize("application", ["poisson", "laplace", "heat", "ensflow", "synthetic"])
def test_the_kernels_cost_what_they_took(costs, application):
    assert costs.kernel_s(application, 10_000) == pytest.approx(10_000 * KERNEL_NS * 1e-9)
    assert costs.kernel_s(application, 1_000_000) == pytest.approx(1_000_000 * KERNEL_NS * 1e-9, rel=0.01)


@pytest.mark.parametrize("over", MessagesOver)
@pytest.mark.parametrize("ranks", [2, 16, 40, 64])
def test_messages_cost_what_they_took(costs, over, ranks):
    assert costs.message_cpu_s("poisson", ranks, over) == pytest.approx(MESSAGE_CPU_S)
    # Over an interconnect the host's time is hidden; between clusters it is what does not dilate.
    own_time_s = 0.0 if over is MessagesOver.INTERCONNECT else OWN_TIME_S
    assert costs.message_time_s("poisson", ranks, over) == pytest.approx(own_time_s)


def test_beyond_the_measured_a_rank_costs_the_same_and_time_grows(costs):
    assert costs.message_cpu_s("poisson", 256, MessagesOver.SHARED_MEMORY) == pytest.approx(MESSAGE_CPU_S)
    assert costs.message_time_s("poisson", 256, MessagesOver.SHARED_MEMORY) == pytest.approx(4 * OWN_TIME_S)


def test_ranks_were_ready_as_long_after_a_phase_began_as_it_lasted_and_they_were_late(costs):
    usual, smaller = [
        readiness for readiness in costs.readiness
        if readiness.ranks == 16 and readiness.over is MessagesOver.SHARED_MEMORY and readiness.host_kernel_s < 30e-6
    ]  # fmt: skip
    assert usual.host_edges_s[0] == pytest.approx(8 * smaller.host_edges_s[0], rel=0.3)
    for readiness in (usual, smaller):
        phase_s = readiness.host_edges_s[0] - OVERSHOOT_EDGES_HOST_S[0]
        assert readiness.share_beyond(phase_s + 100e-6) == 0.25
        assert readiness.share_beyond(phase_s + 250e-6) == 0.0


def test_what_the_rounds_of_a_job_showed_is_added_up():
    probe = Probe(TOPOLOGY, router_backend="uml")
    probe.jobs = {trial: [job_of(trial)] * trial.rounds for trial in TRIALS}
    several = next(trial for trial in TRIALS if trial.rounds == 3 and trial.over is MessagesOver.WIDE_AREA)
    probe.jobs[several] = [job_of(several, late_share) for late_share in (0.1, 0.8, 0.3)]
    planned = planned_job(
        several.specification(TOPOLOGY.cluster_names),
        [(name, several.ranks // several.clusters) for name in TOPOLOGY.cluster_names[: several.clusters]],
        TOPOLOGY,
    )
    shares = [readiness.beyond[0] for readiness in costs_of(probe).readiness]
    assert pytest.approx(0.4 * planned.waking / several.ranks) in shares


def test_it_is_known_of_jobs_over_two_clusters_and_over_four_when_their_ranks_were_ready(costs):
    clusters = {readiness.clusters for readiness in costs.readiness if readiness.over is MessagesOver.WIDE_AREA}
    assert clusters == {2, 4}


def test_a_job_keeps_the_cores_the_busier_the_smaller_its_dilation(costs):
    over = [
        readiness
        for readiness in costs.readiness
        if readiness.ranks == 16 and readiness.over is MessagesOver.SHARED_MEMORY
    ]
    usual, smaller = [readiness for readiness in over if readiness.host_kernel_s < 30e-6]
    # 16 ranks take 10,000 updates and their messages each, in an iteration of a millisecond and the host's own time.
    work_s = 16 * (10_000 * KERNEL_NS * 1e-9 + MESSAGE_CPU_S)
    assert usual.core_share * costs.cores == pytest.approx(work_s / (8e-3 + OWN_TIME_S), rel=0.01)
    assert smaller.core_share * costs.cores == pytest.approx(work_s / (1e-3 + OWN_TIME_S), rel=0.01)


def test_how_many_phases_end_late_in_one_cluster_is_known_by_how_long_its_ranks_take_in_turn(costs):
    known = {round(behind.turns_share, 2): behind.late_phase_share for behind in costs.falling_behind}
    assert list(known.values()) == [0.125] * 5
    # Ten thousand updates of each of 16 ranks on all cores, and what is the host's own time, in 8 ms and a third more
    # for the interconnect.
    sixteen = (16 * 10_000 * KERNEL_NS * 1e-9 / costs.cores + OWN_TIME_S) / (1.35 * 8e-3)
    assert min(known) == pytest.approx(sixteen, rel=0.1)
    assert max(known) > 8 * min(known)


def test_overshoots_are_those_of_ranks_that_wake(costs):
    (sixteen,) = [
        row for row in costs.overshoots
        if row.together == 16 and row.over is MessagesOver.SHARED_MEMORY and row.host_kernel_s < 30e-6
    ]  # fmt: skip
    assert sixteen.host_latest_s == pytest.approx(300e-6)
    assert 20e-6 < sixteen.host_mean_s < 60e-6


def test_starting_is_a_line_through_all_starts(costs):
    assert costs.start.host_s(0) == pytest.approx(START_BASE_S)
    assert costs.start.host_s(100) == pytest.approx(START_BASE_S + 100 * START_RANK_S)


def test_memory_and_records_are_a_rank_s_a_cluster_s_and_a_job_s(costs):
    assert (costs.rank_bytes, costs.cluster_bytes, costs.record_bytes) == (10_000_000, 100_000_000, 7_000)


def test_a_packet_costs_the_router_what_jobs_that_cross_it_take_more_than_others(costs):
    assert costs.router.host_cpu_s_per_packet == pytest.approx(40e-6)
    assert costs.router.packets_per_segment > 1.0


def test_costs_are_remembered_for_the_host_they_were_measured_on(costs, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert remembered_costs("a-host") is None
    file = tmp_path / "multicluster-testbed" / "host-costs.json"
    file.parent.mkdir()
    file.write_text(costs.model_dump_json())
    assert remembered_costs("a-host") == costs
    assert remembered_costs("another-host") is None
    file.write_text("{")
    assert remembered_costs("a-host") is None
