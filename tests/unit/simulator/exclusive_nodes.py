"""A topology whose nodes are exclusive, for tests."""

from __future__ import annotations

from emulator.model.topology import Topology

PROCESSOR = {"name": "p", "in_cache_ns_per_point": 100, "out_of_cache_ns_per_point": 200, "cache_bytes": 1000}


def exclusive(*, nodes: int, clusters: int, use: str = "exclusive") -> Topology:
    """Return that number of clusters, each of that number of dual-processor nodes."""
    link = {"up_mbit": 10, "down_mbit": 10}
    return Topology.model_validate(
        {
            "name": "whole",
            "processor": PROCESSOR,
            "nodes": use,
            "clusters": [{"name": f"c{index}", "nodes": nodes, "access_link": link} for index in range(clusters)],
            "default_link": {"delay_s": 0.001},
        }
    )
