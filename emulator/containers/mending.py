"""Decide what to do about each part of a testbed that is not as rendered. Pure.

A part is a container: a cluster's, the router's or the broker's. Remedies are tried from the mildest to the strongest.
Each keeps the volumes, which hold the journal, the outputs and the files, and so does a new container.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

GONE: Final = "gone"
"""The status of a part without a container."""

CLUSTER: Final = "cluster"
BROKER: Final = "broker"

_RUNS: Final = ("running", "restarting")
_UNUSABLE: Final = ("dead", "removing")


class Remedy(StrEnum):
    """A remedy for a part; the members are in the order in which they are applied."""

    RECREATE = "recreate"
    UNPAUSE = "unpause"
    ATTACH = "attach"
    START = "start"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class RenderedPart:
    """A container as the Compose file describes it, with its address on each network, by the network's name."""

    name: str
    service: str
    role: str
    addresses: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FoundPart:
    """A container as it is now; `addresses` are those on networks that exist, `faults` what its health check says."""

    status: str
    addresses: Mapping[str, str]
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do about one part, and why; `network` and `address` are those of an attachment."""

    remedy: Remedy
    part: RenderedPart
    why: str
    network: str = ""
    address: str = ""

    @property
    def described(self) -> str:
        """The action in words."""
        done = {
            Remedy.RECREATE: "making its container anew, its volumes are kept",
            Remedy.UNPAUSE: "continuing it",
            Remedy.ATTACH: f"attaching it with {self.address}",
            Remedy.START: "starting it again",
            Remedy.RESTART: "restarting it in its place",
        }[self.remedy]
        journal = " with its journal" if self.part.role == BROKER and self.remedy is not Remedy.ATTACH else ""
        return f"{self.part.name} {self.why}: {done}{journal}"


Tried = Mapping[str, Collection[Remedy]]
"""The remedies that did not help the present container so far, and whether it was made anew, by the part's name."""


def actions_for_all(parts: Sequence[RenderedPart], found: Mapping[str, FoundPart], tried: Tried) -> tuple[Action, ...]:
    """Return what to do about all `parts`; nothing if all are as rendered, or if nothing is left to try.

    While something is done about a cluster, what the broker says of its clusters is no fault of the broker.
    """
    others = [
        action
        for part in parts
        if part.role != BROKER
        for action in actions_for(part, found[part.name], tried.get(part.name, ()))
    ]
    brokers = [
        action
        for part in parts
        if part.role == BROKER
        for action in actions_for(part, _excused(found[part.name], others), tried.get(part.name, ()))
    ]
    return (*others, *brokers)


def actions_for(part: RenderedPart, found: FoundPart, tried: Collection[Remedy]) -> tuple[Action, ...]:
    """Return what to do about one part, in order."""
    if found.status == GONE or found.status in _UNUSABLE:
        return _recreation(part, f"is {found.status}", tried)
    attachments = attachments_for(part, found)
    if found.status == "paused":
        # A router or broker that was attached anew is restarted in the next round.
        return (Action(Remedy.UNPAUSE, part, "is paused"), *attachments)
    if found.status not in _RUNS:
        why = f"is {found.status}"
        if Remedy.START in tried:
            return _recreation(part, why, tried)
        return (*attachments, Action(Remedy.START, part, why))
    if attachments:
        if Remedy.ATTACH in tried:
            return _recreation(part, attachments[0].why, tried)
        return (*attachments, *_after_attachment(part))
    if not found.faults:
        return ()
    if Remedy.RESTART in tried or Remedy.RECREATE in tried:
        return _recreation(part, found.faults[0], tried)
    return (Action(Remedy.RESTART, part, found.faults[0]),)


def attachments_for(part: RenderedPart, found: FoundPart) -> tuple[Action, ...]:
    """Return the attachments that a part lacks; networks that a user added are left alone."""
    return tuple(
        Action(Remedy.ATTACH, part, _why_attached(network, found), network, address)
        for network, address in part.addresses.items()
        if found.addresses.get(network) != address
    )


def tried_after(tried: Collection[Remedy], action: Action) -> set[Remedy]:
    """Return the remedies that were tried after `action`: a container made anew may be started and attached again."""
    return {action.remedy} if action.remedy is Remedy.RECREATE else {*tried, action.remedy}


def touch_wide_area(actions: Sequence[Action]) -> bool:
    """Return whether the wide area must be programmed again after `actions`."""
    return any(action.part.role != BROKER for action in actions)


def _after_attachment(part: RenderedPart) -> tuple[Action, ...]:
    """Restart a part that uses its interfaces as it found them at its start; a cluster's edge is programmed again."""
    return () if part.role == CLUSTER else (Action(Remedy.RESTART, part, "has new interfaces"),)


def _recreation(part: RenderedPart, why: str, tried: Collection[Remedy]) -> tuple[Action, ...]:
    if Remedy.RECREATE in tried:
        return ()
    # Compose may leave a new container without some of its networks, so it is started only after another look.
    return (Action(Remedy.RECREATE, part, why),)


def _excused(broker: FoundPart, others: Sequence[Action]) -> FoundPart:
    return FoundPart(broker.status, broker.addresses) if others else broker


def _why_attached(network: str, found: FoundPart) -> str:
    there = found.addresses.get(network)
    return f"is not on {network}" if there is None else f"has {there} on {network}"
