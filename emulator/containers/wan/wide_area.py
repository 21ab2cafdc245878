"""The wide area of a standing testbed as one thing: programmed for a dilation, and read back."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from emulator.containers.wan.edges import apply_edges, edge_queues
from emulator.containers.wan.program import wide_area_program
from emulator.containers.wan.readback import dilation_of
from emulator.containers.wan.router import Backend, Router
from emulator.containers.wan.stand import Stand
from emulator.model.clock import Dilation
from emulator.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Programmed:
    """What a wide area was found programmed with: its dilation, if it has one, and what does not agree with it."""

    dilation: Dilation | None
    differences: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether everything is as one dilation wants it."""
        return self.dilation is not None and not self.differences

    def is_for(self, dilation: Dilation) -> bool:
        """Whether everything is programmed for `dilation` (a factor read back is right to four digits)."""
        return (
            self.dilation is not None
            and self.whole
            and math.isclose(self.dilation.factor, dilation.factor, rel_tol=1e-3)
        )


def program_wide_area(
    stand: Stand, topology: Topology, dilation: Dilation, *, with_delays: bool = True, shared: bool = True
) -> Backend:
    """Program every access link and delay line for `dilation`, replacing what was there; the testbed should be idle.

    Waits until the router forwards (seconds after its start) and returns the kernel that does. `with_delays` False
    leaves the path's own delay alone, which `verify` measures; `shared` False gives every connection the rate of the
    access links that it crosses, for control runs.

    Raises:
        NotStanding: if a container does not run.
        WideAreaUnfaithful: if a kernel refuses a command, or the router does not answer.
    """
    stand.require_running()
    program = wide_area_program(topology, dilation, stand.addresses, with_delays=with_delays, shared=shared)
    router = Router(stand)
    backend = router.backend()
    with ThreadPoolExecutor(max_workers=2) as pool:
        edges = pool.submit(apply_edges, stand, program.edges)
        pool.submit(router.apply, program.router).result()
        edges.result()
    return backend


def programmed_wide_area(stand: Stand, topology: Topology, *, shared: bool = True) -> Programmed:
    """What is programmed now, read back from every container; cheap, and disturbs nothing.

    It is held against `topology` with its access links `shared` or not.

    Raises:
        NotStanding: if a container does not run.
        WideAreaUnfaithful: if a container's queues cannot be read.
    """
    stand.require_running()
    with ThreadPoolExecutor(max_workers=len(stand.cluster_containers) + 1) as pool:
        router = pool.submit(Router(stand).queues)
        edges = list(pool.map(lambda container: edge_queues(stand, container), stand.cluster_containers))
        dilation, differences = dilation_of(topology, edges, router.result(), stand.addresses, shared=shared)
    return Programmed(dilation, tuple(differences))
