"""The heads of a topology's real clusters, looked over before a testbed relies on them."""

from __future__ import annotations

from emulator.clusters.examination import examine_head
from emulator.model.errors import ClusterUnreachable
from emulator.model.finding import Finding
from emulator.model.topology import Topology


def head_findings(topology: Topology) -> list[Finding]:
    """What is found at each head; one that cannot be reached is a finding itself."""
    findings: list[Finding] = []
    for cluster in topology.clusters:
        if cluster.ssh is None:
            continue
        try:
            found = examine_head(cluster, cluster.ssh).findings
        except ClusterUnreachable as error:
            found = (Finding("head", False, f"{cluster.ssh.address} not usable", str(error), needed=True),)
        findings += [Finding(f"{cluster.name}: {it.check}", it.ok, it.found, it.remedy, it.needed) for it in found]
    return findings


def known_heads(topology: Topology) -> tuple[str, ...]:
    """The known-hosts line of each real head, once each of them has what a testbed needs.

    Raises:
        ClusterUnreachable: naming the first thing that one of them lacks, and the remedy.
    """
    lines = []
    for cluster in topology.clusters:
        if cluster.ssh is None:
            continue
        examined = examine_head(cluster, cluster.ssh)
        lacking = next((it for it in examined.findings if it.needed and not it.ok), None)
        if lacking is not None:
            what = f"{lacking.check}: {lacking.found} ({lacking.remedy})"
            raise ClusterUnreachable(f"Cluster {cluster.name!r} at {cluster.ssh.address}: {what}.")
        lines.append(examined.known_hosts_line)
    return tuple(lines)
