"""Fetching the broker's wheels: what is said where that is not possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.containers import wheels
from emulator.model.errors import EngineUnavailable


def test_an_environment_without_pip_is_told_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `uv venv` makes one: this is no matter of a package index that is not reached."""
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(wheels, "find_spec", lambda name: None)
    with pytest.raises(EngineUnavailable, match=r"pip is missing \(install pip .* `uv pip install pip`\)\.$"):
        wheels.fetch(requirements, "x86_64")
