"""The errors of the testbed. Their messages name the thing at fault, its value and the remedy.

Every error that a user can cause is a `TestbedError`. The command line prints its message, one sentence, and exits with
a non-zero code. Any other exception that reaches the user is a defect.
"""

from __future__ import annotations

from pathlib import Path


class TestbedError(Exception):
    """Base of all errors that the testbed raises on purpose; the message is one sentence for the user."""


class InvalidInput(TestbedError):
    """An invalid document, argument or request: unknown key, wrong type, or value out of range."""


class ImpossibleRequest(InvalidInput):
    """A well-formed job request that this system cannot satisfy even when all processors are idle."""


class PolicyFailed(InvalidInput):
    """A user's policy or queue discipline that raised an exception or returned an impossible decision."""


class UnknownName(InvalidInput):
    """A name of a topology, policy, queue, cluster, job or testbed that does not exist."""

    @classmethod
    def among(cls, kind: str, name: str, known: list[str]) -> UnknownName:
        """Return the error for a `kind` of thing called `name` where only `known` exist; it suggests the nearest."""
        listed = ", ".join(known) if known else "none exist"
        near = nearest(name, known)
        suggested = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        return cls(f"There is no {kind} {name!r} (known: {listed}{suggested}).")


def nearest(name: str, known: list[str]) -> list[str]:
    """Return up to two of the `known` names that `name` may have been meant to be; capital letters do not count."""
    from difflib import get_close_matches  # only where something was mistyped: it takes a while to load

    by_letters = {each.casefold(): each for each in known}
    return [by_letters[letters] for letters in get_close_matches(name.casefold()[:64], by_letters, n=2)]


class EngineUnavailable(TestbedError):
    """A missing or stopped Docker or Compose, or one that refuses access."""


class TestbedAlreadyUp(TestbedError):
    """A testbed of this name that runs with another topology, or a needed resource that is in use."""


class TestbedNotUp(TestbedError):
    """A testbed, or a part of it that an operation needs, that does not run."""


class Unanswered(TestbedNotUp):
    """A request without an answer; it may or may not have been received."""


class JournalFailed(TestbedNotUp):
    """A journal of the broker that cannot be written for now, because its disk is full or fails, or it is locked."""


class KeyTaken(TestbedError):
    """A submission key that belongs to another submission."""


class AlreadyEnded(TestbedError):
    """A change to a job or run that has already ended."""


class TestbedBusy(TestbedError):
    """A testbed that another run holds; only one run may hold it at a time."""


class Unauthorized(TestbedError):
    """A request to the broker without the testbed's token."""


class ClaimFailed(TestbedError):
    """A claim that failed: the local resource manager of `cluster` did not grant a component its processors."""

    def __init__(self, sentence: str, cluster: str = "") -> None:
        super().__init__(sentence)
        self.cluster = cluster


class NotGranted(ClaimFailed):
    """A claim for processors that other users of the cluster hold; it may be tried again."""


class ClusterUnreachable(TestbedError):
    """A cluster's head that does not answer, or whose answer is not understood."""


class TransferFailed(TestbedError):
    """A file that did not arrive at a site's file server, or arrived with other content than at its source."""


class RunFailed(TestbedError):
    """A job, measurement or campaign that ended without its result."""


class RunEndedEarly(RunFailed):
    """A run that ended before its end: why, and how many finished records are in which folder.

    The folder is named only as long as it exists: a run whose records are not wanted keeps them in a temporary one.
    """

    def __init__(self, reason: str, finished: int, folder: Path) -> None:
        super().__init__(reason, finished, folder)
        self._reason = reason.rstrip(".")
        self._finished = finished
        self._folder = folder

    def __str__(self) -> str:
        if not self._folder.is_dir():
            return f"{self._reason}."
        records = "record is" if self._finished == 1 else "records are"
        return f"{self._reason}; {self._finished} finished {records} in {self._folder}."


class VerdictTooLow(TestbedError):
    """A result whose verdict is worse than the user required; what was measured is recorded and shown."""


class Hopeless(TestbedError):
    """A run that this host cannot hold, or whose verdict is predicted to be void."""


class WideAreaUnfaithful(TestbedError):
    """A wide area that could not be programmed, or whose measurements are outside the tolerance."""
