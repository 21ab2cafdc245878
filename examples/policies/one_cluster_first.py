"""One cluster first: a job is spread over clusters only if no single cluster can hold all of it.

The cluster that the job fills best is taken, so that large holes stay free. A job that must be spread goes where worst
fit puts it: the largest component first, each to the cluster with the most idle processors.

    testbed simulate W2 --policy examples/policies/one_cluster_first.py:OneClusterFirst
"""

from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.state import SystemState


class OneClusterFirst:
    """The policy; `ignores_time` says that it decides alike whenever it is asked in the same state."""

    accepts = frozenset({RequestKind.NON_FIXED})
    ignores_time = True

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Return a placement in one cluster, else one over several, else None."""
        return _together(request, state) or _spread(request, state)


def _together(request: JobRequest, state: SystemState) -> Placement | None:
    roomy = [cluster for cluster, idle in enumerate(state.idle) if idle >= request.processors]
    if not roomy:
        return None
    fullest = min(roomy, key=lambda cluster: state.idle[cluster])
    return Placement(tuple(Component(fullest, size) for size in request.components))


def _spread(request: JobRequest, state: SystemState) -> Placement | None:
    idle = list(state.idle)
    clusters = [0] * len(request.components)
    for index in request.descending:
        size = request.components[index]
        emptiest = max(range(len(idle)), key=lambda cluster: idle[cluster])
        if idle[emptiest] < size:
            return None
        idle[emptiest] -= size
        clusters[index] = emptiest
    # The components of a placement are in the order of the request.
    components = zip(clusters, request.components, strict=True)
    return Placement(tuple(Component(cluster, size) for cluster, size in components))
