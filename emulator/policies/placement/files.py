"""Where a job's input file lies and how long it takes to come: what file-aware placement reads from the state.

"An Evaluation of the Close-to-Files Processor and Data Co-Allocation Policy in Multiclusters", section 3: transfer time
is file size over bandwidth, a job's is the longest of its components' (FTT), and a policy that is blind to files, such
as its WF, lets each component read the replica that comes soonest.
"""

from __future__ import annotations

import math

from emulator.model.errors import UnknownName
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest
from emulator.policies.state import FileState, Surroundings


def file_of(request: JobRequest, surroundings: Surroundings) -> FileState | None:
    """The input file of a request, None if it needs none.

    Raises:
        UnknownName: if the state does not know the file.
    """
    if request.file is None:
        return None
    if request.file not in surroundings.files:
        raise UnknownName.among("file", request.file, sorted(surroundings.files))
    return surroundings.files[request.file]


def transfer_s(file: FileState, site: int, cluster: int, surroundings: Surroundings) -> float:
    """Estimated seconds to bring `file` from `site` to `cluster`: zero at home, infinite without a known bandwidth."""
    if site == cluster:
        return 0.0
    bandwidth = surroundings.bandwidth_bytes_per_s.get((site, cluster), 0.0)
    return file.size_bytes / bandwidth if bandwidth > 0 else math.inf


def nearest_site(file: FileState, cluster: int, surroundings: Surroundings) -> int:
    """The replica that comes soonest to `cluster`; among equals the alphabetically first site."""
    return min(file.sites, key=lambda site: transfer_s(file, site, cluster, surroundings))


def with_files(
    file: FileState,
    clusters: list[int],
    sites: list[int],
    request: JobRequest,
    surroundings: Surroundings,
    history: frozenset[tuple[int, int]],
) -> Placement:
    """The placement on `clusters` whose components read the replicas at `sites`."""
    components = zip(clusters, request.components, strict=True)
    pairs = zip(sites, clusters, strict=True)
    return Placement(
        tuple(Component(cluster, size) for cluster, size in components),
        tuple(sites),
        max(transfer_s(file, site, cluster, surroundings) for site, cluster in pairs),
        history - surroundings.history,
    )


def reading_nearest(request: JobRequest, placement: Placement, surroundings: Surroundings) -> Placement:
    """The placement of a policy that is blind to files, each component reading the replica that comes soonest."""
    file = file_of(request, surroundings)
    if file is None:
        return placement
    clusters = [component.cluster for component in placement.components]
    sites = [nearest_site(file, cluster, surroundings) for cluster in clusters]
    pairs = zip(sites, clusters, strict=True)
    longest_s = max(transfer_s(file, site, cluster, surroundings) for site, cluster in pairs)
    return Placement(placement.components, tuple(sites), longest_s)
