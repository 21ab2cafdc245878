"""A campaign as jobs to simulate: the same schedule that a live run of that seed submits, with execution times.

Execution times in one cluster are drawn; a live run gives its jobs as many iterations. So are the sites of input files
and, for disciplines with a queue per cluster, the home clusters. Each quantity has a separate random stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy

from emulator.model.errors import InvalidInput
from emulator.model.request import JobRequest
from emulator.model.stream import StreamJob
from emulator.model.topology import Topology
from workloads.campaign import Campaign
from workloads.distributions import stream
from workloads.job_choices import InputFiles
from workloads.job_lengths import drawn_services_s
from workloads.schedule import admitted, file_name, home_queues, schedule, stream_job


class InputFile(NamedTuple):
    """The input file of a job: the clusters that hold a replica, alphabetically by name, and its size."""

    sites: tuple[int, ...]
    size_bytes: float


@dataclass(frozen=True, slots=True)
class CampaignJobs:
    """The jobs of a campaign in order of arrival, and the files that their requests name."""

    jobs: tuple[StreamJob, ...]
    files: Mapping[str, InputFile]


def campaign_jobs(campaign: Campaign, topology: Topology, seed: int) -> CampaignJobs:
    """Return the jobs of `campaign` under `seed` on `topology`.

    Raises:
        InvalidInput: if the campaign does not state execution times, or contains an invalid job.
        ImpossibleRequest: if a job does not fit the system.
    """
    arrivals = schedule(campaign, seed)
    services_s = drawn_services_s(campaign, len(arrivals), seed)
    if services_s is None:
        raise InvalidInput(
            f"campaign {campaign.name!r}: service_s: the simulator runs no application, "
            "so give the execution times in one cluster, for instance {low_s: 60, high_s: 120}."
        )
    queues = home_queues(campaign, arrivals, topology, seed)
    may_come = admitted(campaign, [arrival.specification for arrival in arrivals], topology)
    jobs: list[StreamJob] = []
    # Jobs that ask for the same share one request, so that the simulator checks it once.
    requests: dict[JobRequest, JobRequest] = {}
    drawn = zip(arrivals, services_s, queues, may_come, strict=True)
    for number, (arrival, service_s, queue, comes) in enumerate(drawn, start=1):
        if not comes:
            continue
        asked: JobRequest = arrival.specification.request_in(topology)
        request = requests.setdefault(asked, asked)
        jobs.append(stream_job(number, arrival, topology, service_s, queue, request))
    return CampaignJobs(tuple(jobs), campaign_files(campaign, topology, seed))


def campaign_files(campaign: Campaign, topology: Topology, seed: int) -> dict[str, InputFile]:
    """Return the input files of all jobs of `campaign` under `seed`, by logical name; empty if its jobs read none.

    Raises:
        InvalidInput: if a file has more replicas than there are clusters.
    """
    input_files = campaign.input_files
    if input_files is None:
        return {}
    most, clusters = max(input_files.replicas), len(topology.clusters)
    if most > clusters:
        raise InvalidInput(
            f"Campaign {campaign.name!r}: {most} replicas of a file are at {most} different clusters, and "
            f"{topology.name!r} has {clusters} (--replicas {clusters} is the most)."
        )
    sizes, replicas, sites = (stream(seed, name) for name in ("file size", "replicas", "file sites"))
    alphabetical = sorted(range(len(topology.clusters)), key=lambda index: topology.clusters[index].name)
    drawn = [_file(input_files, alphabetical, sizes, replicas, sites) for _ in range(campaign.jobs)]
    return {
        file_name(campaign, number): file._replace(size_bytes=file.size_bytes / campaign.time_scale)
        for number, file in enumerate(drawn, start=1)
    }


def _file(
    input_files: InputFiles,
    alphabetical: list[int],
    sizes: numpy.random.Generator,
    replicas: numpy.random.Generator,
    sites: numpy.random.Generator,
) -> InputFile:
    size_bytes = input_files.sizes_bytes[int(sizes.integers(len(input_files.sizes_bytes)))]
    number = input_files.replicas[int(replicas.integers(len(input_files.replicas)))]
    chosen = set(sites.permutation(len(alphabetical))[:number].tolist())
    return InputFile(tuple(site for site in alphabetical if site in chosen), float(size_bytes))
