"""Keys with which what runs in a container logs in at real heads: made for one job or transfer, and removed after it.

A real head gets the public key as a line of the account's ``~/.ssh/authorized_keys``. It lets the key run commands and
nothing else, and its last word names testbed and use, by which it is removed. What a killed broker has left is removed
when the head is found again. Other lines stay as they are: the file is replaced as a whole, under a lock.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from emulator.clusters.ssh import SecureShell
from emulator.model.errors import ClusterUnreachable, TestbedError
from emulator.model.escapes import last_line
from emulator.model.ssh_keys import key_pair

log = logging.getLogger(__name__)

# The file may be missing, may be a link, and may lack the end of its last line.
EDIT: Final = """
umask 077
cd "$HOME" && mkdir -p .ssh .testbed && file=$(readlink -f .ssh/authorized_keys) && [ ! -d "$file" ] || exit
{unless_needed}
exec 9> .testbed/passes.lock && flock -w {lock_host_s} 9 || exit
made=$(mktemp "$file.XXXXXX") || exit
trap 'rm -f -- "$made"' EXIT
kept() {{ [ ! -e "$file" ] || awk {condition} "$file"; }}
{{ kept && printf %s {added}; }} > "$made" && {{ [ ! -e "$file" ] || chmod --reference="$file" "$made"; }} &&
mv -f -- "$made" "$file"
"""
LOCK_HOST_S: Final = 20
UNLESS_THERE: Final = '{{ [ -e "$file" ] && grep -qF -- {mark} "$file"; }} || exit 0'


class Door(Protocol):
    """A head that can let a key in."""

    def admit(self, use: str, public_key: str) -> None:
        """Let the holder of a key run commands, until `dismiss`.

        Raises:
            ClusterUnreachable: if the head does not answer, or refuses.
        """
        ...

    def dismiss(self, use: str) -> None:
        """No longer let in the key that was admitted for `use`.

        Raises:
            ClusterUnreachable: if it may still be let in.
        """
        ...


class Admissions:
    """The keys that the real head of `cluster` lets in for `testbed`, changed over `shell`."""

    def __init__(self, cluster: str, testbed: str, shell: SecureShell) -> None:
        self._cluster = cluster
        self._own = f"multicluster-testbed/{testbed}/"
        self._shell = shell

    def admit(self, use: str, public_key: str) -> None:
        """Add a key."""
        self._edit("1", f"restrict {public_key} {self._own}{use}\n")

    def dismiss(self, use: str) -> None:
        """Remove the key of one use."""
        self._edit(f'$NF != "{self._own}{use}"', mark=f"{self._own}{use}")

    def dismiss_all(self) -> None:
        """Remove the keys of all uses."""
        self._edit(f'index($NF, "{self._own}") != 1', mark=self._own)

    def _edit(self, condition: str, added: str = "", mark: str = "") -> None:
        unless_needed = UNLESS_THERE.format(mark=shlex.quote(mark)) if mark else ""
        script = EDIT.format(
            unless_needed=unless_needed,
            lock_host_s=LOCK_HOST_S,
            condition=shlex.quote(condition),
            added=shlex.quote(added),
        )
        edited = self._shell.execute(f"bash -c {shlex.quote(script)}")
        if edited.exit_code != 0:
            raise ClusterUnreachable(
                f"Cluster {self._cluster!r}: ~/.ssh/authorized_keys of its account could not be changed, by which jobs "
                f"and files of containers come there: {last_line(edited.error)}."
            )


@contextmanager
def passing(use: str, doors: Collection[Door]) -> Iterator[str]:
    """Make a private key that opens `doors` as long as the context lasts, as OpenSSH keeps it; empty without doors.

    Raises:
        ClusterUnreachable: if one of them cannot let it in.
    """
    if not doors:
        yield ""
        return
    private_key, public_key = key_pair()
    try:
        for door in doors:
            door.admit(use, public_key)
        yield private_key.decode()
    finally:
        for door in doors:
            _dismiss(door, use)


def _dismiss(door: Door, use: str) -> None:
    try:
        door.dismiss(use)
    except TestbedError as error:
        log.warning("the key of %s is removed when the cluster is next found: %s", use, error)
