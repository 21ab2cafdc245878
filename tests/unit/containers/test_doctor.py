"""What `doctor` says of an engine, and of the machine on which it runs containers."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.containers import doctor
from emulator.model.finding import Finding
from emulator.model.host_processors import usable_processors

GIB = 1024**3


def of_machine(information: Mapping[str, Any]) -> dict[str, Finding]:
    return {finding.check: finding for finding in doctor._host(information)}


def test_an_engine_in_a_virtual_machine_is_judged_by_that_machine() -> None:
    found = of_machine({"KernelVersion": "6.10.14-linuxkit", "NCPU": 1, "MemTotal": 2 * GIB})
    assert (found["cores"].ok, found["cores"].found) == (False, "1")
    assert (found["memory"].ok, found["memory"].found) == (False, "2.0 GiB in the engine's virtual machine")
    assert found["memory"].remedy.startswith("give that machine 3 GiB")


def test_an_engine_under_this_kernel_is_judged_by_what_is_free_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.psutil, "virtual_memory", lambda: SimpleNamespace(available=4 * GIB))
    for information in ({"KernelVersion": platform.release(), "NCPU": 1000, "MemTotal": GIB}, {}):
        found = of_machine(information)
        assert found["cores"].found == str(usable_processors())
        assert found["memory"].ok
        assert found["memory"].found.startswith("4.0 of ")


@pytest.mark.parametrize(("version", "ok"), [("dev", True), ("29.1.0", True), ("20.10.5+dfsg1", False)])
def test_a_version_may_be_a_word(monkeypatch: pytest.MonkeyPatch, version: str, ok: bool) -> None:
    client = SimpleNamespace(
        images=SimpleNamespace(get=lambda reference: None, get_registry_data=lambda reference: None),
        version=lambda: {"Version": version},
        info=lambda: {"Architecture": "x86_64"},
    )
    monkeypatch.setattr(doctor.engine, "connect", lambda: client)
    monkeypatch.setattr(doctor, "compose_version", lambda command: "2.40.3")
    monkeypatch.setattr(doctor, "obstacles", lambda client: ())
    found = {finding.check: finding for finding in doctor.examine()}
    assert (found["docker"].ok, found["docker"].found) == (ok, version)
