"""The jobs of local users, who submit to their own cluster and know nothing of the grid.

They are a Poisson stream, which never ends, or a log in the Standard Workload Format. Neither names clusters: each
job's cluster is drawn among those that can hold it, in proportion to their processors. The time of a log begins at its
first submission.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy

from emulator.model.background import Background, LocalStream
from emulator.model.errors import InvalidInput
from emulator.model.stream import StreamJob
from emulator.model.topology import Topology
from workloads.distributions import stream
from workloads.swf import read_swf
from workloads.swf_stream import swf_jobs

DUMMY_JOBS: Final = "dummy jobs"
"""The random stream of the sizes and lengths of dummy jobs."""


class LocalJob(NamedTuple):
    """A local user's job: when it is submitted, to which cluster, its size in processors, and how long it runs."""

    arrival_s: float
    cluster: int
    processors: int
    length_s: float


def local_jobs(
    background: Background, topology: Topology, seed: int, *, attempt: int = 1, time_scale: float = 1.0
) -> Iterator[LocalJob]:
    """Return the local jobs of `background` on `topology` under `seed`, in order of arrival.

    A repeated run, a further `attempt`, gets other jobs of a stream. `time_scale` divides the times of a log; those of
    a stream are divided already.

    Raises:
        InvalidInput: if the load is not possible on `topology`, or its log cannot be read, is another one than the load
            states, or holds a job that is larger than every cluster; the message names the line.
    """
    background.check_on(topology)
    sizes = [cluster.processors for cluster in topology.clusters]
    clusters = stream(seed, f"local clusters {attempt}")
    if isinstance(background.local_jobs, LocalStream):
        return _poisson(background.local_jobs, sizes, clusters, seed, attempt)
    if background.log is None:
        return iter(())
    path = Path(background.log)
    _check_same(path, background.log_digest)
    return iter(_logged(path, sizes, clusters, time_scale))


def digest_of_log(path: Path) -> str | None:
    """Return a digest of the log at `path`, which tells it from others; None if it cannot be read."""
    try:
        with path.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()[:16]
    except OSError:
        return None


def _poisson(
    local: LocalStream, sizes: Sequence[int], clusters: numpy.random.Generator, seed: int, attempt: int
) -> Iterator[LocalJob]:
    quantities = ("local interarrival", "local sizes", "local lengths")
    gaps, choices, lengths = (stream(seed, f"{quantity} {attempt}") for quantity in quantities)
    arrival_s = 0.0
    for _ in itertools.count():
        arrival_s += float(local.interarrival.mean_s * gaps.standard_exponential())
        processors = local.sizes[int(choices.integers(len(local.sizes)))]
        cluster = _cluster(processors, sizes, clusters)
        yield LocalJob(arrival_s, cluster, processors, local.lengths.of(float(lengths.random())))


def _logged(path: Path, sizes: Sequence[int], clusters: numpy.random.Generator, time_scale: float) -> list[LocalJob]:
    def check(job: StreamJob) -> None:
        if job.request.processors > max(sizes):
            raise InvalidInput(
                f"a local job of {job.request.processors} processors is larger than every cluster, "
                f"the largest of which has {max(sizes)}."
            )

    jobs = swf_jobs(read_swf(path), path, clusters=sizes, check=check).jobs
    first_s = jobs[0].arrival_s
    found: list[LocalJob] = []
    for job in jobs:
        processors = job.request.processors
        cluster = _cluster(processors, sizes, clusters)
        found.append(LocalJob((job.arrival_s - first_s) / time_scale, cluster, processors, job.service_s / time_scale))
    return found


def _check_same(path: Path, stated: str | None) -> None:
    """Raise `InvalidInput` if the log at `path` has another digest than the one that is `stated`."""
    found = digest_of_log(path)
    if None not in (found, stated) and found != stated:
        raise InvalidInput(
            f"{path}: is another log of local jobs than the campaign's, whose digest is {stated}, not {found} (put "
            "that one back there, or begin the campaign anew)."
        )


def _cluster(processors: int, sizes: Sequence[int], generator: numpy.random.Generator) -> int:
    """Draw a cluster among those of at least `processors`, in proportion to their sizes."""
    number = float(generator.random()) * sum(size for size in sizes if size >= processors)
    fitting = [cluster for cluster, size in enumerate(sizes) if size >= processors]
    for cluster in fitting:
        number -= sizes[cluster]
        if number < 0:
            return cluster
    return fitting[-1]
