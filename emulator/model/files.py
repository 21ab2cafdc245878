"""Files that jobs read: logical names, registrations, and replicas.

A *logical name* identifies a content, independent of the sites that hold it. A *replica* is that content at one site's
file server. Logical names become names of real files, so they contain no path and do not begin with a dot.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from emulator.model.documents import Count, DocumentModel, Name, WholeNumber

FILE_NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
FileName = Annotated[str, StringConstraints(pattern=FILE_NAME_PATTERN)]
CHECKSUM_PATTERN = r"^[0-9a-f]{64}$"
Checksum = Annotated[str, StringConstraints(pattern=CHECKSUM_PATTERN)]
"""SHA-256, in hexadecimal digits."""
MAX_FILE_BYTES = 1_000_000_000_000
FileSize = Annotated[Count, Field(le=MAX_FILE_BYTES)]


class FileRegistration(DocumentModel):
    """A file to be made at its `sites`: `size_bytes` pseudo-random bytes that depend only on `seed` and `name`."""

    name: FileName
    size_bytes: FileSize
    sites: Annotated[tuple[Name, ...], Field(min_length=1, max_length=64)]
    seed: Annotated[WholeNumber, Field(ge=0, lt=2**63)] = 0

    @model_validator(mode="after")
    def _names_each_site_once(self) -> Self:
        for site in self.sites:
            if self.sites.count(site) > 1:
                raise ValueError(f"sites: {site!r} stands twice")
        return self


class ReplicaView(DocumentModel):
    """A replica: the site that holds it, whether it is kept when no job uses it, and how many jobs use it now."""

    site: Name
    kept: bool
    users: int


class TransferView(DocumentModel):
    """A transfer in progress: its source and target site, and how many bytes of the file have arrived."""

    source: Name
    target: Name
    received_bytes: int


class FileView(DocumentModel):
    """A file with its replicas, in alphabetical order of their sites, and its transfers."""

    name: FileName
    size_bytes: FileSize
    sha256: Checksum
    replicas: tuple[ReplicaView, ...]
    transfers: tuple[TransferView, ...] = ()


class BandwidthOrigin(StrEnum):
    """The source of a bandwidth estimate: past transfers, the topology's value for the path, or an assumption."""

    MEASURED = "measured"
    STATED = "stated"
    ASSUMED = "assumed"


class BandwidthView(DocumentModel):
    """The estimated bandwidth between two sites, in emulated Mbit/s, and the number of `transfers` it rests on."""

    source: Name
    target: Name
    rate_mbit: float
    origin: BandwidthOrigin
    transfers: int
