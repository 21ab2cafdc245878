"""The heads of a topology's real clusters, checked before a testbed relies on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from emulator.clusters.agent import agent_socket
from emulator.clusters.examination import described, examine_head
from emulator.model.errors import ClusterUnreachable
from emulator.model.finding import Finding
from emulator.model.real_head import AgentSocket, Hop
from emulator.model.topology import Topology


@dataclass(frozen=True, slots=True)
class KnownHeads:
    """What the broker is given for real heads: the ways to them, the only host keys there, and the ssh-agent if needed.

    The routes are by the names of the clusters.
    """

    routes: Mapping[str, tuple[Hop, ...]]
    known_hosts_lines: tuple[str, ...]
    agent: AgentSocket | None

    def sentences(self) -> list[str]:
        """Return what is handed to the broker, a sentence for each head, and one for the agent."""
        said = [f"The broker reaches {cluster} as {described(route)}." for cluster, route in self.routes.items()]
        if self.agent is not None:
            said.append(f"The broker may use every key of the ssh-agent at {self.agent.path}, as long as it runs.")
        return said


def head_findings(topology: Topology) -> list[Finding]:
    """Return what is found at each head; a head that cannot be reached is a finding, too."""
    findings: list[Finding] = []
    for cluster in topology.clusters:
        if cluster.ssh is None:
            continue
        try:
            found = examine_head(cluster, cluster.ssh).findings
        except ClusterUnreachable as error:
            found = (Finding("head", False, f"{cluster.ssh.address} not usable", str(error), needed=True),)
        findings += [replace(finding, check=f"{cluster.name}: {finding.check}") for finding in found]
    return findings


def known_heads(topology: Topology) -> KnownHeads:
    """Return the ways to all real heads and the host keys there, if all heads have what a testbed needs.

    Raises:
        ClusterUnreachable: naming the first thing that one of them lacks, and the remedy.
    """
    routes: dict[str, tuple[Hop, ...]] = {}
    lines: list[str] = []
    for cluster in topology.clusters:
        if cluster.ssh is None:
            continue
        examined = examine_head(cluster, cluster.ssh)
        lacking = next((finding for finding in examined.findings if finding.needed and not finding.ok), None)
        if lacking is not None:
            what = f"{lacking.check}: {lacking.found} ({lacking.remedy})"
            raise ClusterUnreachable(f"Cluster {cluster.name!r} at {cluster.ssh.address}: {what}.")
        routes[cluster.name] = examined.route
        lines += examined.known_hosts_lines
    needs_agent = any(hop.agent_key for route in routes.values() for hop in route)
    return KnownHeads(routes, tuple(dict.fromkeys(lines)), agent_socket() if needs_agent else None)
