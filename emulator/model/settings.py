"""The settings of a broker: the heads of its clusters, and how to reach them.

`testbed up` writes them and the broker reads them when it starts. They are a document, so that a broker for real
clusters can be configured by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, PositiveFloat, PositiveInt

from emulator.model.documents import DocumentModel
from emulator.model.real_head import (
    SSH_PORT,
    Hop,
    NetworkRange,
    PartitionName,
    Port,
    PublicKey,
    RealHead,
    SbatchOption,
    ShellLine,
    UserName,
)
from emulator.model.topology import Cluster, Name

GRANT_LIMIT_HOST_S = 3.0
REAL_GRANT_LIMIT_HOST_S = 15.0


class Head(DocumentModel):
    """The head of one cluster: its SSH address, and the options for its Slurm.

    Other clusters reach its files at `file_address` or, if that is not given, at `address`. `key_file` replaces the
    broker's own key, and so does `agent_key`, which the user's ssh-agent holds; the broker logs in through `jumps`, in
    their order. The nodes of a `real` cluster are separate machines: each runs `setup` before ranks start there,
    and `message_range` is the range of their addresses. Its partition may hold more processors than the `processors`
    that the topology states; at most that many are reported as idle. Where tasks share nodes in time, a job's are
    spread over them (`spreads`), and each is told its node; where the memory of nodes is stated, too, its Slurm counts
    what tasks hold of it (`counts_memory`). `host` is the one of several hosts that carries the cluster: all on
    one share its disk.
    """

    cluster: Name
    address: str
    port: Port = SSH_PORT
    user: UserName = "researcher"
    file_address: str = ""
    key_file: Path | None = None
    agent_key: PublicKey | None = None
    jumps: tuple[Hop, ...] = ()
    partition: PartitionName = ""
    sbatch: tuple[SbatchOption, ...] = ()
    setup: ShellLine = ""
    message_range: NetworkRange = ""
    processors: PositiveInt | None = None
    real: bool = False
    spreads: bool = False
    counts_memory: bool = False
    host: str = ""


def real_head(cluster: Cluster, ssh: RealHead, route: tuple[Hop, ...]) -> Head:
    """Return the head of a real cluster, which is the last hop of `route`; keys are where the broker reads them."""
    *jumps, last = route
    return Head(
        cluster=cluster.name,
        address=last.host,
        port=last.port,
        user=last.user,
        key_file=last.key_file,
        agent_key=last.agent_key,
        jumps=tuple(jumps),
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

    If a local resource manager does not grant a claim within `grants_within_host_s`, its processors count as taken by
    other users of the cluster. If the processes of a job have not all begun `host_start_limit_s` after their planned
    start, and a second more for each of its processors, the job fails.
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
    host_grant_limit_s: PositiveFloat | None = None
    host_start_limit_s: PositiveFloat = 120.0
    page_folder: Path | None = None

    @property
    def grants_within_host_s(self) -> float:
        """The stated `host_grant_limit_s`; else a short time, or a longer one if a real cluster is among the heads.

        A container's Slurm grants idle processors at once. A real cluster looks at batch jobs now and then only.
        """
        if self.host_grant_limit_s is not None:
            return self.host_grant_limit_s
        return REAL_GRANT_LIMIT_HOST_S if any(head.real for head in self.heads) else GRANT_LIMIT_HOST_S
