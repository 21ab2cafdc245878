"""The location of a job's input file and the estimated transfer time, from the system state.

"An Evaluation of the Close-to-Files Processor and Data Co-Allocation Policy in Multiclusters", section 3. The transfer
time is the file size divided by the bandwidth. The transfer time of a job (FTT) is the longest of its components. Under
a policy that ignores files, such as WF, each component reads the replica with the shortest transfer time.
"""

from __future__ import annotations

import math

from emulator.model.errors import UnknownName
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest
from emulator.policies.state import FileState, Surroundings


def file_of(request: JobRequest, surroundings: Surroundings) -> FileState | None:
    """Return the input file of a request, or None if it has none.

    Raises:
        UnknownName: if the file is not in the state.
    """
    if request.file is None:
        return None
    if request.file not in surroundings.files:
        raise UnknownName.among("file", request.file, sorted(surroundings.files))
    return surroundings.files[request.file]


def transfer_s(file: FileState, site: int, cluster: int, surroundings: Surroundings) -> float:
    """Return the estimated seconds to transfer `file` from `site` to `cluster`.

    The time is zero within a site, and infinite if the bandwidth is not known.
    """
    if site == cluster:
        return 0.0
    bandwidth = surroundings.bandwidth_bytes_per_s.get((site, cluster), 0.0)
    return file.size_bytes / bandwidth if bandwidth > 0 else math.inf


def nearest_site(file: FileState, cluster: int, surroundings: Surroundings) -> int:
    """Return the site of the replica with the shortest transfer to `cluster`; among equals the alphabetically first."""
    return min(file.sites, key=lambda site: transfer_s(file, site, cluster, surroundings))


def with_files(
    file: FileState,
    clusters: list[int],
    sites: list[int],
    request: JobRequest,
    surroundings: Surroundings,
    history: frozenset[tuple[int, int]],
) -> Placement:
    """Return the placement on `clusters` whose components read the replicas at `sites`."""
    components = zip(clusters, request.components, strict=True)
    pairs = zip(sites, clusters, strict=True)
    return Placement(
        tuple(Component(cluster, size) for cluster, size in components),
        tuple(sites),
        max(transfer_s(file, site, cluster, surroundings) for site, cluster in pairs),
        history - surroundings.history,
    )


def reading_nearest(request: JobRequest, placement: Placement, surroundings: Surroundings) -> Placement:
    """Return `placement` with the replica that each component reads: the one with the shortest transfer time."""
    file = file_of(request, surroundings)
    if file is None:
        return placement
    clusters = [component.cluster for component in placement.components]
    sites = [nearest_site(file, cluster, surroundings) for cluster in clusters]
    pairs = zip(sites, clusters, strict=True)
    longest_s = max(transfer_s(file, site, cluster, surroundings) for site, cluster in pairs)
    return Placement(placement.components, tuple(sites), longest_s, placement.learned)
