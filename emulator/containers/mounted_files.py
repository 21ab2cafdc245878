"""The files that a testbed's containers mount: written when it is brought up, and again where they have been lost.

Compose file and settings follow from the rest of the state. Secrets are read back from a container that still has them.
If none has, they are made anew, and the containers that mount them must be restarted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import docker
import docker.errors
import yaml

from emulator.containers import engine, keys
from emulator.containers.broker_service import MOUNTED_AT, published_at
from emulator.containers.broker_settings import broker_settings
from emulator.containers.compose import render
from emulator.containers.engine_machine import machine_size
from emulator.containers.hosts.host_files import host_document
from emulator.containers.parts import whole_document
from emulator.containers.progress import Observer, ProgressStep
from emulator.containers.rendering import ImageReferences, Rendering
from emulator.containers.state import (
    HOSTS_AND_OWNERS,
    STATED_NETWORKS,
    TOKEN_FILE,
    TestbedRecord,
    TestbedSpec,
    TestbedState,
    write_authorization,
    write_record,
    write_secret,
    write_token,
)
from emulator.model.settings import BrokerSettings
from emulator.model.whole_files import write_whole


def write_rendered(client: docker.DockerClient, testbed: TestbedState) -> None:
    """Write the Compose file and the broker's settings, which follow from the testbed's record and topology."""
    information = client.info()
    rendering = Rendering(
        topology=testbed.topology,
        names=testbed.names,
        addresses=testbed.addresses,
        images=ImageReferences(**testbed.record.images),
        state_folder=testbed.folder,
        api_port=testbed.record.api_port,
        router_backend=testbed.record.router_backend,
        host_memory_bytes=machine_size(information).memory_bytes,
        owner=os.getuid(),
        routes=testbed.record.routes,
        agent=testbed.record.agent,
        central_engine=engine.engine_id(information),
        owned_volumes=testbed.record.generation >= HOSTS_AND_OWNERS,
        stated_networks=testbed.record.generation >= STATED_NETWORKS,
    )
    _write(testbed.compose_file, render(rendering))
    _write_host_files(testbed, rendering)
    # Without defaults: the broker of an older image knows no keys but those of its time.
    settings = _with_hosts(broker_settings(rendering), testbed.record)
    _write(testbed.settings_file, settings.model_dump_json(indent=2, exclude_defaults=True) + "\n")


def _with_hosts(settings: BrokerSettings, record: TestbedRecord) -> BrokerSettings:
    """Return the settings of a broker with the host that carries each cluster; on one host none is named."""
    if record.hosts is None or record.generation < HOSTS_AND_OWNERS:
        return settings
    host_of = {cluster: each.host.name for each in record.hosts.hosts for cluster in each.clusters}
    heads = (head.model_copy(update={"host": host_of.get(head.cluster, "")}) for head in settings.heads)
    return settings.model_copy(update={"heads": tuple(heads)})


def _write_host_files(testbed: TestbedState, rendering: Rendering) -> None:
    """Write the Compose file of each of several hosts, with limits after the memory of that host."""
    hosts = testbed.record.hosts
    for record in hosts.hosts if hosts else ():
        whole = yaml.safe_load(render(replace(rendering, host_memory_bytes=record.memory_bytes)))
        is_central = hosts is not None and record.host.name == hosts.central
        document = host_document(whole, testbed.names, record.clusters, is_central=is_central)
        text = yaml.safe_dump(document, sort_keys=False, width=110)
        _write(testbed.compose_file_of(record.host.name), text)


def _write(path: Path, text: str) -> None:
    if path.is_dir():
        path.rmdir()  # the engine makes an empty folder where a file that a container mounts is missing
    write_whole(path, text)


def rendered_files(testbed: TestbedState) -> list[Path]:
    """Return the files that follow from the testbed's record and topology."""
    hosts = testbed.record.hosts.hosts if testbed.record.hosts else ()
    return [
        testbed.compose_file, testbed.settings_file, *(testbed.compose_file_of(record.host.name) for record in hosts)
    ]  # fmt: skip


def _is_whole(file: Path) -> bool:
    """Return whether a rendered file is there, and neither empty nor cut off."""
    if file.suffix != ".json":
        return whole_document(file) is not None
    try:
        return isinstance(json.loads(file.read_bytes()), dict)
    except (OSError, ValueError):
        return False


def publishes_recorded_port(testbed: TestbedState) -> bool:
    """Return whether each Compose file with the broker publishes it at the recorded port."""
    documents = [whole_document(file) for file in rendered_files(testbed) if file.suffix != ".json"]
    brokers = [document["services"].get("broker") for document in documents if document is not None]
    return all(published_at(testbed.record.api_port) in broker.get("ports", ()) for broker in brokers if broker)


def renewed_routes(
    client: docker.DockerClient, testbed: TestbedState, spec: TestbedSpec, observe: Observer
) -> TestbedState | None:
    """Record the ways to real heads if they are others than before, or the user has another ssh-agent.

    Write what follows from them, and return the testbed with them; None if nothing is new. The broker's container then
    mounts other files, so it must be made anew.
    """
    record = testbed.record
    before = {
        cluster.name: record.routes.get(cluster.name) or ((cluster.ssh.hop,) if cluster.ssh else ())
        for cluster in testbed.topology.real_clusters
    }
    if not spec.routes or (before, record.agent) == (dict(spec.routes), spec.agent):
        return None
    observe(ProgressStep("state", "the ways to real clusters, or the ssh-agent, are others than before"))
    renewed = replace(testbed, record=record.model_copy(update={"routes": dict(spec.routes), "agent": spec.agent}))
    write_rendered(client, renewed)
    keys.add_known_heads(testbed, spec.known_heads)
    # Last: if this is interrupted before, the next `up` finds the same difference, and does it all again.
    write_record(renewed.record)
    return renewed


def restore_files(
    client: docker.DockerClient, testbed: TestbedState, known_heads: Sequence[str], observe: Observer
) -> frozenset[str]:
    """Write every file that is missing, empty or cut off; return the containers whose copies are out of date now."""
    if not all(_is_whole(file) for file in rendered_files(testbed)):
        observe(ProgressStep("state", "writing the Compose file and the broker's settings again"))
        write_rendered(client, testbed)
    lost = [file for file in secret_files(testbed) if not _recovered(client, testbed, file)]
    broker = testbed.names.broker
    outdated: set[str] = set()
    if TOKEN_FILE in lost:
        observe(ProgressStep("state", "the token is lost: making a new one, which clients must read again"))
        write_token(testbed.folder)
        outdated.add(broker)
    write_authorization(testbed.folder)
    if lost_keys := [file for file in lost if file != TOKEN_FILE]:
        observe(ProgressStep("state", f"{', '.join(lost_keys)} lost: making all SSH keys anew"))
        keys.make_keys(testbed, known_heads)
        outdated |= {broker, *(cluster.container for cluster in testbed.record.clusters)}
    return frozenset(outdated)


def secret_files(testbed: TestbedState) -> dict[str, tuple[str, str] | None]:
    """Return the token and the keys by their path in the state folder, and the container and path of a copy of each."""
    broker, clusters = testbed.names.broker, testbed.record.clusters
    files: dict[str, tuple[str, str] | None] = {
        TOKEN_FILE: (broker, f"{MOUNTED_AT}/token"),
        "keys/broker": (broker, f"{MOUNTED_AT}/keys/broker"),
        "keys/known_hosts": (broker, f"{MOUNTED_AT}/keys/known_hosts"),
    }
    copy = clusters[0].container if clusters else None
    for file in ("keys/grid", "keys/authorized_keys"):
        files[file] = (copy, f"{MOUNTED_AT}/{file}") if copy else None
    return files | {
        f"keys/hosts/{cluster.name}": (cluster.container, f"{MOUNTED_AT}/keys/host") for cluster in clusters
    }


def _recovered(client: docker.DockerClient, testbed: TestbedState, file: str) -> bool:
    """Return whether a secret is there, or can be read back from a container that runs."""
    path, copy = testbed.folder / file, secret_files(testbed)[file]
    if path.is_file() and path.stat().st_size > 0:
        return True
    if copy is None:
        return False
    container, source = copy
    try:
        code, content = engine.read_output(client.containers.get(container), ["cat", source])
    except docker.errors.APIError:
        return False
    if code != 0 or not content:
        return False
    write_secret(path, content.encode())
    if file.endswith(("known_hosts", "authorized_keys")):
        path.chmod(0o644)
    return True
