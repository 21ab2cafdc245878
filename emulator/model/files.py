"""Files that jobs read: logical names, what is registered under them, and where their replicas are.

A *logical name* stands for a content, whatever sites hold it; a *replica* is that content at one site's file server.
Names become names of real files, so they hold no path and begin with no dot.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, PositiveInt, StringConstraints, model_validator

from emulator.model.documents import DocumentModel
from emulator.model.names import Name

FILE_NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
FileName = Annotated[str, StringConstraints(pattern=FILE_NAME_PATTERN)]
CHECKSUM_PATTERN = r"^[0-9a-f]{64}$"
Checksum = Annotated[str, StringConstraints(pattern=CHECKSUM_PATTERN)]
"""SHA-256, in hexadecimal digits."""
MAX_FILE_BYTES = 1_000_000_000_000
FileSize = Annotated[PositiveInt, Field(le=MAX_FILE_BYTES)]


class FileRegistration(DocumentModel):
    """A file to be made at its `sites`: `size_bytes` bytes that look random and depend on `seed` and `name` alone."""

    name: FileName
    size_bytes: FileSize
    sites: Annotated[tuple[Name, ...], Field(min_length=1, max_length=64)]
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0

    @model_validator(mode="after")
    def _names_each_site_once(self) -> Self:
        for site in self.sites:
            if self.sites.count(site) > 1:
                raise ValueError(f"sites: {site!r} stands twice")
        return self


class ReplicaView(DocumentModel):
    """A replica: the site that holds it, whether it stays when nobody uses it, and how many jobs use it now."""

    site: Name
    kept: bool
    users: int


class TransferView(DocumentModel):
    """A transfer under way: from and to which site, and how many of the file's bytes have come so far."""

    source: Name
    target: Name
    received_bytes: int


class FileView(DocumentModel):
    """All that is known of a file; the replicas in alphabetical order of their sites."""

    name: FileName
    size_bytes: FileSize
    sha256: Checksum
    replicas: tuple[ReplicaView, ...]
    transfers: tuple[TransferView, ...] = ()


class BandwidthOrigin(StrEnum):
    """Where a bandwidth comes from: past transfers, the topology's word for the path, or nothing but an assumption."""

    MEASURED = "measured"
    STATED = "stated"
    ASSUMED = "assumed"


class BandwidthView(DocumentModel):
    """What a transfer between two sites may expect, in emulated megabits per second; `transfers` is how many say so."""

    source: Name
    target: Name
    rate_mbit: float
    origin: BandwidthOrigin
    transfers: int
