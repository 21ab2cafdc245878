"""What a job holds where nodes are exclusive, and how many of its processes run in each component.

There a component takes whole nodes: on nodes of p processors, a component of n holds n rounded up to a multiple of p. A
placement says what is held. The processes that run, the *ranks*, are as many as the job asked for. The total of a
flexible request is rounded up as a whole: however its job is split, it holds no more nodes than its total needs.

`together` is the number of processors that a component takes at a time: p, or 1 where jobs share nodes. Then a job runs
on all that it holds.
"""

from __future__ import annotations

from functools import lru_cache

from emulator.model.errors import InvalidInput
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind


def whole(processors: int, together: int) -> int:
    """Return how many processors a part of `processors` holds if it takes `together` of them at a time."""
    return (processors + together - 1) // together * together


@lru_cache(maxsize=4096)
def whole_requests(request: JobRequest, together: int) -> tuple[JobRequest, ...]:
    """Return the requests for what a job of `request` holds, of which a policy is to place the first that fits.

    There is one, unless a flexible request lists splits: these hold different totals, so each of them becomes one.
    """
    if request.splits:
        return tuple([_for_split(request, _whole_sizes(split, together)) for split in request.splits])
    least, most = request.least_component, request.most_components
    if least > 1:
        # So many parts of the least size are in the job itself; rounded up, they might seem to be more.
        most = request.processors // least if most is None else min(most, request.processors // least)
    kept = whole(least, together) if request.kind is RequestKind.FLEXIBLE else least
    return (_changed(request, _whole_sizes(request.components, together), kept, most),)


def ranks(request: JobRequest, placement: Placement, together: int) -> tuple[int, ...]:
    """Return how many processes of a job run in each component of its placement.

    Raises:
        InvalidInput: if the components do not hold what `request` asks for in whole nodes.
    """
    held = tuple([component.processors for component in placement.components])
    if together == 1:
        return held
    if request.kind is RequestKind.FLEXIBLE and not request.splits:
        filled = _filled(request, held)
        is_whole = all(size % together == 0 for size in held) and sum(held) == whole(request.processors, together)
        if is_whole and min(filled) >= request.least_component:
            return filled
    else:
        for sizes in request.splits or (request.components,):
            if held == _whole_sizes(sizes, together):
                return sizes
    raise InvalidInput(
        f"The policy places components of {list(held)} processors for a job that asked for {list(request.components)}: "
        f"these are not its components in whole nodes of {together}."
    )


def ranked(request: JobRequest, placement: Placement, together: int) -> Placement:
    """Return `placement` with the processes that run in each component in place of the processors that it holds.

    Raises:
        InvalidInput: if the components do not hold what `request` asks for in whole nodes.
    """
    if together == 1:
        return placement
    sizes = ranks(request, placement, together)
    components = [
        Component(component.cluster, size, component.nodes)
        for component, size in zip(placement.components, sizes, strict=True)
    ]
    return Placement(tuple(components), placement.file_sites, placement.transfer_s, placement.learned)


def _whole_sizes(sizes: tuple[int, ...], together: int) -> tuple[int, ...]:
    return tuple([whole(size, together) for size in sizes])


def _filled(request: JobRequest, held: tuple[int, ...]) -> tuple[int, ...]:
    """Return the processes of a flexible job: components are filled in order, but the last keep the least size."""
    sizes: list[int] = []
    rest = request.processors
    for position, size in enumerate(held, start=1):
        kept = request.least_component * (len(held) - position)
        sizes.append(min(size, rest - kept))
        rest -= sizes[-1]
    return tuple(sizes)


def _for_split(request: JobRequest, split: tuple[int, ...]) -> JobRequest:
    return _changed(request, (sum(split),), 1, None, (split,))


def _changed(
    request: JobRequest,
    components: tuple[int, ...],
    least: int,
    most: int | None,
    splits: tuple[tuple[int, ...], ...] = (),
) -> JobRequest:
    return JobRequest(
        request.kind,
        components,
        request.clusters,
        least,
        most,
        splits,
        request.file,
        request.estimate_s,
        request.memory_bytes,
        request.processor_share,
    )
