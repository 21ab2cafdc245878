"""Examination of the host: what it has and lacks for a testbed, and what to do about it. Changes nothing."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any, Final

import docker
import docker.errors
import psutil

from emulator.containers import engine, mmdebstrap, this_kernel
from emulator.containers.building import readable_credentials
from emulator.containers.compose_command import COMPOSE_COMMANDS, compose_version
from emulator.containers.engine_machine import machine_size
from emulator.containers.image_names import PULLED_FROM, base_reference, public_image
from emulator.containers.images import current_references
from emulator.containers.obstacles import obstacles
from emulator.hosts.engine_versions import engine_finding
from emulator.model.errors import EngineUnavailable
from emulator.model.finding import Finding

OLDEST_PYTHON: Final = (3, 11)
MEMORY_FOR_MINI_BYTES: Final = 3 * 1024**3
DISK_FOR_IMAGES_BYTES: Final = 6 * 1024**3
CONTAINERD_FOLDER: Final = Path("/var/lib/containerd")
_GIB: Final = 1024**3


def examine() -> list[Finding]:
    """Return a finding for everything that a testbed needs of this host."""
    try:
        client = engine.connect()
    except EngineUnavailable as error:
        unreachable = Finding("docker", False, "not reachable", str(error), needed=True)
        return [unreachable, _compose(), _python(), _mmdebstrap(needed=False), *_host({})]
    base_is_needed = not os.environ.get(PULLED_FROM) and not _has_base(client)
    registry = _registry(client)
    return [
        engine_finding("docker", str(client.version()["Version"])),
        _compose(),
        _python(),
        registry,
        _mmdebstrap(needed=base_is_needed and not registry.ok),
        *_kernel(client),
        *obstacles(client),
        *_host(client.info()),
    ]


def _compose() -> Finding:
    for command in COMPOSE_COMMANDS:
        version = compose_version(command)
        if version is not None:
            return Finding("compose", True, f"{' '.join(command)} {version}", needed=True)
    return Finding("compose", False, "none", "apt-get install docker-compose", needed=True)


def _python() -> Finding:
    found = platform.python_version()
    return Finding("python", sys.version_info[:2] >= OLDEST_PYTHON, found, "install Python 3.11", needed=True)


def _has_base(client: docker.DockerClient) -> bool:
    try:
        client.images.get(base_reference())
    except docker.errors.ImageNotFound:
        return False
    return True


def _has_images(client: docker.DockerClient) -> bool:
    """Return whether the testbed's images are here as the present sources make them: `up` then makes none."""
    try:
        for reference in astuple(current_references(client)):
            client.images.get(reference)
    except docker.errors.ImageNotFound:
        return False
    return True


def _registry(client: docker.DockerClient) -> Finding:
    try:
        with readable_credentials():
            client.images.get_registry_data(public_image())
    except EngineUnavailable as error:
        return Finding("registry", False, "no credentials", str(error), needed=not _has_images(client))
    except (docker.errors.DockerException, OSError):
        remedy = "none needed on Debian, where mmdebstrap makes the base image instead"
        return Finding("registry", False, f"{public_image()} cannot be pulled", remedy)
    return Finding("registry", True, f"{public_image()} can be pulled")


def _mmdebstrap(*, needed: bool) -> Finding:
    missing = mmdebstrap.missing_programs()
    found = shutil.which("mmdebstrap") or (f"{missing[0]} is missing" if missing else "fetched when it is needed")
    return Finding("mmdebstrap", not missing, found, "install mmdebstrap", needed)


def _kernel(client: docker.DockerClient) -> Iterable[Finding]:
    """Report which kernels can forward, and which control groups the engine uses."""
    information = client.info()
    has_netem, guest_possible = this_kernel.has_netem(), information["Architecture"] == "x86_64"
    if this_kernel.is_of(information):
        yield Finding(
            "sch_netem",
            has_netem,
            f"in {platform.release()}" if has_netem else f"not found in {platform.release()}, or blacklisted",
            "none needed where a guest kernel is possible; else install the module sch_netem, load it by `modprobe "
            "sch_netem`, and name it in a file of /etc/modules-load.d",
            needed=not guest_possible and this_kernel.lacks_netem(),
        )
    yield Finding(
        "guest kernel",
        guest_possible,
        f"User-Mode Linux on {information['Architecture']}" if guest_possible else str(information["Architecture"]),
        "none needed where the host has sch_netem (Debian has User-Mode Linux for x86-64 only)",
    )
    yield Finding("cgroup", True, f"version {information.get('CgroupVersion', '1')}")


def _host(information: Mapping[str, Any]) -> Iterable[Finding]:
    """Report processors and memory where containers run, the disk where images are kept, and pressure figures.

    What is free is not known of an engine's virtual machine, whose memory is the engine's alone.
    """
    size = machine_size(information)
    yield Finding("cores", size.processors >= 2, str(size.processors), "with one core, use a dilation of 16 or more")
    total = f"{size.memory_bytes / _GIB:.1f} GiB"
    if this_kernel.is_of(information):
        available_bytes = psutil.virtual_memory().available
        found, remedy = f"{available_bytes / _GIB:.1f} of {total} free", "free 3 GiB for mini"
    else:
        available_bytes = size.memory_bytes
        found, remedy = f"{total} in the engine's virtual machine", "give that machine 3 GiB for mini"
    remedy += " (das2: 3 GiB and 22 MB for each rank that runs)"
    yield Finding("memory", available_bytes >= MEMORY_FOR_MINI_BYTES, found, remedy)
    free = min(shutil.disk_usage(folder).free for folder in _folders_of(information) or [Path("/")])
    remedy = f"free {DISK_FOR_IMAGES_BYTES // _GIB} GiB for the images"
    yield Finding("disk", free >= DISK_FOR_IMAGES_BYTES, f"{free / _GIB:.0f} GiB free", remedy)
    pressure = Path("/proc/pressure/cpu").is_file()
    yield Finding(
        "pressure (PSI)",
        pressure,
        "yes" if pressure else "no",
        "boot with psi=1; without it, a verdict cannot know of CPU pressure",
    )


def _folders_of(information: Mapping[str, Any]) -> list[Path]:
    """Return the folders of an engine's images that are visible here; containerd keeps them beside the engine's own."""
    folders = [Path(str(information.get("DockerRootDir") or "/"))]
    if any("containerd.snapshotter" in str(line) for line in information.get("DriverStatus") or ()):
        folders.append(CONTAINERD_FOLDER)
    return [folder for folder in folders if folder.is_dir()]
