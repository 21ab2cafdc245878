"""The whole wide area of a running testbed: programmed for a dilation, and read back."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from emulator.containers.wan.commands import FORGET_NEIGHBOURS
from emulator.containers.wan.edges import apply_edges, edge_queues
from emulator.containers.wan.handle import WanHandle
from emulator.containers.wan.measurements import power_of_two_not_below
from emulator.containers.wan.program import least_dilation, wide_area_program
from emulator.containers.wan.readback import RELATIVE_ERROR, dilation_of
from emulator.containers.wan.router import Backend, Router
from emulator.model.clock import REAL_TIME, Dilation
from emulator.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Programmed:
    """The program found in a wide area: its dilation, if it has one, and what does not match that dilation."""

    dilation: Dilation | None
    differences: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether everything matches one dilation."""
        return self.dilation is not None and not self.differences

    def is_for(self, dilation: Dilation) -> bool:
        """Return whether everything is programmed for `dilation` (read back from a rate that tc rounds)."""
        return (
            self.dilation is not None
            and self.whole
            and math.isclose(self.dilation.factor, dilation.factor, rel_tol=RELATIVE_ERROR)
        )


def program_wide_area(
    handle: WanHandle,
    topology: Topology,
    dilation: Dilation,
    *,
    with_delays: bool = True,
    shared: bool = True,
    again: bool = False,
) -> Backend:
    """Program every access link and delay line for `dilation`, replacing what was there; the testbed should be idle.

    Waits until the router forwards (seconds after its start) and returns the kernel that forwards. With `with_delays`
    False, only the path's own delay is left, which `verify` measures. With `shared` False, every connection has the
    rate of the access links that it crosses, for control runs. `again` says that the same topology was programmed
    before, with links shared or not as now, which is quicker.

    Raises:
        TestbedNotUp: if a container does not run.
        WideAreaUnfaithful: if a kernel refuses a command, the router does not answer, or the network between the hosts
            takes longer than a link's delay.
    """
    handle.require_running()
    program = wide_area_program(
        topology,
        dilation,
        handle.addresses,
        host_underlay_s=handle.host_underlay_s,
        with_delays=with_delays,
        shared=shared,
    )
    router = Router(handle)
    with ThreadPoolExecutor(max_workers=3) as pool:
        edges = pool.submit(apply_edges, handle, program.edges)
        backend = pool.submit(router.backend)
        (router.change if again and shared else router.apply)(program.router)
        edges.result()
        return backend.result()


def resting_dilation(handle: WanHandle, topology: Topology) -> Dilation:
    """Return the dilation of the links while no run holds them: real time, unless the way between hosts is too long."""
    least = least_dilation(topology, handle.host_underlay_s)
    return REAL_TIME if least <= REAL_TIME.factor else power_of_two_not_below(Dilation(least))


def forget_neighbours(handle: WanHandle) -> None:
    """Drop the hardware addresses that were resolved: a container that was started again may have another one.

    Raises:
        TestbedNotUp: if a container does not run.
        WideAreaUnfaithful: if the router does not answer.
    """
    with ThreadPoolExecutor(max_workers=len(handle.cluster_containers) + 1) as pool:
        router = pool.submit(Router(handle).run, FORGET_NEIGHBOURS)
        list(pool.map(lambda name: handle.execute(name, ["sh", "-c", FORGET_NEIGHBOURS]), handle.cluster_containers))
        router.result()


def programmed_wide_area(handle: WanHandle, topology: Topology, *, shared: bool = True) -> Programmed:
    """Read the present program back from every container; this is cheap and disturbs nothing.

    The program is compared with `topology`, its access links `shared` or not.

    Raises:
        TestbedNotUp: if a container does not run.
        WideAreaUnfaithful: if a container's queues cannot be read.
    """
    handle.require_running()
    with ThreadPoolExecutor(max_workers=len(handle.cluster_containers) + 1) as pool:
        router = pool.submit(Router(handle).queues)
        edges = list(pool.map(lambda container: edge_queues(handle, container), handle.cluster_containers))
        dilation, differences = dilation_of(
            topology, edges, router.result(), handle.addresses, host_underlay_s=handle.host_underlay_s, shared=shared
        )
    return Programmed(dilation, tuple(differences))
