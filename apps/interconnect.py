"""The emulated interconnect inside a cluster: what a message costs between two of its processors.

Messages inside a cluster really go over the host's shared memory; this says how long the emulated interconnect would
have taken. The model is LogGP's (Alexandrov et al., 1995) with its overhead and gap in one: a sender's
interconnect takes in one message after another, each in `message_s` and its bytes at `rate_mbit`; the message is at its
receiver `latency_s` later, and no two messages come in at a receiver faster than the rate.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from emulator.model.errors import InvalidInput
from emulator.model.units import rate_bytes_per_s

SHARED_MEMORY = "shared-memory"
"""The name recorded when no interconnect is stated: messages take what the host's memory takes."""

# As a topology names one (`emulator.model.documents`, which needs what a node has not).
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_FORM = "NAME:latency_s:rate_mbit:message_s, such as myrinet:20e-6:1000:5e-6"


@dataclass(frozen=True, slots=True)
class Interconnect:
    """A named interconnect: one-way latency, rate, and the cost of each message of any size; all emulated.

    Raises:
        InvalidInput: if the name or a value is not one that a topology may state.
    """

    name: str
    latency_s: float
    rate_mbit: float
    message_s: float = 0.0

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidInput(
                "An interconnect needs a name of at most 31 lower-case letters, digits and hyphens that begins with a"
                f" letter, not {self.name!r}."
            )
        if self.name == SHARED_MEMORY:
            raise InvalidInput(f"{SHARED_MEMORY!r} stands for messages that are not paced: choose another name.")
        if not 0.0 <= self.latency_s < math.inf:
            raise InvalidInput(f"The latency of {self.name} must be zero or more seconds, not {self.latency_s!r}.")
        if not 0.0 < self.rate_mbit < math.inf:
            raise InvalidInput(f"The rate of {self.name} must be positive megabits per second, not {self.rate_mbit!r}.")
        if not 0.0 <= self.message_s < math.inf:
            raise InvalidInput(f"A message over {self.name} must take zero or more seconds, not {self.message_s!r}.")

    @classmethod
    def parse(cls, text: str) -> Interconnect:
        """Parse `NAME:latency_s:rate_mbit:message_s`, as on a command line (the last may be absent).

        Raises:
            InvalidInput: if the text has another form, or a value is out of range.
        """
        name, *values = text.split(":")
        try:
            numbers = [float(value) for value in values]
        except ValueError:
            raise InvalidInput(f"An interconnect is stated as {_FORM}, not {text!r}.") from None
        if not 2 <= len(numbers) <= 3:
            raise InvalidInput(f"An interconnect is stated as {_FORM}, not {text!r}.")
        return cls(name, *numbers)

    def transmission_s(self, size_bytes: int) -> float:
        """Return the emulated seconds in which `size_bytes` pass at the interconnect's rate."""
        return size_bytes / rate_bytes_per_s(self.rate_mbit)
