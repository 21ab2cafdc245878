"""The dashboard of the monitor asks for no series and label that the broker does not have, and for all that it has."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from emulator.containers.monitoring.files import dashboard_queries
from tests.unit.broker.broker_setup import BrokerSetup, one_of_each

SERIES = re.compile(r"\btestbed_[a-z_]+")
NAMED_LABELS = re.compile(r"(?:by|on|group_left) \(([^)]*)\)|\{([^}]*)\}")
OF_THE_SCRAPE = {"testbed", "job", "instance"}
"""The labels that Prometheus adds to every series."""


@pytest.fixture
def exposed(api: TestClient) -> dict[str, set[str]]:
    """Every series of a broker in which something of every sort has happened, with its labels."""
    setup: BrokerSetup = api.setup
    one_of_each(setup)
    setup.east.malformed_events = 1
    families = text_string_to_metric_families(api.get("/metrics").text)
    return {sample.name: set(sample.labels) for family in families for sample in family.samples}


def test_every_query_names_series_that_the_broker_has_and_labels_that_they_have(exposed: dict[str, set[str]]) -> None:
    assert len(dashboard_queries()) > 15
    for query in dashboard_queries():
        series = SERIES.findall(query)
        assert series
        assert [name for name in series if name not in exposed] == [], query
        groups = [grouped or matched for grouped, matched in NAMED_LABELS.findall(query)]
        named = {label for group in groups for label in re.findall(r"[a-z_]+", re.sub(r'"[^"]*"', "", group))}
        assert named <= set.union(*(exposed[name] for name in series)) | OF_THE_SCRAPE, query


def test_a_made_up_series_would_be_found(exposed: dict[str, set[str]]) -> None:
    assert "testbed_jobs_total" not in exposed
    assert {"testbed_wait_seconds_bucket", "testbed_failed_claims_total"} <= set(exposed)


def test_every_query_is_about_the_chosen_testbeds() -> None:
    for query in dashboard_queries():
        assert query.count('{testbed=~"$testbed"}') == len(SERIES.findall(query)), query


def test_everything_that_the_broker_counts_is_shown(exposed: dict[str, set[str]]) -> None:
    def stem(name: str) -> str:
        return re.sub(r"_(sum|count|bucket)$", "", name)

    shown = {stem(name) for query in dashboard_queries() for name in SERIES.findall(query)}
    assert {stem(name) for name in exposed if not name.endswith("_created")} == shown
