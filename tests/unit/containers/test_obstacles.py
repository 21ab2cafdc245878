"""Settings under which no testbed works: each is named with its remedy, and a good host has none."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import docker
import pytest

from emulator.containers import obstacles, this_kernel
from emulator.containers.building import proxy_arguments
from emulator.containers.compose_command import compose_refusal
from emulator.containers.obstacles import file_system_of, refuse_obstacles
from emulator.model.errors import EngineUnavailable


@dataclass
class Engine:
    """A double of the engine's client: what it says of itself."""

    options: list[str] = field(default_factory=lambda: ["name=seccomp,profile=builtin"])
    number: str = "29.1.0"
    least_api: str = "1.44"
    name: str = "Docker Engine - Community"
    kernel: str = platform.release()

    def info(self) -> dict[str, Any]:
        return {"SecurityOptions": self.options, "KernelVersion": self.kernel}

    def version(self) -> dict[str, Any]:
        components = [{"Name": self.name}, {"Name": "containerd"}]
        return {"Version": self.number, "MinAPIVersion": self.least_api, "Components": components}


@pytest.fixture(autouse=True)
def good_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a host without any obstacle."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(this_kernel, "missing_for_links", lambda: [])
    monkeypatch.setattr(this_kernel, "filters_bridges", lambda: False)
    monkeypatch.setattr(obstacles, "compose_command", lambda: ("docker", "compose"))
    monkeypatch.setattr(obstacles, "compose_version", lambda command: "v2.40.3")
    monkeypatch.setattr(obstacles, "compose_refusal", lambda command, address: "")
    monkeypatch.setattr(obstacles, "state_root", lambda: tmp_path)


def found(engine: Engine) -> dict[str, bool]:
    """Return the obstacles by name, and whether each makes a testbed impossible."""
    return {each.check: each.needed for each in obstacles.obstacles(cast(docker.DockerClient, engine))}


def test_a_usual_host_has_none():
    assert found(Engine()) == {}
    refuse_obstacles(cast(docker.DockerClient, Engine()))


def test_user_namespaces_of_the_engine_are_refused_with_the_remedy():
    engine = Engine(options=["name=seccomp", "name=userns"])
    assert found(engine) == {"user namespaces": True}
    with pytest.raises(
        EngineUnavailable, match=r"^A testbed cannot run here: user namespaces keep .* \(leave out userns"
    ):
        refuse_obstacles(cast(docker.DockerClient, engine))


@pytest.mark.parametrize("address", ["ssh://bob@far", "tcp://192.168.1.7:2376", "far:2375", "tcp://[nonsense"])
def test_an_engine_of_another_machine_is_refused(monkeypatch, address):
    monkeypatch.setenv("DOCKER_HOST", address)
    assert found(Engine()) == {"DOCKER_HOST": True}
    with pytest.raises(EngineUnavailable, match=r"here: DOCKER_HOST names .*\(unset it; for several hosts, use"):
        refuse_obstacles(cast(docker.DockerClient, Engine()))


def test_an_engine_that_an_inventory_names_is_not_the_one_of_the_shell(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DOCKER_HOST", "ssh://bob@far")
    refuse_obstacles(cast(docker.DockerClient, Engine()), "unix:///var/run/docker.sock")
    with pytest.raises(EngineUnavailable, match="user namespaces"):
        refuse_obstacles(cast(docker.DockerClient, Engine(options=["name=userns"])), "unix:///var/run/docker.sock")


@pytest.mark.parametrize(
    "address",
    [
        "unix:///run/user/1000/docker.sock",
        "http+unix:///run/docker.sock",
        "tcp://127.0.0.1:2375",
        "localhost:2375",
        "tcp://[::1]:2375",
        "tcp://0.0.0.0:2375",
    ],
)
def test_an_engine_of_this_machine_may_have_any_address(monkeypatch, address):
    monkeypatch.setenv("DOCKER_HOST", address)
    assert found(Engine()) == {}


def test_podman_s_engine_is_refused():
    assert found(Engine(name="Podman Engine", number="5.4.0", least_api="1.24")) == {"Podman's engine": True}


@pytest.mark.parametrize(
    ("version", "least_api", "refused"),
    [("1.29.2", "1.44", True), ("1.29.2", "1.24", False), ("2.40.3", "1.44", False), ("dev", "1.44", False)],
)
def test_a_compose_that_does_not_speak_to_the_engine_is_refused(monkeypatch, version, least_api, refused):
    monkeypatch.setattr(obstacles, "compose_version", lambda command: version)
    assert found(Engine(least_api=least_api)) == ({"docker-compose": True} if refused else {})


def test_a_plugin_that_does_not_speak_to_the_engine_is_refused_in_its_own_words(monkeypatch, tmp_path: Path):
    """As version 2.5.0 before Engine 29: only a command that asks the engine something tells."""
    plugin = tmp_path / "docker"
    plugin.write_text(
        '#!/bin/sh\n[ "$*" = "compose ls -q" ] || exit 2\n'
        'echo "Error: client version 1.42 of $DOCKER_HOST is too old." >&2; exit 1\n'
    )
    plugin.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(obstacles, "compose_refusal", compose_refusal)
    with pytest.raises(
        EngineUnavailable,
        match=r"docker compose v2\.40\.3 does not speak to this engine: "
        r"Error: client version 1\.42 of unix:///run/one\.sock is too old \(install the present plugin: ",
    ):
        refuse_obstacles(cast(docker.DockerClient, Engine()), "unix:///run/one.sock")
    assert found(Engine(least_api="1.24")) == {}
    plugin.write_text("#!/bin/sh\nexit 0\n")
    assert found(Engine()) == {}


def test_modules_that_the_kernel_lacks_are_named(monkeypatch):
    monkeypatch.setattr(this_kernel, "missing_for_links", lambda: ["ifb", "sch_tbf"])
    with pytest.raises(
        EngineUnavailable, match=r"missing for access links: ifb, sch_tbf \(install linux-modules-extra"
    ):
        refuse_obstacles(cast(docker.DockerClient, Engine()))


@pytest.mark.parametrize(("number", "guarded"), [("20.10.24+dfsg1", False), ("28.1.1", False), ("28.2.2", True)])
def test_an_engine_that_guards_bridged_packets_is_a_warning(monkeypatch, number, guarded):
    monkeypatch.setattr(this_kernel, "filters_bridges", lambda: True)
    assert found(Engine(number=number)) == ({"bridge filter": False} if guarded else {})


def test_the_file_system_of_a_folder_is_that_of_the_nearest_mount(tmp_path: Path):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "90 22 0:50 / /home rw,relatime shared:2 - nfs4 server:/home rw\n"
    )
    assert file_system_of(Path("/home/me/.local/state"), mounts) == "nfs4"
    assert file_system_of(Path("/homestead"), mounts) == "ext4"
    assert file_system_of(Path("/home"), tmp_path / "none") == ""


def test_a_build_gets_the_proxies_of_the_shell_but_none_that_it_cannot_reach(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    assert proxy_arguments() == {}
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("HTTP_PROXY", "127.0.0.1:7890")
    assert proxy_arguments() == {"https_proxy": "http://proxy.example:3128"}


@pytest.mark.parametrize("exceptions", ["127.0.0.1,.example", "localhost,[::1]", "example"])
def test_a_build_gets_the_exceptions_of_the_shell_as_they_are(monkeypatch, exceptions):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("no_proxy", exceptions)
    assert proxy_arguments() == {"no_proxy": exceptions}


def test_this_kernel_says_nothing_of_an_engine_in_a_virtual_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(this_kernel, "missing_for_links", lambda: ["ifb"])
    monkeypatch.setattr(this_kernel, "filters_bridges", lambda: True)
    assert found(Engine(kernel="6.10.14-linuxkit")) == {}
    assert set(found(Engine())) == {"kernel modules", "bridge filter"}
