"""The engines of several hosts behind the interface of one, as far as this project uses Docker's client.

What asks for a container by its name gets it from the host that carries it. Listings join what all reachable hosts
have. The testbed's networks are overlays, which the Swarm's manager knows, and images are made on its host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

import docker
import docker.errors

from emulator.containers.concurrency import run_concurrently
from emulator.containers.hosts.joined_events import JoinedEvents
from emulator.containers.hosts.tunnels import Tunnel, open_tunnel
from emulator.hosts.inventory import Host, HostInventory
from emulator.model.errors import EngineUnavailable

ANSWER_WITHIN_HOST_S: Final = 120
_FIRST_ANSWER_WITHIN_HOST_S: Final = 10
_POOL_SIZE: Final = 64


@dataclass(frozen=True, slots=True)
class HostEngine:
    """The engine of a host that answered: its client, and the address by which programs here reach it.

    The client is `opened` when the engine is, and used through `client`, which sees to the tunnel if there is one.
    """

    host: Host
    opened: docker.DockerClient
    url: str
    tunnel: Tunnel | None = None

    @property
    def client(self) -> docker.DockerClient:
        """The client; a tunnel that was lost is opened again first.

        Raises:
            TunnelLost: if that fails.
        """
        if self.tunnel is not None:
            self.tunnel.require()
        return self.opened


@dataclass(frozen=True)
class HostEngines:
    """The engines of all hosts of a testbed, used as if they were one.

    `places` names the host of each container; one that is not in it is looked for on every host. `lost` says of each
    host whose engine does not answer why. The engine of `central` has the router, the broker, the networks and the
    images.
    """

    engines: Mapping[str, HostEngine]
    central: str
    lost: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)

    def placed(self, places: Mapping[str, str], central: str) -> HostEngines:
        """Return the same engines once it is known which host carries which container."""
        return replace(self, places=dict(places), central=central)

    def require_all(self) -> None:
        """Check that every engine answers.

        Raises:
            EngineUnavailable: if one does not.
        """
        for reason in self.lost.values():
            raise EngineUnavailable(reason)

    @property
    def central_client(self) -> docker.DockerClient:
        """The client of the engine with router, broker, networks and images.

        Raises:
            EngineUnavailable: if it does not answer.
        """
        if self.central not in self.engines:
            raise EngineUnavailable(self.lost.get(self.central, f"Host {self.central!r} has no engine."))
        return self.engines[self.central].client

    @property
    def clients(self) -> list[docker.DockerClient]:
        """The clients of all engines that answer.

        Raises:
            TunnelLost: if the tunnel to one was lost since, and cannot be opened again.
        """
        return [engine.client for engine in self.engines.values()]

    def unreached_parts(self) -> dict[str, str]:
        """Return the containers on hosts that are not reached, each with its host."""
        return {part: host for part, host in self.places.items() if host in self.lost}

    def client_of(self, container: str) -> docker.DockerClient:
        """Return the client of the engine that has a container.

        Raises:
            docker.errors.NotFound: if none has it, or if its host was not reached from the beginning.
            TunnelLost: if the tunnel to its host was lost since, and cannot be opened again.
        """
        host = self.places.get(container)
        if host in self.lost:
            raise docker.errors.NotFound(f"host {host} is not reached")
        if host is not None:
            return self.engines[host].client
        for client in self.clients:
            try:
                client.containers.get(container)
            except docker.errors.NotFound:
                continue
            return client
        raise docker.errors.NotFound(f"no host has a container {container}")

    # From here on the names are those of Docker's client.

    @property
    def containers(self) -> _Containers:
        """The containers of all hosts."""
        return _Containers(self)

    @property
    def networks(self) -> _Networks:
        """The networks."""
        return _Networks(self)

    @property
    def volumes(self) -> _Volumes:
        """The volumes of all hosts."""
        return _Volumes(self)

    @property
    def images(self) -> Any:
        """The images, which are made on the central host."""
        return self.central_client.images

    @property
    def api(self) -> _Api:
        """The lower interface, by which containers are attached and images imported."""
        return _Api(self)

    def info(self) -> dict[str, Any]:
        """Return what the central engine says of its host."""
        found: dict[str, Any] = self.central_client.info()
        return found

    def events(self, **options: Any) -> JoinedEvents:
        """Return the events of all engines as one stream; `options` must ask for them decoded."""
        return JoinedEvents({name: partial(_events_of, engine, options) for name, engine in self.engines.items()})


Client: TypeAlias = "docker.DockerClient | HostEngines"
"""One engine, or those of several hosts."""


@dataclass(frozen=True, slots=True)
class _Containers:
    engines: HostEngines

    def get(self, name: str) -> Any:
        return self.engines.client_of(name).containers.get(name)

    def list(self, **options: Any) -> list[Any]:
        return _joined(self.engines.clients, lambda client: client.containers.list(**options))

    def create(self, *arguments: Any, **options: Any) -> Any:
        return self.engines.central_client.containers.create(*arguments, **options)


@dataclass(frozen=True, slots=True)
class _Networks:
    engines: HostEngines

    def list(self, **options: Any) -> list[Any]:
        """List what carries a label as the manager knows it; without a filter, every network of every host."""
        if options:
            found: list[Any] = self.engines.central_client.networks.list(**options)
            return found
        return _joined(self.engines.clients, lambda client: client.networks.list())


@dataclass(frozen=True, slots=True)
class _Volumes:
    engines: HostEngines

    def list(self, **options: Any) -> list[Any]:
        return _joined(self.engines.clients, lambda client: client.volumes.list(**options))


@dataclass(frozen=True, slots=True)
class _Api:
    engines: HostEngines

    def connect_container_to_network(self, container: str, network: str, **options: Any) -> None:
        self.engines.client_of(container).api.connect_container_to_network(container, network, **options)

    def disconnect_container_from_network(self, container: str, network: str, **options: Any) -> None:
        self.engines.client_of(container).api.disconnect_container_from_network(container, network, **options)

    def stats(self, container: str, **options: Any) -> Any:
        return self.engines.client_of(container).api.stats(container, **options)

    def import_image_from_file(self, *arguments: Any, **options: Any) -> Any:
        return self.engines.central_client.api.import_image_from_file(*arguments, **options)


def unreached_parts(client: Client) -> dict[str, str]:
    """Return the containers on hosts that are not reached, each with the reason."""
    if not isinstance(client, HostEngines):
        return {}
    return {part: client.lost[host] for part, host in client.unreached_parts().items()}


def unseen_host(client: Client, container: str) -> str:
    """Return the host of a container if it has another engine than the first; empty where it has not."""
    if not isinstance(client, HostEngines):
        return ""
    host = client.places.get(container, client.central)
    return host if host != client.central else ""


def open_engines(inventory: HostInventory, central: str = "") -> HostEngines:
    """Open the engines of all hosts at once; those that do not answer are named in `lost`, with the reason."""
    opened = run_concurrently([_opener(host) for host in inventory.hosts])
    engines = {host.name: each for host, each in zip(inventory.hosts, opened, strict=True) if not isinstance(each, str)}
    lost = {host.name: each for host, each in zip(inventory.hosts, opened, strict=True) if isinstance(each, str)}
    return HostEngines(engines, central or inventory.hosts[0].name, lost)


def opened_again(engines: HostEngines) -> HostEngines:
    """Open the same engines anew; those that do not answer any more are named in `lost`, with the reason."""
    inventory = HostInventory(hosts=tuple(each.host for each in engines.engines.values()))
    return open_engines(inventory, engines.central).placed(engines.places, engines.central)


def _opener(host: Host) -> Callable[[], HostEngine | str]:
    def open_engine() -> HostEngine | str:
        try:
            tunnel = None if host.is_local else open_tunnel(host)
            url = host.engine if tunnel is None else tunnel.url
            # A host that was cut off keeps its connections open in silence.
            probe = docker.DockerClient(base_url=url, timeout=_FIRST_ANSWER_WITHIN_HOST_S)
            probe.ping()
            probe.close()
            client = docker.DockerClient(base_url=url, timeout=ANSWER_WITHIN_HOST_S, max_pool_size=_POOL_SIZE)
        except EngineUnavailable as error:
            return str(error)
        except (docker.errors.DockerException, OSError) as error:
            return _why_lost(host, str(error))
        return HostEngine(host, client, url, tunnel)

    return open_engine


def _events_of(engine: HostEngine, options: Mapping[str, Any], since_s: int | None = None) -> Any:
    more = {} if since_s is None else {"since": since_s}
    return engine.client.events(**options, **more)


def _why_lost(host: Host, reported: str) -> str:
    if "Permission" in reported:
        why = "this user is refused (add it to the group `docker` there)"
    elif "timed out" in reported.lower():
        why = f"it does not answer within {_FIRST_ANSWER_WITHIN_HOST_S} s (look at the host and its network)"
    else:
        why = "nothing answers there (start Docker on that host, or correct `engine`)"
    return f"The engine of host {host.name!r} at {host.engine} is not reached: {why}."


def _joined(clients: Iterable[docker.DockerClient], listed: Callable[[docker.DockerClient], list[Any]]) -> list[Any]:
    return [each for client in clients for each in listed(client)]
