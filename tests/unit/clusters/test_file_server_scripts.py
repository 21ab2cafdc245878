"""A site's file server as its head runs it: the real scripts in folders, with a stand-in for rsync that can stall."""

import hashlib
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

from emulator.clusters.file_server import StoredFile
from emulator.clusters.ssh_file_server import (
    FREE_BYTES,
    SshFileServer,
    fetch_command,
    make_command,
    remove_command,
    tidy_command,
)
from emulator.model.settings import BrokerSettings, Head

# Reads the folder named as its host and, as the real one, tells its progress between carriage returns.
RSYNC = """#!/bin/bash
target=${@: -1} source=${@: -2:1}
printf '%s\\n' "$@" > "$(dirname "$0")/rsync.said"
printf '\\r'
head -c 4 "${source%%:*}/${source#*:}" > "$target" || exit 23
printf '              4  40%%   1.00kB/s    0:00:01  \\r'
[ ! -e "$STALL" ] || sleep 60
cat "${source%%:*}/${source#*:}" > "$target"
printf '%s 100%%\\r' "$(stat -c %s "$target")"
"""


class Site:
    """The home of a head's user."""

    def __init__(self, folder: Path, name: str) -> None:
        self.home = folder / name
        self.home.mkdir()
        self._folder = folder
        program = folder / "bin" / "rsync"
        program.parent.mkdir(exist_ok=True)
        program.write_text(RSYNC)
        program.chmod(0o755)

    def begin(self, command: str) -> subprocess.Popen[str]:
        environment = {
            "PATH": f"{self._folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "STALL": str(self._folder / "stall"),
        }
        pipe = subprocess.PIPE
        return subprocess.Popen(
            ["bash", "-c", command], env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    def run(self, command: str) -> tuple[int, list[str], str]:
        """Exit code, lines of output and errors of a command whose standard input stays open until it ends."""
        running = self.begin(command)
        output, errors = running.stdout.read(), running.stderr.read()
        return running.wait(timeout=30), output.splitlines(), errors

    def make(self, name: str, size_bytes: int, seed: int = 0) -> StoredFile:
        code, lines, errors = self.run(make_command("t", name, size_bytes, seed))
        assert code == 0, errors
        return StoredFile(name, size_bytes, lines[0].split()[0])

    @property
    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.home / ".testbed/files/t").glob("*")}

    @property
    def incoming(self) -> list[str]:
        return sorted(path.name for path in (self.home / ".testbed/incoming/t").glob("*"))


@pytest.fixture
def source(tmp_path):
    return Site(tmp_path, "source")


@pytest.fixture
def target(tmp_path):
    return Site(tmp_path, "target")


def fetched(target: Site, file: StoredFile, source: Site, port: str = "") -> tuple[int, list[str], str]:
    return target.run(fetch_command("t", file, f"{source.home}{port}", "one"))


def test_a_file_is_made_of_bytes_that_its_name_and_seed_alone_say(source, target):
    here, there = source.make("input", 100_000, seed=7), target.make("input", 100_000, seed=7)
    assert here == there
    assert source.files["input"] == target.files["input"]
    assert hashlib.sha256(source.files["input"]).hexdigest() == here.sha256
    assert source.make("input", 100_000, seed=8).sha256 != here.sha256
    assert len(source.files["input"]) == 100_000
    assert len(set(source.files["input"])) == 256
    assert source.incoming == []


def test_a_file_for_which_there_is_no_room_is_not_begun(source):
    code, lines, errors = source.run(make_command("t", "input", 10**18, 0))
    assert (code, lines, source.files, source.incoming) == (1, [], {}, [])
    assert "bytes are free" in errors


def test_a_fetched_file_is_what_its_source_has_and_its_moments_are_said(source, target):
    file = source.make("input", 1000)
    code, lines, errors = fetched(target, file, source)
    assert (code, errors) == (0, "")
    assert target.files == source.files
    assert target.incoming == []
    said = [(kind, int(size_bytes)) for kind, _, size_bytes in map(str.split, lines)]
    assert said == [("received", 0), ("received", 4), ("received", 1000), ("arrived", 1000)]
    timestamps = [float(line.split()[1]) for line in lines]
    assert timestamps == sorted(timestamps)
    assert timestamps[-1] == pytest.approx(time.time(), abs=60)


@pytest.mark.parametrize(("port", "option"), [("", "-p 22 "), (":2222", "-p 2222 ")])
def test_a_source_is_reached_at_the_port_of_its_head(source, target, tmp_path, port, option):
    code, _, errors = fetched(target, source.make("input", 1000), source, port)
    assert (code, errors) == (0, "")
    assert target.files == source.files
    assert option in (tmp_path / "bin" / "rsync.said").read_text()


def test_a_key_for_the_source_comes_on_the_standard_input_and_goes_with_the_transfer(source, target, tmp_path):
    file, key = source.make("input", 1000), "-----BEGIN KEY-----\nno word of a command\n"
    command = fetch_command("t", file, str(source.home), "one", key)
    assert "no word" not in command
    (tmp_path / "stall").touch()
    running = target.begin(command)
    running.stdin.write(key)
    running.stdin.flush()
    assert running.stdout.readline()
    kept = target.home / ".testbed/incoming/t/one.key"
    assert (kept.read_text(), stat.S_IMODE(kept.stat().st_mode)) == (key, 0o600)
    options = (tmp_path / "bin" / "rsync.said").read_text()
    assert "-o IdentitiesOnly=yes -i .testbed/incoming/t/one.key\n" in options
    running.stdin.close()
    assert running.wait(timeout=60) != 0
    assert (target.files, target.incoming) == ({}, [])


def test_without_a_key_none_is_named(source, target, tmp_path):
    assert fetched(target, source.make("input", 1000), source)[0] == 0
    assert "-i " not in (tmp_path / "bin" / "rsync.said").read_text()


def test_the_address_of_a_file_server_says_its_port_where_it_is_not_the_usual_one():
    files = ("topology_file", "token_file", "key_file", "known_hosts_file", "journal_file")
    usual = Head(cluster="das", address="fs0.das.example", user="alice")
    other = usual.model_copy(update={"port": 2222})
    settings = BrokerSettings(testbed="t", heads=(usual,), **dict.fromkeys(files, Path("/nowhere")))
    assert SshFileServer(usual, settings).address == "alice@fs0.das.example"
    assert SshFileServer(other, settings).address == "alice@fs0.das.example:2222"


def test_what_is_not_what_its_source_registered_is_never_seen(source, target):
    file = source.make("input", 1000)
    (source.home / ".testbed/files/t/input").write_bytes(b"something else")
    code, _, errors = fetched(target, file, source)
    assert code == 1
    assert "its checksum differs" in errors
    assert (target.files, target.incoming) == ({}, [])


def test_a_file_that_the_source_lacks_leaves_nothing(source, target):
    code, _, errors = fetched(target, StoredFile("nothing", 10, "0" * 64), source)
    assert code == 23
    assert "No such file" in errors
    assert (target.files, target.incoming) == ({}, [])


def test_while_it_comes_it_has_no_name_and_when_its_input_ends_nothing_is_left(source, target, tmp_path):
    file = source.make("input", 1000)
    (tmp_path / "stall").touch()
    running = target.begin(fetch_command("t", file, str(source.home), "one"))
    assert running.stdout.readline().split()[2] == "0"
    assert running.stdout.readline().split()[2] == "4"
    assert (target.files, target.incoming) == ({}, ["one"])
    running.stdin.close()
    assert running.wait(timeout=60) != 0
    assert (target.files, target.incoming) == ({}, [])
    assert running.stdout.read() == ""


def test_tidying_leaves_what_is_to_be_kept_and_says_what_of_it_is_there(target):
    for name in ("kept", "left-behind"):
        target.make(name, 10)
    (target.home / ".testbed/incoming/t/half").write_bytes(b"half")
    running = target.begin(tidy_command("t"))
    output, errors = running.communicate("kept\nmissing\n", timeout=30)
    assert (running.returncode, output.split(), errors) == (0, ["kept"], "")
    assert list(target.files) == ["kept"]
    assert target.incoming == []


@pytest.mark.parametrize("files", [0, 5_000])
@pytest.mark.parametrize("kept", [[], ["file-0", "file-4999"]])
def test_however_many_files_there_are_all_but_the_kept_ones_are_removed(target, files, kept):
    folder = target.home / ".testbed/files/t"
    folder.mkdir(parents=True)
    for number in range(files):
        (folder / f"file-{number}").touch()
    there = kept if files else []
    running = target.begin(tidy_command("t"))
    output, errors = running.communicate("".join(f"{name}\n" for name in kept), timeout=60)
    assert (running.returncode, sorted(output.split()), errors) == (0, there, "")
    assert sorted(target.files) == there


def test_removing_a_file_twice_is_no_error(target):
    target.make("input", 10)
    for _ in range(2):
        assert target.run(remove_command("t", "input"))[0] == 0
    assert target.files == {}


def test_the_free_bytes_are_those_of_the_disk_of_the_home(source):
    code, lines, _ = source.run(FREE_BYTES)
    assert code == 0
    assert 0 < int(lines[0]) <= shutil.disk_usage(source.home).total
