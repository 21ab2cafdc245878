"""The proof by which a broker shows that it has the testbed's token, before a client sends the token to it.

Without it, any program that listens at the broker's address while the broker is down would receive the token. A client
sends a nonce over each new connection, and the broker answers with a hash of the nonce that is keyed with the token.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import Any, Final, Protocol

from emulator.model.errors import Unauthorized

PROOF_PATH: Final = "/v1/proof"
NONCE_PATTERN: Final = r"^[0-9a-f]{32,128}$"
_PURPOSE: Final = b"multicluster-testbed broker "
_LARGEST_ANSWER_BYTES: Final = 4096
_CONNECTED: Final = {"http": "connection.connect_tcp.complete", "https": "connection.start_tls.complete"}
"""The event of httpx after which a connection carries requests, by the scheme of the address."""


class Stream(Protocol):
    """A connection that has just been made."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Receive some bytes; none if the peer has closed."""

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all bytes."""

    def close(self) -> None:
        """Close it."""


def proof_of(token: str, nonce: str) -> str:
    """Return what only a holder of `token` can answer to `nonce`."""
    return hmac.new(token.encode(), _PURPOSE + nonce.encode(), "sha256").hexdigest()


def requiring_proof(api_url: str, token: str, host_timeout_s: float) -> dict[str, Any]:
    """Return the extensions of a request of httpx that is sent to a holder of `token` at `api_url` only.

    Before anything of it is sent, the request raises `Unauthorized` if another one answers there, and `ConnectionError`
    if none does.
    """
    connected = _CONNECTED["https" if api_url.startswith("https:") else "http"]

    def check_connection(event: str, data: Mapping[str, Any]) -> None:
        if event == connected:
            check_peer(data["return_value"], api_url, token, host_timeout_s)

    return {"trace": check_connection}


def check_peer(stream: Stream, api_url: str, token: str, host_timeout_s: float) -> None:
    """Ask the peer of a new connection for a proof; each part of it may take `host_timeout_s`.

    Raises:
        Unauthorized: if it has none.
        ConnectionError: if it closes the connection.
    """
    nonce = secrets.token_hex(32)
    host = api_url.partition("://")[2].partition("/")[0]
    request = f"GET {PROOF_PATH}?nonce={nonce} HTTP/1.1\r\nHost: {host}\r\n\r\n"
    try:
        stream.write(request.encode(), timeout=host_timeout_s)
        if not token or not hmac.compare_digest(_read_answer(stream, host_timeout_s), proof_of(token, nonce).encode()):
            raise Unauthorized(
                f"What answers at {api_url} is not the broker of this token, or an older one, and was not sent the "
                "token: see `testbed status`, and bring the broker up with `testbed up`."
            )
    except BaseException:
        stream.close()
        raise


def _read_answer(stream: Stream, host_timeout_s: float) -> bytes:
    """Return the body of a complete answer of status 200; nothing if it is another answer."""
    received = b""
    while len(received) < _LARGEST_ANSWER_BYTES:
        headers, end, body = received.partition(b"\r\n\r\n")
        if end and len(body) >= (length := _content_length(headers)):
            return body[:length] if headers.startswith(b"HTTP/1.1 200 ") and len(body) == length else b""
        part = stream.read(_LARGEST_ANSWER_BYTES, timeout=host_timeout_s)
        if not part:
            raise ConnectionError("it closed the connection")
        received += part
    return b""


def _content_length(headers: bytes) -> int:
    for line in headers.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return int(value)
    return _LARGEST_ANSWER_BYTES
