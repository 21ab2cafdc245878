"""A broker over two simulated clusters, as its own tests and those of its interface use it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from emulator.broker.api import application
from tests.unit.broker.test_broker import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A broker that stands until the test is over."""
    house = House(tmp_path)
    yield house
    house.broker.close()
    house.journal.close()


@pytest.fixture
def api(house: House) -> TestClient:
    """The interface of `house` to somebody who has the token; `api.house` is the house."""
    client = TestClient(application(house.broker, house.journal, "right"), headers={"authorization": "Bearer right"})
    client.house = house
    return client
