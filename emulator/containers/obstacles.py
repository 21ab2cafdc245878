"""Settings of the engine and the host under which containers start, and a testbed does not work all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import docker

from emulator.containers import this_kernel
from emulator.containers.compose_command import compose_command, compose_refusal, compose_version
from emulator.containers.docker_address import TAKE_OWN_ENGINE, engine_address, is_elsewhere
from emulator.containers.state import state_root
from emulator.hosts.engine_options import NO_REMAP, user_namespaces
from emulator.hosts.engine_versions import version_numbers
from emulator.model.errors import EngineUnavailable
from emulator.model.finding import Finding

GUARDED_FROM: Final = (28, 2)
"""The engine that drops packets to a container unless they come in over the bridge of its own network."""

PLUGIN_NEEDED_FROM: Final = (1, 44)
"""The least version of an engine's API that docker-compose 1.x and old plugins do not speak any more."""

NEW_PLUGIN: Final = "install the present plugin: docker-compose-plugin of docker.com, docker-compose-v2 on Ubuntu"

BRIDGE_FILTER_OFF: Final = "`sysctl -w net.bridge.bridge-nf-call-iptables=0`"

_MOUNTS: Final = Path("/proc/self/mountinfo")
_REMOTE: Final = ("nfs", "nfs4", "cifs", "smb3", "fuse.sshfs")


def obstacles(client: docker.DockerClient, address: str = "") -> Iterator[Finding]:
    """Yield a finding for each such setting; those that are *needed* to be otherwise make a testbed impossible.

    The engine is the one at `address`, if that is given, and otherwise the one that ``DOCKER_HOST`` names.
    """
    version, information = client.version(), client.info()
    address = address or engine_address()
    yield from _engine(version, address)
    yield from user_namespaces(information.get("SecurityOptions") or (), f"{NO_REMAP}, or use rootless Docker")
    yield from _compose(version, address)
    if this_kernel.is_of(information):
        yield from _link_modules()
        yield from _bridge_filter(version)
    yield from _state_folder()


def refuse_obstacles(client: docker.DockerClient, address: str = "") -> None:
    """Raise `EngineUnavailable` if a setting makes a testbed impossible; `address` is as for `obstacles`."""
    for found in obstacles(client, address):
        if found.needed:
            raise EngineUnavailable(f"A testbed cannot run here: {found.check} {found.found} ({found.remedy}).")


def _engine(version: Mapping[str, Any], address: str) -> Iterator[Finding]:
    if is_elsewhere(address):
        found = f"names an engine of another machine: {address}"
        yield Finding("DOCKER_HOST", False, found, TAKE_OWN_ENGINE, needed=True)
    if any("podman" in str(part.get("Name")).lower() for part in version.get("Components") or ()):
        yield Finding("Podman's engine", False, "carries no testbed", "use Docker's", needed=True)


def _compose(version: Mapping[str, Any], address: str) -> Iterator[Finding]:
    """Ask a plugin itself whether it speaks to the engine: its version does not tell."""
    if version_numbers(str(version.get("MinAPIVersion") or "1.12")) < PLUGIN_NEEDED_FROM:
        return
    try:
        command = compose_command()
    except EngineUnavailable:
        return  # said elsewhere
    found = compose_version(command)
    if found is None or is_elsewhere(address):
        return  # said elsewhere
    if () < version_numbers(found) < (2,):
        yield Finding("docker-compose", False, f"{found} is too old for this engine", NEW_PLUGIN, needed=True)
    elif refusal := compose_refusal(command, address):
        what = f"{found} does not speak to this engine: {refusal}"
        yield Finding(" ".join(command), False, what, NEW_PLUGIN, needed=True)


def _link_modules() -> Iterator[Finding]:
    missing = this_kernel.missing_for_links()
    if missing:
        remedy = "install linux-modules-extra-$(uname -r), on Fedora kernel-modules-extra"
        yield Finding(
            "kernel modules", False, f"are missing for access links: {', '.join(missing)}", remedy, needed=True
        )


def _bridge_filter(version: Mapping[str, Any]) -> Iterator[Finding]:
    if this_kernel.filters_bridges() and version_numbers(str(version["Version"])) >= GUARDED_FROM:
        yield Finding(
            "bridge filter", False, "on: this engine then drops what crosses the wide area", BRIDGE_FILTER_OFF
        )


def _state_folder() -> Iterator[Finding]:
    folder = state_root()
    kind = file_system_of(folder)
    if kind in _REMOTE:
        remedy = "set XDG_STATE_HOME to a folder of a local disk if the engine cannot read the keys there"
        yield Finding("state folder", False, f"{folder} is on {kind}", remedy)


def file_system_of(path: Path, mounts: Path = _MOUNTS) -> str:
    """Return the type of the file system on which `path` is or would be; empty if it is not known."""
    try:
        lines = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return ""
    wanted = path.resolve()
    found = [(len(Path(line[4]).parts), line[line.index("-") + 1]) for line in lines
             if "-" in line and wanted.is_relative_to(line[4])]  # fmt: skip
    return max(found)[1] if found else ""
