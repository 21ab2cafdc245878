"""The SSH keys of a testbed, made in the node image (the host needs no ssh-keygen) and kept in its state.

keys/broker             the broker's private key
keys/grid               the private key that clusters use to reach each other
keys/hosts/CLUSTER      a head's private host key
keys/authorized_keys    the two public keys that every head accepts
keys/known_hosts        every head's public key, by its address and names; a real head's as it was checked
keys/grid.pub           the key that a real head must accept for jobs that span it and containers
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import docker
import docker.errors

from emulator.containers import engine
from emulator.containers.names import LABEL, ROLE_LABEL
from emulator.containers.state import TestbedState, write_secret
from emulator.model.errors import EngineUnavailable

# Prints {name: [private, public]} for each name given.
_GENERATE = """
import json, pathlib, subprocess, sys
made = {}
for name in sys.argv[1:]:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", f"/tmp/{name}"], check=True)
    made[name] = [pathlib.Path(f"/tmp/{name}{end}").read_text() for end in ("", ".pub")]
print(json.dumps(made))
"""


def make_keys(client: docker.DockerClient, state: TestbedState, node_image: str, known_heads: Sequence[str]) -> None:
    """Make every key of a testbed and write it into its state.

    `known_heads` are the known-hosts lines of real heads.

    Raises:
        EngineUnavailable: if the container that makes them fails.
    """
    users = ("broker", "grid")
    heads = [cluster.name for cluster in state.record.clusters]
    made = _generate(client, state.record.name, node_image, [*users, *(f"host-{name}" for name in heads)])
    folder = state.folder / "keys"
    for user in users:
        write_secret(folder / user, made[user][0].encode())
    _write_public(folder / "authorized_keys", "".join(made[user][1] for user in users))
    _write_public(folder / "grid.pub", made["grid"][1])
    lines = [f"{line}\n" for line in known_heads]
    for cluster in state.record.clusters:
        private, public = made[f"host-{cluster.name}"]
        write_secret(folder / "hosts" / cluster.name, private.encode())
        kind, key = public.split()[:2]
        lines.append(f"{cluster.head},{cluster.site},{cluster.name},{cluster.container} {kind} {key}\n")
    _write_public(folder / "known_hosts", "".join(lines))


def _generate(client: docker.DockerClient, testbed: str, node_image: str, names: Sequence[str]) -> dict[str, list[str]]:
    command = ["python3", "-c", _GENERATE, *names]
    try:
        output = engine.output_of(client, node_image, command, {LABEL: testbed, ROLE_LABEL: "keys"})
    except docker.errors.APIError as error:
        raise EngineUnavailable(f"The testbed's SSH keys could not be made: {error}.") from error
    made: dict[str, list[str]] = json.loads(output)
    return made


def _write_public(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o644)
