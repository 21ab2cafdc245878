"""The containers of a testbed that do not run; an engine that does not answer is no container that stopped.

An engine may be restarted while its containers go on (`live-restore`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from emulator.containers.engine import NO_ANSWER
from emulator.containers.readiness import runs
from emulator.model.errors import EngineUnavailable


class StoppedParts:
    """Looks at the containers `names`; an engine may leave them unanswered for `host_patience_s`."""

    def __init__(self, client: Any, names: Sequence[str], host_patience_s: float) -> None:
        self._client, self._names, self._host_patience_s = client, names, host_patience_s
        self._host_silent_since_s: float | None = None

    def found(self) -> list[str]:
        """Return the containers that do not run; those whose engine does not answer for now count as running.

        Raises:
            EngineUnavailable: if an engine has not answered for too long.
        """
        stopped, unanswered = list[str](), list[str]()
        for name in self._names:
            try:
                if not runs(self._client, name):
                    stopped.append(name)
            except NO_ANSWER:
                unanswered.append(name)
        self._wait_for(unanswered)
        return stopped

    def _wait_for(self, unanswered: Sequence[str]) -> None:
        if not unanswered:
            self._host_silent_since_s = None
            return
        now_s = time.monotonic()
        if self._host_silent_since_s is None:
            self._host_silent_since_s = now_s
        host_silent_s = now_s - self._host_silent_since_s
        if host_silent_s > self._host_patience_s:
            raise EngineUnavailable(
                f"The Docker engine has not answered for {host_silent_s:.0f} s when asked for {', '.join(unanswered)}."
            )
