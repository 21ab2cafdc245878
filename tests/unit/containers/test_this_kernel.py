"""Whether this host's kernel can delay packets itself, and what a plan makes of that."""

from __future__ import annotations

import gzip
import platform
from pathlib import Path

import pytest

from emulator.containers import this_kernel
from emulator.planning.planned_runs import available_resources


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host without netem, whose files a test changes."""
    monkeypatch.setattr(this_kernel, "_LOADED", tmp_path / "module")
    monkeypatch.setattr(this_kernel, "_MODULES", tmp_path / "modules")
    monkeypatch.setattr(this_kernel, "_CONFIGURATION", tmp_path / "config.gz")
    monkeypatch.setattr(this_kernel, "_RULES", (tmp_path / "usual", tmp_path / "own"))
    return tmp_path


def test_a_host_of_which_nothing_is_visible_needs_a_guest(kernel: Path):
    assert not this_kernel.has_netem()
    assert available_resources().guest_router


def test_a_module_that_is_loaded_is_found(kernel: Path):
    (kernel / "module" / "sch_netem").mkdir(parents=True)
    assert this_kernel.has_netem()
    assert not available_resources().guest_router


@pytest.mark.parametrize("listing", ["modules.dep", "modules.builtin"])
def test_a_module_of_the_running_kernel_is_found(kernel: Path, listing: str):
    modules = kernel / "modules" / platform.release()
    modules.mkdir(parents=True)
    (modules / listing).write_text("kernel/net/sched/sch_tbf.ko\n")
    assert not this_kernel.has_netem()
    (modules / listing).write_text("kernel/net/sched/sch_netem.ko.xz:\n")
    assert this_kernel.has_netem()


def has_module(kernel: Path, listing: str, module: str) -> None:
    modules = kernel / "modules" / platform.release()
    modules.mkdir(parents=True)
    (modules / listing).write_text(f"kernel/net/sched/{module}.ko.xz:\n")


def test_a_module_that_is_blacklisted_counts_only_once_it_is_loaded(kernel: Path):
    """As of Fedora's kernel-modules-extra: the kernel does not load such a module when it is needed."""
    has_module(kernel, "modules.dep", "sch_netem")
    (kernel / "usual").mkdir()
    (kernel / "usual" / "sch_netem-blacklist.conf").write_text("# of this package\nblacklist sch-netem\n")
    assert not this_kernel.has_netem()
    (kernel / "module" / "sch_netem").mkdir(parents=True)
    assert this_kernel.has_netem()


def test_a_file_of_ones_own_takes_the_place_of_a_packages_rules(kernel: Path):
    has_module(kernel, "modules.dep", "sch_netem")
    for folder, text in (("usual", "blacklist sch_netem\n"), ("own", "# blacklist sch_netem\n")):
        (kernel / folder).mkdir()
        (kernel / folder / "sch_netem-blacklist.conf").write_text(text)
    assert this_kernel.has_netem()


def test_what_is_built_in_cannot_be_blacklisted(kernel: Path):
    has_module(kernel, "modules.builtin", "sch_netem")
    (kernel / "own").mkdir()
    (kernel / "own" / "mine.conf").write_text("blacklist sch_netem\n")
    assert this_kernel.has_netem()


def test_a_blacklisted_module_of_access_links_may_be_there(kernel: Path):
    """An older kernel asks for it by its name, which a blacklist does not stop."""
    has_module(kernel, "modules.dep", "ifb")
    (kernel / "own").mkdir()
    (kernel / "own" / "mine.conf").write_text("blacklist ifb\n")
    assert "ifb" not in this_kernel.missing_for_links()


def test_a_kernel_that_states_its_configuration_is_believed(kernel: Path):
    (kernel / "config.gz").write_bytes(gzip.compress(b"CONFIG_NET_SCH_NETEM=m\n"))
    assert not this_kernel.has_netem()
    (kernel / "config.gz").write_bytes(gzip.compress(b"CONFIG_NET_SCH_NETEM=y\n"))
    assert this_kernel.has_netem()


def test_a_testbed_that_runs_says_itself_which_router_it_has(kernel: Path):
    assert not available_resources(guest_router=False).guest_router


def test_modules_of_access_links_are_missing_only_if_that_is_visible(kernel: Path):
    assert this_kernel.missing_for_links() == []
    modules = kernel / "modules" / platform.release()
    modules.mkdir(parents=True)
    listed = [f"kernel/net/sched/{name}.ko.zst:" for name in ("sch_tbf", "sch_ingress", "cls_u32", "act_mirred")]
    (modules / "modules.dep").write_text("\n".join(listed))
    assert this_kernel.missing_for_links() == ["ifb"]
    (kernel / "module" / "ifb").mkdir(parents=True)
    assert this_kernel.missing_for_links() == []


@pytest.mark.parametrize(("stated", "missing"), [(b"CONFIG_IFB=y\n", 4), (b"CONFIG_IFB=m\n", 4), (b"", 5)])
def test_a_configuration_says_what_is_not_built_at_all(kernel: Path, stated: bytes, missing: int):
    (kernel / "config.gz").write_bytes(gzip.compress(stated))
    assert len(this_kernel.missing_for_links()) == missing


def test_a_firewall_that_looks_into_bridges_is_seen(kernel: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(this_kernel, "_BRIDGES", kernel / "bridges")
    assert not this_kernel.filters_bridges()
    (kernel / "bridges").write_text("1\n")
    assert this_kernel.filters_bridges()
