"""Waiting for containers: one blocking command inside each, so that waiting costs next to nothing."""

from __future__ import annotations

import time
from collections.abc import Collection
from functools import cache
from typing import Any, Final

import docker
import docker.errors
import httpx
from docker.models.containers import Container

from emulator.containers import engine
from emulator.containers.progress import Observer, ProgressStep
from emulator.containers.state import TestbedState
from emulator.model.clock import Dilation
from emulator.model.errors import ClusterUnreachable, TestbedNotUp, Unauthorized
from emulator.model.escapes import last_line
from emulator.model.proof import requiring_proof

CLUSTER_READY: Final = "/run/testbed/ready"
ROUTER_READY: Final = "/run/wan/ready"
READY_WITHIN_HOST_S: Final = 100
CLUSTERS_WITHIN_HOST_S: Final = 2 * READY_WITHIN_HOST_S + 15
"""For a broker that answers to reach its clusters, one of which may be started twice."""
REAL_WITHIN_HOST_S: Final = 10
REFUSED: Final = 78
"""The exit status of a cluster's container if a daemon ends whenever it is started; another start would not help."""
RUNNING: Final = ("running", "restarting")
"""States of a container that runs; a broker that was killed is started again by the engine at once."""
_PAUSE_HOST_S: Final = 0.2
_ANSWER_WITHIN_HOST_S: Final = 5.0
_UNFINISHED_JOBS: Final = "testbed_unfinished_jobs{"


def await_file(client: docker.DockerClient, name: str, file: str) -> None:
    """Wait until a container has the file that it makes when it is ready.

    Raises:
        ClusterUnreachable: if the container ends first or takes too long; with the last line that it printed.
    """
    turns = int(READY_WITHIN_HOST_S / _PAUSE_HOST_S)
    # Bash waits without starting a program for it: reading from a pipe into which nothing is written.
    pause = f"read -rt {_PAUSE_HOST_S} -u 9 || true"
    loop = f"n={turns}; exec 9<> <(:); until [ -e {file} ]; do n=$((n-1)); [ $n -gt 0 ] || exit 1; {pause}; done"
    try:
        container = client.containers.get(name)
        code, _ = container.exec_run(["bash", "-c", loop])
    except docker.errors.APIError:
        code = None
    if code != 0:
        raise ClusterUnreachable(f"The container {name} did not become ready: {last_words(client, name)}.")


def await_file_again(client: docker.DockerClient, name: str, file: str, observe: Observer) -> None:
    """Do as `await_file` does, but start a container that ends first once more.

    The engine starts many containers at once, and under load it sometimes fails one of them.

    Raises:
        ClusterUnreachable: if the container ends twice, does not start again, or takes too long; or if it ended because
            a daemon refuses to run.
    """
    try:
        await_file(client, name, file)
    except ClusterUnreachable as error:
        if is_running(client, name) or _has_refused(client, name):
            raise
        observe(ProgressStep("again", f"{str(error).rstrip('.')}; it is started again"))
        try:
            client.containers.get(name).start()
        except docker.errors.APIError as refusal:
            raise error from refusal
        await_file(client, name, file)


def await_broker(client: docker.DockerClient, name: str, api_url: str, real: Collection[str] = ()) -> None:
    """Wait until the broker answers and reaches every cluster, but only ten host seconds for those that are `real`.

    A user may connect the broker's container to a real cluster only after the container exists. One that answers is
    given longer for the other clusters: who waits for a cluster itself says what ails it, and may have it started anew.

    Raises:
        TestbedNotUp: if its container ends first or it takes too long; with the last line that it printed.
    """
    begun, lost = time.monotonic(), None
    while time.monotonic() < begun + (READY_WITHIN_HOST_S if lost is None else CLUSTERS_WITHIN_HOST_S):
        lost = unreached(api_url)
        if lost is None and not is_running(client, name):
            break
        waited_for = real if time.monotonic() > begun + REAL_WITHIN_HOST_S else ()
        if lost is not None and set(lost) <= set(waited_for):
            return
        time.sleep(_PAUSE_HOST_S)
    raise TestbedNotUp(f"The broker ({name}) did not become ready: {last_words(client, name)}.")


def await_testbed_broker(client: docker.DockerClient, testbed: TestbedState) -> None:
    """Wait until a testbed's broker answers, as `await_broker` does."""
    real = [cluster.name for cluster in testbed.topology.real_clusters]
    await_broker(client, testbed.names.broker, testbed.api_url, real)


def unreached(api_url: str) -> list[str] | None:
    """Return the clusters that the broker does not reach now, or None if the broker does not answer."""
    return _named_by_health(api_url, "unreachable")


def silent(api_url: str) -> list[str]:
    """Return the clusters in which the broker places no job, because they do not say how many processors are idle."""
    return _named_by_health(api_url, "silent") or []


def degraded(api_url: str) -> str:
    """Return why the broker cannot write its journal now; empty if it can, or does not answer."""
    return str(_health(api_url).get("reason", ""))


def _named_by_health(api_url: str, key: str) -> list[str] | None:
    named = _health(api_url).get(key)
    return None if named is None else [str(name) for name in named]


def _health(api_url: str) -> dict[str, Any]:
    try:
        answer = _http().get(f"{api_url}/v1/health").json()
    except (httpx.HTTPError, ValueError):
        return {}
    return answer if isinstance(answer, dict) else {}


@cache
def _http() -> httpx.Client:
    """Return one client for all questions, because making one takes longer than an answer."""
    # No proxy of the user's environment leads to this host's loopback.
    return httpx.Client(timeout=_ANSWER_WITHIN_HOST_S, trust_env=False)


def held_dilation(testbed: TestbedState) -> Dilation | None:
    """Return the dilation of the run that holds a testbed, or None if none does, or the broker does not answer."""
    authorization = {"Authorization": f"Bearer {testbed.token}"}
    try:
        url, timeout_s = testbed.api_url, _ANSWER_WITHIN_HOST_S
        with httpx.Client(base_url=url, headers=authorization, timeout=timeout_s, trust_env=False) as client:
            extensions = requiring_proof(url, testbed.token, timeout_s)
            answer = client.get("/v1/runs/current", extensions=extensions)
        return Dilation(float(answer.raise_for_status().json()["request"]["dilation"]))
    except (httpx.HTTPError, ConnectionError, Unauthorized, ValueError, KeyError):
        return None


def has_unfinished_jobs(api_url: str) -> bool:
    """Return whether jobs of a testbed have not ended, or its broker does not say."""
    try:
        shown = _http().get(f"{api_url}/metrics").raise_for_status().text
        counts = [float(line.split()[-1]) for line in shown.splitlines() if line.startswith(_UNFINISHED_JOBS)]
    except (httpx.HTTPError, ValueError):
        return True
    return any(count > 0 for count in counts)


def is_running(client: docker.DockerClient, name: str) -> bool:
    """Return whether the container of that name runs or is being restarted; not if its engine does not answer."""
    try:
        return runs(client, name)
    except engine.NO_ANSWER:
        return False


def runs(client: docker.DockerClient, name: str) -> bool:
    """Return what `is_running` does, but raise what the Docker SDK raises if the engine does not answer."""
    try:
        return str(client.containers.get(name).status) in RUNNING
    except docker.errors.NotFound:
        return False


def _has_refused(client: docker.DockerClient, name: str) -> bool:
    """Return whether a container has ended because one of its daemons refuses to run."""
    try:
        return int(client.containers.get(name).attrs["State"]["ExitCode"]) == REFUSED
    except docker.errors.NotFound:
        return False


def last_words(client: docker.DockerClient, name: str) -> str:
    """Return the last line that a container printed, for an error message."""
    try:
        container: Container = client.containers.get(name)
        said = container.logs(tail=5).decode(errors="replace")
    except docker.errors.APIError:
        return "it does not exist"
    return last_line(said, "it printed nothing")
