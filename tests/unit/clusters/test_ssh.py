"""A head's commands over SSH, on this host's loopback: whatever one does, whoever asked gets an answer or an error."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import paramiko
import pytest

from emulator.clusters import ssh
from emulator.clusters.ssh import Completed, SecureShell
from emulator.model.errors import ClusterUnreachable
from emulator.model.settings import BrokerSettings, Head

WITHIN_HOST_S = 60.0
MOST_SESSIONS = 3
UNANSWERED = b"unanswered"
UNANSWERED_FOR_HOST_S = 10.0


def answer(channel: paramiko.Channel) -> None:
    script = channel.makefile("rb").read()
    channel.sendall(b"given " + script)
    channel.sendall_stderr(b"complaint")
    channel.send_exit_status(3)
    channel.close()


def write_without_end(channel: paramiko.Channel) -> None:
    while True:
        channel.sendall(b"x" * 10_000)


def drip(channel: paramiko.Channel) -> None:
    while True:
        channel.sendall(b"x")
        time.sleep(0.05)


def stay_after_the_last_word(channel: paramiko.Channel) -> None:
    channel.shutdown_write()


def fall_silent(channel: paramiko.Channel) -> None:
    channel.sendall(b"first\n")


COMMANDS: dict[bytes, Callable[[paramiko.Channel], None]] = {
    each.__name__.encode(): each for each in (answer, write_without_end, drip, stay_after_the_last_word, fall_silent)
}


class Commands(paramiko.ServerInterface):
    """A server that lets everybody in, has a few commands, and lets a connection have a few sessions in all."""

    def __init__(self) -> None:
        self.sessions = 0

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return paramiko.AUTH_SUCCESSFUL

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        self.sessions += 1
        return paramiko.OPEN_SUCCEEDED if self.sessions <= MOST_SESSIONS else paramiko.OPEN_FAILED_CONNECT_FAILED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        if command == UNANSWERED:
            time.sleep(UNANSWERED_FOR_HOST_S)
            return False
        threading.Thread(target=self._run, args=(channel, command), daemon=True).start()
        return True

    def _run(self, channel: paramiko.Channel, command: bytes) -> None:
        with contextlib.suppress(OSError, EOFError):
            COMMANDS[command](channel)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[SecureShell]:
    host_key = paramiko.ECDSAKey.generate()
    paramiko.ECDSAKey.generate().write_private_key_file(str(tmp_path / "key"))
    listening = socket.create_server(("127.0.0.1", 0))
    port = int(listening.getsockname()[1])
    known = f"[127.0.0.1]:{port} {host_key.get_name()} {host_key.get_base64()}\n"
    (tmp_path / "known_hosts").write_text(known)
    served: list[paramiko.Transport] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                served.append(transport := paramiko.Transport(listening.accept()[0]))
                transport.add_server_key(host_key)
                with contextlib.suppress(paramiko.SSHException, EOFError):
                    transport.start_server(server=Commands())

    threading.Thread(target=serve, daemon=True).start()
    head = Head(cluster="das", address="127.0.0.1", port=port, user="alice")
    files = dict.fromkeys(("topology_file", "token_file", "journal_file"), Path("/nowhere"))
    settings = BrokerSettings(
        testbed="t", heads=(head,), key_file=tmp_path / "key", known_hosts_file=tmp_path / "known_hosts", **files
    )
    shell = SecureShell(head, settings)
    yield shell
    shell.close()
    listening.close()
    for transport in served:
        transport.close()


def test_a_command_s_streams_and_exit_code_come_back(shell: SecureShell) -> None:
    assert shell.execute("answer", "words") == Completed("given words", "complaint", 3)


@pytest.mark.parametrize("command", ["drip", "stay_after_the_last_word"])
def test_a_command_that_does_not_end_is_given_up_though_it_writes_or_has_nothing_to_say(
    shell: SecureShell, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    shell.execute("answer")  # the login is not what is timed
    monkeypatch.setattr(ssh, "COMMAND_TIMEOUT_HOST_S", 1.0)
    asked_host_s = time.monotonic()
    with pytest.raises(ClusterUnreachable, match=r"'das' stopped answering \(a command did not end in time\)"):
        shell.execute(command)
    assert time.monotonic() - asked_host_s < WITHIN_HOST_S


def test_a_request_that_the_head_never_answers_is_given_up(shell: SecureShell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.execute("answer")
    monkeypatch.setattr(ssh, "COMMAND_TIMEOUT_HOST_S", 1.0)
    asked_host_s = time.monotonic()
    with pytest.raises(ClusterUnreachable, match=r"'das' cannot be reached at 127\.0\.0\.1 \(Channel closed\.\)"):
        shell.open_program(UNANSWERED.decode())
    assert time.monotonic() - asked_host_s < UNANSWERED_FOR_HOST_S


def test_a_program_that_is_silent_for_too_long_is_lost(shell: SecureShell) -> None:
    """Of a head that died behind a jump host nobody tells."""
    assert list(shell.open_program("fall_silent").lines(silent_host_s=0.5)) == ["first"]


def test_programs_that_a_connection_has_no_room_for_get_another_one(shell: SecureShell) -> None:
    """OpenSSH lets a connection have ten sessions, and a head runs more jobs than that."""
    programs = [shell.open_program("answer", f"{number}\n") for number in range(3 * MOST_SESSIONS + 1)]
    assert [list(program.lines()) for program in programs] == [[f"given {number}"] for number in range(len(programs))]
    assert shell.execute("answer", "words").output == "given words"


def test_a_command_that_writes_without_end_costs_bounded_memory(
    shell: SecureShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "LARGEST_ANSWER_BYTES", 1024**2)
    with pytest.raises(ClusterUnreachable, match="a command wrote more than 1 MiB"):
        shell.execute("write_without_end")
    assert shell.execute("answer", "words").output == "given words", "the connection goes on"
