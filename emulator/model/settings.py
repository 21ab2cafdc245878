"""The settings of a broker: the heads of its clusters, and how to reach them.

`testbed up` writes them and the broker reads them when it starts. They are a document, so that a broker for real
clusters can be configured by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, PositiveFloat, PositiveInt

from emulator.model.documents import DocumentModel
from emulator.model.real_head import SSH_PORT, NetworkRange, PartitionName, RealHead, SbatchOption, ShellLine, UserName
from emulator.model.topology import Cluster, Name


class Head(DocumentModel):
    """The head of one cluster: its SSH address, and the options for its Slurm.

    Other clusters reach its files at `file_address` or, if that is not given, at `address`. `key_file` replaces the
    broker's own key. The nodes of a `real` cluster are separate machines: each runs `setup` before ranks start there,
    and `message_range` is the range of their addresses. Its partition may hold more processors than the `processors`
    that the topology states; at most that many are reported as idle.
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
    """Return the head of a real cluster whose private key the connecting process reads from `key_file`."""
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
    """The settings of a broker. Address ranges are in CIDR notation; if a range is empty, MPI chooses.

    The files of the live page are in `page_folder`; without one the broker serves no page.

    If a local resource manager does not grant a claim within `host_grant_limit_s`, its processors count as taken by
    other users of the cluster.
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
    page_folder: Path | None = None
