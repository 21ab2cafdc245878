"""Conversion of a request to a kind that a placement policy accepts, so every policy can run the same job list.

Policies that accept different kinds are compared on the same jobs. "Communication-Aware Job Placement Policies",
section 5, gives WF and CM the components of a job and FCM their total. The Close-to-Files paper calls a request
unordered although its components may share a cluster. An unordered or non-fixed request is therefore converted to the
first kind that the policy accepts, in the order of `as_taken`. Nothing else about the job changes.
"""

from __future__ import annotations

from dataclasses import replace

from emulator.model.errors import InvalidInput
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.protocols import PlacementPolicy


def as_taken(request: JobRequest, policy: PlacementPolicy, *, singles_stay: bool = False) -> JobRequest:
    """Return `request` in a kind that `policy` accepts: unchanged if possible, else non-fixed, unordered or flexible.

    A fixed request is never changed, because disciplines place it on the clusters that it names. If `singles_stay`, the
    request of a single-component job is not changed either: a discipline with local queues places it in the cluster of
    its queue.

    Raises:
        InvalidInput: if the policy accepts neither the request nor a conversion of it.
    """
    if (
        request.kind in policy.accepts
        or request.kind is RequestKind.FIXED
        or (singles_stay and request.single_component)
    ):
        return request
    if request.kind in (RequestKind.UNORDERED, RequestKind.NON_FIXED):
        for kind in (RequestKind.NON_FIXED, RequestKind.UNORDERED):
            if kind in policy.accepts:
                return replace(request, kind=kind)
        if RequestKind.FLEXIBLE in policy.accepts:
            return replace(request, kind=RequestKind.FLEXIBLE, components=(request.processors,))
    taken = ", ".join(sorted(policy.accepts))
    raise InvalidInput(f"A request of the kind {request.kind} cannot be placed by this policy (it takes: {taken}).")


def as_total(request: JobRequest) -> JobRequest:
    """Return `request` as a total request for a single cluster: the sum of its components."""
    return JobRequest(
        RequestKind.TOTAL,
        (request.processors,),
        file=request.file,
        estimate_s=request.estimate_s,
        memory_bytes=request.memory_bytes,
        processor_share=request.processor_share,
    )
