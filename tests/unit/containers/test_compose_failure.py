"""Why Compose could not start the containers, with the remedy where the engine may not read what one mounts."""

from __future__ import annotations

import pytest

from emulator.containers.engine import _reason

HIDDEN = """
 Container lab-broker  Creating
Error response from daemon: error while creating mount source path '{path}': mkdir /home/me: permission denied
"""


def test_the_reason_is_the_last_error() -> None:
    assert _reason("Container lab-broker  Creating\nError response from daemon: no space left.\n") == (
        "Error response from daemon: no space left"
    )
    assert _reason("") == "it gave none"


def test_a_state_folder_that_is_hidden_from_the_engine_goes_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/home/me/state")
    said = _reason(HIDDEN.format(path="/home/me/state/multicluster-testbed/lab/token"))
    assert "permission denied; set XDG_STATE_HOME to a folder of a local disk" in said


def test_another_key_is_named_in_place_of_one_that_is_hidden_from_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/var/local/state")
    said = _reason(HIDDEN.format(path="/home/me/.ssh/das"))
    assert "'/home/me/.ssh/das': " in said
    assert said.endswith("; name a key on a local disk, where the engine can read, by `ssh.key` in the topology")
    assert "XDG_STATE_HOME" not in said
