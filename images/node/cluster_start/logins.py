"""Who may log in and prove who they are: the keys of SSH and of munge."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

KEYS = Path("/etc/testbed/keys")
USER = "researcher"


def prepare_munge() -> None:
    """Write a new munge key and make munge's folders."""
    key = Path("/etc/munge/munge.key")
    key.parent.mkdir(exist_ok=True)
    key.unlink(missing_ok=True)
    key.touch(mode=0o400)
    key.write_bytes(secrets.token_bytes(128))
    for path in (key.parent, key, Path("/run/munge"), Path("/var/lib/munge"), Path("/var/log/munge")):
        if path != key:
            path.mkdir(parents=True, exist_ok=True)
        shutil.chown(path, "munge", "munge")
    Path("/run/munge").chmod(0o755)


def prepare_ssh() -> None:
    """Install the host key, the authorized keys, and the key and known hosts for logins between clusters."""
    Path("/run/sshd").mkdir(exist_ok=True)
    install(KEYS / "host", Path("/etc/ssh/ssh_host_ed25519_key"), 0o600)
    install(KEYS / "known_hosts", Path("/etc/ssh/ssh_known_hosts"), 0o644)
    folder = Path(f"/home/{USER}/.ssh")
    folder.mkdir(mode=0o700, exist_ok=True)
    install(KEYS / "authorized_keys", folder / "authorized_keys", 0o600)
    install(KEYS / "grid", folder / "id_ed25519", 0o600)
    for path in (folder, *folder.iterdir()):
        shutil.chown(path, USER, USER)


def install(source: Path, target: Path, mode: int) -> None:
    """Copy a mounted file to the place where a daemon expects it, with the mode that the daemon requires."""
    target.unlink(missing_ok=True)
    target.touch(mode=mode)
    target.write_bytes(source.read_bytes())
