"""What a head's Slurm is asked, run by a shell with stand-ins for Slurm's commands that say what they are given."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest

from emulator.clusters import slurm
from emulator.clusters.holders import HOLDER
from emulator.clusters.nodes import shares
from emulator.clusters.protocol import NodeShare
from emulator.clusters.slurm import SlurmCluster
from emulator.clusters.slurm_events import FOLDER
from emulator.clusters.ssh import Completed
from emulator.model.errors import ClaimFailed, ClusterUnreachable, NotGranted
from emulator.model.settings import BrokerSettings, Head

SAY = '#!/bin/bash\nprintf "%s\\n" "$@" > "$(dirname "$0")/$(basename "$0").said"\n'
DETAILS = """JobId=7 JobName=t-job-1-das
   Partition=science NumNodes=3 NumCPUs=7
     Nodes=n[1-2] CPU_IDs=0-1 Mem=0 GRES=
     Nodes=n7 CPU_IDs=0,4-5 Mem=0 GRES=
"""
PROGRAMS = {
    "sbatch": SAY + "echo 7\n",
    "salloc": SAY,
    "squeue": """#!/bin/bash
cd "$(dirname "$0")"; [ ! -e squeue.fails ] || exit 1
printf '8 t.0-1.0-das R\\n9 t-two.0-1.0-das R\\n10 tea R\\n11 t.0-2.0-das CG\\n' |
  grep -vwFf <(cat scancel.said 2> /dev/null)
""",
    "scancel": '#!/bin/bash\ncd "$(dirname "$0")"; [ ! -e scancel.fails ] || exit 1\n' + SAY,
    "sinfo": SAY
    + """case "$*" in
*" -t drain,down,"*) printf 'n3\\nn7\\n' ;;
*) printf 'debug* up 1 0/4/0/4\\nscience up 2 3/5/0/8\\nservice drain 2 0/8/0/8\\n' ;;
esac
""",
    "scontrol": f"""#!/bin/bash
case "$*" in
"show job --details 7") cat <<'END'\n{DETAILS}END
;;
"show hostnames n[1-2]") printf 'n1\\nn2\\n' ;;
"show hostnames n7") echo n7 ;;
*) exit 1 ;;
esac
""",
}


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Have SlurmCluster's commands run here; returns what a program was given."""

    class LocalShell:
        def __init__(self, head: Head, settings: BrokerSettings) -> None:
            pass

        def execute(self, command: str, script: str = "") -> Completed:
            environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
            ended = subprocess.run(
                ["bash", "-c", command], input=script, capture_output=True, text=True, env=environment, check=False
            )
            return Completed(ended.stdout, ended.stderr, ended.returncode)

    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(slurm, "SecureShell", LocalShell)
    return lambda program: (tmp_path / f"{program}.said").read_text().splitlines()


OWN = f"t{os.getpid()}"
"""A testbed's name that no test in another process uses: what ends holders goes by it, on all of the host."""


def cluster(testbed: str = "t", **stated) -> SlurmCluster:
    head = Head(cluster="das", address="fs0.das.example", port=2222, user="alice", **stated)
    nowhere = Path("/nowhere")
    files = dict.fromkeys(("topology_file", "token_file", "key_file", "known_hosts_file", "journal_file"), nowhere)
    return SlurmCluster(head, BrokerSettings(testbed=testbed, heads=(head,), **files))


def test_a_claim_carries_the_partition_and_the_extra_options_each_as_one_word(said):
    hostile = '--comment=it\'s; touch owned $(id) `id` "x"'
    assert cluster(real=True, partition="science", sbatch=("--time=30", hostile)).claim("job-1-das", 6) == "7"
    words = said("sbatch")
    assert {"--partition=science", "--time=30", hostile, "--ntasks=6", "--job-name=t.job-1-das"} <= set(words)


def test_a_claim_states_nothing_that_its_head_does_not(said):
    cluster(real=True).claim("job-1-das", 6)
    assert not [word for word in said("sbatch") if word.startswith("--partition")]


@pytest.mark.parametrize("answer", ["Granted job allocation 7", "Pending job allocation 7"])
def test_an_emulated_cluster_has_its_holders_beside_their_allocations(said, tmp_path, answer):
    (tmp_path / "salloc").write_text(SAY + f"sleep 0.05; echo 'salloc: {answer}' >&2; echo 'salloc: later' >&2\n")
    assert cluster(OWN).claim("job-1-das", 6) == "7"
    words = said("salloc")
    assert {"--ntasks=6", f"--job-name={OWN}.job-1-das", "--kill-command=TERM"} <= set(words)
    assert "note claimed" in words


def test_nodes_that_a_policy_chose_are_asked_for_by_name(said, tmp_path):
    (tmp_path / "salloc").write_text(SAY + "echo 'salloc: Granted job allocation 7' >&2\n")
    cluster(OWN, spreads=True).claim("job-1-das", 2, ["n3", "n1"])
    words = said("salloc")
    assert {"--ntasks=2", "--nodes=2", "--ntasks-per-node=1", "--nodelist=n3,n1"} <= set(words)


def test_a_job_whose_tasks_share_nodes_is_spread_over_them_and_knows_them(said, tmp_path):
    (tmp_path / "salloc").write_text(SAY + "echo 'salloc: Granted job allocation 7' >&2\n")
    sharing, alone = cluster(OWN, spreads=True), cluster(OWN)
    sharing.claim("job-1-das", 6)
    assert "--nodes=1-6" in said("salloc")
    alone.claim("job-1-das", 6)
    assert not [word for word in said("salloc") if word.startswith("--nodes")]
    for uncounted in (alone, sharing):
        uncounted.claim("job-1-das", 6, memory_mb=100.5)
        assert not [word for word in said("salloc") if word.startswith("--mem")]
    cluster(OWN, spreads=True, counts_memory=True).claim("job-1-das", 6, memory_mb=100.5)
    assert "--mem-per-cpu=101M" in said("salloc")
    part = sharing.part("7", 6)
    assert part.nodes == (NodeShare("n1", 2), NodeShare("n2", 2), NodeShare("n7", 2))
    assert not part.is_real
    assert alone.part("7", 6).nodes == ()


def test_a_claim_that_slurm_refuses_says_why(said, tmp_path):
    (tmp_path / "salloc").write_text("#!/bin/sh\necho 'salloc: error: Job submit failed: too many.' >&2; exit 1\n")
    with pytest.raises(ClaimFailed, match="'das' refused 6 processors: salloc: error: Job submit failed: too many"):
        cluster(OWN).claim("job-1-das", 6)


@pytest.fixture
def holders(said, tmp_path):
    """Processes that are called as holders are: two of this testbed's, and one of another's."""
    (tmp_path / "salloc").write_text("#!/bin/sh\nsleep 60\n")
    names = (f"{OWN}.0-1.1-das", f"{OWN}.0-1.11-das", f"{OWN}-two.0-1.1-das")
    found = [subprocess.Popen([tmp_path / "salloc", f"--job-name={name}"], start_new_session=True) for name in names]
    yield found
    for holder in found:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(holder.pid, signal.SIGKILL)
        holder.wait()


def has_ended(holder: subprocess.Popen) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        holder.wait(0.5)
    return holder.returncode is not None


def test_the_holder_of_a_claim_that_slurm_has_forgotten_ends_and_no_other(holders):
    cluster(OWN).forget("0-1.1-das")
    assert [has_ended(holder) for holder in holders] == [True, False, False]


def test_what_a_former_broker_of_this_testbed_held_ends_however_young_it_is(holders):
    cluster(OWN).release_all()
    assert [has_ended(holder) for holder in holders] == [True, True, False]


@pytest.mark.parametrize(("parent", "ends"), [("salloc", True), ("slurmstepd", False)])
def test_a_holder_that_is_ended_leaves_no_salloc_that_waits_in_a_busy_loop(tmp_path, parent, ends):
    program, events = tmp_path / parent, tmp_path / "events"
    program.symlink_to("/bin/bash")
    script = HOLDER.replace(f"{FOLDER}/events", str(events)).replace("note claimed", "note claimed; echo $$ >&3")
    reading, writing = os.pipe()
    waiting = f'exec 3>&{writing}; sh -c "$HOLDER_SCRIPT"; sleep 60'
    environment = os.environ | {"HOLDER_SCRIPT": script, "SLURM_JOB_NAME": "t.0-1.1-das", "SLURM_JOB_ID": "7"}
    starter = subprocess.Popen(
        [program, "-c", waiting], env=environment, pass_fds=[writing], start_new_session=True, stdout=subprocess.DEVNULL
    )
    try:
        os.close(writing)
        os.kill(int(os.read(reading, 20)), signal.SIGTERM)
        if ends:
            assert starter.wait(60) == -signal.SIGKILL
        else:
            with pytest.raises(subprocess.TimeoutExpired):
                starter.wait(0.5)
        assert [line.split()[0] for line in events.read_text().splitlines()] == ["claimed", "ended"]
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(starter.pid, signal.SIGKILL)
        starter.wait()


@pytest.mark.parametrize(("testbed", "released"), [("t", ["--quiet", "8"]), ("t-two", ["--quiet", "9"])])
def test_testbeds_that_share_an_account_release_only_what_is_their_own(said, testbed, released):
    cluster(testbed).release_all()
    assert said("scancel") == released


def test_only_a_real_head_lets_keys_in_and_what_is_left_of_them_is_removed_when_it_is_found(said, tmp_path):
    accepted = tmp_path / ".ssh" / "authorized_keys"
    container, das = cluster(), cluster(real=True)
    container.admit("job-0-1", "ssh-ed25519 AAAA")
    container.dismiss("job-0-1")
    assert not accepted.exists()
    for use in ("job-0-1", "job-0-2"):
        das.admit(use, "ssh-ed25519 AAAA")
    das.dismiss("job-0-1")
    assert accepted.read_text() == "restrict ssh-ed25519 AAAA multicluster-testbed/t/job-0-2\n"
    das.release_all()
    assert accepted.read_text() == ""


def test_an_allocation_is_listed_until_it_is_cancelled_or_ends(said):
    das = cluster()
    assert das.allocations() == {"8": "0-1.0-das"}
    das.release("8")
    assert das.allocations() == {}


def test_a_release_that_fails_says_so_unless_the_allocation_is_gone(said, tmp_path):
    das = cluster()
    (tmp_path / "scancel.fails").touch()
    with pytest.raises(ClusterUnreachable, match="allocation 8 is not released"):
        das.release("8")
    with pytest.raises(ClusterUnreachable, match="still holds 8 for us"):
        das.release_all()
    das.release("7")


def test_a_slurm_that_does_not_list_its_jobs_is_not_one_without_jobs(said, tmp_path):
    das = cluster()
    (tmp_path / "squeue.fails").touch()
    for ask in (das.allocations, das.release_all):
        with pytest.raises(ClusterUnreachable, match="squeue failed"):
            ask()
    (tmp_path / "scancel.fails").touch()
    with pytest.raises(ClusterUnreachable, match="squeue failed"):
        das.release("8")


def test_processors_are_those_of_the_partition_or_of_the_default_one(said):
    default = cluster().occupancy()
    assert (default.nodes, default.processors, default.idle) == (1, 4, 4)
    assert cluster(partition="science", processors=3).occupancy().idle == 3
    assert "--partition=science" in said("sinfo")


def test_what_a_partition_that_starts_no_job_has_idle_does_not_count(said, tmp_path):
    (tmp_path / "sinfo").write_text("#!/bin/sh\necho 'service drain 2 0/8/0/8'\n")
    found = cluster(partition="service").occupancy()
    assert (found.nodes, found.processors, found.idle) == (2, 8, 0)


@pytest.mark.parametrize(
    ("complaint", "error"),
    [
        ("Batch job submission failed: Required partition not available (inactive or drain)", NotGranted),
        ("Batch job submission failed: Socket timed out on send/recv operation", NotGranted),
        ("Batch job submission failed: Invalid account or account/partition combination specified", ClaimFailed),
    ],
)
def test_a_claim_that_slurm_refuses_for_now_may_be_tried_again(said, tmp_path, complaint, error):
    for program in ("sbatch", "salloc"):
        (tmp_path / program).write_text(f"#!/bin/sh\necho 'sbatch: error: {complaint}' >&2\nexit 1\n")
    with pytest.raises(ClaimFailed, match="'das' refused 6 processors") as raised:
        cluster().claim("1-1.1-das", 6)
    assert type(raised.value) is error


def test_where_a_policy_chooses_nodes_slurm_is_asked_which_of_them_it_does_not_use(said):
    assert cluster(spreads=True).occupancy().unusable == {"n3", "n7"}
    assert cluster().occupancy().unusable == frozenset()


def test_ranks_are_dealt_to_the_nodes_of_a_real_cluster_as_slurm_gave_them(said):
    part = cluster(real=True, setup="module load openmpi", message_range="10.141.0.0/16").part("7", 6)
    assert part.nodes == (NodeShare("n1", 2), NodeShare("n2", 2), NodeShare("n7", 2))
    assert part.login == ("-p", "2222", "alice@fs0.das.example")
    assert (part.setup, part.message_range) == ("module load openmpi", "10.141.0.0/16")


def test_a_container_is_one_machine_and_is_not_asked(said):
    part = cluster().part("nonsense", 6)
    assert (part.nodes, part.is_real) == ((), False)


def test_an_allocation_that_ended_has_no_ranks(said):
    with pytest.raises(ClaimFailed, match="'das' holds 0 of the 6 processors"):
        cluster(real=True).part("8", 6)
    with pytest.raises(ClaimFailed, match="holds 5 of the 6"):
        shares("n1 0-3\nn2 9\n", 6, "das")
    with pytest.raises(ClaimFailed, match="which is no node"):
        shares("n1;id 0-3\n", 4, "das")
