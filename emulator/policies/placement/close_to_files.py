"""Close-to-Files: components go where the job's input file is, else where the transfer is estimated to be shortest.

"An Evaluation of the Close-to-Files Processor and Data Co-Allocation Policy in Multiclusters", section 3. The history
table H of pairs (cluster, file site) is part of the state. A placement that uses a pair returns the pairs to add as
`Placement.learned`. An empty H stays empty, so a run must begin with a filled one: `every_pair`, as in the published
experiments. A job without an input file is placed by worst fit.
"""

from __future__ import annotations

import math
from typing import ClassVar

from emulator.model.placement import Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.files import file_of, transfer_s, with_files
from emulator.policies.placement.worst_fit import WorstFit
from emulator.policies.state import FileState, Surroundings, SystemState


class CloseToFiles:
    """The policy that places components in decreasing size, each on a file site with room if there is one.

    Otherwise it uses the pair in the history with the shortest estimated transfer time.
    """

    accepts: ClassVar[frozenset[RequestKind]] = frozenset({RequestKind.NON_FIXED, RequestKind.TOTAL})
    ignores_time: ClassVar[bool] = True
    ignores_estimates: ClassVar[bool] = True

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Return a placement with the replica that each component reads, or None if a component fits nowhere.

        A component fits on a file site with room, or on a cluster with room that has a pair in the history.

        Raises:
            UnknownName: if the state does not know the request's file.
        """
        file = file_of(request, state.surroundings)
        if file is None:
            return WorstFit().place(request, state)
        idle = list(state.idle)
        clusters = [0] * len(request.components)
        sites = [0] * len(request.components)
        history = state.surroundings.history
        for index in request.descending:
            size = request.components[index]
            choice = _local(file, idle, size) or _nearest(file, idle, size, history, state.surroundings)
            if choice is None:
                return None
            clusters[index], sites[index] = choice
            idle[choice[0]] -= size
            if choice[0] not in file.sites:
                history = history | {(choice[0], site) for site in file.sites}
        return with_files(file, clusters, sites, request, state.surroundings, history)


def every_pair(clusters: int) -> frozenset[tuple[int, int]]:
    """Return the initial history table of the published experiments: every cluster with every file site."""
    return frozenset((cluster, site) for cluster in range(clusters) for site in range(clusters))


def _local(file: FileState, idle: list[int], size: int) -> tuple[int, int] | None:
    for site in file.sites:
        if idle[site] >= size:
            return site, site
    return None


def _nearest(
    file: FileState, idle: list[int], size: int, history: frozenset[tuple[int, int]], surroundings: Surroundings
) -> tuple[int, int] | None:
    pairs = [
        (cluster, site)
        for cluster in range(len(idle))
        for site in file.sites
        if idle[cluster] >= size
        and (cluster, site) in history
        and transfer_s(file, site, cluster, surroundings) < math.inf
    ]
    if not pairs:
        return None
    return min(pairs, key=lambda pair: transfer_s(file, pair[1], pair[0], surroundings))
