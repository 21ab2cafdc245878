"""Fixtures of the broker's tests: a broker over two simulated clusters, and its API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from emulator.broker.http.api import create_app
from tests.unit.broker.broker_setup import BrokerSetup


@pytest.fixture(autouse=True)
def every_reading_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have decisions wait for every cluster that answers, however long this host takes."""
    monkeypatch.setattr("emulator.broker.readings.WAIT_HOST_S", 600.0)
    monkeypatch.setattr("emulator.broker.readings.MOST_AGE_HOST_S", 600.0)


@pytest.fixture(autouse=True)
def every_answer_of_a_policy_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the broker wait for a policy's process, however long this host takes; the limit of its CPU stays."""
    monkeypatch.setattr("emulator.broker.policy_process.START_LIMIT_HOST_S", 600.0)
    monkeypatch.setattr("emulator.broker.policy_process.HOST_S_PER_CPU_S", 120.0)


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[BrokerSetup]:
    """Yield a broker that runs until the test ends."""
    setup = BrokerSetup(tmp_path)
    yield setup
    setup.close()


@pytest.fixture
def api(setup: BrokerSetup) -> TestClient:
    """Return a client of the API of `setup` that has the token; `api.setup` is the setup."""
    client = TestClient(create_app(setup.broker, setup.journal, "right"), headers={"authorization": "Bearer right"})
    client.setup = setup
    return client
