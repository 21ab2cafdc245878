"""The replica catalogue: what it says survives it, and a brought replica is free when its last user has ended."""

import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from emulator.broker.files.catalogue import Catalogue
from emulator.clusters.file_server import StoredFile
from emulator.model.errors import InvalidInput, JournalFailed, UnknownName
from emulator.policies.bandwidth import REMEMBERED
from tests.unit.broker.faulty_journal import FaultyDatabase

INPUT = StoredFile("input", 1000, "0" * 64)


@pytest.fixture
def catalogue(tmp_path):
    catalogue = Catalogue(tmp_path / "files.sqlite")
    yield catalogue
    catalogue.close()


def described(catalogue: Catalogue) -> dict:
    return {
        entry.file: {site: (replica.kept, replica.jobs) for site, replica in entry.replicas.items()}
        for entry in catalogue.entries()
    }


def test_a_registered_file_is_looked_up_and_forgotten(catalogue):
    catalogue.register(INPUT, ["delft", "leiden"])
    assert "input" in catalogue
    assert list(catalogue.entry("input").replicas) == ["delft", "leiden"]
    assert catalogue.files_at("delft") == ["input"]
    catalogue.remove("input")
    assert "input" not in catalogue
    with pytest.raises(UnknownName, match="no file 'input'"):
        catalogue.entry("input")


def test_a_name_stands_for_one_content(catalogue):
    catalogue.register(INPUT, ["delft"])
    with pytest.raises(InvalidInput, match="'input' is there already"):
        catalogue.register(StoredFile("input", 5, "1" * 64), ["leiden"])
    assert catalogue.entry("input").file == INPUT


def test_a_brought_replica_is_free_when_its_last_user_has_ended_and_a_registered_one_never(catalogue):
    catalogue.register(INPUT, ["delft"])
    catalogue.add_replica("input", "leiden", {1})
    catalogue.use("input", ["leiden", "delft"], 2)
    assert catalogue.end_uses(1) == []
    assert catalogue.end_uses(2) == [("input", "leiden")]
    assert described(catalogue) == {INPUT: {"delft": (True, set())}}


def test_a_file_without_replicas_is_forgotten(catalogue):
    catalogue.register(INPUT, ["delft"])
    catalogue.drop_replica("input", "delft")
    assert "input" not in catalogue


def test_all_that_it_says_is_said_by_who_opens_it_next(catalogue, tmp_path):
    catalogue.register(INPUT, ["delft"])
    catalogue.add_replica("input", "leiden", {1, 2})
    catalogue.use("input", ["delft"], 3)
    catalogue.record_transfer("delft", "leiden", 2e6)
    again = Catalogue(tmp_path / "files.sqlite")
    assert described(again) == described(catalogue)
    assert again.past_transfers() == [("delft", "leiden", 2e6)]
    again.close()


def test_what_was_brought_for_jobs_is_forgotten_with_them_also_where_the_last_one_has_ended(catalogue, tmp_path):
    catalogue.register(INPUT, ["delft"])
    catalogue.add_replica("input", "leiden", {1})
    catalogue.add_replica("input", "utrecht", set())
    catalogue.use("input", ["delft"], 1)
    again = Catalogue(tmp_path / "files.sqlite")
    again.forget_jobs()
    assert described(again) == {INPUT: {"delft": (True, set())}}
    again.close()


def test_of_past_transfers_those_are_kept_that_a_forecast_uses(catalogue):
    for number in range(1, 3 * REMEMBERED):
        catalogue.record_transfer("delft", "leiden", float(number))
        catalogue.record_transfer("leiden", "delft", 7.0)
    past = [rate for source, _, rate in catalogue.past_transfers() if source == "delft"]
    assert past == [float(number) for number in range(2 * REMEMBERED, 3 * REMEMBERED)]
    assert len(catalogue.past_transfers()) == 2 * REMEMBERED


CHANGES: dict[str, Callable[[Catalogue], object]] = {
    "register INSERT": lambda catalogue: catalogue.register(StoredFile("new", 5, "1" * 64), ["delft"]),
    "remove DELETE": lambda catalogue: catalogue.remove("input"),
    "add INSERT": lambda catalogue: catalogue.add_replica("input", "utrecht", {1}),
    "drop DELETE": lambda catalogue: catalogue.drop_replica("input", "delft"),
    "use INSERT": lambda catalogue: catalogue.use("input", ["delft", "leiden"], 2),
    "end DELETE": lambda catalogue: catalogue.end_uses(1),
    "forget DELETE": lambda catalogue: catalogue.forget_jobs(),
    "record INSERT": lambda catalogue: catalogue.record_transfer("delft", "leiden", 1.0),
}
"""Every method that changes something, with a statement of it."""


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("failing", ["BEGIN", "COMMIT", "its statement"])
def test_a_change_that_a_full_disk_refuses_is_none(catalogue, tmp_path, change, failing):
    catalogue.register(INPUT, ["delft"])
    catalogue.add_replica("input", "leiden", {1})
    before = described(catalogue)
    disk = catalogue._database = FaultyDatabase(catalogue._database)
    disk.failing = (failing if failing.isupper() else change.split()[1],)
    with pytest.raises(JournalFailed, match="disk is full"):
        CHANGES[change](catalogue)
    assert described(catalogue) == before
    again = Catalogue(tmp_path / "files.sqlite")
    assert (described(again), again.past_transfers()) == (before, [])
    again.close()
    disk.failing = ()
    CHANGES[change](catalogue)


def test_a_change_of_which_a_part_fails_changes_nothing(catalogue, tmp_path):
    with pytest.raises(sqlite3.IntegrityError):
        catalogue.register(INPUT, ["delft", "delft"])
    again = Catalogue(tmp_path / "files.sqlite")
    assert described(again) == described(catalogue) == {}
    again.close()


class Uses(RuleBasedStateMachine):
    """Jobs that come and go over two files at three sites; the catalogue is reopened and agrees with itself."""

    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "files.sqlite"
        self.catalogue = Catalogue(self.path)
        for name in ("a", "b"):
            self.catalogue.register(StoredFile(name, 10, "0" * 64), ["delft"])

    @rule(name=st.sampled_from("ab"), site=st.sampled_from(["leiden", "utrecht"]), job=st.integers(1, 4))
    def need(self, name, site, job):
        if site in self.catalogue.entry(name).replicas:
            self.catalogue.use(name, [site], job)
        else:
            self.catalogue.add_replica(name, site, {job})

    @rule(job=st.integers(1, 4))
    def end(self, job):
        for name, site in self.catalogue.end_uses(job):
            assert site not in self.catalogue.entry(name).replicas
        for entry in self.catalogue.entries():
            assert all(job not in replica.jobs for replica in entry.replicas.values())

    @invariant()
    @precondition(lambda self: hasattr(self, "catalogue"))
    def every_brought_replica_has_a_user_and_disk_says_the_same(self):
        for entry in self.catalogue.entries():
            assert entry.replicas["delft"].kept
            assert all(replica.kept or replica.jobs for replica in entry.replicas.values())
        again = Catalogue(self.path)
        assert described(again) == described(self.catalogue)
        again.close()

    def teardown(self):
        if hasattr(self, "catalogue"):
            self.catalogue.close()
            self.folder.cleanup()


TestUses = Uses.TestCase
TestUses.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
