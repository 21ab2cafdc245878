"""The errors of the testbed: a small hierarchy whose messages name the thing, the value and the remedy.

Every error that a user can cause is a `TestbedError`; the command line prints its one sentence and exits non-zero.
Anything else that escapes is a defect.
"""

from __future__ import annotations


class TestbedError(Exception):
    """Root of every error that the testbed raises on purpose; its message is one sentence for the user."""


class InvalidInput(TestbedError):
    """A document, an argument or a request that cannot be meant: unknown key, wrong type, value out of range."""


class ImpossibleRequest(InvalidInput):
    """A well-formed job request that this system could never satisfy, however idle it is."""


class PolicyFailed(InvalidInput):
    """A policy or discipline of the user's own raised something, or answered with what cannot be done."""


class UnknownName(InvalidInput):
    """A name (topology, policy, queue, cluster, job, testbed) that nothing carries."""

    @classmethod
    def among(cls, kind: str, name: str, known: list[str]) -> UnknownName:
        """The error for a `kind` of thing called `name` where only `known` exist."""
        listed = ", ".join(known) if known else "none exist"
        return cls(f"There is no {kind} {name!r} (known: {listed}).")


class EngineUnavailable(TestbedError):
    """Docker or Compose is missing, stopped or refuses us."""


class AlreadyStanding(TestbedError):
    """A testbed of this name stands with another topology, or a resource it needs is taken."""


class NotStanding(TestbedError):
    """The testbed, or the part of it that an operation needs, does not run."""


class Unanswered(NotStanding):
    """Nobody answered a request, so that nobody knows whether it arrived."""


class KeyTaken(TestbedError):
    """A submission's key belongs to another submission."""


class AlreadyEnded(TestbedError):
    """What was to be changed has come to its end."""


class TestbedBusy(TestbedError):
    """A run holds the testbed; only one may."""


class Unauthorized(TestbedError):
    """The token presented to the broker is not the testbed's."""


class ClaimFailed(TestbedError):
    """A local resource manager, that of `cluster`, did not give the processors that a component asked for."""

    def __init__(self, sentence: str, cluster: str = "") -> None:
        super().__init__(sentence)
        self.cluster = cluster


class NotGranted(ClaimFailed):
    """The processors of a claim are in use by others of the same cluster: it may be tried again."""


class ClusterUnreachable(TestbedError):
    """A cluster's head does not answer, or answers with what it should not."""


class TransferFailed(TestbedError):
    """A file did not come from one site's file server to another's, or not as it is at its source."""


class RunFailed(TestbedError):
    """A job, measurement or campaign ended without the result it was started for."""


class Hopeless(TestbedError):
    """A run that this host cannot hold, or whose verdict would be void, as far as can be known before it."""


class WideAreaUnfaithful(TestbedError):
    """The wide area could not be programmed, or measures outside its tolerance."""
