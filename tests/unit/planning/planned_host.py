"""The costs of an invented host, for tests of the planner: round numbers like those of a host with two cores."""

from __future__ import annotations

from emulator.planning.costs import (
    FallingBehind,
    HostCosts,
    KernelCost,
    MessageCost,
    MessagesOver,
    Overshoots,
    Readiness,
    RouterCost,
    StartCost,
)
from emulator.planning.plan import Resources

EDGES_S = tuple(25e-6 * 2 ** (step / 2) for step in range(20))
ROOM = Resources(memory_bytes=16_000_000_000, disk_bytes=100_000_000_000)


def message(application: str, ranks: int, over: MessagesOver, host_cpu_s: float, host_time_s: float) -> MessageCost:
    """Return message costs that are the same for ranks that never wait and for others."""
    return MessageCost(
        application=application, ranks=ranks, over=over, host_cpu_s=host_cpu_s, host_time_s=host_time_s,
        host_least_cpu_s=host_cpu_s,
    )  # fmt: skip


def overshoots(together: int, over: MessagesOver, host_kernel_s: float, host_typical_s: float) -> Overshoots:
    """Return overshoots with a mean of `host_typical_s`, and three times that at the latest rank."""
    return Overshoots(
        together=together, over=over, host_kernel_s=host_kernel_s, host_mean_s=host_typical_s,
        host_latest_s=3 * host_typical_s,
    )  # fmt: skip


def readiness(
    ranks: int,
    over: MessagesOver,
    host_phase_s: float,
    host_typical_s: float,
    core_share: float = 0.2,
    clusters: int = 1,
) -> Readiness:
    """Return a curve: half of the ranks are ready later than `host_typical_s`, and a quarter later than twice that."""
    edges_s = tuple(host_phase_s + edge_s for edge_s in EDGES_S)
    beyond = tuple(min(1.0, 0.5 * host_typical_s / edge_s) for edge_s in edges_s)
    return Readiness(
        ranks=ranks, over=over, clusters=clusters, host_kernel_s=20e-6, core_share=core_share, host_edges_s=edges_s,
        beyond=beyond,
    )  # fmt: skip


def host_costs(cores: int = 2) -> HostCosts:
    """Return the costs of a host in round numbers."""
    shared, paced, dilated = MessagesOver.SHARED_MEMORY, MessagesOver.INTERCONNECT, MessagesOver.WIDE_AREA
    return HostCosts(
        fingerprint="none",
        measured_at="2026-01-01T00:00:00+00:00",
        load=0.0,
        cores=cores,
        memory_bytes=24_000_000_000,
        kernels=(
            KernelCost(application="poisson", points=10_000, host_ns_per_point=2.0),
            KernelCost(application="poisson", points=250_000, host_ns_per_point=3.0),
            KernelCost(application="laplace", points=10_000, host_ns_per_point=4.0),
        ),
        messages=(
            message("poisson", 4, shared, 80e-6, 200e-6),
            message("poisson", 16, shared, 100e-6, 800e-6),
            message("poisson", 64, shared, 120e-6, 4e-3),
            message("laplace", 16, shared, 150e-6, 1e-3),
            message("poisson", 16, paced, 90e-6, 0.0),
            message("poisson", 16, dilated, 400e-6, 2e-3),
        ),
        overshoots=(
            overshoots(4, shared, 20e-6, 30e-6),
            overshoots(16, shared, 20e-6, 90e-6),
            overshoots(64, shared, 20e-6, 400e-6),
            overshoots(16, shared, 750e-6, 45e-6),
            overshoots(8, dilated, 20e-6, 80e-6),
        ),
        readiness=(
            readiness(4, shared, 9e-3, 200e-6),
            readiness(16, shared, 1e-3, 1200e-6, core_share=0.7),
            readiness(16, shared, 9e-3, 1200e-6),
            readiness(64, shared, 9e-3, 4e-3),
            readiness(16, dilated, 1e-3, 800e-6, core_share=0.7, clusters=2),
            readiness(16, dilated, 0.2e-3, 400e-6, core_share=0.1, clusters=2),
            readiness(16, dilated, 1e-3, 400e-6, core_share=0.7, clusters=4),
            readiness(16, dilated, 0.2e-3, 200e-6, core_share=0.1, clusters=4),
        ),
        falling_behind=(
            FallingBehind(turns_share=0.2, late_phase_share=0.0),
            FallingBehind(turns_share=0.5, late_phase_share=0.1),
            FallingBehind(turns_share=4.0, late_phase_share=1.0),
        ),
        start=StartCost(host_base_s=1.0, host_rank_s=0.02),
        router=RouterCost(backend="uml", host_cpu_s_per_packet=40e-6, packets_per_segment=1.8),
        rank_bytes=10_000_000,
        cluster_bytes=100_000_000,
        record_bytes=5_000,
    )
