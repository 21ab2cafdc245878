"""`put`: what is copied into the home folders, and what is refused in a sentence before anything is copied."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import docker.errors
import pytest

from emulator.containers.hosts import connecting
from emulator.containers.names import USER
from emulator.containers.state import ClusterRecord, TestbedRecord, remember
from emulator.model.project import PROJECT_ROOT

WITH_REAL = """
name: mixed
processor: native
clusters:
  - {name: delft, nodes: 4, access_link: {up_mbit: 10, down_mbit: 10}}
  - {name: das, nodes: 4, ssh: {address: alice@fs0.example.org, key: /keys/das}}
default_link: {delay_s: 0.001}
"""


class Container:
    """A container that keeps what is copied into it."""

    def __init__(self) -> None:
        self.status = "running"
        self.copied: dict[str, tuple[bytes, int, int]] = {}

    def put_archive(self, folder: str, archive: io.BufferedIOBase) -> None:
        with tarfile.open(fileobj=archive) as opened:
            for entry in opened:
                self.copied[f"{folder}/{entry.name}"] = (opened.extractfile(entry).read(), entry.mode, entry.uid)


class Engine:
    """An engine with the containers of `mini`."""

    def __init__(self) -> None:
        self.containers = self
        self.running = {f"testbed-{name}": Container() for name in ("amsterdam", "delft", "leiden", "utrecht")}

    def get(self, name: str) -> Container:
        if name not in self.running:
            raise docker.errors.NotFound(name)
        return self.running[name]


@pytest.fixture
def engine(call, monkeypatch) -> Engine:
    found = Engine()
    monkeypatch.setattr(connecting, "engine_of", lambda record: found)
    up((PROJECT_ROOT / "compose" / "mini.yaml").read_text())
    Path("ring").write_bytes(b"\x7fELF")
    Path("ring").chmod(0o755)
    Path("data.txt").write_text("1 2 3\n")
    Path("data.txt").chmod(0o600)
    return found


def up(topology: str) -> None:
    clusters = (ClusterRecord(name="delft", container="testbed-delft", head="10.111.0.10", site="10.111.128.10"),)
    record = TestbedRecord(
        name="testbed", second_octet=111, api_port=8470, router_backend="auto", user=USER,
        control_network="10.111.0.0/24", all_sites="10.111.128.0/17", clusters=clusters, images={},
    )  # fmt: skip
    remember(record, topology)


def test_files_go_to_the_home_of_every_cluster_with_their_executable_bit(call, engine):
    code, output, errors = call("put", "ring", "data.txt")
    assert (code, output, errors) == (
        0, "/home/researcher of amsterdam, delft, leiden, utrecht: ring, data.txt\n", "",
    )  # fmt: skip
    for container in engine.running.values():
        assert container.copied == {
            "/home/researcher/ring": (b"\x7fELF", 0o755, 1000),
            "/home/researcher/data.txt": (b"1 2 3\n", 0o644, 1000),
        }


def test_a_file_s_name_may_be_no_text(call, engine):
    Path("caf\udce9").write_text("")
    code, output, _ = call("put", "caf\udce9", "--to", "delft")
    assert (code, output.splitlines()) == (0, ["/home/researcher of delft: caf\\udce9"])


def test_only_the_named_clusters_get_them(call, engine):
    assert call("put", "ring", "--to", "leiden,Delft") == (0, "/home/researcher of leiden, delft: ring\n", "")
    assert {name for name, container in engine.running.items() if container.copied} == {
        "testbed-leiden", "testbed-delft",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nope"], "nope: there is no such file."),
        (["."], ".: is a folder; name files"),
        (["ring", "other/ring"], "other/ring: would replace ring in the home folder (rename one of them)."),
        (["ring", "--to", "deflt"], "There is no cluster 'deflt' (known: amsterdam, delft, leiden, utrecht; did you"),
        (["ring", "--name", "lab"], "No testbed called 'lab' is running (bring one up with `testbed up`)."),
    ],
)
def test_what_cannot_be_copied_is_refused_in_one_sentence_before_anything_is(call, engine, words, said):
    Path("other").mkdir()
    Path("other/ring").write_text("")
    code, output, errors = call("put", *words)
    assert code == 1
    assert output == ""
    assert said in errors
    assert errors.count("\n") == 1
    assert not any(container.copied for container in engine.running.values())


def test_a_cluster_that_does_not_run_is_named(call, engine):
    engine.running["testbed-delft"].status = "exited"
    assert "The container testbed-delft is exited" in call("put", "ring", "--to", "delft")[2]
    del engine.running["testbed-delft"]
    assert "The container testbed-delft is gone" in call("put", "ring", "--to", "delft")[2]


def test_a_real_cluster_gets_nothing_and_that_is_said(call, engine):
    up(WITH_REAL)
    code, output, errors = call("put", "ring")
    assert (code, output) == (0, "/home/researcher of delft: ring\n")
    assert errors == "Cluster 'das' is real, and got nothing: copy the files there yourself.\n"
    code, _, errors = call("put", "ring", "--to", "das")
    assert code == 1
    assert "Cluster 'das' is real: copy the files there yourself, as you log in (`ssh" in errors
