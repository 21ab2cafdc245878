"""Placed jobs as a policy that plans sees them: from their planned start, and once they have started from then on.

The broker shows the same (`LiveJob.running`).
"""

import pytest

from emulator.broker.state.jobs import LiveJob
from emulator.model.job import JobSpecification, Timeline
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.scheduling import StatedClaiming
from emulator.model.stream import StreamJob
from emulator.model.topology import Middleware
from emulator.policies.claiming_procedure import ClaimingProcedure
from emulator.policies.placement.worst_fit import WorstFit
from emulator.simulator import simulate

ESTIMATE_S = 50.0


class Watching:
    """Worst Fit that keeps what it was shown of running jobs, by the timestamp of its decision."""

    accepts = WorstFit.accepts
    needs_running_jobs = True

    def __init__(self):
        self.seen = {}

    def place(self, request, state):
        self.seen[state.time_s] = [(job.started_s, job.estimated_end_s) for job in state.surroundings.running]
        return WorstFit().place(request, state)


def job(number, arrival_s, service_s, *components):
    request = JobRequest(RequestKind.NON_FIXED, components, estimate_s=ESTIMATE_S)
    return StreamJob(number, arrival_s, service_s, request, 0)


def test_a_simulated_job_counts_from_its_placement_until_its_middleware_lets_it_start():
    policy = Watching()
    jobs = [job(1, 0, 30, 8), job(2, 3, 1, 8), job(3, 20, 1, 8)]
    simulate(jobs, clusters=[16], queue="fcfs", policy=policy, middleware=Middleware(base_s=10))
    assert policy.seen[3] == [(0, 50)]
    assert policy.seen[20] == [(10, 60)]


def test_without_middleware_it_starts_as_it_is_placed():
    policy = Watching()
    simulate([job(1, 0, 30, 8), job(2, 3, 1, 8)], clusters=[16], queue="fcfs", policy=policy)
    assert policy.seen[3] == [(0, 50)]


@pytest.mark.parametrize(("started_s", "shown"), [(None, (4.0, 54.0)), (9.0, (9.0, 59.0))])
def test_a_live_job_counts_from_its_planned_start_until_it_starts(started_s, shown):
    specification = JobSpecification.model_validate(
        {"name": "one", "application": "poisson", "components": [8], "run_time_limit_s": ESTIMATE_S}
    )
    request = JobRequest(RequestKind.NON_FIXED, (8,), estimate_s=ESTIMATE_S)
    live = LiveJob(1, 1, specification, request, Timeline(0.0, placed_s=1.0, started_s=started_s))
    assert live.running() is None
    live.placement = Placement((Component(0, 8),))
    live.claiming = ClaimingProcedure.begun(StatedClaiming(), 1.0, transfer_s=3.0)
    found = live.running()
    assert found is not None
    assert (found.started_s, found.estimated_end_s) == shown
