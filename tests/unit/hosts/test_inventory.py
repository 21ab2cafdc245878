"""The inventory of hosts as its user writes it, right and wrong."""

from __future__ import annotations

import pytest

from emulator.hosts.inventory import HostInventory
from emulator.model.documents import parse_document
from emulator.model.errors import InvalidInput, UnknownName

LAB = """
hosts:
  - {name: One, engine: unix:///var/run/docker.sock, address: 10.77.0.1}
  - {name: two, engine: "ssh://alice@two.lab:2222", address: 10.77.0.2, share: 0.5}
"""


def test_hosts_are_read_in_their_order():
    inventory = parse_document(LAB, HostInventory, source="lab")
    one, two = inventory.hosts
    assert inventory.names == ["one", "two"]
    assert (one.is_local, one.socket_path, one.ssh_target, one.share) == (True, "/var/run/docker.sock", ("", None), 1.0)
    assert (two.is_local, two.socket_path, two.ssh_target) == (False, "", ("alice@two.lab", 2222))
    assert inventory.host("TWO") is two
    with pytest.raises(UnknownName, match="There is no host 'tow'"):
        inventory.host("tow")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("name: two", "name: one", "hosts.1.name: two hosts have the name 'one'"),
        ("10.77.0.2", "10.77.0.1", "hosts.1.address: two hosts have the address '10.77.0.1'"),
        ("ssh://alice@two.lab:2222", "unix:///var/run/docker.sock", "hosts.1.engine: two hosts have the engine"),
        ("ssh://alice@two.lab:2222", "ssh://two.lab", "an engine is ssh://user@host"),
        ("ssh://alice@two.lab:2222", "ssh://alice@two.lab:99999", "an engine is ssh://user@host"),
        ("ssh://alice@two.lab:2222", "ssh://-oProxyCommand=sh@x", "an engine is ssh://user@host"),
        ("ssh://alice@two.lab:2222", "tcp://two.lab:2375", "an engine is ssh://user@host"),
        ("10.77.0.2", "127.0.0.1", "the address at which other hosts reach it, not '127.0.0.1'"),
        ("10.77.0.2", "two.lab", "an IPv4 address such as 192.168.1.10, not 'two.lab'"),
        ("share: 0.5", "share: 0", "must be greater than 0"),
        ("share: 0.5", "share: 1.5", "must be less than or equal to 1"),
        ("share: 0.5", "cores: 2", "unknown key 'hosts.1.cores' (value 2)"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(before, after, said):
    assert before in LAB
    with pytest.raises(InvalidInput) as refused:
        parse_document(LAB.replace(before, after), HostInventory, source="lab")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_inventory_has_a_host():
    with pytest.raises(InvalidInput, match="hosts: must have at least 1"):
        parse_document("hosts: []", HostInventory, source="lab")
