"""What `status` makes of nodes that get no job: a fault is a failure, what a user did is told and no failure."""

import json
from pathlib import Path

import pytest

from emulator.cli.testbeds import show_testbed
from emulator.containers import inspection
from emulator.containers.hosts import connecting
from emulator.containers.inspection import ClusterStatus, TestbedStatus
from emulator.containers.names import USER
from emulator.containers.state import TestbedRecord, TestbedState, remember
from emulator.model.errors import TestbedNotUp
from emulator.model.project import PROJECT_ROOT


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestbedState:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    record = TestbedRecord(
        name="lab", second_octet=111, api_port=8470, router_backend="auto", user=USER,
        control_network="10.111.0.0/24", all_sites="10.111.128.0/17", clusters=(), images={},
    )  # fmt: skip
    return remember(record, (PROJECT_ROOT / "compose" / "mini.yaml").read_text())


def found(monkeypatch: pytest.MonkeyPatch, faults: tuple[str, ...] = (), notes: tuple[str, ...] = ()) -> None:
    """Have the testbed be found with one cluster, of whose nodes one gets no job."""
    cluster = ClusterStatus("delft", 8, 16, 14, 1, "lab-delft", "running")
    status = TestbedStatus((cluster,), "kernel", 1.0, "http://127.0.0.1:8470", faults, notes)
    monkeypatch.setattr(connecting, "engine_of", lambda record: None)
    monkeypatch.setattr(inspection, "inspect", lambda client, state, patient: status)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_drained_node_of_a_user_is_told_and_no_failure(
    lab: TestbedState, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    found(monkeypatch, notes=("One node is drained (\x1b[31mred).",))
    show_testbed(lab, as_json=as_json)
    printed = capsys.readouterr()
    assert printed.err == "One node is drained (\\x1b[31mred).\n"
    if as_json:
        assert json.loads(printed.out)[0]["unavailable"] == 1
    else:
        assert "unavailable" in printed.out


def test_a_node_that_slurm_drained_is_a_failure_after_all_is_shown(
    lab: TestbedState, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found(monkeypatch, faults=("A node is drained.", inspection.REMEDY))
    with pytest.raises(TestbedNotUp, match=r"A node is drained\. `testbed up` mends this"):
        show_testbed(lab, as_json=False)
    assert "API" in capsys.readouterr().out
