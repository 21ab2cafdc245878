"""The user's SSH configuration, as `ssh` itself reads it: `ssh -G` prints what applies to a Host.

Paramiko's parser knows no Include, and not all of Match; OpenSSH is where the user's own `ssh HOST` works already. No
connection is made here.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from emulator.clusters.hops import Login
from emulator.model.errors import ClusterUnreachable
from emulator.model.real_head import Hop, RealHead, shown_login

USUAL_KNOWN_HOSTS: Final = "~/.ssh/known_hosts"
READ_WITHIN_HOST_S: Final = 20.0
"""A `Match exec` runs a command."""

MOST_HOPS: Final = 8
_NONE: Final = "none"
_JUMP: Final = re.compile(
    r"(?:ssh://)?(?:(?P<user>[^@/\s]+)@)?\[?(?P<host>[A-Za-z0-9][A-Za-z0-9._-]*)\]?(?::(?P<port>[0-9]{1,5}))?"
)


@dataclass(frozen=True, slots=True)
class StatedHop:
    """One login on the way to a head, as the user's files state it.

    `name` is what the user calls the host, `key_files` may hold its key and `known_hosts` its host key. If `only_these`
    is true, no other key is tried. `is_head` tells the head from a jump host.
    """

    name: str
    login: Login
    key_files: tuple[Path, ...]
    known_hosts: tuple[Path, ...]
    only_these: bool
    is_head: bool

    @property
    def shown(self) -> str:
        """The login as a message calls it."""
        login = shown_login(self.login.user, self.login.host, self.login.port)
        return login if self.is_head else f"the jump host {login}"

    @property
    def is_known_by_its_name_only(self) -> bool:
        """Whether no HostName is stated for it."""
        return self.login.host == self.name


def stated_hops(cluster: str, ssh: RealHead) -> tuple[StatedHop, ...]:
    """Return the logins on the way to a head: those at its jump hosts, and its own.

    Raises:
        ClusterUnreachable: if the configuration cannot be read, or leads there in a way that is not supported.
    """
    known_hosts = (Path(ssh.known_hosts).expanduser(),) if ssh.known_hosts else ()
    if (hop := ssh.hop) is not None:
        login = Login(hop.host, hop.port, hop.user)
        usual = known_hosts or (Path(USUAL_KNOWN_HOSTS).expanduser(),)
        keys = (hop.key_file,) if hop.key_file else ()
        return (StatedHop(hop.host, login, keys, usual, only_these=True, is_head=True),)
    key = Path(ssh.key).expanduser() if ssh.key else None
    return _Configuration(cluster, known_hosts).hops_to(ssh.address, key)


class _Configuration:
    """What `ssh` reads for each host on the way to the head of `cluster`."""

    def __init__(self, cluster: str, known_hosts: tuple[Path, ...]) -> None:
        self._cluster = cluster
        self._known_hosts = known_hosts

    def hops_to(self, alias: str, key: Path | None) -> tuple[StatedHop, ...]:
        """Return the hops to a Host; `key` replaces the key files that are configured for it."""
        settings = self._settings(alias)
        *jumps, head = (*self._jumps(alias, settings, ()), self._hop(alias, settings, key, is_head=True))
        return (*jumps, head)

    def _jumps(self, name: str, settings: Mapping[str, Sequence[str]], before: tuple[str, ...]) -> list[StatedHop]:
        """Return the jump hosts of a host: for the first of them, its own come before it."""
        if _first(settings, "proxycommand") != _NONE:
            raise self._refusal(f"{name!r} has a ProxyCommand in ~/.ssh/config: state the host in between as ProxyJump")
        stated = _first(settings, "proxyjump")
        words = [] if stated == _NONE else stated.split(",")
        if words and (words[0] in before or len(before) >= MOST_HOPS):
            raise self._refusal(f"ProxyJump leads in a circle by way of {words[0]!r}: correct it in ~/.ssh/config")
        hops: list[StatedHop] = []
        for index, word in enumerate(words):
            found = _JUMP.fullmatch(word)
            if found is None:
                raise self._refusal(f"{name!r} has a ProxyJump {word!r}, which is not [user@]host[:port]")
            options = [
                *(["-l", found["user"]] if found["user"] else []),
                *(["-p", found["port"]] if found["port"] else []),
            ]
            of_jump = self._settings(found["host"], *options)
            if index == 0:
                hops += self._jumps(found["host"], of_jump, (*before, word))
            hops.append(self._hop(found["host"], of_jump, None, is_head=False))
        return hops

    def _hop(self, name: str, settings: Mapping[str, Sequence[str]], key: Path | None, *, is_head: bool) -> StatedHop:
        try:
            hop = Hop(
                host=_first(settings, "hostname"), port=int(_first(settings, "port")), user=_first(settings, "user")
            )
        except ValidationError as error:
            raise self._refusal(
                f"{name!r} stands for {_first(settings, 'user')}@{_first(settings, 'hostname')}, which is no account "
                "at a host name or an IPv4 address: correct it in ~/.ssh/config"
            ) from error
        tokens = {
            "%": "%", "d": str(Path.home()), "h": hop.host, "n": name, "p": str(hop.port), "r": hop.user,
            "u": os.environ.get("USER", ""),
        }  # fmt: skip
        known_hosts = [
            word for kind in ("userknownhostsfile", "globalknownhostsfile") for word in _words(settings, kind)
        ]
        alias = _first(settings, "hostkeyalias")
        return StatedHop(
            name=name,
            login=Login(hop.host, hop.port, hop.user, "" if alias == _NONE else alias),
            key_files=(key,) if key else _files(settings.get("identityfile", ()), tokens),
            known_hosts=self._known_hosts or _files(known_hosts, tokens),
            only_these=key is not None or _first(settings, "identitiesonly") == "yes",
            is_head=is_head,
        )

    def _settings(self, name: str, *options: str) -> dict[str, list[str]]:
        """Return what applies to a host: all values of each keyword, in small letters."""
        try:
            ended = subprocess.run(
                ["ssh", "-G", *options, "--", name], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=READ_WITHIN_HOST_S, check=False,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise self._refusal(
                f"{name!r} is a Host of ~/.ssh/config, which `ssh` reads: install openssh-client, or state user@host"
            ) from error
        except subprocess.TimeoutExpired as error:
            raise self._refusal(
                f"`ssh -G {name}` does not end: see what a Match exec in ~/.ssh/config waits for"
            ) from error
        if ended.returncode != 0:
            said = (ended.stderr.strip().splitlines() or ["it says nothing"])[0].rstrip(".\r")
            raise self._refusal(f"`ssh -G {name}` fails ({said}): correct ~/.ssh/config")
        settings: dict[str, list[str]] = defaultdict(list)
        for line in ended.stdout.splitlines():
            keyword, _, value = line.partition(" ")
            settings[keyword.lower()].append(value)
        return settings

    def _refusal(self, sentence: str) -> ClusterUnreachable:
        return ClusterUnreachable(f"Cluster {self._cluster!r}: {sentence}.")


def _first(settings: Mapping[str, Sequence[str]], keyword: str) -> str:
    return next(iter(settings.get(keyword, ())), _NONE)


def _words(settings: Mapping[str, Sequence[str]], keyword: str) -> list[str]:
    return [word for value in settings.get(keyword, ()) for word in value.split()]


def _files(stated: Sequence[str], tokens: Mapping[str, str]) -> tuple[Path, ...]:
    """Return files as `ssh` finds them; a token that is not known stays as it is."""
    names = (re.sub("%(.)", lambda found: tokens.get(found[1], found[0]), name) for name in stated if name != _NONE)
    return tuple(Path(name).expanduser() for name in names)
