"""Docker as this project uses it: connecting, calling Compose, and finding the parts with a testbed's label."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import docker
import docker.errors
import requests.exceptions
from docker.models.containers import Container
from docker.models.networks import Network
from docker.models.volumes import Volume

from emulator.containers.compose_command import compose_command
from emulator.containers.docker_address import engine_address
from emulator.containers.names import CENTRAL_LABEL, LABEL, OWNER_LABEL
from emulator.containers.state import state_root
from emulator.model.errors import EngineUnavailable, TestbedNotUp

Part: TypeAlias = Container | Network | Volume

CONNECT_WITHIN_HOST_S: Final = 120
POOL_SIZE: Final = 64
"""Connections kept open: one per container in which a command runs at the same time."""
READ_ATTEMPTS: Final = 3
NO_ANSWER: Final = (requests.exceptions.ConnectionError, requests.exceptions.Timeout)
"""What the Docker SDK raises if the engine, or its host, does not answer."""
ENGINE_ERRORS: Final = (docker.errors.DockerException, *NO_ANSWER)
"""What the Docker SDK raises if the engine refuses something, or does not answer."""


def connect() -> docker.DockerClient:
    """Return a client of the Docker engine.

    Raises:
        EngineUnavailable: if Docker is missing, stopped, or refuses this user.
    """
    try:
        client = docker.from_env(
            timeout=CONNECT_WITHIN_HOST_S, max_pool_size=POOL_SIZE,
            environment={**os.environ, "DOCKER_HOST": engine_address()},
        )  # fmt: skip
        client.ping()
    except (docker.errors.DockerException, OSError) as error:
        raise EngineUnavailable(_why_unavailable(str(error))) from error
    return client


def read_output(container: Container, command: Sequence[str]) -> tuple[int, str]:
    """Run a command that always prints something and may be repeated; return its exit code and what it prints.

    Docker sometimes loses all output of a command that ends quickly. The command is then run again; what it prints is
    empty if it is lost each time.

    Raises:
        docker.errors.APIError: if the container does not run.
    """
    for _ in range(READ_ATTEMPTS):
        code, output = container.exec_run(list(command))
        if output:
            break
    return code, (output or b"").decode(errors="replace")


def _why_unavailable(reported: str) -> str:
    if "Permission denied" in reported:
        return "Docker refuses this user (add it to the group `docker`, log in again, or use sudo)."
    if shutil.which("dockerd") is None and shutil.which("docker") is None:
        return "Docker is not installed (on Debian: `apt-get install docker.io docker-compose iptables`)."
    return "Docker does not answer (start it: `systemctl start docker`, or run `dockerd`)."


def compose_up(project: str, compose_file: Path, url: str = "") -> None:
    """Create and start everything that a Compose file describes, on the engine at `url` if it is not this host's.

    Raises:
        EngineUnavailable: with the reason that Compose gives, if it fails.
    """
    _compose(project, compose_file, url, "up", "--detach", "--no-build")


def compose_create(project: str, compose_file: Path, url: str = "") -> None:
    """Create the containers, networks and volumes of a Compose file that do not exist; touch and start nothing else.

    Raises:
        EngineUnavailable: with the reason that Compose gives, if it fails.
    """
    _compose(project, compose_file, url, "up", "--no-start", "--no-recreate", "--no-build")


def _compose(project: str, compose_file: Path, url: str, *arguments: str) -> None:
    """Run Compose to its end.

    An interrupt waits until Compose has ended, so that nothing is created after the clean-up has looked.
    """
    command = [*compose_command(), "-p", project, "-f", str(compose_file), *arguments]
    environment = {**os.environ, "DOCKER_HOST": url or engine_address()}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment
    ) as compose:
        try:
            _, errors = compose.communicate()
        except BaseException:
            compose.terminate()
            compose.communicate()
            raise
    if compose.returncode != 0:
        raise EngineUnavailable(f"Docker Compose could not start the containers: {_reason(errors)}.")


_HIDDEN: Final = "mount source path"
"""What the engine says if it may not read a folder that a container is to mount."""

_MOVE_STATE: Final = "; set XDG_STATE_HOME to a folder of a local disk that is not hidden, where the engine can read"
_NAME_KEY: Final = "; name a key on a local disk, where the engine can read, by `ssh.key` in the topology"


def _reason(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower() and "Encountered errors" not in line]
    chosen = (telling or lines or ["it gave none"])[-1]
    if _HIDDEN in chosen:
        chosen += _MOVE_STATE if str(state_root()) in chosen else _NAME_KEY
    return chosen.rstrip(".")


def output_of(
    client: docker.DockerClient,
    image: str,
    command: Sequence[str],
    labels: Mapping[str, str] | None = None,
    network: str = "none",
) -> bytes:
    """Run a program in a container of its own, without network unless one is named, and return what it printed.

    The output is read once the program has ended: the engine may lose that of a short program that it follows.

    Raises:
        EngineUnavailable: if the program fails; with what it printed last.
        APIError: if the engine cannot run it.
    """
    program, *arguments = command
    container = client.containers.create(
        image, arguments, entrypoint=[program], network_mode=network, labels=dict(labels or {})
    )
    try:
        container.start()
        code = container.wait()["StatusCode"]
        if code != 0:
            said = container.logs(tail=1).decode(errors="replace").strip()
            raise EngineUnavailable(f"{program} failed in a container of {image} ({code}): {said}")
        output: bytes = container.logs(stdout=True, stderr=False)
    finally:
        container.remove(force=True)
    return output


def containers_of(client: docker.DockerClient, testbed: str | None) -> list[Container]:
    """Return the containers of a testbed, or of every testbed, running or not."""
    found: list[Container] = client.containers.list(all=True, filters=_labelled(testbed), ignore_removed=True)
    return found


def networks_of(client: docker.DockerClient, testbed: str | None) -> list[Network]:
    """Return the networks of a testbed, or of every testbed."""
    found: list[Network] = client.networks.list(filters=_labelled(testbed))
    return found


def volumes_of(client: docker.DockerClient, testbed: str | None) -> list[Volume]:
    """Return the volumes of a testbed, or of every testbed."""
    found: list[Volume] = client.volumes.list(filters=_labelled(testbed))
    return found


def testbeds_seen(parts: Iterable[Part]) -> set[str]:
    """Return the names of the testbeds that containers, networks or volumes belong to."""
    return {labels[LABEL] for labels in map(_labels_of, parts) if LABEL in labels}


def other_owner(client: docker.DockerClient, testbed: str) -> str | None:
    """Return the number of the other user of this host who brought a testbed up; None if none is known.

    Root is nobody else.
    """
    own = os.getuid()
    return min(owners_of(client, testbed) - {str(own)}, default=None) if own != 0 else None


def owners_of(client: docker.DockerClient, testbed: str) -> set[str]:
    """Return the numbers of the users that the containers and volumes of a testbed state as their owners."""
    return _stated(client, testbed, OWNER_LABEL)


def engine_id(information: Mapping[str, Any]) -> str:
    """Return the ID of an engine from what it says of itself; empty if it says none."""
    return str(information.get("ID") or "")


def centrals_of(client: docker.DockerClient, testbed: str) -> set[str]:
    """Return the IDs of the central hosts' engines that containers and volumes of a testbed state, if new enough."""
    return _stated(client, testbed, CENTRAL_LABEL)


def is_from_elsewhere(client: docker.DockerClient, testbed: str) -> bool:
    """Return whether what an engine has of a testbed belongs to one whose central host is another."""
    centrals = centrals_of(client, testbed)
    return bool(centrals and centrals != {engine_id(client.info())})


def check_own(client: docker.DockerClient, testbed: str) -> None:
    """Check that a testbed was brought up on this host, and by no other user of it. Root may take any.

    Raises:
        TestbedNotUp: if it was not.
    """
    if (owner := other_owner(client, testbed)) is not None:
        raise TestbedNotUp(
            f"You have no testbed called {testbed!r}: the one that is here is of another user of this host (number "
            f"{owner}), who can take it down, as root can (name yours by --name)."
        )
    if os.getuid() != 0 and is_from_elsewhere(client, testbed):
        raise TestbedNotUp(
            f"You have no testbed called {testbed!r} here: what is here is part of one that was brought up on another "
            f"host (take it down there; if that host is lost, `testbed down --name {testbed}` as root removes what is "
            "here)."
        )


def _stated(client: docker.DockerClient, testbed: str, label: str) -> set[str]:
    """Return the values that a testbed's containers and volumes have for a label.

    Volumes outlive containers, and hold what is worth most.
    """
    labels = map(_labels_of, [*containers_of(client, testbed), *volumes_of(client, testbed)])
    return {stated[label] for stated in labels if label in stated}


def _labels_of(part: Part) -> dict[str, str]:
    return part.attrs.get("Labels") or part.attrs.get("Config", {}).get("Labels") or {}


def _labelled(testbed: str | None) -> dict[str, str]:
    return {"label": LABEL if testbed is None else f"{LABEL}={testbed}"}
