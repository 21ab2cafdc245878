"""The monitor of a running testbed: Prometheus has the broker's series, and answers every query of the dashboard."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from emulator.containers.monitoring.files import dashboard_queries
from tests.live.command_line import CommandLine
from tests.live.grid import SHORT, Grid, until


@pytest.fixture
def prometheus(testbed: CommandLine) -> Iterator[str]:
    """Yield the address of a Prometheus beside the testbed, and stop it after the test."""
    rows = testbed.succeed("monitor", "--json").as_json()
    yield rows[0]["where"]
    testbed("monitor", "--stop")


def answer(prometheus: str, query: str) -> list[dict[str, Any]]:
    """Return the series that a query finds now; fail if Prometheus does not understand it."""
    found = httpx.get(f"{prometheus}/api/v1/query", params={"query": query}, trust_env=False).json()
    assert found["status"] == "success", (query, found)
    series: list[dict[str, Any]] = found["data"]["result"]
    return series


def test_a_job_shows_in_prometheus_and_every_query_of_the_dashboard_is_understood(grid: Grid, prometheus: str) -> None:
    name = grid.testbed.name
    finished = f'sum(testbed_jobs_finished_total{{testbed="{name}"}})'
    before = sum(float(series["value"][1]) for series in answer(prometheus, finished))
    grid.finished(grid.submit(4, arguments=SHORT))
    until(lambda: sum(float(series["value"][1]) for series in answer(prometheus, finished)) == before + 1)
    answers = [answer(prometheus, query.replace("$testbed", name)) for query in dashboard_queries()]
    assert sum(map(bool, answers)) > len(answers) / 2


def test_a_second_start_keeps_the_port_and_a_stop_leaves_only_what_was_collected(
    testbed: CommandLine, prometheus: str
) -> None:
    assert testbed.succeed("monitor", "--json").as_json()[0]["where"] == prometheus
    testbed.succeed("monitor", "--stop")
    assert [part for part in testbed.left_over() if "prometheus" in part or "metrics" in part] == [
        f"{testbed.name}-metrics"
    ]
    refused = testbed("monitor", "--stop")
    assert (refused.exit_code, "nothing to stop" in refused.sentence) == (1, True)
