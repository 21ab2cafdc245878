"""What `up` refuses before it asks Docker for anything, and what it says if it and its clean-up fail."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from emulator.containers import state
from emulator.containers import up as up_module
from emulator.containers.hosts import left_behind
from emulator.containers.hosts.engines import HostEngines
from emulator.containers.state import TestbedSpec
from emulator.containers.up import bring_up
from emulator.model.catalogue import equal_clusters
from emulator.model.documents import document_text, is_name
from emulator.model.errors import EngineUnavailable, InvalidInput
from emulator.model.project import TOPOLOGIES


def test_more_clusters_than_a_router_serves_are_for_simulations_alone(tmp_path: Path) -> None:
    large = tmp_path / "large.yaml"
    large.write_text(document_text(equal_clusters("16x4")), encoding="utf-8")
    with pytest.raises(InvalidInput, match="has 16 emulated clusters, and a testbed's router serves at most 15"):
        bring_up(TestbedSpec("refused", large, "auto", None))


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine on which nothing exists, and an `up` that fails right after its images."""

    def fail(*given: object) -> None:
        raise InvalidInput("The first reason.")

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(up_module, "engine_for", lambda spec: SimpleNamespace())
    monkeypatch.setattr(up_module, "find_existing", lambda client, spec, topology: None)
    monkeypatch.setattr(up_module, "refuse_obstacles", lambda client: None)
    monkeypatch.setattr(up_module, "prepare", lambda client, topology, observe: SimpleNamespace(client=client))
    monkeypatch.setattr(up_module, "_new_record", fail)


@pytest.mark.usefixtures("failing")
def test_where_the_clean_up_fails_too_both_reasons_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def stuck(*given: object) -> bool:
        raise EngineUnavailable("lab-delft could not be removed.")

    monkeypatch.setattr(up_module, "remove_testbed", stuck)
    said: list[str] = []
    with pytest.raises(InvalidInput, match=r"The first reason\."):
        bring_up(TestbedSpec("lab", TOPOLOGIES / "mini.yaml"), lambda step: said.append(step.detail))
    assert said[-1].startswith("not everything was taken down: lab-delft could not be removed.")
    assert "`testbed down --name lab`" in said[-1]


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("name", ["lab", "addresses", "left-behind", "images"])
def test_a_testbed_may_have_any_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up_module, "remove_testbed", lambda client, name, record, observe: True)
    with pytest.raises(InvalidInput, match=r"The first reason\."):
        bring_up(TestbedSpec(name, TOPOLOGIES / "mini.yaml"))


@pytest.mark.usefixtures("failing")
def test_a_testbed_is_not_renewed_while_one_of_its_hosts_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = HostEngines({}, "one", {"two": "The engine of host 'two' is not reached."})
    monkeypatch.setattr(up_module, "engine_named", lambda name: lost)
    with pytest.raises(EngineUnavailable, match="host 'two' is not reached"):
        bring_up(TestbedSpec("lab", TOPOLOGIES / "mini.yaml", fresh=True))


def test_what_all_testbeds_share_has_no_name_that_a_testbed_may_have() -> None:
    shared = (state.CHOOSING_ADDRESSES, state.MAKING_IMAGES, left_behind.FOLDER)
    assert not any(is_name(name) for name in shared)
