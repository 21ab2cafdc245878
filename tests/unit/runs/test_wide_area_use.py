"""Which jobs had the wide area to themselves, and what all jobs of a run sent over it."""

from __future__ import annotations

from emulator.model.job import JobSpecification, JobState
from emulator.model.views import ComponentView, JobView
from emulator.runs.wide_area_use import WideAreaUse

ENDED = JobState.FINISHED
COUNTED = {"delft": (10, 20), "leiden": (20, 10)}


def job(number: int, *clusters: str, state: JobState = JobState.RUNNING, file: str | None = None) -> JobView:
    sizes = (1,) * len(clusters)
    specification = JobSpecification(application="poisson", components=sizes, file=file)
    parts = tuple(ComponentView(cluster=cluster, processors=1) for cluster in clusters)
    result = {"wide_area_bytes": [[10, 20], [20, 10]]} if state is ENDED and len(clusters) == 2 else None
    return JobView(
        id=number, run=1, specification=specification, state=state, submitted_s=0.0, placed_s=1.0, components=parts,
        result=result,
    )  # fmt: skip


def test_jobs_one_after_another_have_it_to_themselves() -> None:
    use = WideAreaUse()
    for number in (1, 2):
        use.follow(job(number, "delft", "leiden"))
        use.follow(ended := job(number, "delft", "leiden", state=ENDED))
        use.follow(ended)
        assert use.own_of(ended) == COUNTED
    assert (use.is_known, use.jobs, use.own) == (True, 2, {"delft": (20, 40), "leiden": (40, 20)})


def test_of_jobs_at_the_same_time_only_all_together_are_known() -> None:
    use = WideAreaUse()
    use.follow(job(1, "delft", "leiden"))
    use.follow(job(2, "delft", "utrecht"))
    use.follow(first := job(1, "delft", "leiden", state=ENDED))
    use.follow(second := job(2, "delft", "utrecht", state=ENDED))
    use.follow(job(3, "delft", "utrecht"))
    use.follow(third := job(3, "delft", "utrecht", state=ENDED))
    assert [bool(use.own_of(each)) for each in (first, second, third)] == [False, False, True]
    assert (use.is_known, use.own["delft"]) == (True, (30, 60))


def test_what_a_failed_job_or_a_file_sent_is_not_known() -> None:
    for ended in (
        job(1, "delft", "leiden", state=JobState.FAILED),
        job(1, "delft", "leiden", state=ENDED, file="input"),
        job(1, "delft", state=ENDED, file="input"),
    ):
        use = WideAreaUse()
        use.follow(ended.model_copy(update={"state": JobState.RUNNING}))
        use.follow(ended)
        assert use.own_of(ended) == {}
        assert not use.is_known


def test_a_real_cluster_counts_nothing() -> None:
    use = WideAreaUse(frozenset({"leiden"}))
    use.follow(job(1, "delft", "leiden"))
    use.follow(job(1, "delft", "leiden", state=ENDED))
    assert not use.is_known


def test_a_job_in_one_cluster_uses_it_only_for_its_file() -> None:
    use = WideAreaUse()
    use.follow(job(1, "delft", "leiden"))
    use.follow(job(2, "utrecht"))
    assert use.own_of(job(1, "delft", "leiden", state=ENDED)) == COUNTED
    use.follow(job(3, "utrecht", file="input"))
    assert use.own_of(job(1, "delft", "leiden", state=ENDED)) == {}


def test_a_job_that_is_not_placed_sends_nothing() -> None:
    use = WideAreaUse()
    use.follow(job(1, "delft", "leiden"))
    use.follow(job(2, "delft", "leiden", state=JobState.QUEUED).model_copy(update={"placed_s": None, "components": ()}))
    assert use.own_of(job(1, "delft", "leiden", state=ENDED)) == COUNTED
