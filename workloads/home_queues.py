"""The local queue that each job is submitted to, drawn at random where nothing states it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy

from emulator.model.stream import StreamJob
from emulator.policies.placement.quota import allowed_processors
from workloads.distributions import stream


def drawn_homes(
    at_home: Sequence[int], clusters: Sequence[int], seed: int, quota: float | None = None, together: int = 1
) -> list[int]:
    """Draw the index of the local queue of each job: uniform over clusters of these numbers of processors.

    `at_home` says of each job how many processors it needs in the cluster of its queue, 0 if it may run elsewhere. A
    job that is larger than its cluster, or than the share `quota` of it, draws again, among the clusters that can hold
    it. If none can, its queue stays. Processors are taken `together` by so many: by nodes where these are exclusive.
    """
    drawn = stream(seed, "queue").integers(len(clusters), size=len(at_home)).tolist()
    again, most = stream(seed, "larger queue"), _most(clusters, quota, together)
    return [_home(needed, queue, most, again) for needed, queue in zip(at_home, drawn, strict=True)]


def rehomed(
    jobs: Iterable[StreamJob], clusters: Sequence[int], seed: int, quota: float | None = None, together: int = 1
) -> Iterator[StreamJob]:
    """Return `jobs` of a stream, in which single-component jobs that their cluster cannot hold have another queue.

    It is drawn as in `drawn_homes`, from a random stream of its own: all other jobs stay as they are.
    """
    again, most = stream(seed, "larger queue"), _most(clusters, quota, together)
    for job in jobs:
        if job.queue is None or not job.request.single_component:
            yield job
            continue
        queue = _home(job.request.processors, job.queue, most, again)
        yield job if queue == job.queue else replace(job, queue=queue)


def _most(clusters: Sequence[int], quota: float | None, together: int) -> list[int]:
    """Return how many processors of each cluster a job may hold."""
    allowed = clusters if quota is None else [allowed_processors(quota, processors) for processors in clusters]
    return [processors - processors % together for processors in allowed]


def _home(needed: int, queue: int, clusters: Sequence[int], generator: numpy.random.Generator) -> int:
    if needed <= clusters[queue]:
        return queue
    fitting = [index for index, processors in enumerate(clusters) if processors >= needed]
    return fitting[int(generator.integers(len(fitting)))] if fitting else queue
