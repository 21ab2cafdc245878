"""The script that starts a job's ranks, run with stand-ins for mpirun, ssh and srun that say what they are given."""

import os
import shlex
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.broker.jobs.mpirun_script import leading_part, real_parts_of, start_script
from emulator.clusters.protocol import NodeShare, Part
from emulator.model.settings import BrokerSettings, Head

PROGRAM = ["start-rank", "poisson", "--grid", "400"]
EAST, WEST = Part("10.0.0.1", "17", 8), Part("10.0.0.2", "23", 4)
SAY = '#!/bin/bash\n{ printf "%s\\n" "$@"; env; } > "$(basename "$0").said"\n'
# As the real ones hand a command on: ssh to a shell at the other end, srun as it is.
SSH = SAY + 'exec bash -c "${@: -1}"\n'
SRUN = SAY + 'while [[ $1 == --* ]]; do shift; done; exec "$@"\n'


class FirstHead:
    """The head of the first cluster, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sessions: list[Path] = []
        for name, text in {"mpirun": SAY, "ssh": SSH, "srun": SRUN}.items():
            program = folder / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(text)
            program.chmod(0o755)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "SLURM_JOB_ID": "17", "HOME": "/"}
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=30, check=False
        )

    def start(self, *parts: Part, key: str = "", **settings: str) -> list[str]:
        """What mpirun is told when the script runs."""
        nowhere = Path("/nowhere")
        files = dict.fromkeys(("topology_file", "token_file", "key_file", "known_hosts_file", "journal_file"), nowhere)
        broker = BrokerSettings(testbed="t", heads=(Head(cluster="east", address="10.0.0.1"),), **files, **settings)
        (self.folder / "start").write_text(start_script("job-3", parts, PROGRAM, broker, key))
        ended = self.run("bash", "start")
        assert ended.returncode == 0, ended.stderr
        words = self.said_to("mpirun")
        self.sessions.append(Path(setting(words, "orte_tmpdir_base")))
        return words

    def said_to(self, program: str) -> list[str]:
        return (self.folder / f"{program}.said").read_text().splitlines()


@pytest.fixture
def head(tmp_path):
    head = FirstHead(tmp_path)
    yield head
    for session in head.sessions:
        if session.is_dir():
            session.rmdir()


def setting(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


def test_ranks_fill_the_parts_in_their_order(head):
    words = head.start(EAST, WEST)
    assert setting(words, "-H") == "10.0.0.1:8,10.0.0.2:4"
    assert setting(words, "-n") == "12"
    assert words[words.index("12") + 1 :][: len(PROGRAM)] == PROGRAM


def test_mpirun_does_not_know_that_it_is_inside_an_allocation(head):
    assert not [word for word in head.start(EAST, WEST) if word.startswith("SLURM_")]


def test_a_job_in_one_cluster_opens_no_tcp_transport(head):
    assert setting(head.start(EAST), "btl") == "self,vader"
    assert setting(head.start(EAST, WEST), "btl") == "self,vader,tcp"


def test_large_messages_leave_while_their_receiver_computes_where_tasks_share_nodes(head):
    sharing = replace(EAST, nodes=(NodeShare("n1", 4), NodeShare("n2", 4)))
    assert setting(head.start(sharing), "btl_vader_eager_limit") == "1048576"
    assert not any("eager" in word for word in head.start(EAST) + head.start(DAS))


def test_messages_and_control_keep_to_their_networks(head):
    words = head.start(EAST, WEST, message_range="10.1.0.0/16", control_range="10.2.0.0/16")
    assert setting(words, "btl_tcp_if_include") == "10.1.0.0/16"
    assert setting(words, "oob_tcp_if_include") == "10.2.0.0/16"


def test_a_daemon_starts_inside_its_clusters_allocation(head):
    agent = shlex.split(setting(head.start(EAST, WEST), "plm_rsh_agent"))
    daemon = "PATH=/somewhere:$PATH; export PATH; echo daemon of $HWLOC_COMPONENTS 'a  b'"
    ended = head.run(*agent, "10.0.0.2", daemon)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "daemon of -linux:pci,-linux:io a  b\n"
    assert "10.0.0.2" in head.said_to("ssh")
    assert "--jobid=23" in head.said_to("srun")


def test_a_host_without_an_allocation_gets_no_daemon(head):
    agent = shlex.split(setting(head.start(EAST, WEST), "plm_rsh_agent"))
    ended = head.run(*agent, "10.0.0.9", "true")
    assert ended.returncode == 1
    assert ended.stderr == "no allocation at 10.0.0.9\n"
    assert not (head.folder / "ssh.said").exists()


def test_mpirun_looks_for_no_devices(head):
    assert {"HWLOC_COMPONENTS=-linux:pci,-linux:io", "HWLOC_PLUGINS_PATH="} <= set(head.start(EAST))


def test_the_session_folder_is_made_for_its_owner_alone_and_nobody_can_foresee_its_name(head):
    first, second = (Path(setting(head.start(EAST), "orte_tmpdir_base")) for _ in range(2))
    assert first != second
    assert first.name.startswith("t-job-3-")
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (first, second)] == [0o700, 0o700]


def test_a_daemon_s_session_folder_is_made_before_it_and_one_of_another_user_is_not_taken(head):
    words = head.start(EAST, WEST)
    agent, folder = shlex.split(setting(words, "plm_rsh_agent")), Path(setting(words, "orte_tmpdir_base"))
    folder.rmdir()
    assert head.run(*agent, "10.0.0.2", f"stat -c %a {folder}").stdout == "700\n"
    assert head.run(*agent, "10.0.0.2", "echo again").stdout == "again\n"
    folder.rmdir()
    folder.symlink_to(head.folder)
    ended = head.run(*agent, "10.0.0.2", "echo started")
    folder.unlink()
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"The session folder {folder} cannot be made, or is another user's." in ended.stderr


NODES = (NodeShare("n1", 4), NodeShare("n2", 2))
DAS = Part("fs0", "31", 6, NODES, ("-p", "2222", "alice@fs0"), "module load mpi", "10.9.0.0/16")


def test_every_node_of_a_real_cluster_is_a_host_of_its_own(head):
    words = head.start(EAST, DAS)
    assert setting(words, "-H") == "10.0.0.1:8,part1-0:4,part1-1:2"
    assert setting(words, "-n") == "14"
    assert setting(head.start(DAS), "btl") == "self,vader,tcp"


def test_a_daemon_on_a_real_node_has_all_processors_that_slurm_gave_there_and_the_setup_before_it(head):
    agent = shlex.split(setting(head.start(EAST, DAS), "plm_rsh_agent"))
    (head.folder / "bin" / "module").write_text("#!/bin/bash\necho loaded $2\n")
    (head.folder / "bin" / "module").chmod(0o755)
    ended = head.run(*agent, "part1-1", "echo daemon 'a  b'")
    assert (ended.returncode, ended.stdout) == (0, "loaded mpi\ndaemon a  b\n")
    assert {"-p", "2222", "alice@fs0"} <= set(head.said_to("ssh"))
    assert {"--jobid=31", "--nodelist=n2", "--cpus-per-task=2", "--cpu-bind=none"} <= set(head.said_to("srun"))


def test_from_a_container_a_job_logs_in_at_real_heads_by_a_key_of_its_own(head):
    key = "-----BEGIN KEY-----\n$(id) 'a' \"b\"\n-----END KEY-----\n"
    agent = shlex.split(setting(head.start(EAST, WEST, DAS, key=key), "plm_rsh_agent"))
    kept = head.folder / "pass"
    assert (kept.read_text(), stat.S_IMODE(kept.stat().st_mode)) == (key, 0o600)
    assert head.run(*agent, "part2-0", "true").returncode == 0
    words = head.said_to("ssh")
    assert words[words.index("-i") + 1] == str(kept)
    assert {"IdentitiesOnly=yes", "alice@fs0"} <= set(words)
    assert head.run(*agent, "10.0.0.2", "true").returncode == 0
    assert "-i" not in head.said_to("ssh")
    assert real_parts_of([EAST, DAS, WEST, DAS]) == [1, 3]
    assert real_parts_of([DAS, EAST]) == [0]
    assert real_parts_of([DAS, DAS]) == real_parts_of([EAST, WEST]) == []


def test_inside_its_own_allocation_a_real_cluster_needs_no_login(head):
    agent = shlex.split(setting(head.start(DAS, replace(DAS, allocation="32")), "plm_rsh_agent"))
    assert head.run(*agent, "part0-0", "true").returncode == 0
    assert not (head.folder / "ssh.said").exists()
    assert head.run(*agent, "part1-0", "true").returncode == 0
    assert "alice@fs0" in head.said_to("ssh")


def test_mpirun_starts_in_a_container_if_there_is_one_since_that_can_log_in_everywhere():
    assert leading_part([DAS, EAST, WEST]) == 1
    assert leading_part([DAS, DAS]) == leading_part([EAST, DAS]) == 0


def test_a_job_that_uses_a_real_cluster_keeps_to_real_networks(head):
    ranges = {"message_range": "10.1.0.0/16", "control_range": "10.2.0.0/16"}
    words = head.start(EAST, DAS, **ranges)
    assert setting(words, "btl_tcp_if_include") == "10.9.0.0/16"
    assert setting(words, "oob_tcp_if_include") == "10.9.0.0/16"
    assert setting(head.start(DAS, **ranges), "btl_tcp_if_include") == "10.9.0.0/16"
    assert "btl_tcp_if_include" not in head.start(EAST, replace(DAS, message_range=""), **ranges)
