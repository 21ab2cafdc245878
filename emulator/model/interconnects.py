"""The interconnect that carries messages inside a cluster, as a topology states it.

The interconnect may differ between jobs in one cluster and co-allocated jobs. On DAS-2 only single-cluster jobs could
use Myrinet; co-allocated jobs used Ethernet even inside a cluster (Banen, Bucur and Epema's measurement study). Where
no interconnect is stated, messages go through shared memory as fast as the host carries them. Messages between clusters
cross the real links of the wide area, not an interconnect.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import Field, PositiveFloat, model_validator

from emulator.model.documents import DocumentModel, Name
from emulator.model.units import microseconds

SHARED_MEMORY: Final = "shared-memory"
"""The name in records where no interconnect is stated."""

WIDE_AREA: Final = "wide-area"
"""The name that records add for a job over several clusters."""

NonNegative = Annotated[float, Field(ge=0)]


class Interconnect(DocumentModel):
    """The cost model of a message between two processors of a cluster.

    A sender is busy for `message_s` plus the time of the message's bytes at `rate_mbit`, and sends one message after
    another. The message arrives `latency_s` later.
    """

    name: Name
    latency_s: NonNegative
    rate_mbit: PositiveFloat
    message_s: NonNegative = 0.0

    @model_validator(mode="after")
    def _is_not_the_unpaced_one(self) -> Self:
        if self.name == SHARED_MEMORY:
            raise ValueError(f"name: {SHARED_MEMORY!r} stands for messages that are not paced; choose another")
        return self

    def stretched(self, factor: float) -> Interconnect:
        """Return it with its latency and its time per message taken `factor` times as long."""
        return self.model_copy(update={"latency_s": self.latency_s * factor, "message_s": self.message_s * factor})

    @property
    def as_argument(self) -> str:
        """The applications' command-line argument: name, latency, rate and time per message, separated by colons."""
        return f"{self.name}:{self.latency_s!r}:{self.rate_mbit!r}:{self.message_s!r}"

    @property
    def described(self) -> str:
        """The interconnect in a few words, for people."""
        latency_us, message_us = microseconds(self.latency_s), microseconds(self.message_s)
        return f"{self.name} ({latency_us:g} us, {self.rate_mbit:g} Mbit/s, {message_us:g} us a message)"


class WhichInterconnect(StrEnum):
    """The choice of which of a topology's interconnects carries messages inside clusters."""

    SINGLE_CLUSTER = "single-cluster"
    COALLOCATED = "coallocated"


class Interconnects(DocumentModel):
    """The interconnect of jobs in a single cluster, and that of co-allocated jobs inside each of their clusters."""

    single_cluster: Interconnect | None = None
    coallocated: Interconnect | None = None

    def stretched(self, factor: float) -> Interconnects:
        """Return both with their messages taken `factor` times as long."""
        single, coallocated = (
            None if stated is None else stated.stretched(factor) for stated in (self.single_cluster, self.coallocated)
        )
        return self.model_copy(update={"single_cluster": single, "coallocated": coallocated})

    def of(self, clusters: int, which: WhichInterconnect | None = None) -> Interconnect | None:
        """Return the interconnect of a job over `clusters` clusters, or the one of `which`; None is shared memory."""
        if which is None:
            which = WhichInterconnect.SINGLE_CLUSTER if clusters == 1 else WhichInterconnect.COALLOCATED
        return self.single_cluster if which is WhichInterconnect.SINGLE_CLUSTER else self.coallocated

    @property
    def described(self) -> str:
        """Both interconnects in a few words, for people."""
        shown = [
            SHARED_MEMORY if interconnect is None else interconnect.described
            for interconnect in (self.single_cluster, self.coallocated)
        ]
        return shown[0] if shown[0] == shown[1] else f"{shown[0]}; co-allocated: {shown[1]}"
