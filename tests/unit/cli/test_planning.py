"""The verb `plan` as a user meets it: nothing runs, nothing is measured."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from emulator.campaigns.offered_load import load_of
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.campaigns.workload_sources import prepared
from emulator.cli.main import app
from emulator.containers import this_kernel
from emulator.model.errors import InvalidInput, UnknownName


@pytest.fixture
def call():
    """Runs `testbed plan`."""
    return lambda *arguments: CliRunner().invoke(app, ["plan", *arguments], env={"COLUMNS": "200"})


def as_json(ended: Result) -> dict[str, object]:
    (found,) = json.loads(ended.stdout)
    return found


def test_without_arguments_the_default_measurement_is_planned_at_the_dilation_that_pilots_likely_find(call):
    found = as_json(call("--json"))
    assert found["dilation"] >= found["least_dilation"]
    assert found["host_duration_s"] > 0
    assert set(found["constraints"]) >= {"cores", "memory", "disk"}
    assert [job["name"] for job in found["jobs"]] == [f"poisson-400-on-16-over-{clusters}" for clusters in (1, 2, 4)]
    assert all(job["runtime_s"] == pytest.approx(job["iterations"] * job["iteration_s"]) for job in found["jobs"])


def test_at_a_stated_dilation_it_says_what_binds_and_how_long_it_takes(call):
    shown = call("--grid", "100", "--dilation", "0.001").stdout
    assert "What this host gives at dilation 0.001" in shown
    assert "Smallest dilation that its resources allow: " in shown
    assert "min of this host" in shown
    assert "poisson-100-on-16-over-4" in shown


def test_a_workload_is_planned_on_its_own_topology_or_another(call):
    own, other = (
        as_json(call("first", "--json", "--dilation", "2")),
        as_json(call("first", "--topology", "das2", "--json", "--dilation", "2")),
    )
    assert own["constraints"] != other["constraints"]
    few = as_json(call("first", "--jobs", "3", "--json", "--dilation", "2"))
    assert few["host_duration_s"] < own["host_duration_s"]


def test_a_workload_is_planned_as_it_will_be_run(call):
    stated = ("W1", "--jobs", "12", "--dilation", "8", "--json")
    whole, shorter = as_json(call(*stated)), as_json(call(*stated, "--time-scale", "20"))
    assert shorter["host_duration_s"] == pytest.approx(whole["host_duration_s"] / 20, rel=0.1)
    sampled = as_json(call(*stated, "--time-scale", "20", "--numerics", "sampled"))
    assert sampled["constraints"]["cores"] < shorter["constraints"]["cores"]
    denser = as_json(call(*stated, "--interarrival-factor", "0.1"))
    assert denser["host_duration_s"] < whole["host_duration_s"]
    assert denser["constraints"]["cores"] > whole["constraints"]["cores"]


def test_the_load_that_a_campaign_offers_is_that_of_a_sweep(call):
    stated = ("W1", "--jobs", "12", "--dilation", "8")
    subject = prepared("W1", SimulationOptions(jobs=12))
    load = load_of(tuple(subject.jobs), subject.topology.processors)
    assert as_json(call(*stated, "--json"))["offered_load"] == pytest.approx(load)
    assert f"Offered load: {load:.6g} (" in call(*stated).stdout
    rarer = as_json(call(*stated, "--interarrival-factor", "2", "--json"))
    assert rarer["offered_load"] == pytest.approx(load / 2)
    assert as_json(call("--grid", "100", "--dilation", "8", "--json"))["offered_load"] is None


def test_a_run_for_which_no_dilation_that_pilots_try_suffices_is_not_called_carried(call):
    """Ranks must start within a thousandth of the middleware's time."""
    stated = ("first", "--time-scale", "1000", "--dilation", "128")
    found = as_json(call(*stated, "--json"))
    assert (found["carried"], found["binding"], found["least_dilation"] > 128) == (False, "middleware", True)
    assert "of those that pilots try, up to 128, none suffices" in call(*stated).stdout


def test_a_campaign_on_nodes_shared_in_time_is_planned_under_a_composition(call):
    """With more arrivals more jobs run side by side, whichever nodes they get."""
    stated = ("SIT", "--policy", "3dbf-light", "--jobs", "30", "--dilation", "4", "--time-scale", "10", "--json")
    read, denser = as_json(call(*stated)), as_json(call(*stated, "--interarrival-factor", "0.25"))
    assert denser["host_duration_s"] < read["host_duration_s"]


def test_more_hosts_share_the_cores_until_something_else_binds(call):
    stated = ("W1", "--jobs", "12", "--topology", "das2", "--dilation", "8", "--json", "--hosts")
    planned = {number: as_json(call(*stated, number)) for number in ("1", "2", "4")}
    cores = [
        next(share for name, share in found["constraints"].items() if name.startswith("cores of host"))
        for found in planned.values()
    ]
    assert cores[0] > cores[1] > cores[2]
    assert cores[0] < 4.5 * cores[2]
    assert "host2: " in call("--topology", "mini", "--hosts", "2").stderr


def test_packets_count_where_a_guest_must_carry_them_however_many_hosts_there_are(call, monkeypatch):
    stated = ("W1", "--jobs", "12", "--topology", "das2", "--dilation", "8", "--json", "--hosts")
    monkeypatch.setattr(this_kernel, "has_netem", lambda: False)
    shares = [as_json(call(*stated, number))["constraints"]["packets"] for number in ("1", "4")]
    assert shares[0] == shares[1] > 0
    monkeypatch.setattr(this_kernel, "has_netem", lambda: True)
    assert "packets" not in as_json(call(*stated, "1"))["constraints"]


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (("--time-scale", "20"), InvalidInput, "--time-scale: only a campaign has this; name one (`testbed plan W1`)"),
        (("--seed", "0"), InvalidInput, "--seed: only a campaign has this; name one (`testbed plan W1`)"),
        (("W1", "--policy", "fmc"), UnknownName, "did you mean 'fcm'"),
        (("--dilation", "fast"), InvalidInput, "--dilation: must be a number or 'auto', not 'fast'"),
        (("--dilation", "0"), InvalidInput, "plan: dilation: must be greater than 0, not 0"),
        (("first", "--grid", "100"), InvalidInput, "--grid: campaign 'first' says which jobs there are; leave it out."),
        (("W1", "--seed", "-1"), SystemExit, "2"),
        (("nosuch",), UnknownName, "There is no campaign 'nosuch'"),
        (("--topology", "nosuch"), UnknownName, "There is no topology 'nosuch'"),
        (("--app", "nosuch"), UnknownName, "There is no application 'nosuch'"),
        (("--hosts", "0"), InvalidInput, "--hosts: from 1 to 64 hosts like this one, not 0"),
        (("--hosts", "nosuch.yaml"), InvalidInput, "nosuch.yaml"),
        (("--hosts", "\u00b2"), InvalidInput, "there is no file '\u00b2'"),
        (
            ("--grid", "4000", "--dilation", "1e300"),
            InvalidInput,
            "plan: dilation: must be less than or equal to 10000, not 1e+300",
        ),
    ],
)
def test_what_cannot_be_planned_is_one_sentence(call, arguments, error, sentence):
    ended = call(*arguments)
    assert isinstance(ended.exception, error)
    assert sentence in str(ended.exception)
