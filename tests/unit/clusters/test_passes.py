"""Keys for one job or transfer at real heads, in the home of a head's account as its shell changes it."""

import stat
import subprocess
import threading
from pathlib import Path

import paramiko
import pytest

from emulator.clusters.passes import Admissions, passing
from emulator.clusters.ssh import Completed
from emulator.model.errors import ClusterUnreachable

OWN = "ssh-rsa AAAAB3 alice@home\n"
FORCED = 'command="echo hello",restrict ssh-ed25519 AAAAC3 backup key'
KEY = "ssh-ed25519 AAAAC4"


class Account:
    """The account of a real head, in a folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.file = home / ".ssh" / "authorized_keys"
        self.prefix = ""

    def execute(self, command: str, script: str = "") -> Completed:
        environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        command = f"{self.prefix}{command}"
        ended = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)
        return Completed(ended.stdout, ended.stderr, ended.returncode)

    def write(self, text: str, mode: int = 0o600) -> None:
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(text)
        self.file.chmod(mode)


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return Account(tmp_path)


def admissions(account: Account, testbed: str = "t") -> Admissions:
    return Admissions("das", testbed, account)


def test_a_key_runs_commands_only_and_leaves_all_other_lines_as_they_are(account: Account) -> None:
    account.write(f"{OWN}\n# a comment\n{FORCED}\n")
    das = admissions(account)
    das.admit("job-0-7", KEY)
    line = f"restrict {KEY} multicluster-testbed/t/job-0-7\n"
    assert account.file.read_text() == f"{OWN}\n# a comment\n{FORCED}\n{line}"
    das.dismiss("job-0-7")
    assert account.file.read_text() == f"{OWN}\n# a comment\n{FORCED}\n"
    das.dismiss("job-0-7")
    assert [path.name for path in account.file.parent.iterdir()] == ["authorized_keys"]


def test_the_line_before_may_lack_its_end(account: Account) -> None:
    account.write(FORCED)
    admissions(account).admit("job-0-7", KEY)
    assert account.file.read_text().splitlines()[0] == FORCED


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_file_keeps_its_rights_and_one_that_is_missing_is_made_for_its_owner_alone(
    account: Account, mode: int
) -> None:
    admissions(account).dismiss_all()
    assert not account.file.exists()
    admissions(account).admit("job-0-7", KEY)
    assert stat.S_IMODE(account.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(account.file.parent.stat().st_mode) == 0o700
    account.file.chmod(mode)
    admissions(account).admit("job-0-8", KEY)
    assert stat.S_IMODE(account.file.stat().st_mode) == mode


def test_a_link_stays_a_link(account: Account) -> None:
    account.write(OWN)
    kept = account.home / "kept"
    account.file.rename(kept)
    account.file.symlink_to(kept)
    admissions(account).admit("job-0-7", KEY)
    assert account.file.is_symlink()
    assert len(kept.read_text().splitlines()) == 2


def test_each_use_and_each_testbed_has_lines_of_its_own(account: Account) -> None:
    account.write(OWN)
    first, second = admissions(account), admissions(account, "t-two")
    for use in ("job-0-1", "job-0-12", "file-1-1"):
        first.admit(use, KEY)
    second.admit("job-0-1", KEY)
    first.dismiss("job-0-1")
    marks = [line.split("/", 1)[1] for line in account.file.read_text().splitlines()[1:]]
    assert marks == ["t/job-0-12", "t/file-1-1", "t-two/job-0-1"]
    first.dismiss_all()
    assert [line.split("/", 1)[1] for line in account.file.read_text().splitlines()[1:]] == ["t-two/job-0-1"]


def test_many_at_once_lose_no_line(account: Account) -> None:
    account.write(OWN)
    das = admissions(account)
    das.admit("job-0-0", KEY)
    changes = [threading.Thread(target=das.admit, args=(f"job-0-{job}", KEY)) for job in range(1, 9)]
    changes.append(threading.Thread(target=das.dismiss, args=("job-0-0",)))
    for change in changes:
        change.start()
    for change in changes:
        change.join(60)
    lines = account.file.read_text().splitlines()
    assert (lines[0] + "\n", len(lines)) == (OWN, 9)


def test_a_disk_that_is_full_leaves_the_file_as_it_is(account: Account) -> None:
    account.write(OWN)
    account.prefix = "ulimit -f 0; trap '' XFSZ; "
    with pytest.raises(ClusterUnreachable, match=r"'das': ~/\.ssh/authorized_keys of its account could not be changed"):
        admissions(account).admit("job-0-7", KEY)
    assert account.file.read_text() == OWN
    assert [path.name for path in account.file.parent.iterdir()] == ["authorized_keys"]


class Head:
    """A head that lets keys in, unless it does not answer."""

    def __init__(self) -> None:
        self.admitted: dict[str, str] = {}
        self.answers = True

    def admit(self, use: str, public_key: str) -> None:
        self._check()
        self.admitted[use] = public_key

    def dismiss(self, use: str) -> None:
        self._check()
        self.admitted.pop(use, None)

    def _check(self) -> None:
        if not self.answers:
            raise ClusterUnreachable("Cluster 'das' stopped answering.")


def test_a_key_is_new_for_each_use_and_lasts_as_long_as_that(tmp_path: Path) -> None:
    heads = [Head(), Head()]
    keys = []
    for use in ("job-0-1", "job-0-2"):
        with passing(use, heads) as key:
            keys.append(key)
            (tmp_path / "key").write_text(key)
            public = paramiko.Ed25519Key.from_private_key_file(str(tmp_path / "key"))
            assert [head.admitted for head in heads] == [{use: f"ssh-ed25519 {public.get_base64()}"}] * 2
        assert [head.admitted for head in heads] == [{}, {}]
    assert len(set(keys)) == 2


def test_where_nobody_has_to_be_let_in_there_is_no_key() -> None:
    with passing("job-0-1", []) as key:
        assert key == ""


def test_one_head_that_does_not_answer_lets_no_other_keep_the_key() -> None:
    first, second = Head(), Head()
    second.answers = False
    with pytest.raises(ClusterUnreachable), passing("job-0-1", [first, second]):
        pytest.fail("nothing may start")
    assert first.admitted == {}


def test_a_key_that_cannot_be_removed_changes_nothing_of_what_it_was_for(caplog: pytest.LogCaptureFixture) -> None:
    head = Head()
    with passing("job-0-1", [head]):
        head.answers = False
    assert "job-0-1 is removed when the cluster is next found" in caplog.text
