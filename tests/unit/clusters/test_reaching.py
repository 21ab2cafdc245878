"""How a head is reached that is stated as people state it for `ssh`: by a Host, through jump hosts, with an agent."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import paramiko
import pytest

from emulator.clusters import agent as agent_module
from emulator.clusters import hops
from emulator.clusters.host_keys import fingerprint, known_hosts_line
from emulator.clusters.reaching import Reached, reach
from emulator.clusters.ssh import SecureShell
from emulator.clusters.ssh_config import stated_hops
from emulator.model.errors import ClusterUnreachable
from emulator.model.real_head import RealHead
from emulator.model.settings import BrokerSettings, real_head
from emulator.model.topology import Cluster
from tests.unit.clusters.ssh_servers import USER, Agent, OpenSshServer, OwnServer, Server, make_key, ssh_reads

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="OpenSSH's client is not installed")


class Site:
    """What a user has: an SSH configuration, known hosts and a key, and the machines that they lead to."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self._kind = folder, kind
        self.config, self.known_hosts = folder / "config", folder / "known_hosts"
        self.known_hosts.touch()
        self.key = make_key(folder / "key")
        self.authorized = folder / "authorized"
        shutil.copy(folder / "key.pub", self.authorized)
        self.servers: list[Server] = []

    def server(self) -> Server:
        """Start a machine whose host key the user knows."""
        folder = self.folder / f"sshd-{len(self.servers)}"
        server: Server = (
            OpenSshServer(self.authorized, folder) if self._kind == "openssh" else OwnServer(self.authorized)
        )
        self.servers.append(server)
        self.knows(server)
        return server

    def own_server(self, *, further: str = "", forwards: bool = True) -> OwnServer:
        """Start a machine with a peculiarity."""
        server = OwnServer(self.authorized, further=further, forwards=forwards)
        self.servers.append(server)
        self.knows(server)
        return server

    def knows(self, server: Server, key: paramiko.PKey | None = None) -> None:
        with self.known_hosts.open("a") as file:
            file.write(known_hosts_line("127.0.0.1", server.port, key or server.host_key) + "\n")

    def host(self, name: str, server: Server, *lines: str, key: Path | None = None) -> str:
        """Return the block of a Host."""
        own = [] if any(line.startswith("IdentityFile") for line in lines) else [f"IdentityFile {key or self.key}"]
        words = [
            f"Host {name}", "HostName 127.0.0.1", f"Port {server.port}", f"User {USER}", *own,
            f"UserKnownHostsFile {self.known_hosts}", *lines,
        ]  # fmt: skip
        return "\n  ".join(words) + "\n"

    def states(self, *blocks: str) -> None:
        self.config.write_text("".join(blocks))


@pytest.fixture(params=["own", "openssh"])
def site(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    if request.param == "openssh" and shutil.which("sshd") is None:
        pytest.skip("OpenSSH's server is not installed")
    yield from _site(tmp_path, monkeypatch, request.param)


@pytest.fixture
def own_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    yield from _site(tmp_path, monkeypatch, "own")


def _site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> Iterator[Site]:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    made = Site(tmp_path, kind)
    ssh_reads(made.config, tmp_path / "bin", monkeypatch)
    yield made
    for server in made.servers:
        server.stop()


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    made = Agent(tmp_path / "of-agent")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(made.socket))
    yield made
    made.stop()


def said_at(reached: Reached, command: str) -> str:
    given, output, _ = reached.connection.head.exec_command(command)
    given.channel.shutdown_write()
    return output.read().decode().strip()


@pytest.fixture
def reaching(site: Site) -> Iterator[Callable[..., Reached]]:
    """Reach `das5`; hang up at the end."""
    open_ones: list[Reached] = []

    def das5(**stated: str) -> Reached:
        open_ones.append(reach("das", RealHead(address="das5", **stated)))
        return open_ones[-1]

    yield das5
    for reached in open_ones:
        reached.connection.close()


def refusal(address: str = "das5", **stated: str) -> str:
    with pytest.raises(ClusterUnreachable) as refused:
        reach("das", RealHead(address=address, **stated))
    said = str(refused.value)
    assert said.startswith("Cluster 'das': ")
    assert said.endswith(".")
    assert "\n" not in said
    return said


def test_a_host_states_address_port_user_and_key(site: Site, reaching: Callable[..., Reached]) -> None:
    head = site.server()
    site.states(site.host("das5", head))
    reached = reaching()
    assert said_at(reached, "echo there") == "there"
    assert [(hop.host, hop.port, hop.user, hop.key_file) for hop in reached.route] == [
        ("127.0.0.1", head.port, USER, site.key)
    ]
    assert reached.known_hosts_lines == (known_hosts_line("127.0.0.1", head.port, head.host_key),)


def test_a_stated_key_replaces_the_configured_ones(site: Site, reaching: Callable[..., Reached]) -> None:
    site.states(site.host("das5", site.server(), "IdentityFile /nowhere/key"))
    assert reaching(key=str(site.key)).route[0].key_file == site.key


def test_a_jump_host_is_logged_in_to_before_the_head(site: Site, reaching: Callable[..., Reached]) -> None:
    gate, head = site.server(), site.server()
    site.states(site.host("gate", gate), site.host("das5", head, "ProxyJump gate"))
    reached = reaching()
    assert said_at(reached, "echo there") == "there"
    assert [hop.port for hop in reached.route] == [gate.port, head.port]
    assert (gate.logins(), head.logins()) == (1, 1)
    assert [line.split()[2] for line in reached.known_hosts_lines] == [
        gate.host_key.get_base64(),
        head.host_key.get_base64(),
    ]


@pytest.mark.parametrize("jumps", [("ProxyJump gate,inner", ""), ("ProxyJump inner", "ProxyJump gate")])
def test_two_jump_hosts_are_named_together_or_one_by_the_other(
    site: Site, reaching: Callable[..., Reached], jumps: tuple[str, str]
) -> None:
    gate, inner, head = site.server(), site.server(), site.server()
    of_head, of_inner = jumps
    site.states(site.host("gate", gate), site.host("inner", inner, of_inner), site.host("das5", head, of_head))
    reached = reaching()
    assert said_at(reached, "echo there") == "there"
    assert [hop.port for hop in reached.route] == [gate.port, inner.port, head.port]
    assert [server.logins() for server in (gate, inner, head)] == [1, 1, 1]


def test_a_jump_host_may_be_written_out(site: Site, reaching: Callable[..., Reached]) -> None:
    gate, head = site.server(), site.server()
    shared = f"Host *\n  IdentityFile {site.key}\n  UserKnownHostsFile {site.known_hosts}\n"
    site.states(site.host("das5", head, f"ProxyJump ssh://{USER}@127.0.0.1:{gate.port}"), shared)
    assert [hop.port for hop in reaching().route] == [gate.port, head.port]


def test_include_and_match_apply_as_they_do_for_ssh(site: Site, reaching: Callable[..., Reached]) -> None:
    gate, head = site.server(), site.server()
    (site.folder / "more").mkdir()
    (site.folder / "more" / "das").write_text(site.host("das?", head))
    site.states(
        f"Include {site.folder}/more/*\n",
        site.host("gate", gate),
        f'Match originalhost das5 user {USER} exec "test %n = das5"\n  ProxyJump gate\n',
    )
    assert [hop.port for hop in reaching().route] == [gate.port, head.port]


@pytest.mark.parametrize("lines", [("HostKeyAlias fs0",), ("HostKeyAlias fs0", "IdentityFile %d/key")])
def test_an_alias_of_the_host_key_and_tokens_are_known(
    site: Site, reaching: Callable[..., Reached], lines: tuple[str, ...]
) -> None:
    head = site.server()
    site.known_hosts.write_text(known_hosts_line("fs0", 22, head.host_key) + "\n")
    site.states(site.host("das5", head, *lines))
    reached = reaching()
    # The broker knows no aliases: its line is about the address.
    assert reached.known_hosts_lines[0].startswith(f"[127.0.0.1]:{head.port} ")


def test_a_key_that_only_the_agent_can_use_is_handed_over_as_the_agents(
    site: Site, reaching: Callable[..., Reached], agent: Agent
) -> None:
    head = site.server()
    agent.add([make_key(site.folder / "other"), site.key])
    site.key.unlink()  # its public part stays
    site.states(site.host("das5", head, "IdentitiesOnly yes"))
    reached = reaching()
    assert said_at(reached, "echo there") == "there"
    public = (site.folder / "key.pub").read_text().split()[1]
    assert [(hop.key_file, hop.agent_key) for hop in reached.route] == [(None, public)]


@pytest.mark.parametrize("kind", ["ed25519", "rsa", "ecdsa"])
def test_a_key_with_a_passphrase_is_used_by_way_of_the_agent(
    site: Site, reaching: Callable[..., Reached], agent: Agent, kind: str
) -> None:
    key = make_key(site.folder / "locked", kind=kind)
    agent.add([key])
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", key], check=True, capture_output=True)
    shutil.copy(f"{key}.pub", site.authorized)
    site.states(site.host("das5", site.server(), key=key))
    reached = reaching()
    assert reached.route[0].key_file is None
    assert reached.route[0].agent_key == (site.folder / "locked.pub").read_text().split()[1]


def test_other_keys_of_the_agent_are_tried_unless_that_is_excluded(
    site: Site, reaching: Callable[..., Reached], agent: Agent
) -> None:
    head = site.server()
    site.key.rename(site.folder / "elsewhere")
    (site.folder / "key.pub").rename(site.folder / "elsewhere.pub")
    agent.add([site.folder / "elsewhere"])
    wrong = make_key(site.folder / "wrong")
    site.states(site.host("das5", head, key=wrong))
    assert reaching().route[0].agent_key is not None
    site.states(site.host("das5", head, "IdentitiesOnly yes", key=wrong))
    assert "does not let ~/wrong in (append ~/wrong.pub to its ~/.ssh/authorized_keys)" in refusal()


@pytest.mark.parametrize("running", [False, True])
def test_a_passphrase_is_for_the_agent_to_ask(site: Site, running: bool, request: pytest.FixtureRequest) -> None:
    if running:
        request.getfixturevalue("agent")
    locked = make_key(site.folder / "locked", "secret")
    site.states(site.host("das5", site.server(), key=locked))
    start = "" if running else 'eval "$(ssh-agent)"; '
    assert f"has a passphrase, and no ssh-agent holds it (`{start}ssh-add {locked}`)" in refusal()


@pytest.mark.parametrize("rule", ["reject", "accept-new"])
def test_a_jump_host_that_shows_another_key_than_the_known_one_is_refused(site: Site, rule: str) -> None:
    gate, head = site.server(), site.server()
    other = paramiko.ECDSAKey.generate()
    site.known_hosts.write_text("")
    site.knows(gate, other)
    site.knows(head)
    site.states(site.host("gate", gate), site.host("das5", head, "ProxyJump gate"))
    said = refusal(unknown_host_key=rule)
    shown = f"{fingerprint(gate.host_key)}, not the known {fingerprint(other)}"
    assert f"the jump host {USER}@127.0.0.1:{gate.port} shows the host key {shown}" in said
    assert (gate.logins(), head.logins()) == (0, 0)


def test_an_unknown_jump_host_is_refused_with_what_to_do_unless_new_ones_pass(
    site: Site, reaching: Callable[..., Reached]
) -> None:
    gate, head = site.server(), site.server()
    site.known_hosts.write_text("")
    site.knows(head)
    site.states(site.host("gate", gate), site.host("das5", head, "ProxyJump gate"))
    said = refusal()
    assert f"its host key {fingerprint(gate.host_key)} is in no known-hosts file" in said
    assert "log in once with `ssh gate`" in said
    # The fingerprint is the head's, and says nothing about the host before it.
    assert "`ssh gate`" in refusal(host_key=fingerprint(gate.host_key))
    assert len(reaching(unknown_host_key="accept-new").route) == 2


def test_a_host_that_is_stated_nowhere_is_named(own_site: Site) -> None:
    own_site.states("Host other\n")
    assert "'das5.invalid' is neither a Host of ~/.ssh/config nor a machine's name" in refusal("das5.invalid")


def test_a_port_where_nobody_speaks_ssh_is_said_to_be_silent(own_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hops, "BANNER_TIMEOUT_HOST_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        own_site.states(f"Host das5\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {own_site.key}\n")
        assert "cannot be reached (Error reading SSH protocol banner" in refusal()


def test_a_jump_host_that_does_not_lead_to_the_head_is_named_with_the_head(own_site: Site) -> None:
    gate, head = own_site.own_server(), own_site.own_server()
    head.stop()
    own_site.states(own_site.host("gate", gate), own_site.host("das5", head, "ProxyJump gate"))
    said = refusal()
    assert f"the jump host before {USER}@127.0.0.1:{head.port} does not connect to it (Connect failed)" in said
    assert "try `ssh das5`" in said


def test_a_jump_host_that_forwards_nothing_is_named(own_site: Site) -> None:
    gate, head = own_site.own_server(forwards=False), own_site.own_server()
    own_site.states(own_site.host("gate", gate), own_site.host("das5", head, "ProxyJump gate"))
    assert "does not connect to it (Administratively prohibited)" in refusal()
    assert head.logins() == 0


def test_a_head_that_asks_for_a_second_factor_is_refused(own_site: Site) -> None:
    own_site.states(own_site.host("das5", own_site.own_server(further="keyboard-interactive")))
    assert "asks for more than a key" in refusal()


def test_without_any_key_the_message_says_where_one_may_be_named(own_site: Site) -> None:
    own_site.states(own_site.host("das5", own_site.own_server(), "IdentityFile none"))
    assert "there is no key for" in refusal()


@pytest.mark.parametrize("site", ["openssh"], indirect=True)  # paramiko's does not hang up
def test_a_head_that_hangs_up_before_the_right_key_comes_asks_for_its_name(site: Site, agent: Agent) -> None:
    head = site.server()
    agent.add([make_key(site.folder / f"wrong-{index}") for index in range(8)])
    site.states(site.host("das5", head, "IdentityFile none"))
    assert "hung up after 6 keys (name the right one as IdentityFile, with IdentitiesOnly yes)" in refusal()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ProxyCommand ssh -W %h:%p gate", "'das5' has a ProxyCommand in ~/.ssh/config: state the host in between"),
        ("ProxyJump gate\nHost gate\n  ProxyJump das5", "ProxyJump leads in a circle by way of 'gate'"),
        ("Colour red", "`ssh -G das5` fails ("),
        ("HostName ::1", "which is no account at a host name or an IPv4 address"),
    ],
)
def test_what_is_not_supported_is_said_in_one_sentence(own_site: Site, line: str, said: str) -> None:
    own_site.states(f"Host das5\n  {line}\n")
    assert said in refusal()


def test_where_there_is_no_ssh_the_remedy_is_named(own_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(own_site.folder / "empty"))
    assert "install openssh-client, or state user@host" in refusal()


def test_an_address_with_a_user_is_taken_as_it_stands(own_site: Site) -> None:
    own_site.states("Host fs0\n  HostName elsewhere\n  ProxyJump gate\n")
    (hop,) = stated_hops("das", RealHead(address="alice@fs0:2222", key="~/key"))
    assert (hop.login.host, hop.login.port, hop.login.user) == ("fs0", 2222, "alice")
    assert hop.key_files == (Path(os.environ["HOME"]) / "key",)


def test_what_was_found_out_is_enough_for_the_broker(
    site: Site, reaching: Callable[..., Reached], agent: Agent
) -> None:
    gate, inner, head = site.server(), site.server(), site.server()
    of_agent = make_key(site.folder / "of-the-gate")
    agent.add([of_agent])
    of_agent.unlink()
    with site.authorized.open("a") as lines:
        lines.write((site.folder / "of-the-gate.pub").read_text())
    site.states(
        site.host("gate", gate, key=of_agent),
        site.host("inner", inner),
        site.host("das5", head, "ProxyJump gate,inner"),
    )
    with broker_shell(site.folder, reaching()) as shell:
        assert shell.execute("echo there").output == "there\n"
    assert [server.logins() for server in (gate, inner, head)] == [2, 2, 2]


def test_the_broker_refuses_a_jump_host_that_became_another(own_site: Site) -> None:
    gate, head = own_site.own_server(), own_site.own_server()
    own_site.states(own_site.host("gate", gate), own_site.host("das5", head, "ProxyJump gate"))
    reached = reach("das", RealHead(address="das5"))
    reached.connection.close()
    gate.host_key = paramiko.ECDSAKey.generate()
    with broker_shell(own_site.folder, reached) as shell, pytest.raises(ClusterUnreachable, match="does not match"):
        shell.execute("echo there")
    assert head.logins() == 1


def test_the_broker_connects_again_through_a_jump_host_that_hung_up(own_site: Site) -> None:
    gate, head = own_site.own_server(), own_site.own_server()
    own_site.states(own_site.host("gate", gate), own_site.host("das5", head, "ProxyJump gate"))
    reached = reach("das", RealHead(address="das5"))
    reached.connection.close()
    with broker_shell(own_site.folder, reached) as shell:
        shell.execute("echo there")
        program = shell.open_program("sleep 60")
        gate.drop()
        assert program.exit_code() == -1
        assert shell.execute("echo there").output == "there\n"
    assert (gate.logins(), head.logins()) == (3, 3)


def test_the_broker_says_that_the_agent_is_gone(own_site: Site, agent: Agent) -> None:
    agent.add([own_site.key])
    own_site.key.unlink()
    own_site.states(own_site.host("das5", own_site.own_server()))
    reached = reach("das", RealHead(address="das5"))
    reached.connection.close()
    with broker_shell(own_site.folder, reached) as shell:
        shell.execute("echo there")
        shell.close()
        agent.stop()
        with pytest.raises(
            ClusterUnreachable, match="the ssh-agent that holds its key is gone: `ssh-add` the key again"
        ):
            shell.execute("echo there")


@contextmanager
def broker_shell(folder: Path, reached: Reached) -> Iterator[SecureShell]:
    """The broker's connection to a head that was reached: by what it is handed, with an agent that it inherits."""
    (folder / "broker-knows").write_text("".join(f"{line}\n" for line in reached.known_hosts_lines))
    cluster = Cluster(name="das", nodes=2, ssh=RealHead(address="das5"))
    head = real_head(cluster, RealHead(address="das5"), reached.route)
    files = dict.fromkeys(("topology_file", "token_file", "key_file", "journal_file"), folder / "none")
    settings = BrokerSettings(testbed="lab", known_hosts_file=folder / "broker-knows", heads=(head,), **files)
    with inherited_agent():
        shell = SecureShell(head, settings)
        try:
            yield shell
        finally:
            shell.close()


@contextmanager
def inherited_agent() -> Iterator[None]:
    """Make this process one that `images/broker/with_agent.py` started, as long as the user's agent runs."""
    if (path := os.environ.pop("SSH_AUTH_SOCK", None)) is None:
        yield
        return
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    agent_module._agent.cache_clear()
    os.environ[agent_module.INHERITED] = str(connection.detach())
    try:
        yield
    finally:
        agent_module._agent.cache_clear()
        os.environ["SSH_AUTH_SOCK"] = path
