"""The engine is found where Docker's own command finds it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from emulator.containers.docker_address import USUAL, engine_address

ROOTLESS = "unix:///run/user/1000/docker.sock"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return tmp_path


def keep(folder: Path, context: str, host: str) -> None:
    place = folder / "contexts" / "meta" / hashlib.sha256(context.encode()).hexdigest()
    place.mkdir(parents=True)
    (place / "meta.json").write_text(json.dumps({"Name": context, "Endpoints": {"docker": {"Host": host}}}))


def test_without_a_context_it_is_the_usual_socket(folder):
    assert engine_address() == USUAL
    (folder / "config.json").write_text("{}")
    assert engine_address() == USUAL


def test_the_current_context_is_followed_and_the_environment_goes_before_it(folder, monkeypatch):
    keep(folder, "rootless", ROOTLESS)
    (folder / "config.json").write_text('{"currentContext": "rootless"}')
    assert engine_address() == ROOTLESS
    monkeypatch.setenv("DOCKER_CONTEXT", "default")
    assert engine_address() == USUAL
    monkeypatch.setenv("DOCKER_HOST", "tcp://elsewhere")
    assert engine_address() == "tcp://elsewhere"


@pytest.mark.parametrize("content", ["", "[]", '{"currentContext": 3}', '{"currentContext": "gone"}'])
def test_what_is_no_context_leaves_the_usual_socket(folder, content):
    (folder / "config.json").write_text(content)
    assert engine_address() == USUAL


def test_a_context_on_another_host_is_not_followed(folder):
    keep(folder, "far", "ssh://far")
    (folder / "config.json").write_text('{"currentContext": "far"}')
    assert engine_address() == USUAL
