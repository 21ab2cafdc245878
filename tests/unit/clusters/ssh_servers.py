"""SSH servers on this host's loopback: OpenSSH's own where it is installed, and one in this process in any case."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import paramiko
import pytest

USER = getpass.getuser()
STARTS_WITHIN_HOST_S = 20.0


class Server(Protocol):
    """A server; it lets `USER` in with the public keys in its file, and forwards connections."""

    port: int
    host_key: paramiko.PKey

    def logins(self) -> int:
        """How often somebody was let in."""
        ...

    def stop(self) -> None:
        """End it, with its connections."""
        ...


class OwnServer:
    """A server in this process."""

    def __init__(self, authorized: Path, *, further: str = "", forwards: bool = True) -> None:
        self.host_key: paramiko.PKey = paramiko.ECDSAKey.generate()
        self.authorized, self.further, self.forwards = authorized, further, forwards
        self.let_in = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._transports: list[paramiko.Transport] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def logins(self) -> int:
        return self.let_in

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listening.close()
        self.drop()

    def drop(self) -> None:
        """Hang up on everybody."""
        for transport in self._transports:
            transport.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                accepted, _ = self._listening.accept()
                with contextlib.suppress(OSError, EOFError, paramiko.SSHException):  # of a client that hangs up
                    transport = paramiko.Transport(accepted)
                    self._transports.append(transport)
                    transport.add_server_key(self.host_key)
                    transport.start_server(server=_Session(self, transport))


class _Session(paramiko.ServerInterface):
    def __init__(self, server: OwnServer, transport: paramiko.Transport) -> None:
        self._server, self._transport = server, transport

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        listed = [line.split()[1] for line in self._server.authorized.read_text().splitlines()]
        if username != USER or key.get_base64() not in listed:
            return paramiko.AUTH_FAILED
        self._server.let_in += 1
        return paramiko.AUTH_PARTIALLY_SUCCESSFUL if self._server.further else paramiko.AUTH_SUCCESSFUL

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.OPEN_SUCCEEDED

    def check_channel_direct_tcpip_request(
        self, chanid: int, origin: tuple[str, int], destination: tuple[str, int]
    ) -> int:
        if not self._server.forwards:
            return paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED
        try:
            outward = socket.create_connection(destination, timeout=5)
        except OSError:
            return paramiko.OPEN_FAILED_CONNECT_FAILED
        threading.Thread(target=self._carry, args=(outward,), daemon=True).start()
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        def run() -> None:
            # The client ends its input once it knows that the command runs.
            said = channel.makefile("rb").read()
            ended = subprocess.run(["sh", "-c", command.decode()], input=said, capture_output=True)
            channel.sendall(ended.stdout)
            channel.send_exit_status(ended.returncode)
            channel.close()

        threading.Thread(target=run, daemon=True).start()
        return True

    def _carry(self, outward: socket.socket) -> None:
        channel = self._transport.accept(5)
        outward.settimeout(None)

        def copy(source: socket.socket | paramiko.Channel, target: socket.socket | paramiko.Channel) -> None:
            with contextlib.suppress(OSError, EOFError):
                while data := source.recv(32768):
                    target.sendall(data)
            for end in (target, source):
                with contextlib.suppress(OSError, EOFError):
                    end.close()

        threading.Thread(target=copy, args=(outward, channel), daemon=True).start()
        copy(channel, outward)


class OpenSshServer:
    """OpenSSH's sshd, which ends with the test."""

    def __init__(self, authorized: Path, folder: Path) -> None:
        folder.mkdir(parents=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "host"], check=True)
        self.host_key: paramiko.PKey = paramiko.PKey.from_path(folder / "host")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        lines = {
            "Port": self.port, "ListenAddress": "127.0.0.1", "HostKey": folder / "host", "PidFile": "none",
            "AuthorizedKeysFile": authorized, "StrictModes": "no", "UsePAM": "no", "PasswordAuthentication": "no",
            "PermitRootLogin": "prohibit-password",
        }  # fmt: skip
        (folder / "config").write_text("".join(f"{key} {value}\n" for key, value in lines.items()))
        self._log = folder / "log"
        program = shutil.which("sshd") or "sshd"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [program, "-D", "-e", "-f", folder / "config"], stderr=log, stdin=subprocess.DEVNULL
            )
        self._await_start()

    def logins(self) -> int:
        return self._log.read_text().count("Accepted publickey")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)

    def _await_start(self) -> None:
        give_up = time.monotonic() + STARTS_WITHIN_HOST_S
        while "Server listening" not in self._log.read_text():
            if self._process.poll() is not None:
                pytest.skip(f"sshd cannot run here: {self._log.read_text().strip()}")
            if time.monotonic() > give_up:
                self.stop()
                pytest.fail("sshd did not start")
            time.sleep(0.05)


def ssh_reads(config: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an `ssh` on the path that reads `config`, as the user's own does `~/.ssh/config`, and nothing else."""
    program = folder / "ssh"
    folder.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {config} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


class Agent:
    """A real ssh-agent."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.socket = folder / "agent"
        self._process = subprocess.Popen(["ssh-agent", "-D", "-a", self.socket], stdout=subprocess.DEVNULL)
        give_up = time.monotonic() + STARTS_WITHIN_HOST_S
        while not self.socket.exists():
            assert time.monotonic() < give_up, "ssh-agent did not start"
            time.sleep(0.02)

    def add(self, files: Sequence[Path]) -> None:
        environment = {**os.environ, "SSH_AUTH_SOCK": str(self.socket)}
        subprocess.run(["ssh-add", "-q", *files], env=environment, check=True)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)


def make_key(file: Path, passphrase: str = "", kind: str = "ed25519") -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", file.name, "-f", file], check=True)
    return file
