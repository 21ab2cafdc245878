"""A broker over simulated clusters, for measuring: ``python -m tests.bench.broker_program FOLDER PORT CORE``.

Five clusters that somebody else fills to the last processor, behind the protocol of local resource managers. The
process keeps to one core and journals into FOLDER.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from emulator.broker.__main__ import spare_collections
from emulator.broker.http.api import create_app
from emulator.broker.http.connections import server
from emulator.broker.http.page import LivePage
from emulator.broker.service import Broker
from emulator.broker.state.journal import Journal
from emulator.clusters.protocol import Occupancy
from emulator.model.documents import parse_document
from emulator.model.settings import BrokerSettings, Head
from emulator.model.topology import Topology

TOKEN = "bench"
PAGE = Path("emulator/page/assets")
CLUSTERS = ("amsterdam", "berkeley", "delft", "leiden", "utrecht")
PROCESSORS = 80
TOPOLOGY = """
name: five
processor: {name: p, in_cache_ns_per_point: 100, out_of_cache_ns_per_point: 200, cache_bytes: 1000}
clusters:
""" + "".join(f"  - {{name: {name}, nodes: 40, access_link: {{up_mbit: 10, down_mbit: 10}}}}\n" for name in CLUSTERS)


class FullCluster:
    """All its processors are in use by others."""

    def __init__(self, cluster: str) -> None:
        self.cluster = self.address = cluster

    def occupancy(self) -> Occupancy:
        """Nothing is idle."""
        return Occupancy(40, PROCESSORS, 0)

    malformed_events = 0

    def allocations(self) -> dict[str, str]:
        """Nothing is ours."""
        return {}

    def forget(self, claim: str) -> None:
        """Nothing is ours."""

    def release_all(self) -> None:
        """Nothing is ours."""

    def watch(self, on_event, on_reachable) -> None:
        """It answers, and nothing ever happens."""
        on_reachable(True, "")

    def close(self) -> None:
        """Nothing is open."""


def five_clusters() -> Topology:
    """The topology of the measurement."""
    return parse_document(TOPOLOGY + "default_link: {delay_s: 0.001}\n", Topology, source="five")


def main(folder: Path, port: int, core: int) -> None:
    """Serve until ended."""
    os.sched_setaffinity(0, {core})
    heads = tuple(Head(cluster=name, address=name) for name in CLUSTERS)
    settings = BrokerSettings(
        testbed="bench",
        topology_file=folder,
        token_file=folder,
        key_file=folder,
        known_hosts_file=folder,
        journal_file=folder / "journal",
        heads=heads,
    )
    spare_collections()
    journal = Journal(settings.journal_file)
    broker = Broker(five_clusters(), [FullCluster(name) for name in CLUSTERS], settings, journal)
    broker.open()
    server(create_app(broker, journal, TOKEN, LivePage.of(PAGE)), "127.0.0.1", port).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
