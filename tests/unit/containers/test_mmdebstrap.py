"""mmdebstrap is the host's own, or is fetched with apt-get into the cache folder; nothing is installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from emulator.containers import mmdebstrap
from emulator.model.errors import EngineUnavailable


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder of programs of a host with an empty cache."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return programs


def install(host: Path, name: str, script: str = "") -> None:
    program = host / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_the_hosts_own_is_used(host: Path) -> None:
    install(host, "mmdebstrap")
    assert mmdebstrap.missing_programs() == []
    assert mmdebstrap.ensure() == host / "mmdebstrap"


def test_a_host_that_cannot_fetch_it_is_told_what_is_missing(host: Path) -> None:
    install(host, "dpkg-deb")
    install(host, "perl")
    assert mmdebstrap.missing_programs() == ["apt-get"]
    with pytest.raises(EngineUnavailable, match="so is apt-get, which would fetch it"):
        mmdebstrap.ensure()


def test_it_is_fetched_once_also_where_the_lists_of_packages_are_empty(host: Path) -> None:
    """`apt-get download` fails until `apt-get update` has fetched lists into a folder of its own."""
    touch, mkdir = shutil.which("touch", path="/usr/bin:/bin"), shutil.which("mkdir", path="/usr/bin:/bin")
    install(host, "perl")
    install(
        host,
        "apt-get",
        f'case "$*" in *update) {touch} lists/known;; *) [ -e lists/known ] || {{ echo "E: no list" >&2; exit 100; }}\n'
        f"{touch} mmdebstrap_1_all.deb;; esac",
    )
    install(host, "dpkg-deb", f'{mkdir} -p "$3/usr/bin"; echo > "$3/usr/bin/mmdebstrap"')
    program = mmdebstrap.ensure()
    assert program.is_file()
    install(host, "apt-get", "exit 1")
    assert mmdebstrap.ensure() == program


def test_a_package_that_cannot_be_fetched_gives_the_reason(host: Path) -> None:
    for name in ("perl", "dpkg-deb"):
        install(host, name)
    install(host, "apt-get", 'echo "E: no network" >&2; exit 100')
    with pytest.raises(EngineUnavailable, match="apt-get failed: E: no network"):
        mmdebstrap.ensure()
