"""The live page: its files, its sessions, and what it is told besides jobs and events.

A session is a bearer secret that allows to read what `READABLE` matches, and nothing else. Nothing here runs while no
page is open: the page asks, and the broker keeps nothing for it but the digests of its sessions.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Annotated, Final

from fastapi import APIRouter, FastAPI, Path, Query, Response
from starlette.types import Scope

from emulator.broker.http.page_notes import PageNotes
from emulator.broker.service import Broker
from emulator.broker.state.journal import Journal
from emulator.broker.status import cluster_views
from emulator.model.page_access import CODE_HOST_S, PageAccess
from emulator.model.page_assets import SECURITY_HEADERS, Asset, read_assets
from emulator.model.page_views import (
    NotesHeld,
    NotesPage,
    NotesRequest,
    PageCode,
    PageEntry,
    PageNow,
    PageSession,
    PageSystem,
)
from emulator.model.views import LARGEST_NUMBER

SESSIONS_PATH: Final = "/v1/page/sessions"
READABLE: Final = re.compile(r"/v1/(page/(system|now|notes)|jobs|jobs/[0-9]{1,16}|jobs/[0-9]{1,16}/output|events)")
"""The paths that a session may read."""

RunNumber = Annotated[int, Query(ge=0, le=LARGEST_NUMBER, description="The run's number.")]
NoteNumber = Annotated[int, Query(ge=0, le=LARGEST_NUMBER, description="The number of the first note, from 0.")]

MOST_LISTED: Final = 50
"""Jobs of the queue that the page is told of; it is told how many wait in all."""


@dataclass(frozen=True)
class LivePage:
    """The page of one broker: its files by the path at which each is served, and who may look at it."""

    assets: Mapping[str, Asset] = field(default_factory=dict)
    access: PageAccess = field(default_factory=PageAccess)
    notes: PageNotes = field(default_factory=PageNotes)

    @classmethod
    def of(cls, folder: FilePath | None) -> LivePage:
        """Return the page whose files are in `folder`; without a folder it has none.

        Raises:
            InvalidInput: if there is no page in the folder.
        """
        return cls(read_assets(folder) if folder is not None else {})

    def admits(self, scope: Scope) -> bool:
        """Return whether a request comes from a session and only reads what a session may read."""
        if scope["method"] != "GET" or not READABLE.fullmatch(scope["path"]):
            return False
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, secret = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        return scheme.lower() == b"bearer" and self.access.admits(secret.decode("latin-1"), time.monotonic())


def add_page_files(app: FastAPI, page: LivePage) -> None:
    """Serve the files of the page, which say nothing about the testbed."""
    for path, asset in page.assets.items():
        app.add_api_route(path, _file_route(asset), include_in_schema=False, response_class=Response)


def page_router(page: LivePage, broker: Broker, journal: Journal, testbed: str) -> APIRouter:
    """Create the routes with which a page gets a session, and what only the page asks for."""
    routes = APIRouter(prefix="/v1")

    @routes.post("/page/codes", status_code=201)
    def issue_code() -> PageCode:
        """Get a code that opens one session of the live page."""
        return PageCode(code=page.access.issue_code(time.monotonic()), host_valid_s=CODE_HOST_S)

    @routes.post("/page/sessions", status_code=201)
    def open_session(entry: PageEntry) -> PageSession:
        """Exchange a code for a session, which may read jobs and events; the code is then used up."""
        return PageSession(session=page.access.open_session(entry.code, time.monotonic()), shows="testbed")

    @routes.get("/page/system")
    def system() -> PageSystem:
        """Get the clusters and what is asked of the links between them."""
        return PageSystem.of(broker.topology, testbed)

    @routes.get("/page/now")
    def now() -> PageNow:
        """Get the run that holds the testbed, else the default run, with its queue and the clusters as last read."""
        page.notes.look(time.monotonic())
        queue = broker.queue()
        return PageNow(
            run=broker.shown_run(),
            queue=tuple(queue[:MOST_LISTED]),
            queue_length=len(queue),
            clusters=tuple(cluster_views(broker.topology, broker.readings())),
            last_job=journal.last_numbers()[1],
            last_event=journal.last_sequence,
            host_moment_s=time.time(),
        )

    @routes.get("/page/notes")
    def notes(run: RunNumber, after: NoteNumber = 0) -> NotesPage:
        """Get notes on a run, from a number on."""
        return page.notes.read(run, after)

    @routes.post("/runs/{number}/notes")
    def take_notes(number: Annotated[int, Path(ge=0, le=LARGEST_NUMBER)], request: NotesRequest) -> NotesHeld:
        """Send notes on a run for the page; get how many are held, and whether anyone looks."""
        broker.check_run(number)
        return page.notes.take(number, request.first, request.notes, time.monotonic())

    return routes


def _file_route(asset: Asset) -> Callable[[], Awaitable[Response]]:
    async def file() -> Response:
        return Response(asset.content, media_type=asset.media_type, headers=dict(SECURITY_HEADERS))

    return file
