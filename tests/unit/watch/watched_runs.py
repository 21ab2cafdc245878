"""Known runs for tests, of two clusters of 16 and 8 processors."""

from __future__ import annotations

from typing import Any

from emulator.model.job import JobSpecification, JobState
from emulator.model.page_views import PageCluster, PageSystem
from emulator.model.views import ComponentView, EventKind, EventView, JobView, RunRequest, RunState, RunView
from emulator.watch.known import KnownRun

SYSTEM = PageSystem(
    topology="two",
    testbed="t",
    clusters=(
        PageCluster(name="east", nodes=8, processors=16),
        PageCluster(name="west", nodes=4, processors=8),
    ),
    paths=(),
)


def known_run(**stated: Any) -> KnownRun:
    request = RunRequest(**({"name": "w1", "policy": "wf", "dilation": 2.0} | stated))
    return KnownRun(SYSTEM, RunView(id=3, state=RunState.RUNNING, request=request, host_origin_s=1_000.0))


def job(number: int, state: JobState, *parts: tuple[str, int], is_claimed: bool = True, **more: Any) -> JobView:
    """A job of 4+4 processors, with components in the clusters of `parts`."""
    specification = {"application": "poisson", "components": (4, 4), "name": f"job-{number}"}
    stated = {key: more.pop(key) for key in list(more) if key in JobSpecification.model_fields}
    claimed_s = 20.0 if is_claimed else None
    components = tuple(ComponentView(cluster=at, processors=size, claimed_s=claimed_s) for at, size in parts)
    times = {"submitted_s": 10.0} | more
    return JobView(
        id=number,
        run=3,
        specification=JobSpecification(**(specification | stated)),
        state=state,
        components=components,
        **times,
    )


def event(kind: EventKind, of: JobView | None = None, time_s: float = 30.0, **detail: Any) -> EventView:
    return EventView(sequence=1, run=3, kind=kind, time_s=time_s, host_moment_s=1_060.0, job=of, detail=detail)
