"""What a broker must be told when it starts: where its clusters' heads are, and how it may reach them.

Written by whoever brings the testbed up, read by the broker; a document, so that a broker for real clusters can be
configured by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, PositiveFloat, PositiveInt

from emulator.model.documents import DocumentModel
from emulator.model.topology import Name


class Head(DocumentModel):
    """The head of one cluster, as SSH reaches it; the others reach its files at `file_address`, else at `address`."""

    cluster: Name
    address: str
    port: PositiveInt = 22
    user: str = "researcher"
    file_address: str = ""


class BrokerSettings(DocumentModel):
    """A broker's surroundings. Address ranges are in CIDR form; an empty range leaves the choice to MPI.

    A claim that a local resource manager has not granted within `host_grant_limit_s` counts as lost to its other users.
    """

    testbed: Name
    topology_file: Path
    token_file: Path
    key_file: Path
    known_hosts_file: Path
    journal_file: Path
    heads: Annotated[tuple[Head, ...], Field(min_length=1)]
    message_range: str = ""
    control_range: str = ""
    listen_port: PositiveInt = 8460
    host_grant_limit_s: PositiveFloat = 15.0
