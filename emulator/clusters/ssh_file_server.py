"""A site's file server: a folder of the user's home at the cluster's head, reached by SSH.

    ~/.testbed/files/TESTBED/NAME        whole files, seen under their logical names
    ~/.testbed/incoming/TESTBED/LABEL    what is being made or brought

A transfer is ordered at the target's head, whose `rsync` logs in at the source's head by its address on the wide area.
It ends when its standard input does, so it outlives neither a cancellation nor the broker. Its timestamps are taken at
the target; its output holds them.
"""

from __future__ import annotations

import hashlib
import shlex
import time
from collections.abc import Callable, Collection
from typing import Final

from emulator.clusters.file_server import Fetched, StoredFile
from emulator.clusters.passes import Admissions
from emulator.clusters.protocol import CONNECTION_LOST
from emulator.clusters.ssh import Program, SecureShell
from emulator.model.errors import ClusterUnreachable, TransferFailed
from emulator.model.real_head import SSH_PORT
from emulator.model.settings import BrokerSettings, Head

# What both scripts are wrapped in: `work` in a process group of its own, ended with the standard input; `$partial` is
# removed however that comes about.
ENDED_WITH_INPUT = """
set -m -o pipefail
cd "$HOME" && mkdir -p .testbed/files/"$testbed" .testbed/incoming/"$testbed" || exit
whole=.testbed/files/$testbed/$name partial=.testbed/incoming/$testbed/$label
trap 'rm -f -- "$partial" "$partial.key"' EXIT
{work}
work & worker=$!
{{ cat > /dev/null; kill -TERM -- "-$worker"; }} <&0 2> /dev/null & listener=$!
set +m
wait "$worker"; code=$?
{{ kill -KILL -- "-$listener"; wait "$listener"; }} 2> /dev/null
exit "$code"
"""

# The key comes first on the standard input, since every user sees the words of a command.
KEYED = """
(umask 077 && head -c "$key_bytes" > "$partial.key") || exit
"""

# A source that is gone for five minutes is given up: over a slow link even a short answer may take many seconds.
# rsync ends each report of its progress with a carriage return: the first says that it begins to receive.
FETCH = """
gone='-o ServerAliveInterval=60 -o ServerAliveCountMax=5'
receive() {
    rsync --inplace --whole-file --no-human-readable --info=progress2 --outbuf=L \\
        -e "ssh -x -p $port -o BatchMode=yes -o IPQoS=none $gone $identity" -- "$source:$whole" "$partial" |
    while IFS= read -r -d $'\\r' line; do
        read -r bytes _ <<< "$line"
        echo "received $EPOCHREALTIME ${bytes:-0}"
    done
}
work() {
    receive || return
    echo "arrived $EPOCHREALTIME $(stat -c %s -- "$partial")"
    if [[ $(openssl dgst -sha256 -r "$partial") != "$sha256 "* ]]; then
        echo "what arrived is not what $source has: its checksum differs" >&2
        return 1
    fi
    mv -f -- "$partial" "$whole"
}
"""

MAKE = """
work() {
    local free_bytes
    free_bytes=$(df --output=avail -B1 .testbed/incoming | tail -n 1)
    if (( free_bytes < size_bytes )); then
        echo "only $free_bytes bytes are free there" >&2
        return 1
    fi
    head -c "$size_bytes" /dev/zero |
        openssl enc -aes-128-ctr -K "$key" -iv 00000000000000000000000000000000 > "$partial" &&
        openssl dgst -sha256 -r "$partial" && mv -f -- "$partial" "$whole"
}
"""

# In an empty folder `*` stands for itself, which is no file's name; grep ends with 1 if nothing is kept.
TIDY = """
cd "$HOME" && mkdir -p .testbed/files/"$testbed" .testbed/incoming/"$testbed" || exit
rm -rf -- .testbed/incoming/"$testbed"
cd .testbed/files/"$testbed" || exit
keep=$(cat)
printf '%s\\n' * | grep -vxF -f <(echo "$keep") | xargs -r -d '\\n' rm -rf --
printf '%s\\n' * | grep -xF -f <(echo "$keep") || (( $? == 1 ))
"""

FREE_BYTES = 'df --output=avail -B1 "$HOME" | tail -n 1'


def fetch_command(testbed: str, file: StoredFile, source: str, label: str, key: str = "") -> str:
    """Return the shell command that fetches `file` from the file server `source`: user@host or user@host:port.

    A private `key` by which it logs in is expected on its standard input, and removed in the end.
    """
    login, _, port = source.partition(":")
    values = {"testbed": testbed, "name": file.name, "label": label, "source": login, "sha256": file.sha256}
    values["port"] = port or str(SSH_PORT)
    values["key_bytes"] = str(len(key.encode()))
    # A label has no character that means anything to rsync, which divides this option at its spaces.
    values["identity"] = f"-o IdentitiesOnly=yes -i .testbed/incoming/{testbed}/{label}.key" if key else ""
    return _bash(ENDED_WITH_INPUT.format(work=f"{KEYED}{FETCH}" if key else FETCH), values)


def make_command(testbed: str, name: str, size_bytes: int, seed: int) -> str:
    """Return the shell command that makes a file and prints its checksum."""
    key = hashlib.sha256(f"{seed} {name}".encode()).hexdigest()[:32]
    values = {"testbed": testbed, "name": name, "label": f"make-{name}", "key": key, "size_bytes": str(size_bytes)}
    return _bash(ENDED_WITH_INPUT.format(work=MAKE), values)


def tidy_command(testbed: str) -> str:
    """Return the shell command that removes all files not named on its standard input, and prints which exist."""
    return _bash(TIDY, {"testbed": testbed})


def remove_command(testbed: str, name: str) -> str:
    """Return the shell command that removes a file."""
    return f'rm -f -- "$HOME"/.testbed/files/{shlex.quote(testbed)}/{shlex.quote(name)}'


CLOCK_SET_HOST_S: Final = 10.0
"""If the two ends of a transfer are further apart by the wall clock than by the monotonic one, the former was set."""


class SshTransfer:
    """A transfer in progress at its target's head."""

    def __init__(self, program: Program, file: StoredFile, site: str) -> None:
        self._program = program
        self._file = file
        self._site = site

    def wait(self, on_progress: Callable[[int], None]) -> Fetched:
        """Wait for its end."""
        host_began_s = host_arrived_s = None
        first_line_host_s = last_line_host_s = time.monotonic()
        for line in self._program.lines():
            kind, host_moment_s, size_bytes = line.split()
            if host_began_s is None:
                host_began_s, first_line_host_s = float(host_moment_s), time.monotonic()
            host_arrived_s, last_line_host_s = float(host_moment_s) if kind == "arrived" else None, time.monotonic()
            on_progress(int(size_bytes))
        code = self._program.exit_code()
        if code == CONNECTION_LOST:
            raise ClusterUnreachable(f"Cluster {self._site!r} was lost while file {self._file.name!r} came there.")
        if code != 0 or host_began_s is None or host_arrived_s is None:
            reason = _first_line(self._program.error_text())
            raise TransferFailed(f"File {self._file.name!r} did not come to {self._site!r}: {reason}.")
        host_duration_s = host_arrived_s - host_began_s
        if abs(host_duration_s - (last_line_host_s - first_line_host_s)) > CLOCK_SET_HOST_S:
            # The wall clock was set meanwhile: what passed here is right, to within the lines' way to here.
            host_began_s = host_arrived_s - (last_line_host_s - first_line_host_s)
        return Fetched(self._file.size_bytes, host_began_s, host_arrived_s)

    def cancel(self) -> None:
        """End its standard input, which makes it end and clean up."""
        self._program.end_input()


class SshFileServer:
    """The file server of one site, reached at its cluster's head."""

    def __init__(self, head: Head, settings: BrokerSettings) -> None:
        self._head = head
        self._testbed = settings.testbed
        self._shell = SecureShell(head, settings)
        self._admissions = Admissions(head.cluster, settings.testbed, self._shell) if head.real else None

    @property
    def is_real(self) -> bool:
        """Whether its head is a machine of its own."""
        return self._admissions is not None

    @property
    def site(self) -> str:
        """The name of its cluster."""
        return self._head.cluster

    @property
    def address(self) -> str:
        """The address and user by which the other sites reach it."""
        port = "" if self._head.port == SSH_PORT else f":{self._head.port}"
        return f"{self._head.user}@{self._head.file_address or self._head.address}{port}"

    def free_bytes(self) -> int:
        """Ask the head for the free bytes of its user's home."""
        completed = self._shell.execute(FREE_BYTES)
        if not completed.output.strip().isdigit():
            reason = _first_line(completed.error or completed.output)
            raise ClusterUnreachable(f"Cluster {self.site!r}: its free disk space could not be read: {reason}.")
        return int(completed.output)

    def make(self, name: str, size_bytes: int, seed: int) -> StoredFile:
        """Make a file out of a key stream, and read its checksum."""
        program = self._shell.open_program(make_command(self._testbed, name, size_bytes, seed), script=None)
        words = [line.split()[0] for line in program.lines()]
        code = program.exit_code()
        if code == CONNECTION_LOST:
            raise ClusterUnreachable(f"Cluster {self.site!r} was lost while file {name!r} was made there.")
        if code != 0 or len(words) != 1:
            reason = _first_line(program.error_text())
            raise TransferFailed(f"File {name!r} of {size_bytes} bytes could not be made at {self.site!r}: {reason}.")
        return StoredFile(name, size_bytes, words[0])

    def admit(self, use: str, public_key: str) -> None:
        """Let a key in at a real head; the containers' own key opens a container."""
        if self._admissions is not None:
            self._admissions.admit(use, public_key)

    def dismiss(self, use: str) -> None:
        """No longer let in the key of `use`."""
        if self._admissions is not None:
            self._admissions.dismiss(use)

    def fetch(self, file: StoredFile, source: str, label: str, key: str = "") -> SshTransfer:
        """Start the transfer at this head."""
        command = fetch_command(self._testbed, file, source, label, key)
        return SshTransfer(self._shell.open_program(command, key, stays_open=True), file, self.site)

    def remove(self, name: str) -> None:
        """Remove the file of that name."""
        self._shell.execute(remove_command(self._testbed, name))

    def tidy(self, keep: Collection[str]) -> frozenset[str]:
        """Remove everything but `keep`."""
        completed = self._shell.execute(tidy_command(self._testbed), "".join(f"{name}\n" for name in sorted(keep)))
        if completed.exit_code != 0:
            raise ClusterUnreachable(
                f"Cluster {self.site!r}: its files could not be listed: {_first_line(completed.error)}."
            )
        return frozenset(completed.output.split())

    def close(self) -> None:
        """Hang up, which ends the transfers under way."""
        self._shell.close()


def _bash(script: str, values: dict[str, str]) -> str:
    settings = "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
    # With a decimal comma in the head's locale, bash would print timestamps with a comma.
    settings += "export LC_ALL=C\n"
    return f"exec bash -c {shlex.quote(settings + script)}"


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0].rstrip(".") if lines else "it was ended"
