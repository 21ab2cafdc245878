"""The verb `plan` as a user meets it, on a host whose costs are known."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from emulator.cli.main import app
from emulator.model.errors import InvalidInput, UnknownName
from tests.unit.planning.planned_host import host_costs


@pytest.fixture
def call(monkeypatch):
    """Runs `testbed plan` on that host."""
    monkeypatch.setattr("emulator.cli.plan.host_costs", lambda report_progress, again: host_costs())
    return lambda *arguments: CliRunner().invoke(app, ["plan", *arguments], env={"COLUMNS": "200"})


def as_json(ended: Result) -> dict[str, object]:
    (found,) = json.loads(ended.stdout)
    return found


def test_without_arguments_the_default_measurement_is_planned_at_the_smallest_faithful_dilation(call):
    found = as_json(call("--json"))
    assert found["faithful"]
    assert found["dilation"] == found["proposed_dilation"] > 1


def test_at_a_stated_dilation_it_says_what_binds_and_what_would_be_faithful(call):
    shown = call("--grid", "100", "--dilation", "1").stdout
    assert "What binds at dilation 1" in shown
    assert "Hopeless at dilation 1: lateness" in shown
    assert "Smallest faithful dilation: " in shown
    assert "poisson-100-on-16-over-4" in shown


def test_a_workload_is_planned_on_its_own_topology_or_another(call):
    own, other = (
        as_json(call("--workload", "first", "--json")),
        as_json(call("--workload", "first", "--topology", "das2", "--json")),
    )
    assert own["constraints"] != other["constraints"]
    assert as_json(call("--workload", "first", "--jobs", "3", "--json"))["host_cpu_s"] < own["host_cpu_s"]


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (("--dilation", "fast"), InvalidInput, "--dilation: must be a number or 'auto', not 'fast'"),
        (("--dilation", "0"), InvalidInput, "The dilation must be a positive number"),
        (("--workload", "first", "--grid", "100"), InvalidInput, "leave out what describes a measurement"),
        (("--workload", "nosuch"), UnknownName, "There is no campaign 'nosuch'"),
        (("--topology", "nosuch"), UnknownName, "There is no topology 'nosuch'"),
        (("--app", "nosuch"), UnknownName, "There is no application 'nosuch'"),
    ],
)
def test_what_cannot_be_planned_is_one_sentence(call, arguments, error, sentence):
    ended = call(*arguments)
    assert isinstance(ended.exception, error)
    assert sentence in str(ended.exception)
