"""A loopback server for the page of one recorded run. It needs no broker and no testbed.

It answers like the broker's page: files for everyone of this host, a session for a code, the record for a session.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from emulator.model.errors import InvalidInput, TestbedError, Unauthorized, UnknownName
from emulator.model.page_access import PageAccess
from emulator.model.page_assets import SECURITY_HEADERS, Asset, read_assets
from emulator.page import ASSETS
from emulator.page.record import page_record

LOOPBACK: Final = "127.0.0.1"
LARGEST_BODY_BYTES: Final = 4_096
SESSIONS_PATH: Final = "/v1/page/sessions"
RECORD_PATH: Final = "/v1/page/record"
_JSON: Final = "application/json"


class RecordServer(ThreadingHTTPServer):
    """The server of the run in `path` at `port` of this host's loopback interface; any free port if that is 0."""

    daemon_threads = True

    def __init__(self, path: Path, port: int = 0) -> None:
        self.path = path
        self.access = PageAccess()
        self.assets: Mapping[str, Asset] = read_assets(ASSETS)
        self.record = _record_json(path)
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except OSError as error:
            raise InvalidInput(
                f"--port: {port} on {LOOPBACK} cannot be used ({error.strerror or error}); "
                "without --port any free one is."
            ) from error

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing where a browser hangs up before it has its answer, as one does when its page is left."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @property
    def link(self) -> str:
        """A new link to the page, which works once. The code in it stays in the browser."""
        return f"http://{LOOPBACK}:{self.server_port}/#{self.access.issue_code(time.monotonic())}"


def _record_json(path: Path) -> bytes:
    """Return the record of the run in `path` as JSON.

    Raises:
        InvalidInput: if there is no run, or one of its files holds what it should not.
    """
    record = page_record(path)
    try:
        return json.dumps(record, separators=(",", ":"), allow_nan=False).encode()
    except ValueError as error:
        raise InvalidInput(f"{path}: one of its files holds a number that is not finite.") from error


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: RecordServer
    server_version = "testbed-page"
    sys_version = ""
    timeout = 20

    def do_GET(self) -> None:
        """Answer with a file of the page, or with the record."""
        path = urlsplit(self.path).path
        if path in self.server.assets:
            asset = self.server.assets[path]
            self._answer(HTTPStatus.OK, asset.content, asset.media_type)
        elif path == RECORD_PATH:
            self._answer_guarded()
        else:
            self._refuse(HTTPStatus.NOT_FOUND, UnknownName("There is no such page."))

    def do_POST(self) -> None:
        """Exchange a code for a session."""
        if urlsplit(self.path).path != SESSIONS_PATH:
            self._refuse(HTTPStatus.NOT_FOUND, UnknownName("There is no such page."))
            return
        try:
            session = self.server.access.open_session(self._code(), time.monotonic())
        except InvalidInput as error:
            self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, error)
        except Unauthorized as error:
            self._refuse(HTTPStatus.UNAUTHORIZED, error)
        else:
            self._answer_json(HTTPStatus.CREATED, {"session": session, "shows": "run"})

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the terminal is the user's."""

    def _answer_guarded(self) -> None:
        scheme, _, session = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.server.access.admits(session, time.monotonic()):
            self._answer(HTTPStatus.OK, self.server.record, _JSON)
        else:
            self._refuse(HTTPStatus.UNAUTHORIZED, Unauthorized("This page has no session: `testbed page` opens one."))

    def _code(self) -> str:
        """Return the code in the body.

        Raises:
            InvalidInput: if there is none.
        """
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 10) or int(length) > LARGEST_BODY_BYTES:
            raise InvalidInput(f"body: it must state its length, {LARGEST_BODY_BYTES} bytes at most.")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as error:
            raise InvalidInput("body: not JSON.") from error
        code = body.get("code") if isinstance(body, dict) else None
        if not isinstance(code, str):
            raise InvalidInput("code: this key is missing.")
        return code

    def _refuse(self, status: HTTPStatus, error: TestbedError) -> None:
        self._answer_json(status, {"error": str(error), "kind": type(error).__name__})

    def _answer_json(self, status: HTTPStatus, value: object) -> None:
        self._answer(status, json.dumps(value).encode(), _JSON)

    def _answer(self, status: HTTPStatus, content: bytes, media_type: str) -> None:
        self.send_response(status)
        for name, value in {
            **SECURITY_HEADERS,
            "Content-Type": media_type,
            "Content-Length": str(len(content)),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
