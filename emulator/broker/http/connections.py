"""Connections that wait for a request no longer than `HEADER_TIMEOUT_HOST_S`.

uvicorn ends a connection that is idle between two requests, but waits without end for the first byte of the first
request, and for the rest of headers that have begun.
"""

from __future__ import annotations

import asyncio
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_TIMEOUT_HOST_S: Final = 10.0
"""Host seconds in which the headers of a request must be complete."""

GRACE_HOST_S: Final = 3
"""Host seconds that clients waiting for events have to hang up when the broker stops."""


class TimedHeaders(H11Protocol):
    """uvicorn's connection, which is closed if the headers of a request do not come in time."""

    _header_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._time_headers()

    def data_received(self, data: bytes) -> None:
        """Take what came, and wait for the rest if it ends within headers."""
        super().data_received(data)
        if self._is_busy():
            self._stop_timer()
        elif self._header_timer is None:
            self._time_headers()

    def on_response_complete(self) -> None:
        """Time the headers of the next request if they have begun; uvicorn closes a connection that is idle."""
        super().on_response_complete()
        if not self._is_busy() and self.conn.trailing_data[0]:
            self._unset_keepalive_if_required()
            self._time_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def _is_busy(self) -> bool:
        """Return whether a request's headers have come and its answer is not complete yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def _time_headers(self) -> None:
        self._stop_timer()
        self._header_timer = self.loop.call_later(HEADER_TIMEOUT_HOST_S, self._give_up)

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _give_up(self) -> None:
        self._header_timer = None
        if not self._is_busy():
            self.transport.close()


def server(app: ASGIApp, host: str, port: int) -> uvicorn.Server:
    """Return the server of `app`, as the broker's process runs it."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            http=TimedHeaders,
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_HOST_S,
        )
    )
