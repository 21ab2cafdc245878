"""A package that is installed for a test, and declares a policy or discipline called `theirs`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulator.policies.names import ENTRY_POINTS


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], Path]]:
    """Return a function that installs `their-policies` with an entry point and the source of its module, the file."""

    def install(value: str, source: str) -> Path:
        information, module = tmp_path / "their_policies-1.0.dist-info", tmp_path / "their_module.py"
        information.mkdir()
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: their-policies\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\ntheirs = {value}\n")
        module.write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        return module

    yield install
    sys.modules.pop("their_module", None)
