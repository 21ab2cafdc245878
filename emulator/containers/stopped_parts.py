"""The containers of a testbed that do not run; an engine that does not answer is no container that stopped.

An engine may be restarted while its containers go on (`live-restore`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from emulator.containers.engine import NO_ANSWER
from emulator.containers.readiness import runs
from emulator.model.errors import EngineUnavailable

HOST_GAP_S: Final = 30.0
"""Host seconds without a look after which nobody knows whether an engine was silent all the time."""


class StoppedParts:
    """Looks at the containers `names`; an engine may leave them unanswered for `host_patience_s`."""

    def __init__(self, client: Any, names: Sequence[str], host_patience_s: float) -> None:
        self._client, self._names, self._host_patience_s = client, names, host_patience_s
        self._host_silent_since_s: float | None = None
        self._host_looked_s: float | None = None

    def found(self) -> list[str]:
        """Return the containers that do not run; those whose engine does not answer for now count as running.

        Raises:
            EngineUnavailable: if an engine has not answered for too long.
        """
        host_now_s = time.monotonic()  # before the containers are asked: each may let the look wait for long
        if self._host_looked_s is not None and host_now_s - self._host_looked_s > HOST_GAP_S:
            self._host_silent_since_s = None
        stopped, unanswered = list[str](), list[str]()
        for name in self._names:
            try:
                if not runs(self._client, name):
                    stopped.append(name)
            except NO_ANSWER:
                unanswered.append(name)
        self._host_looked_s = time.monotonic()
        self._wait_for(unanswered, host_now_s)
        return stopped

    def _wait_for(self, unanswered: Sequence[str], host_now_s: float) -> None:
        if not unanswered:
            self._host_silent_since_s = None
            return
        if self._host_silent_since_s is None:
            self._host_silent_since_s = host_now_s
        host_silent_s = host_now_s - self._host_silent_since_s
        if host_silent_s > self._host_patience_s:
            raise EngineUnavailable(
                f"The Docker engine has not answered for {host_silent_s:.0f} s when asked for {', '.join(unanswered)}."
            )
