"""The token, and limits of a request's size: ASGI middleware in front of the application.

`TokenRequired` refuses requests without the token before a byte of the body is read. `RequestLimits` reads a body up to
`LARGEST_BODY_BYTES`, with or without a content length, and passes it on only if it is unambiguous JSON: without
duplicate keys, without numbers that some readers cannot represent, and not nested too deeply.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Iterable

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.broker.http.strict_json import parse_strictly
from emulator.model.errors import InvalidInput, Unauthorized
from emulator.model.escapes import escaped
from emulator.model.views import ErrorView

LARGEST_BODY_BYTES = 1_000_000
LARGEST_HEADERS_BYTES = 16_384
MOST_HEADERS = 64
HTTP_VERSIONS = ("1.0", "1.1")
LARGEST_QUERY_BYTES = 4_096
LONGEST_PATH_BYTES = 1_024
BODY_TIMEOUT_HOST_S = 20.0
LONGEST_SENTENCE = 600
PARSED_BODY = "testbed.parsed_body"
"""The key of a request's scope under which `RequestLimits` puts what its JSON body says."""


def refusal(status: int, sentence: str, kind: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return the answer to a refused request; its sentence is one line, wherever it is written."""
    error = ErrorView(error=on_one_line(sentence), kind=kind)
    return JSONResponse(error.model_dump(), status_code=status, headers=headers)


def on_one_line(text: str) -> str:
    """Return `text` with escapes for what cannot be printed, cut to `LONGEST_SENTENCE` characters."""
    text = escaped(text)
    return text if len(text) <= LONGEST_SENTENCE else text[: LONGEST_SENTENCE - 3] + "..."


class TokenRequired:
    """A filter that requires the token, except of requests for `open_paths` and of those that `also_admits` lets pass.

    An empty token admits no request.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        open_paths: Iterable[str],
        also_admits: Callable[[Scope], bool] = lambda scope: False,
    ) -> None:
        self._app = app
        self._also_admits = also_admits
        self._token = token.encode()
        self._open_paths = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401, or pass the request on."""
        if scope["type"] == "http" and scope["path"] not in self._open_paths and not self._is_authorized(scope):
            sentence = "The token is not this testbed's; use the one that `testbed up` wrote."
            challenge = {"WWW-Authenticate": "Bearer"}
            await refusal(401, sentence, Unauthorized.__name__, challenge)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_authorized(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        is_bearer = scheme.lower() == b"bearer" and bool(self._token)
        return (hmac.compare_digest(token, self._token) and is_bearer) or self._also_admits(scope)


class RequestLimits:
    """A filter that refuses requests that are too large in any part, and bodies that are not unambiguous JSON."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 4xx, or pass the request on with its body read."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _refuse_oversized(scope)
        body = b""
        if answer is None:
            try:
                body = await asyncio.wait_for(_body(receive), BODY_TIMEOUT_HOST_S)
                if body:
                    scope[PARSED_BODY] = parse_strictly(body)
            except TimeoutError:
                answer = refusal(408, f"The body did not come within {BODY_TIMEOUT_HOST_S:.0f} s.", "InvalidInput")
            except _TooLarge:
                answer = _too_large()
            except _Gone:
                return
            except InvalidInput as error:
                answer = refusal(422, str(error), InvalidInput.__name__)
        if answer is not None:
            await answer(scope, receive, send)
            return
        await self._app(scope, _replay_body(body, receive), send)


class _TooLarge(Exception):
    """A body is larger than the limit."""


class _Gone(Exception):
    """The client hung up before its body was complete."""


def _refuse_oversized(scope: Scope) -> JSONResponse | None:
    if scope["http_version"] not in HTTP_VERSIONS:
        sentence = f"HTTP/{scope['http_version']}: the broker speaks {' and '.join(HTTP_VERSIONS)} only."
        return refusal(505, sentence, InvalidInput.__name__, {"Connection": "close"})
    if len(scope["headers"]) > MOST_HEADERS:
        return refusal(431, f"headers: there may be {MOST_HEADERS} at most.", InvalidInput.__name__)
    if len(scope.get("raw_path") or scope["path"].encode()) > LONGEST_PATH_BYTES:
        return refusal(414, f"path: it may have {LONGEST_PATH_BYTES} bytes at most.", InvalidInput.__name__)
    if len(scope["query_string"]) > LARGEST_QUERY_BYTES:
        return refusal(414, f"query: it may have {LARGEST_QUERY_BYTES} bytes at most.", InvalidInput.__name__)
    if sum(len(name) + len(value) for name, value in scope["headers"]) > LARGEST_HEADERS_BYTES:
        return refusal(431, f"headers: they may have {LARGEST_HEADERS_BYTES} bytes at most.", InvalidInput.__name__)
    stated = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    if stated.isdigit() and (len(stated) > 12 or int(stated) > LARGEST_BODY_BYTES):
        return _too_large()
    return None


def _too_large() -> JSONResponse:
    # The rest of the body is not read, so the connection cannot serve another request.
    sentence = f"body: a request body may have {LARGEST_BODY_BYTES} bytes at most."
    return refusal(413, sentence, InvalidInput.__name__, {"Connection": "close"})


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size_bytes = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        part = message.get("body", b"")
        size_bytes += len(part)
        if size_bytes > LARGEST_BODY_BYTES:
            raise _TooLarge
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives `body` first and then what follows."""
    given = False

    async def next_message() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message
