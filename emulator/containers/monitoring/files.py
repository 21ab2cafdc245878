"""The files of a monitor: its Compose file, and the configuration of Prometheus and Grafana. Pure.

Prometheus reaches the broker over the control network. Grafana is on a network that it shares with Prometheus only, so
that no job reaches it. Both are published on the host's loopback only. Everything carries the testbed's label, by which
`down` removes it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from emulator.containers.addresses import AddressPlan
from emulator.containers.broker_settings import BROKER_PORT
from emulator.containers.common_service import READS_HOST_FILES
from emulator.containers.names import LABEL, ROLE_LABEL, PartNames

PROMETHEUS_ROLE: Final = "prometheus"
GRAFANA_ROLE: Final = "grafana"
NETWORK_ROLE: Final = "monitor"

PROMETHEUS_PORT: Final = 9090
GRAFANA_PORT: Final = 3000
"""Where they listen inside their containers, and from where on a free port of the host is looked for."""

SCRAPED_EVERY_HOST_S: Final = 5
KEPT: Final = ("30d", "1GB")
"""How long Prometheus keeps what it has scraped, and how much of it at most."""

DASHBOARD: Final = Path(__file__).with_name("dashboard.json")
DASHBOARD_UID: Final = "multicluster-testbed"
JOB: Final = "testbed"
"""The label `job` of every series."""

_DATA_SOURCE_HOST: Final = "prometheus"
"""The service of Prometheus, by whose name Grafana reaches it."""

_DATA: Final = "/var/lib/prometheus"
_MEMORY_BYTES: Final = 512 * 1024**2
_MOST_PROCESSES: Final = 256
_CPU_SHARES: Final = 64
"""A sixteenth of a container's usual share of contended processors: what is measured goes first."""


@dataclass(frozen=True, slots=True)
class MonitorImages:
    """The images of a monitor; `grafana` is None if only Prometheus is wanted."""

    prometheus: str
    grafana: str | None = None


@dataclass(frozen=True, slots=True)
class MonitorPorts:
    """The ports of the host's loopback at which Prometheus and Grafana are published."""

    prometheus: int
    grafana: int


@dataclass(frozen=True, slots=True)
class Monitor:
    """Everything that the files of a monitor depend on; `folder` is the host folder that holds them."""

    names: PartNames
    addresses: AddressPlan
    images: MonitorImages
    ports: MonitorPorts
    folder: Path

    @property
    def compose_file(self) -> Path:
        """The Compose file."""
        return self.folder / "compose.yaml"


def monitor_files(monitor: Monitor) -> dict[Path, str]:
    """Return the text of every file of a monitor, by its path on the host."""
    folder = monitor.folder
    files = {
        monitor.compose_file: _yaml(compose_document(monitor)),
        folder / "prometheus.yaml": _yaml(prometheus_configuration(monitor)),
    }
    if monitor.images.grafana:
        files |= {
            folder / "datasource.yaml": _yaml(_DATA_SOURCES),
            folder / "dashboards.yaml": _yaml(_DASHBOARDS),
            folder / "dashboard.json": DASHBOARD.read_text(encoding="utf-8"),
        }
    return files


def prometheus_configuration(monitor: Monitor) -> dict[str, Any]:
    """Return what Prometheus is to scrape: the broker, every few seconds, under the testbed's name."""
    target = f"{monitor.addresses.broker}:{BROKER_PORT}"
    return {
        "global": {"scrape_interval": f"{SCRAPED_EVERY_HOST_S}s"},
        "scrape_configs": [
            {
                "job_name": JOB,
                "static_configs": [{"targets": [target], "labels": {"testbed": monitor.names.testbed}}],
            }
        ],
    }


def compose_document(monitor: Monitor) -> dict[str, Any]:
    """Return the Compose file as a document, for ``docker compose`` v2 and docker-compose 1.29.

    The control network is the testbed's own; it exists already.
    """
    names, with_grafana = monitor.names, monitor.images.grafana is not None
    services = {_DATA_SOURCE_HOST: _prometheus_service(monitor)}
    networks: dict[str, Any] = {"control": {"external": True, "name": names.control_network}}
    if with_grafana:
        services["grafana"] = _grafana_service(monitor)
        networks["monitor"] = {"name": names.monitor_network, "labels": _labels(names, NETWORK_ROLE)}
    return {
        "services": services,
        "networks": networks,
        "volumes": {"metrics": {"name": names.metrics_volume, "labels": _labels(names, PROMETHEUS_ROLE)}},
    }


def _prometheus_service(monitor: Monitor) -> dict[str, Any]:
    longest, most = KEPT
    networks: dict[str, Any] = {"control": {"ipv4_address": monitor.addresses.prometheus}}
    return {
        **_common(monitor.names, PROMETHEUS_ROLE, monitor.images.prometheus, monitor.names.prometheus),
        "command": [
            "--config.file=/etc/prometheus/testbed.yaml",
            f"--storage.tsdb.path={_DATA}",
            f"--storage.tsdb.retention.time={longest}",
            f"--storage.tsdb.retention.size={most}",
            f"--web.listen-address=:{PROMETHEUS_PORT}",
        ],
        "read_only": True,
        "ports": [f"127.0.0.1:{monitor.ports.prometheus}:{PROMETHEUS_PORT}"],
        "volumes": [f"{monitor.folder / 'prometheus.yaml'}:/etc/prometheus/testbed.yaml:ro", f"metrics:{_DATA}"],
        "networks": networks | ({"monitor": {}} if monitor.images.grafana else {}),
    }


def _grafana_service(monitor: Monitor) -> dict[str, Any]:
    """Return Grafana's service: visitors look without an account, and nobody can log in."""
    provisioned = "/etc/grafana/provisioning"
    return {
        **_common(monitor.names, GRAFANA_ROLE, str(monitor.images.grafana), monitor.names.grafana),
        "environment": {
            "GF_ANALYTICS_CHECK_FOR_UPDATES": "false",
            "GF_ANALYTICS_REPORTING_ENABLED": "false",
            "GF_AUTH_ANONYMOUS_ENABLED": "true",
            "GF_AUTH_ANONYMOUS_ORG_ROLE": "Viewer",
            "GF_AUTH_BASIC_ENABLED": "false",
            "GF_AUTH_DISABLE_LOGIN_FORM": "true",
            # Compose may have given the container a proxy, which does not lead to Prometheus.
            "NO_PROXY": _DATA_SOURCE_HOST,
            "no_proxy": _DATA_SOURCE_HOST,
        },
        "ports": [f"127.0.0.1:{monitor.ports.grafana}:{GRAFANA_PORT}"],
        "volumes": [
            f"{monitor.folder / 'datasource.yaml'}:{provisioned}/datasources/testbed.yaml:ro",
            f"{monitor.folder / 'dashboards.yaml'}:{provisioned}/dashboards/testbed.yaml:ro",
            f"{monitor.folder / 'dashboard.json'}:/etc/grafana/testbed/dashboard.json:ro",
        ],
        "networks": {"monitor": {}},
    }


def _common(names: PartNames, role: str, image: str, container: str) -> dict[str, Any]:
    return {
        "image": image,
        "container_name": container,
        "labels": _labels(names, role),
        "init": True,
        "restart": "no",
        "stop_grace_period": "5s",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges", READS_HOST_FILES],
        "cpu_shares": _CPU_SHARES,
        "mem_limit": _MEMORY_BYTES,
        "memswap_limit": _MEMORY_BYTES,
        "pids_limit": _MOST_PROCESSES,
        "logging": {"driver": "json-file", "options": {"max-size": "10m", "max-file": "2"}},
    }


def _labels(names: PartNames, role: str) -> dict[str, str]:
    return {LABEL: names.testbed, ROLE_LABEL: role}


def _yaml(document: dict[str, Any]) -> str:
    return yaml.safe_dump(document, sort_keys=False, width=110)


def dashboard_queries() -> list[str]:
    """Return every query of the dashboard, in its order."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


_DATA_SOURCES: Final[dict[str, Any]] = {
    "apiVersion": 1,
    "datasources": [
        {
            "name": "Prometheus",
            "type": "prometheus",
            "access": "proxy",
            "url": f"http://{_DATA_SOURCE_HOST}:{PROMETHEUS_PORT}",
            "isDefault": True,
            "jsonData": {"timeInterval": f"{SCRAPED_EVERY_HOST_S}s"},
        }
    ],
}
_DASHBOARDS: Final[dict[str, Any]] = {
    "apiVersion": 1,
    "providers": [{"name": "testbed", "type": "file", "options": {"path": "/etc/grafana/testbed"}}],
}
