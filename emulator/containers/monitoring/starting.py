"""Start and stop the monitor of a running testbed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import docker
import docker.errors
import httpx

from emulator.containers import engine, state
from emulator.containers.building import readable_credentials
from emulator.containers.free_addresses import free_port
from emulator.containers.hosts.connecting import engine_of
from emulator.containers.hosts.engines import Client, HostEngines
from emulator.containers.image_names import GRAFANA_NAMED_BY, grafana_image
from emulator.containers.images import ensure_prometheus
from emulator.containers.monitoring.files import (
    DASHBOARD_UID,
    GRAFANA_PORT,
    GRAFANA_ROLE,
    JOB,
    NETWORK_ROLE,
    PROMETHEUS_PORT,
    PROMETHEUS_ROLE,
    Monitor,
    MonitorImages,
    MonitorPorts,
    monitor_files,
)
from emulator.containers.names import ROLE_LABEL
from emulator.containers.progress import Observer, ProgressStep, ignore
from emulator.containers.readiness import is_running, last_words
from emulator.containers.state import TestbedState
from emulator.model.errors import EngineUnavailable, TestbedNotUp

FOLDER: Final = "monitor"
_ROLES: Final = (PROMETHEUS_ROLE, GRAFANA_ROLE)
_STAGE: Final = "monitor"
_READY_WITHIN_HOST_S: Final = 60.0
_ANSWER_WITHIN_HOST_S: Final = 5.0
_PAUSE_HOST_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class MonitorLinks:
    """Where a monitor is seen in a browser of this host; `grafana` leads to the dashboard, and is None without one."""

    prometheus: str
    grafana: str | None = None


def start_monitor(
    testbed: TestbedState, *, grafana: bool, port: int | None = None, observe: Observer = ignore
) -> MonitorLinks:
    """Start the monitor of a testbed, or what is missing of it, and wait until it has the broker's series.

    A monitor that runs keeps its ports, and a Grafana that runs is kept.

    Raises:
        TestbedAlreadyUp: if `port`, on which Prometheus is to be published, is in use.
        EngineUnavailable: if an image cannot be had, or Docker or Compose fails.
        TestbedNotUp: if Prometheus or Grafana does not answer, or Prometheus does not reach the broker.
    """
    client = engine_of(testbed.record)
    name = testbed.record.name
    with state.exclusive(name, wait=False):
        before = _published_ports(client, name)
        with_grafana = grafana or GRAFANA_ROLE in before
        monitor = Monitor(
            names=testbed.names,
            addresses=testbed.addresses,
            images=_images(client, grafana=with_grafana, observe=observe),
            ports=MonitorPorts(
                _port(client, before.get(PROMETHEUS_ROLE), port, PROMETHEUS_PORT),
                _port(client, before.get(GRAFANA_ROLE), None, GRAFANA_PORT),
            ),
            folder=testbed.folder / FOLDER,
        )
        try:
            return _started(client, monitor, observe)
        except BaseException:
            if not before:
                _remove(client, name)
            raise


def stop_monitor(testbed: TestbedState, observe: Observer = ignore) -> bool:
    """Remove the containers of a testbed's monitor, and return whether there were any. What it collected stays."""
    client = engine_of(testbed.record)
    with state.exclusive(testbed.record.name, wait=False):
        observe(ProgressStep(_STAGE, f"stopping that of {testbed.record.name}"))
        return _remove(client, testbed.record.name)


def _started(client: Client, monitor: Monitor, observe: Observer) -> MonitorLinks:
    monitor.folder.mkdir(exist_ok=True)
    for path, text in monitor_files(monitor).items():
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)  # read by a user of the container
    names = monitor.names
    wanted = [names.prometheus, *([names.grafana] if monitor.images.grafana else [])]
    observe(ProgressStep(_STAGE, f"starting {', '.join(wanted)}"))
    url = client.engines[client.central].url if isinstance(client, HostEngines) else ""
    engine.compose_up(names.monitor_project, monitor.compose_file, url)
    prometheus = f"http://127.0.0.1:{monitor.ports.prometheus}"
    _await(lambda: _scrapes(prometheus), client, names.prometheus, "has no series of the broker")
    if monitor.images.grafana is None:
        return MonitorLinks(prometheus)
    grafana = f"http://127.0.0.1:{monitor.ports.grafana}"
    _await(lambda: _answer(f"{grafana}/api/health") is not None, client, names.grafana, "does not answer")
    return MonitorLinks(prometheus, f"{grafana}/d/{DASHBOARD_UID}")


def _images(client: Client, *, grafana: bool, observe: Observer) -> MonitorImages:
    central = client.central_client if isinstance(client, HostEngines) else client
    wanted = grafana_image() if grafana else None
    if wanted is not None:
        _pull(central, wanted, observe)
    return MonitorImages(ensure_prometheus(central, observe), wanted)


def _pull(client: docker.DockerClient, image: str, observe: Observer) -> None:
    """Pull an image unless it is here.

    Raises:
        EngineUnavailable: if that fails, or the credentials for registries cannot be read.
    """
    try:
        client.images.get(image)
    except docker.errors.ImageNotFound:
        observe(ProgressStep("images", f"pulling {image}"))
        try:
            with readable_credentials():
                client.images.pull(image)
        except (docker.errors.DockerException, OSError) as error:
            raise EngineUnavailable(
                f"The image {image} of Grafana is neither here nor can it be pulled (name another one by "
                f"{GRAFANA_NAMED_BY}, or leave --grafana out)."
            ) from error


def _published_ports(client: Client, name: str) -> dict[str, int]:
    """Return the ports at which the parts of a testbed's monitor are published, by their roles."""
    ports: dict[str, int] = {}
    for container in engine.containers_of(client, name):
        role = container.labels.get(ROLE_LABEL)
        if role in _ROLES:
            (bound,) = container.attrs["HostConfig"]["PortBindings"].values()
            ports[role] = int(bound[0]["HostPort"])
    return ports


def _port(client: Client, before: int | None, requested: int | None, first: int) -> int:
    """Return the port of a part that had `before`; else the one that is requested, or a free one from `first` on."""
    if before is not None and requested in (None, before):
        return before
    return free_port(client, requested, first)


def _remove(client: Client, name: str) -> bool:
    """Remove the containers and the network of a monitor; return whether there was a container."""
    containers = [part for part in engine.containers_of(client, name) if part.labels.get(ROLE_LABEL) in _ROLES]
    for container in containers:
        container.remove(force=True)
    for network in engine.networks_of(client, name):
        if (network.attrs.get("Labels") or {}).get(ROLE_LABEL) == NETWORK_ROLE:
            network.remove()
    return bool(containers)


def _await(condition: Callable[[], bool], client: Client, container: str, complaint: str) -> None:
    """Wait until a part of the monitor is ready.

    Raises:
        TestbedNotUp: if its container ends first or it takes too long; with the last line that it printed.
    """
    deadline_host_s = time.monotonic() + _READY_WITHIN_HOST_S
    while not condition():
        if time.monotonic() > deadline_host_s or not is_running(client, container):
            raise TestbedNotUp(
                f"The container {container} {complaint}, and says: {last_words(client, container)} "
                "(`testbed status` shows whether the broker runs)."
            )
        time.sleep(_PAUSE_HOST_S)


def _scrapes(url: str) -> bool:
    """Return whether Prometheus has scraped the broker, and has got its series."""
    answer = _answer(f"{url}/api/v1/query", query=f'up{{job="{JOB}"}} == 1')
    return bool(answer and answer.get("data", {}).get("result"))


def _answer(url: str, **query: str) -> dict[str, Any] | None:
    try:
        # No proxy of the user's environment leads to this host's loopback.
        with httpx.Client(timeout=_ANSWER_WITHIN_HOST_S, trust_env=False) as asking:
            answer = asking.get(url, params=query).raise_for_status().json()
    except (httpx.HTTPError, ValueError):
        return None
    return answer if isinstance(answer, dict) else {}
