"""The local queue that each job is submitted to, drawn at random where nothing states it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

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
    again = stream(seed, "larger queue")
    allowed = clusters if quota is None else [allowed_processors(quota, processors) for processors in clusters]
    most = [processors - processors % together for processors in allowed]
    return [_home(needed, queue, most, again) for needed, queue in zip(at_home, drawn, strict=True)]


def _home(needed: int, queue: int, clusters: Sequence[int], generator: numpy.random.Generator) -> int:
    if needed <= clusters[queue]:
        return queue
    fitting = [index for index, processors in enumerate(clusters) if processors >= needed]
    return fitting[int(generator.integers(len(fitting)))] if fitting else queue
