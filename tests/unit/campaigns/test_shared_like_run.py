"""A live run on shared nodes: what its jobs do in a simulation is what they did live."""

from __future__ import annotations

import pytest

from emulator.campaigns.shared_like_run import steps_of_job
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.job import JobSpecification
from workloads.campaign import campaign_named
from workloads.parallel_programs import PROGRAMS, SIZES
from workloads.shared_node_jobs import INTERARRIVAL_S

CISNE = topology_named("cisne-shared").interconnects.single_cluster
CHOICES = [(program, tasks) for program in PROGRAMS.values() for tasks in SIZES]


@pytest.mark.parametrize("name", ["SIT", "DIT"])
def test_the_campaigns_have_the_jobs_that_are_simulated(name):
    campaign = campaign_named(name)
    assert campaign.interarrival.mean_s == pytest.approx(INTERARRIVAL_S[name.lower()], rel=1e-3)
    for choice, (program, tasks) in zip(campaign.choices, CHOICES, strict=True):
        assert choice.splits == {tasks: ((tasks,),)}
        job = JobSpecification(application=choice.application, arguments=choice.arguments, components=(tasks,))
        steps = steps_of_job(job, CISNE)
        assert (steps.pattern, steps.steps) == (program.pattern, program.steps)
        assert steps.execution_s == pytest.approx(program.execution_s.of(tasks), rel=1e-4)
        share = steps.steps * steps.compute_s / steps.execution_s
        assert share == pytest.approx(program.processor_percent.of(tasks) / 100, rel=1e-4)


@pytest.mark.parametrize(
    ("application", "arguments"),
    [("poisson", {"grid": 400}), ("synthetic", {"points": 100, "pattern": "ring"}), ("synthetic", {"compute-s": 1.0})],
)
def test_jobs_whose_steps_are_not_known_are_refused(application, arguments):
    job = JobSpecification(name="other", application=application, arguments=arguments, components=(4,))
    with pytest.raises(InvalidInput, match="job 'other': only the steps of synthetic jobs are known"):
        steps_of_job(job, CISNE)
