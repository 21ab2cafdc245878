"""Which jobs had the wide area to themselves."""

from __future__ import annotations

from emulator.model.job import JobSpecification, JobState
from emulator.model.views import ComponentView, JobView
from emulator.runs.wide_area_use import WideAreaUse


def job(number: int, *clusters: str, state: JobState = JobState.RUNNING, file: str | None = None) -> JobView:
    sizes = (1,) * len(clusters)
    specification = JobSpecification(application="poisson", components=sizes, file=file)
    parts = tuple(ComponentView(cluster=cluster, processors=1) for cluster in clusters)
    return JobView(
        id=number, run=1, specification=specification, state=state, submitted_s=0.0, placed_s=1.0, components=parts
    )


def test_jobs_one_after_another_have_it_to_themselves() -> None:
    use = WideAreaUse()
    for number in (1, 2):
        use.follow(job(number, "delft", "leiden"))
        use.follow(ended := job(number, "delft", "leiden", state=JobState.FINISHED))
        assert use.was_alone(ended)


def test_jobs_at_the_same_time_share_it_whichever_ends_first() -> None:
    use = WideAreaUse()
    use.follow(job(1, "delft", "leiden"))
    use.follow(job(2, "delft", "utrecht"))
    use.follow(job(1, "delft", "leiden", state=JobState.FAILED))
    use.follow(second := job(2, "delft", "utrecht", state=JobState.FINISHED))
    use.follow(third := job(3, "delft", "utrecht"))
    assert [use.was_alone(each) for each in (second, third)] == [False, True]


def test_a_job_in_one_cluster_uses_it_only_for_its_file() -> None:
    use = WideAreaUse()
    use.follow(first := job(1, "delft", "leiden"))
    use.follow(job(2, "utrecht"))
    assert use.was_alone(first)
    use.follow(with_file := job(3, "utrecht", file="input"))
    assert not use.was_alone(first)
    assert not use.was_alone(with_file)


def test_a_job_that_is_not_placed_sends_nothing() -> None:
    use = WideAreaUse()
    use.follow(first := job(1, "delft", "leiden"))
    use.follow(job(2, "delft", "leiden", state=JobState.QUEUED).model_copy(update={"placed_s": None, "components": ()}))
    assert use.was_alone(first)
