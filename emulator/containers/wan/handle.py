"""The containers that make up a wide area, and commands run in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import docker
from docker.errors import APIError, NotFound
from docker.models.containers import Container

from emulator.containers.addresses import AddressPlan
from emulator.containers.engine import NO_ANSWER, READ_ATTEMPTS
from emulator.containers.names import PartNames
from emulator.containers.readiness import is_running
from emulator.containers.state import TestbedRecord, TestbedState
from emulator.model.errors import TestbedNotUp, WideAreaUnfaithful
from emulator.model.escapes import last_line


@dataclass(frozen=True, slots=True)
class WanHandle:
    """The handle of a running testbed's wide area.

    `cluster_containers` are in the topology's order. Over several hosts `host_underlay_s` says, in that order, what the
    network between a cluster's host and the router's delays one way, and `host_clocks_ahead_s` by how much the clock of
    a cluster's host is ahead of the central one, both in host seconds; they are empty on one host.
    """

    client: docker.DockerClient
    testbed: str
    cluster_containers: tuple[str, ...]
    router_container: str
    addresses: AddressPlan
    host_underlay_s: tuple[float, ...] = ()
    host_clocks_ahead_s: tuple[float, ...] = ()

    @classmethod
    def of(
        cls, client: docker.DockerClient, names: PartNames, clusters: Sequence[str], addresses: AddressPlan
    ) -> WanHandle:
        """Return the handle of the testbed that `names` belongs to, with its `clusters` in the topology's order."""
        return cls(client, names.testbed, tuple(map(names.cluster, clusters)), names.router, addresses)

    def with_clocks(self, clusters: Sequence[str], host_clocks_ahead_s: Mapping[str, float]) -> WanHandle:
        """Return this handle with the clocks of its `clusters`, in the topology's order; those not stated are right."""
        return replace(self, host_clocks_ahead_s=tuple(host_clocks_ahead_s.get(name, 0.0) for name in clusters))

    def host_clock_ahead_s(self, index: int) -> float:
        """Return by how many host seconds the clock of a cluster, by its index, is ahead of the central host's."""
        return self.host_clocks_ahead_s[index] if self.host_clocks_ahead_s else 0.0

    def container(self, name: str) -> Container:
        """Return the container called `name`.

        Raises:
            TestbedNotUp: if there is none.
        """
        try:
            return self.client.containers.get(name)
        except NotFound as error:
            raise TestbedNotUp(f"The container {name} does not exist: bring the testbed up again.") from error
        except NO_ANSWER as error:
            raise TestbedNotUp(f"The engine of container {name} does not answer ({error}).") from error

    def require_running(self) -> None:
        """Check that every container of the wide area runs.

        Raises:
            TestbedNotUp: if one does not exist or does not run.
        """
        for name in (*self.cluster_containers, self.router_container):
            if not is_running(self.client, name):
                raise TestbedNotUp(f"The container {name} does not run (`testbed up` mends it).")

    def execute(self, container: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
        """Run `command` in a container and return its output.

        Raises:
            TestbedNotUp: if the container does not run.
            WideAreaUnfaithful: if the command fails; the message holds what it printed last.
        """
        try:
            result = self.container(container).exec_run(list(command), environment=dict(environment or {}))
        except APIError as error:
            raise TestbedNotUp(f"The container {container} does not run ({error.explanation or error}).") from error
        except NO_ANSWER as error:
            raise TestbedNotUp(f"The engine of container {container} does not answer ({error}).") from error
        output = str(result.output.decode(errors="replace"))
        if result.exit_code != 0:
            said = last_line(output, "it printed nothing")
            raise WideAreaUnfaithful(f"A command of the wide area failed in {container}: {said}.")
        return output

    def read(self, container: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
        """Run `command`, which always prints something and may be repeated, in a container and return its output.

        Docker sometimes loses all output of a command that ends quickly. The command is then run again.

        Raises:
            TestbedNotUp: if the container does not run.
            WideAreaUnfaithful: if the command fails, or repeatedly prints nothing.
        """
        for _ in range(READ_ATTEMPTS):
            output = self.execute(container, command, environment)
            if output.strip():
                return output
        raise WideAreaUnfaithful(f"A command of the wide area prints nothing in {container}: {' '.join(command)[:60]}.")


def wan_handle(client: docker.DockerClient, testbed: TestbedState) -> WanHandle:
    """Return the handle of a testbed's wide area, which joins its emulated clusters.

    Over several hosts, their network and clocks are as measured when the links were programmed.
    """
    clusters, hosts = [cluster.name for cluster in testbed.record.clusters], testbed.record.hosts
    handle = WanHandle.of(client, testbed.names, clusters, testbed.addresses)
    if hosts is None:
        return handle
    handle = replace(handle, host_underlay_s=host_underlay_s(testbed.record))
    return handle.with_clocks(clusters, hosts.host_clocks_ahead_s(hosts.underlays))


def host_underlay_s(record: TestbedRecord) -> tuple[float, ...]:
    """Return what the network between each cluster's host and the central one delays one way; empty on one host."""
    if record.hosts is None:
        return ()
    found = [record.hosts.underlay_of(cluster.name) for cluster in record.clusters]
    return tuple(0.0 if underlay is None else underlay.host_delay_s for underlay in found)
