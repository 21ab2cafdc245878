"""What a broker must be told when it starts: where its clusters' heads are, and how it may reach them.

Written by whoever brings the testbed up, read by the broker; a document, so that a broker for real clusters can be
configured by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, PositiveFloat, PositiveInt

from emulator.model.documents import DocumentModel
from emulator.model.real_head import SSH_PORT, NetworkRange, PartitionName, RealHead, SbatchOption, ShellLine, UserName
from emulator.model.topology import Cluster, Name


class Head(DocumentModel):
    """The head of one cluster, as SSH reaches it, and what its Slurm is asked for beside processors.

    The others reach its files at `file_address`, else at `address`. `key_file` stands for the broker's own key. A head
    of a `real` cluster has its nodes apart, each of which runs `setup` before ranks start there; `message_range` is the
    range of their addresses. Its partition may hold more than the `processors` that the topology speaks of: no more are
    ever called idle.
    """

    cluster: Name
    address: str
    port: Annotated[int, Field(gt=0, lt=65536)] = SSH_PORT
    user: UserName = "researcher"
    file_address: str = ""
    key_file: Path | None = None
    partition: PartitionName = ""
    sbatch: tuple[SbatchOption, ...] = ()
    setup: ShellLine = ""
    message_range: NetworkRange = ""
    processors: PositiveInt | None = None
    real: bool = False


def real_head(cluster: Cluster, ssh: RealHead, key_file: Path) -> Head:
    """The head of a real cluster, its private key being in `key_file` for whoever is to connect."""
    return Head(
        cluster=cluster.name,
        address=ssh.host,
        port=ssh.port,
        user=ssh.user,
        key_file=key_file,
        partition=ssh.partition,
        sbatch=ssh.sbatch,
        setup=ssh.setup,
        message_range=ssh.network,
        processors=cluster.processors,
        real=True,
    )


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
