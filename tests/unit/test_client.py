"""What goes wrong between a client and the broker comes back as one sentence of the right kind."""

from __future__ import annotations

import httpx
import pytest

from emulator.client import BrokerClient
from emulator.model.errors import TestbedBusy, TestbedNotUp, Unauthorized, UnknownName
from emulator.model.views import RunRequest
from emulator.runs.holding import Testbed


def test_nobody_answers():
    refused = pytest.raises(TestbedNotUp, match=r"does not answer.*testbed up")
    with BrokerClient("http://127.0.0.1:9", "token") as client, refused:
        client.clusters()


def test_a_wrong_token_is_refused_but_health_needs_none(broker):
    assert httpx.get(f"{broker.url}/v1/health").json()["status"] == "ok"
    with BrokerClient(broker.url, "another") as client, pytest.raises(Unauthorized, match="not this testbed's"):
        client.take_run(RunRequest(name="run"))


def test_errors_keep_the_brokers_kind_and_sentence(testbed: Testbed):
    testbed.client.take_run(RunRequest(name="run"))
    with pytest.raises(TestbedBusy, match=r"^Run 1 holds the testbed\.$"):
        testbed.client.take_run(RunRequest(name="run"))
    with pytest.raises(UnknownName):
        testbed.client.job(7)


def test_following_ends_with_the_run(testbed: Testbed):
    run = testbed.client.take_run(RunRequest(name="run"))
    testbed.client.start_run(run.id)
    testbed.client.end_run(run.id)
    assert [event.kind.value for event in testbed.client.follow(run.id)] == ["run-started", "run-ended"]
