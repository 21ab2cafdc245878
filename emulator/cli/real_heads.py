"""The heads of a topology's real clusters, checked before a testbed relies on them."""

from __future__ import annotations

from dataclasses import replace

from emulator.clusters.examination import examine_head
from emulator.model.errors import ClusterUnreachable
from emulator.model.finding import Finding
from emulator.model.topology import Topology


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


def known_heads(topology: Topology) -> tuple[str, ...]:
    """Return the known-hosts line of each real head, if all of them have what a testbed needs.

    Raises:
        ClusterUnreachable: naming the first thing that one of them lacks, and the remedy.
    """
    lines = []
    for cluster in topology.clusters:
        if cluster.ssh is None:
            continue
        examined = examine_head(cluster, cluster.ssh)
        lacking = next((finding for finding in examined.findings if finding.needed and not finding.ok), None)
        if lacking is not None:
            what = f"{lacking.check}: {lacking.found} ({lacking.remedy})"
            raise ClusterUnreachable(f"Cluster {cluster.name!r} at {cluster.ssh.address}: {what}.")
        lines.append(examined.known_hosts_line)
    return tuple(lines)
