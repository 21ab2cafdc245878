"""Make and start a testbed's containers: by one Compose file on this host, or by one for each of several hosts.

Over several hosts the networks are overlays, made at the Swarm's manager. A worker's Compose sees an overlay only while
something is attached to it there. So while Compose works, each worker has an *anchor*: a container that does nothing.
"""

from __future__ import annotations

import contextlib
import io
import ipaddress
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import docker
import docker.errors
from docker.types import IPAMConfig, IPAMPool

from emulator.containers import engine, state
from emulator.containers.hosts.engines import Client, HostEngines
from emulator.containers.hosts.image_transfer import send_images
from emulator.containers.names import CLUSTER_LABEL, LABEL, ROLE_LABEL
from emulator.containers.parts import rendered_document
from emulator.containers.progress import ignore
from emulator.containers.state import HostRecord, TestbedState
from emulator.model.errors import EngineUnavailable

UNDERLAY_MTU: Final = 1550
"""The MTU that an overlay is told: 50 bytes of it wrap a frame, so that 1500 are left inside."""

KEY_FILES: Final = ("authorized_keys", "grid", "known_hosts")
_FILLED_AT: Final = "/keys"
_PUBLIC: Final = ("authorized_keys", "known_hosts")


def start_containers(client: Client, testbed: TestbedState) -> None:
    """Make and start everything of a testbed that is rendered.

    Raises:
        EngineUnavailable: with the reason that Compose or an engine gives, if it fails.
    """
    _compose(client, testbed, engine.compose_up)


def create_containers(client: Client, testbed: TestbedState) -> None:
    """Make the containers, networks and volumes of a testbed that do not exist; start nothing.

    Raises:
        EngineUnavailable: with the reason that Compose or an engine gives, if it fails.
    """
    _compose(client, testbed, engine.compose_create)


def refill_keys(client: Client, testbed: TestbedState) -> None:
    """Write the keys of clusters on other hosts anew; on one host they are mounted from their folder."""
    hosts = testbed.record.hosts
    if isinstance(client, HostEngines) and hosts is not None:
        for record in (each for each in hosts.hosts if each.clusters):
            _fill_keys(client.engines[record.host.name].client, testbed, record)


def _compose(client: Client, testbed: TestbedState, compose: Callable[..., None]) -> None:
    hosts = testbed.record.hosts
    if not isinstance(client, HostEngines) or hosts is None:
        compose(testbed.names.compose_project, testbed.compose_file)
        _refuse_ipv6(client, testbed)
        return
    # Images that were removed have been replaced by the present ones, which the record says.
    testbed = replace(testbed, record=state.record_of(testbed.record.name) or testbed.record)
    engines = client
    node_image = testbed.record.images["node"]
    carrying = hosts.carrying
    send_images(engines, [record.host.name for record in carrying], [node_image], ignore)
    _make_networks(engines, testbed)
    _refuse_ipv6(engines, testbed)

    def on_host(record: HostRecord) -> None:
        there = engines.engines[record.host.name]
        _fill_keys(there.client, testbed, record)
        with _anchored(there.client, testbed, record, node_image):
            compose(testbed.names.compose_project, testbed.compose_file_of(record.host.name), there.url)

    try:
        # Waits for all hosts, so that nothing is made after the clean-up has looked.
        with ThreadPoolExecutor(len(carrying)) as pool:
            list(pool.map(on_host, carrying))
    except docker.errors.APIError as error:
        raise EngineUnavailable(f"A host refuses a part of the testbed: {error.explanation or error}.") from error


def _refuse_ipv6(client: Client, testbed: TestbedState) -> None:
    """Refuse a network that got IPv6 although it states that it has none: docker-compose 1.29 does not pass that on.

    A testbed of an earlier generation, or with real clusters, states nothing of it.
    """
    networks = rendered_document(testbed)["networks"].values()
    closed = {stated["name"] for stated in networks if stated.get("enable_ipv6") is False}
    for network in engine.networks_of(client, testbed.record.name):
        if network.name in closed and network.attrs.get("EnableIPv6"):
            raise EngineUnavailable(
                f"The network {network.name} has IPv6, by which jobs would reach the host, because the engine gives it "
                "to every network (take com.docker.network.enable_ipv6 out of `default-network-opts` in "
                "/etc/docker/daemon.json and restart the engine, or install the present plugin `docker compose`)."
            )


def overlay_addresses(subnet: str) -> tuple[str, str]:
    """Return the range that the Swarm takes addresses from, the upper half of a subnet, and the gateway, its first.

    The Swarm gives each host an address of its own in an overlay; the testbed's fixed addresses are in the lower half.
    """
    network = ipaddress.IPv4Network(subnet)
    return str(list(network.subnets())[1]), str(network[1])


def _make_networks(engines: HostEngines, testbed: TestbedState) -> None:
    existing = {str(network.name) for network in engine.networks_of(engines, testbed.record.name)}
    for stated in rendered_document(testbed)["networks"].values():
        if stated["name"] in existing:
            continue
        subnet = stated["ipam"]["config"][0]["subnet"]
        taken_by_swarm, gateway = overlay_addresses(subnet)
        try:
            engines.central_client.networks.create(
                stated["name"],
                driver="overlay",
                attachable=True,
                labels=stated["labels"],
                options={"com.docker.network.driver.mtu": str(UNDERLAY_MTU)},
                ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=subnet, iprange=taken_by_swarm, gateway=gateway)]),
            )
        except docker.errors.APIError as error:
            raise EngineUnavailable(
                f"The overlay network {stated['name']} cannot be made: {error.explanation or error}."
            ) from error


@contextmanager
def _anchored(client: docker.DockerClient, testbed: TestbedState, record: HostRecord, image: str) -> Iterator[None]:
    """Keep a container attached to each network of a worker's clusters while Compose is at work there."""
    names = testbed.names
    if testbed.record.hosts is None or record.host.name == testbed.record.hosts.central:
        yield
        return
    anchor = client.containers.create(
        image,
        entrypoint=["sleep", "infinity"],
        network=names.control_network,
        init=True,
        labels={LABEL: names.testbed, ROLE_LABEL: "anchor"},
    )
    try:
        anchor.start()
        for cluster in record.clusters:
            client.api.connect_container_to_network(anchor.id, names.site_network(cluster))
        yield
    finally:
        with contextlib.suppress(docker.errors.APIError):
            anchor.remove(force=True)


def _fill_keys(client: docker.DockerClient, testbed: TestbedState, record: HostRecord) -> None:
    """Write the keys of each cluster into its volume, by a container that is never started."""
    for cluster in record.clusters:
        volume = testbed.names.keys_volume(cluster)
        labels = {LABEL: testbed.record.name, CLUSTER_LABEL: cluster}
        client.volumes.create(volume, labels={**labels, ROLE_LABEL: "keys"})
        container: Any = client.containers.create(
            testbed.record.images["node"],
            entrypoint=["true"],
            network_mode="none",
            volumes={volume: {"bind": _FILLED_AT, "mode": "rw"}},
            labels={**labels, ROLE_LABEL: "keys"},
        )
        try:
            container.put_archive(_FILLED_AT, packed_keys(testbed, cluster))
        finally:
            container.remove(force=True)


def packed_keys(testbed: TestbedState, cluster: str) -> bytes:
    """Return the files that a cluster has in its folder of keys, as an archive whose owner is root."""
    folder = testbed.folder / "keys"
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, file in {"host": folder / "hosts" / cluster, **{each: folder / each for each in KEY_FILES}}.items():
            data = file.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            entry.mode = 0o644 if name in _PUBLIC else 0o600
            archive.addfile(entry, io.BytesIO(data))
    return content.getvalue()
