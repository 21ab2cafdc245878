"""Pictures of systems: the clusters of a topology and their links, and the hosts that carry them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from emulator.hosts.layout import CENTRAL_CORES, HostCapacity, Layout, demands_of, lay_out
from emulator.model.topology import Cluster, Topology
from emulator.reports.figures.drawing import COLOURS, GREY, panels
from emulator.reports.figures.figure import DataRow, ReportFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EMULATED, REAL = COLOURS[0], COLOURS[5]
HOSTS: Final = (HostCapacity("left", 4, 16 * 1024**3), HostCapacity("right", 4, 16 * 1024**3))
"""Two workstations, as on the page about several hosts."""


def topology_map(topology: Topology) -> ReportFigure:
    """Return a map: a box for each cluster, a line with its delay for each pair whose path is emulated."""
    rows: list[DataRow] = [
        {"from": source, "to": target, "delay_s": topology.path(source, target).delay_s}
        for source, target in topology.ordered_pairs
    ]
    return ReportFigure(
        "topology", f"The topology {topology.name}", "Clusters, access links and delays one way.", rows,
        lambda: _map(topology),
    )  # fmt: skip


def _map(topology: Topology) -> Figure:
    figure, (axes,) = panels(3.4 if len(topology.clusters) > 2 else 1.2)
    places = _places(len(topology.clusters))
    at = dict(zip(topology.cluster_names, places, strict=True))
    for source, target in topology.ordered_pairs:
        if source < target:
            _link(axes, at[source], at[target], f"{1000 * topology.path(source, target).delay_s:g} ms")
    emulated = [cluster.name for cluster in topology.clusters if not cluster.is_real]
    for cluster in topology.clusters:
        if cluster.is_real:
            for name in emulated:
                _link(axes, at[name], at[cluster.name], "not emulated", line="--")
        _box(axes, at[cluster.name], _words(cluster), REAL if cluster.is_real else EMULATED)
    _bare(axes, (-1.55, 1.55), (min(y for _, y in places) - 0.3, max(y for _, y in places) + 0.3))
    return figure


def _places(count: int) -> list[tuple[float, float]]:
    if count <= 2:
        return [(-1.0, 0.0), (1.0, 0.0)][:count]
    begin = math.pi * (1 - 1 / count) if count == 4 else math.pi / 2
    return [
        (1.1 * math.cos(begin - 2 * math.pi * place / count), math.sin(begin - 2 * math.pi * place / count))
        for place in range(count)
    ]


def _words(cluster: Cluster) -> str:
    size = f"{cluster.nodes} nodes of {cluster.processors_per_node} processors"
    if cluster.is_real:
        return f"{cluster.name}\n{size}\nreal, reached by SSH"
    link = cluster.access_link
    rate = f"{link.up_mbit:g} Mbit/s up and down" if link.up_mbit == link.down_mbit else (
        f"{link.up_mbit:g} Mbit/s up, {link.down_mbit:g} down"
    )  # fmt: skip
    return f"{cluster.name}\n{size}\n{rate}"


def _link(axes: Axes, one: tuple[float, float], other: tuple[float, float], text: str, line: str = "-") -> None:
    axes.plot([one[0], other[0]], [one[1], other[1]], line, color=GREY, linewidth=1.2, zorder=1)
    crosses = one[0] * other[0] < 0 and one[1] * other[1] < 0
    share = 0.3 if crosses else 0.5
    where = (one[0] + share * (other[0] - one[0]), one[1] + share * (other[1] - one[1]))
    axes.text(*where, text, ha="center", va="center", fontsize=8, zorder=2, bbox={"facecolor": "white", "linewidth": 0})


def _box(axes: Axes, at: tuple[float, float], words: str, colour: str) -> None:
    box = {"boxstyle": "round,pad=0.6", "facecolor": "white", "edgecolor": colour, "linewidth": 1.6}
    axes.text(*at, words, ha="center", va="center", fontsize=8, zorder=3, bbox=box)


def _bare(axes: Axes, horizontal: tuple[float, float], vertical: tuple[float, float]) -> None:
    axes.set(xlim=horizontal, ylim=vertical)
    axes.set_axis_off()


def host_layout(topology: Topology, hosts: Sequence[HostCapacity] = HOSTS) -> ReportFigure:
    """Return which of `hosts` carries which cluster, by the rules of ``testbed up --hosts``."""
    demands = demands_of(topology)
    layout = lay_out(demands, hosts, hosts[0].name)
    sizes = {demand.name: demand.processors for demand in demands}
    rows: list[DataRow] = [
        {"host": host, "cluster": cluster, "processors": sizes[cluster]} for cluster, host in layout.clusters.items()
    ]
    return ReportFigure(
        "hosts", f"{topology.name} over {len(hosts)} hosts", "The clusters that each host carries.", rows,
        lambda: _hosts(layout, hosts, sizes),
    )  # fmt: skip


def _hosts(layout: Layout, hosts: Sequence[HostCapacity], sizes: dict[str, int]) -> Figure:
    figure, (axes,) = panels(2.5)
    for place, host in enumerate(hosts):
        carried = layout.on(host.name)
        cores = host.cores - CENTRAL_CORES if host.name == layout.central else host.cores
        load = sum(sizes[name] for name in carried) / cores
        axes.bar([place], [3.9], 0.86, bottom=-0.1, facecolor="none", edgecolor=GREY, linewidth=1.6)
        axes.text(place, 3.6, f"host {host.name}, {host.cores:g} cores", ha="center", va="center", fontsize=9)
        axes.text(place, 0.1, f"{load:.0f} emulated processors a core", ha="center", va="center", fontsize=7)
        parts = [(f"{name}: {sizes[name]} processors", EMULATED) for name in carried]
        parts += [("router and broker", REAL)] if host.name == layout.central else []
        for row, (words, colour) in enumerate(parts):
            axes.bar([place], [0.6], 0.74, bottom=2.6 - 0.75 * row, facecolor="none", edgecolor=colour, linewidth=1.2)
            axes.text(place, 2.9 - 0.75 * row, words, ha="center", va="center", fontsize=8)
    axes.plot([0.43, 0.57], [2.0, 2.0], color=GREY, linewidth=3)
    axes.text(0.5, 2.25, "underlay", ha="center", va="bottom", fontsize=7)
    _bare(axes, (-0.5, len(hosts) - 0.5), (-0.3, 4.0))
    return figure
