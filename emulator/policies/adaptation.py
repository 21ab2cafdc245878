"""One job list for every policy: a list of component sizes in the kind of request that a placement policy takes.

The same jobs are to be compared under policies that take different kinds. "Communication-Aware Job Placement
Policies", section 5, gives FCM the totals of the jobs whose components it gives to WF and CM; the Close-to-Files paper
calls requests unordered whose components may share a cluster. What is offered as unordered is so handed to a policy as
the first kind below that it takes; nothing else about the job changes.
"""

from __future__ import annotations

from dataclasses import replace

from emulator.model.errors import InvalidInput
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.protocols import PlacementPolicy


def as_taken(request: JobRequest, policy: PlacementPolicy) -> JobRequest:
    """`request` as `policy` takes it: itself where it can, else non-fixed, unordered or flexible, in that order.

    A fixed request stays what it is, because disciplines place it where it says.

    Raises:
        InvalidInput: if the policy takes neither the request nor its like.
    """
    if request.kind in policy.accepts or request.kind is RequestKind.FIXED:
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
    """`request` for a single cluster: one number, the sum of its components."""
    return JobRequest(
        RequestKind.TOTAL,
        (request.processors,),
        file=request.file,
        estimate_s=request.estimate_s,
        memory_bytes=request.memory_bytes,
    )
