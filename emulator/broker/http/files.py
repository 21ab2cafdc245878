"""The routes of files: list, register and remove files, and list bandwidths between sites."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path

from emulator.broker.files.registry import FileRegistry
from emulator.broker.http.slow_work import SlowWork
from emulator.model.files import FILE_NAME_PATTERN, BandwidthView, FileRegistration, FileView

FileInPath = Annotated[str, Path(pattern=FILE_NAME_PATTERN)]


def files_router(files: FileRegistry, slow: SlowWork) -> APIRouter:
    """Create the routes of files, version 1."""
    router = APIRouter(prefix="/v1")

    @router.get("/files")
    def list_files() -> list[FileView]:
        """Get every file with its replicas and transfers, in alphabetical order."""
        return files.files()

    @router.post("/files", status_code=201)
    async def register_file(registration: FileRegistration) -> FileView:
        """Make a file at its sites and enter it into the catalogue; answers when it is there."""
        return await slow(partial(files.register, registration))

    @router.get("/files/{name}")
    def show_file(name: FileInPath) -> FileView:
        """Show one file."""
        return files.file(name)

    @router.delete("/files/{name}", status_code=204)
    async def remove_file(name: FileInPath) -> None:
        """Remove a file and all its replicas, unless a job that has not ended needs it."""
        await slow(partial(files.remove, name))

    @router.get("/bandwidths")
    def list_bandwidths() -> list[BandwidthView]:
        """Get the bandwidths between sites: measured, stated by the topology, or assumed."""
        return files.bandwidths()

    return router
