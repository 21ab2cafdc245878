"""Real clusters in a topology: what their heads may state, and what no topology may claim of their links."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from emulator.model.documents import document_text, parse_document
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.real_head import Hop, RealHead, SbatchOption
from emulator.model.topology import Topology

FINGERPRINT = "SHA256:" + 43 * "a"
HALF_REAL = f"""
name: half
processor: {{name: p, in_cache_ns_per_point: 100, out_of_cache_ns_per_point: 200, cache_bytes: 1000}}
clusters:
  - {{name: east, nodes: 2, access_link: {{up_mbit: 10, down_mbit: 10}}}}
  - name: das
    nodes: 68
    ssh:
      address: alice@fs0.das.example:2222
      key: ~/.ssh/das
      host_key: {FINGERPRINT}
      partition: defq
      sbatch: [--time=60, --exclusive]
      setup: module load openmpi
      network: 10.141.0.0/16
  - {{name: west, nodes: 3, access_link: {{up_mbit: 10, down_mbit: 20}}}}
links:
  - {{from: east, to: west, delay_s: 0.001}}
"""


def parsed(text: str) -> Topology:
    return parse_document(text, Topology, source="half.yaml")


def test_a_head_is_taken_apart_into_user_host_and_port():
    head = parsed(HALF_REAL).cluster("das").ssh
    assert head is not None
    assert head.hop == Hop(host="fs0.das.example", port=2222, user="alice", key_file=Path("~/.ssh/das").expanduser())
    assert RealHead(address="bob@10.0.0.7", key="/keys/das").ssh_command == "ssh -p 22 bob@10.0.0.7"


def test_a_head_without_a_user_is_a_host_of_the_ssh_configuration_which_knows_the_rest():
    text = HALF_REAL.replace("alice@fs0.das.example:2222", "das5").replace("      key: ~/.ssh/das\n", "")
    head = parsed(text).cluster("das").ssh
    assert head is not None
    assert (head.hop, head.ssh_command) == (None, "ssh das5")


def test_paths_are_asked_of_emulated_clusters_only_and_none_is_claimed_of_a_real_one():
    topology = parsed(HALF_REAL)
    assert topology.ordered_pairs == [("east", "west"), ("west", "east")]
    assert [cluster.name for cluster in topology.real_clusters] == ["das"]
    with pytest.raises(UnknownName, match="'das' is real: no path"):
        topology.path("east", "das")
    with pytest.raises(InvalidInput, match="'das' is real: nothing is known of its links"):
        topology.path_rate_mbit("das", "east")


def test_the_emulated_part_is_a_topology_of_its_own_or_nothing():
    emulated = parsed(HALF_REAL).emulated
    assert emulated is not None
    assert emulated.cluster_names == ["east", "west"]
    assert parsed(document_text(emulated)) == emulated
    all_real = HALF_REAL.replace("access_link: {up_mbit: 10, down_mbit: 10}", "ssh: {address: a@b, key: /k/k}")
    all_real = all_real.replace("access_link: {up_mbit: 10, down_mbit: 20}", "ssh: {address: a@c, key: /k/k}")
    assert parsed(all_real[: all_real.index("links:")]).emulated is None


def test_a_topology_with_a_real_cluster_is_read_again_as_it_was_written():
    assert parsed(document_text(parsed(HALF_REAL))) == parsed(HALF_REAL)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("      key: ~/.ssh/das\n", "", "clusters.1.ssh: key: alice@fs0.das.example:2222 needs one"),
        ("~/.ssh/das", "das.key", "clusters.1.ssh.key: must match"),
        ("~/.ssh/das", '"/keys/das:/etc/shadow"', "clusters.1.ssh.key"),
        ("~/.ssh/das", '"/keys/$HOME"', "clusters.1.ssh.key"),
        (FINGERPRINT, "MD5:aa", "clusters.1.ssh.host_key"),
        (f"host_key: {FINGERPRINT}", "unknown_host_key: ask", "clusters.1.ssh.unknown_host_key: must be"),
        (f"host_key: {FINGERPRINT}", f"host_key: {FINGERPRINT}\n      unknown_host_key: accept-new", "nothing unknown"),
        ("--time=60", "time=60", "an option of sbatch is one line such as --account=physics, not 'time=60'"),
        ("--time=60", '"--time=60\\n#SBATCH --uid=0"', "an option of sbatch is one line"),
        ("--time=60", "--ntasks=900", "the testbed states --ntasks itself"),
        ("--time=60", "--wrap=id", "the testbed states --wrap itself"),
        ("--time=60", "--arr=1-9", "the testbed states --array itself"),
        ("defq", "'defq; id'", "clusters.1.ssh.partition"),
        ("defq", '"defq\\n"', "clusters.1.ssh.partition"),
        ("module load openmpi", '"module load openmpi\\nid"', "clusters.1.ssh.setup: a single line"),
        ("10.141.0.0/16", "10.141.0.7/16", "clusters.1.ssh.network: a range of addresses"),
        ("10.141.0.0/16", "eth0", "clusters.1.ssh.network: a range of addresses"),
        ("    nodes: 68\n", "    nodes: 68\n    access_link: {up_mbit: 1, down_mbit: 1}\n", "leave out access_link"),
        (", access_link: {up_mbit: 10, down_mbit: 10}", "", "'east' states neither an access_link nor ssh"),
        ("to: west", "to: das", "links.0.to: cluster 'das' is real (ssh), its links are not shaped"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(old, new, said):
    assert old in HALF_REAL
    with pytest.raises(InvalidInput) as refusal:
        parsed(HALF_REAL.replace(old, new, 1))
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "address",
    [
        "", "host:22", "-oProxyCommand=id", "das;id", "das\n",
        "@host", "alice@", "alice@host:", "alice@host:0", "alice@host:65536", "alice@host:22:22",
        "-oProxyCommand=id@host", "alice@-oProxyCommand=id", "alice@host;id", "alice@$(id)", "al ice@host",
        "alice@host\n", "alice@host\nHost *", "alice@host,other", "alice@ho..st", "alice@host:２２", "ålice@host",
    ],
)  # fmt: skip
def test_no_address_can_be_misread_by_a_shell_or_by_ssh(address):
    with pytest.raises(ValidationError, match="an address is user@host"):
        RealHead(address=address, key="/keys/das")


@given(st.text())
def test_an_option_of_sbatch_is_one_line_that_begins_with_two_hyphens(text):
    try:
        option = TypeAdapter(SbatchOption).validate_python(text)
    except ValidationError:
        return
    assert option.startswith("--")
    assert not any(character in option for character in "\n\r\0\x1b")
