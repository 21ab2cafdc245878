"""The files of a monitor, and how it is started. What the dashboard asks for is checked beside the broker's metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from docker.credentials.errors import StoreError

from emulator.containers.addresses import AddressPlan
from emulator.containers.broker_settings import BROKER_PORT
from emulator.containers.image_names import GRAFANA_NAMED_BY, grafana_image
from emulator.containers.monitoring import starting
from emulator.containers.monitoring.files import (
    DASHBOARD,
    DASHBOARD_UID,
    Monitor,
    MonitorImages,
    MonitorPorts,
    compose_document,
    monitor_files,
    prometheus_configuration,
)
from emulator.containers.names import LABEL, PartNames
from emulator.model.errors import EngineUnavailable, InvalidInput, TestbedNotUp


def monitor(name: str = "lab", grafana: str | None = "grafana/grafana:1") -> Monitor:
    return Monitor(
        names=PartNames(name),
        addresses=AddressPlan(111),
        images=MonitorImages("multicluster-testbed/prometheus:1", grafana),
        ports=MonitorPorts(9091, 3001),
        folder=Path("/state") / name / "monitor",
    )


def test_a_legend_names_labels_that_its_query_keeps() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    for target in (target for panel in panels for target in panel["targets"]):
        kept = re.search(r"by \(([^)]*)\)", target["expr"])
        if kept:
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= set(kept[1].split(", "))


def test_panels_have_numbers_of_their_own_and_do_not_overlap() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
    assert len(set(places)) == len(places) == len({panel["id"] for panel in dashboard["panels"]})
    assert dashboard["uid"] == DASHBOARD_UID
    assert {variable["name"] for variable in dashboard["templating"]["list"]} == {"datasource", "testbed"}


def test_prometheus_scrapes_the_broker_where_it_listens_under_the_testbeds_name() -> None:
    (scraped,) = prometheus_configuration(monitor())["scrape_configs"]
    assert scraped["static_configs"] == [{"targets": [f"10.111.0.2:{BROKER_PORT}"], "labels": {"testbed": "lab"}}]
    assert "metrics_path" not in scraped


def test_it_is_published_on_loopback_only_and_grafana_is_not_on_the_testbeds_network() -> None:
    services = compose_document(monitor())["services"]
    assert services["prometheus"]["ports"] == ["127.0.0.1:9091:9090"]
    assert services["grafana"]["ports"] == ["127.0.0.1:3001:3000"]
    assert set(services["prometheus"]["networks"]) == {"control", "monitor"}
    assert set(services["grafana"]["networks"]) == {"monitor"}


def test_its_parts_carry_the_testbeds_label_by_which_down_removes_them() -> None:
    document = compose_document(monitor())
    made = [part for kind in ("services", "networks", "volumes") for part in document[kind].values()]
    assert all(part["labels"][LABEL] == "lab" for part in made if not part.get("external"))


def test_it_has_few_rights_and_goes_behind_what_is_measured() -> None:
    for service in compose_document(monitor())["services"].values():
        assert service["cap_drop"] == ["ALL"]
        assert service["cpu_shares"] < 1024
        assert service["mem_limit"] == service["memswap_limit"]


def test_without_grafana_there_is_nothing_of_it() -> None:
    alone = monitor(grafana=None)
    assert set(compose_document(alone)["services"]) == {"prometheus"}
    assert {path.name for path in monitor_files(alone)} == {"compose.yaml", "prometheus.yaml"}


def test_every_file_that_is_mounted_is_written() -> None:
    services = yaml.safe_load(monitor_files(monitor())[monitor().compose_file])["services"]
    mounted = {Path(mount.split(":")[0]) for service in services.values() for mount in service["volumes"]}
    assert {path for path in mounted if path.is_absolute()} == {*monitor_files(monitor())} - {monitor().compose_file}


def test_nobody_can_log_in_at_grafana_and_everybody_only_looks() -> None:
    environment = compose_document(monitor())["services"]["grafana"]["environment"]
    assert environment["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    assert (environment["GF_AUTH_BASIC_ENABLED"], environment["GF_AUTH_DISABLE_LOGIN_FORM"]) == ("false", "true")


def test_a_proxy_of_containers_does_not_come_between_grafana_and_its_data_source() -> None:
    environment = compose_document(monitor())["services"]["grafana"]["environment"]
    (source,) = yaml.safe_load(monitor_files(monitor())[monitor().folder / "datasource.yaml"])["datasources"]
    assert environment["NO_PROXY"] == environment["no_proxy"] == urlsplit(source["url"]).hostname


def test_nothing_of_two_monitors_is_called_the_same_nor_like_a_part_of_a_testbed() -> None:
    def named(name: str) -> set[str]:
        document = compose_document(monitor(name))
        containers = {service["container_name"] for service in document["services"].values()}
        parts = {part["name"] for kind in ("networks", "volumes") for part in document[kind].values()}
        return containers | parts | {PartNames(name).monitor_project}

    assert not named("one") & named("other")
    assert PartNames("one").monitor_project != PartNames("one-monitor").compose_project
    for taken in ("prometheus", "grafana"):
        with pytest.raises(InvalidInput, match=taken):
            PartNames("one").cluster(taken)


def test_the_image_of_grafana_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(GRAFANA_NAMED_BY, raising=False)
    assert grafana_image().startswith("grafana/grafana:")
    monkeypatch.setenv(GRAFANA_NAMED_BY, "ours/grafana:2")
    assert grafana_image() == "ours/grafana:2"


def test_an_image_that_cannot_be_had_is_named_with_a_remedy() -> None:
    import docker.errors

    def missing(*given: object) -> None:
        raise docker.errors.ImageNotFound("no such image")

    client: Any = SimpleNamespace(images=SimpleNamespace(get=missing, pull=missing))
    with pytest.raises(EngineUnavailable, match=r"ours/grafana:2 of Grafana .* TESTBED_GRAFANA_IMAGE"):
        starting._pull(client, "ours/grafana:2", lambda step: None)


def test_credentials_that_cannot_be_read_are_not_taken_for_a_missing_image() -> None:
    import docker.errors

    def missing(*given: object) -> None:
        raise docker.errors.ImageNotFound("no such image")

    def refuse(*given: object) -> None:
        raise docker.errors.DockerException("Credentials store error") from StoreError("helper not installed")

    client: Any = SimpleNamespace(images=SimpleNamespace(get=missing, pull=refuse))
    with pytest.raises(EngineUnavailable, match=r"credentials .* cannot be read: helper not installed \("):
        starting._pull(client, "ours/grafana:2", lambda step: None)


def test_a_part_that_ends_is_said_at_once_with_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "is_running", lambda client, name: False)
    monkeypatch.setattr(starting, "last_words", lambda client, name: "the disk is full")
    client: Any = None
    with pytest.raises(TestbedNotUp, match=r"lab-prometheus has no series .*the disk is full \(`testbed status`"):
        starting._await(lambda: False, client, "lab-prometheus", "has no series of the broker")


def test_a_monitor_that_runs_keeps_its_port_unless_another_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "free_port", lambda client, requested, first: requested or first)
    asked = ((9095, None), (9095, 9095), (9095, 9100), (None, None))
    assert [starting._port(None, *given, 9090) for given in asked] == [9095, 9095, 9100, 9090]
