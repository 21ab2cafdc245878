"""What root runs in the containers writes to no folder in which other users could have prepared something."""

from __future__ import annotations

import re

import pytest

from emulator.model.project import PROJECT_ROOT

HELPERS = sorted(
    path
    for folder in ("images", "emulator/containers")
    for path in (PROJECT_ROOT / folder).rglob("*")
    if path.suffix in (".py", ".sh")
)
OF_ALL_USERS = re.compile(r"/tmp\b|mktemp(?! /run/)")
"""A folder in which everybody may write; `mktemp` makes its files there if it is not told another."""


@pytest.mark.parametrize("words", ["cat > /tmp/x", "x=$(mktemp)", "cd /var/tmp", "mktemp -d"])
def test_a_folder_of_all_users_is_recognized(words: str) -> None:
    assert OF_ALL_USERS.search(words)
    assert not OF_ALL_USERS.search("mktemp /run/changes.XXXXXX")


def test_no_helper_writes_to_a_folder_of_all_users() -> None:
    assert {"logins.py", "local-users.sh", "container_telemetry.py", "probe.py"} <= {path.name for path in HELPERS}
    for helper in HELPERS:
        assert OF_ALL_USERS.search(helper.read_text(encoding="utf-8")) is None, helper
