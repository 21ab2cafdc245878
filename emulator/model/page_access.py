"""Who may look at the live page: codes that work once, and the sessions that they open.

`testbed page` gets a code with the testbed's token and puts it behind the ``#`` of a link, which no browser sends to a
server. The page exchanges it for a session, which may only read. Sessions are kept in memory: those of a broker that
ended are worth nothing, also to another program that listens at its address afterwards.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from typing import Final

from emulator.model.errors import Unauthorized

CODE_HOST_S: Final = 300.0
"""Host seconds for which a code can be used."""

SESSION_HOST_S: Final = 86_400.0
"""Host seconds after its last request for which a session lasts."""

MOST_CODES: Final = 32
MOST_SESSIONS: Final = 64
"""The most codes and sessions at a time; a further one replaces the oldest."""

_SECRET_BYTES: Final = 24


class PageAccess:
    """The unused codes and the sessions of one page; safe to share between threads. Times are host seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._codes: dict[str, float] = {}
        self._sessions: dict[str, float] = {}

    def issue_code(self, now_host_s: float) -> str:
        """Return a new code, which opens one session within `CODE_HOST_S`."""
        code = secrets.token_urlsafe(_SECRET_BYTES)
        with self._lock:
            _keep(self._codes, _digest(code), now_host_s, MOST_CODES)
        return code

    def open_session(self, code: str, now_host_s: float) -> str:
        """Use up `code`, and return the secret of a new session.

        Raises:
            Unauthorized: if there is no such code, or it was used, or is too old.
        """
        session = secrets.token_urlsafe(_SECRET_BYTES)
        with self._lock:
            issued_host_s = self._codes.pop(_digest(code), None)
            if issued_host_s is None or now_host_s - issued_host_s > CODE_HOST_S:
                raise Unauthorized(
                    f"This link was used already, or is older than {CODE_HOST_S / 60:.0f} minutes: "
                    "`testbed page` prints a new one."
                )
            _keep(self._sessions, _digest(session), now_host_s, MOST_SESSIONS)
        return session

    def admits(self, session: str, now_host_s: float) -> bool:
        """Return whether there is such a session; it then lasts longer."""
        with self._lock:
            used_host_s = self._sessions.get(_digest(session))
            if used_host_s is None or now_host_s - used_host_s > SESSION_HOST_S:
                return False
            self._sessions[_digest(session)] = now_host_s
            return True


def _keep(kept: dict[str, float], digest: str, now_host_s: float, most: int) -> None:
    """Add an entry, and drop the oldest above `most`."""
    kept[digest] = now_host_s
    while len(kept) > most:
        del kept[min(kept, key=kept.__getitem__)]


def _digest(secret: str) -> str:
    # What is looked up is a hash, so that the time of a look-up tells nothing of a secret.
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
