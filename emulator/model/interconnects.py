"""What carries messages inside a cluster, as a topology states it.

It may differ between jobs in one cluster and co-allocated ones: on DAS-2 only the former could use Myrinet, and the
latter used Ethernet even inside a cluster (Banen, Bucur and Epema's measurement study). Where none is stated, messages
go through shared memory as fast as the host carries them. The wide area is no interconnect: it is real.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import Field, PositiveFloat, model_validator

from emulator.model.documents import DocumentModel
from emulator.model.names import Name
from emulator.model.units import microseconds

SHARED_MEMORY: Final = "shared-memory"
"""What a record says where no interconnect is stated."""

WIDE_AREA: Final = "wide-area"
"""What a record adds for a job over several clusters."""

NonNegative = Annotated[float, Field(ge=0)]


class Interconnect(DocumentModel):
    """How a message travels between two processors of a cluster.

    A sender is busy for `message_s` and for the message's length at `rate_mbit`, one message after another; the message
    arrives `latency_s` later.
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

    @property
    def as_argument(self) -> str:
        """As the applications' command line takes it: name, latency, rate and time per message, by colons."""
        return f"{self.name}:{self.latency_s!r}:{self.rate_mbit!r}:{self.message_s!r}"

    @property
    def described(self) -> str:
        """The interconnect in a few words, for people."""
        latency_us, message_us = microseconds(self.latency_s), microseconds(self.message_s)
        return f"{self.name} ({latency_us:g} us, {self.rate_mbit:g} Mbit/s, {message_us:g} us a message)"


class WhichInterconnect(StrEnum):
    """Which of a topology's interconnects carries messages inside clusters."""

    SINGLE_CLUSTER = "single-cluster"
    COALLOCATED = "coallocated"


class Interconnects(DocumentModel):
    """The interconnect of jobs in a single cluster, and that of co-allocated ones inside each of their clusters."""

    single_cluster: Interconnect | None = None
    coallocated: Interconnect | None = None

    def of(self, clusters: int, which: WhichInterconnect | None = None) -> Interconnect | None:
        """The one of a job over so many clusters unless `which` says otherwise; nothing is shared memory."""
        if which is None:
            which = WhichInterconnect.SINGLE_CLUSTER if clusters == 1 else WhichInterconnect.COALLOCATED
        return self.single_cluster if which is WhichInterconnect.SINGLE_CLUSTER else self.coallocated

    @property
    def described(self) -> str:
        """Both in a few words, for people."""
        shown = [SHARED_MEMORY if it is None else it.described for it in (self.single_cluster, self.coallocated)]
        return shown[0] if shown[0] == shown[1] else f"{shown[0]}; co-allocated: {shown[1]}"
