"""Files of a run are made before their jobs arrive, and removed after them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation, EmulatedClock
from emulator.model.errors import InvalidInput, TestbedBusy, TransferFailed, Unanswered, UnknownName
from emulator.model.files import FileRegistration, FileView
from emulator.runs.input_files import FileKeeper, kept_files, remove_left
from workloads.campaign_stream import InputFile

WITHIN_HOST_S = 60.0
FILES = {name: InputFile((0,), 10.0) for name in ("a", "b", "c")}
ARRIVALS_S = {"a": 5.0, "b": 1000.0, "c": 2000.0}


class Sites:
    """The files at the sites, as a keeper makes and removes them."""

    def __init__(self) -> None:
        self.there: set[str] = set()
        self.broken: set[str] = set()
        self.busy: set[str] = set()
        self.always_busy: set[str] = set()
        self.unanswered: set[str] = set()
        self._changed = threading.Condition()

    def make(self, name: str, file: InputFile) -> None:
        if name in self.broken:
            raise TransferFailed(f"{name} could not be made.")
        with self._changed:
            self.there.add(name)
            self._changed.notify_all()
            if name in self.unanswered:
                self.unanswered.discard(name)
                raise Unanswered("The broker does not answer.")

    def remove(self, name: str) -> None:
        with self._changed:
            if name in self.always_busy:
                raise TestbedBusy(f"{name} is needed.")
            if name in self.busy:
                self.busy.discard(name)
                raise TestbedBusy(f"{name} is needed.")
            if name not in self.there:
                raise UnknownName(f"There is no file {name}.")
            self.there.discard(name)
            self._changed.notify_all()

    def await_state(self, state: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(state, WITHIN_HOST_S), self.there


def clock_at(now_s: float) -> EmulatedClock:
    return EmulatedClock(Dilation(1), time.time() - now_s)


def check_for_long(keeper: FileKeeper) -> None:
    """Ask `keeper` what went wrong until it says so."""
    deadline_host_s = time.monotonic() + WITHIN_HOST_S
    while time.monotonic() < deadline_host_s:
        keeper.check()


@pytest.fixture
def sites() -> Sites:
    return Sites()


@pytest.fixture
def keeper(sites: Sites) -> FileKeeper:
    return FileKeeper(FILES, ARRIVALS_S, Dilation(1), sites.make, sites.remove, host_lead_s=60)


def test_only_the_files_of_the_first_jobs_are_made_before_the_clock_starts(keeper: FileKeeper, sites: Sites) -> None:
    keeper.make_first()
    assert sites.there == {"a"}
    assert keeper.close() == []
    assert sites.there == set()


def test_the_others_are_made_when_they_are_due(keeper: FileKeeper, sites: Sites) -> None:
    keeper.make_first()
    keeper.begin(clock_at(950))
    sites.await_state(lambda: "b" in sites.there)
    assert "c" not in sites.there
    keeper.close()


def test_a_dilation_makes_them_due_later(sites: Sites) -> None:
    keeper = FileKeeper(FILES, ARRIVALS_S, Dilation(0.05), sites.make, sites.remove, host_lead_s=60)
    keeper.make_first()
    assert sites.there == {"a", "b"}
    keeper.close()


def test_a_file_is_removed_after_its_job_and_once_it_is_not_in_use_any_more(keeper: FileKeeper, sites: Sites) -> None:
    keeper.make_first()
    keeper.begin(clock_at(1999))
    sites.await_state(lambda: sites.there == {"a", "b", "c"})
    sites.busy = {"a"}
    for name in ("a", "b", None, "another's"):
        keeper.note_ended(name)
    sites.await_state(lambda: sites.there == {"c"})
    keeper.check()
    assert keeper.close() == []
    assert sites.there == set()


def test_a_file_that_cannot_be_made_in_time_is_said(keeper: FileKeeper, sites: Sites) -> None:
    sites.broken = {"b"}
    keeper.make_first()
    keeper.begin(clock_at(1999))
    sites.await_state(lambda: "c" in sites.there)
    with pytest.raises(TransferFailed, match="b could not be made"):
        check_for_long(keeper)
    assert keeper.close() == []


def test_a_file_that_is_still_in_use_at_the_end_is_waited_for(keeper: FileKeeper, sites: Sites) -> None:
    keeper.make_first()
    sites.busy = {"a"}
    assert keeper.close() == []
    assert sites.there == set()


def test_what_cannot_be_removed_is_said_at_the_end(sites: Sites) -> None:
    keeper = FileKeeper(FILES, ARRIVALS_S, Dilation(1), sites.make, sites.remove, host_lead_s=60, host_patience_s=0.0)
    keeper.make_first()
    sites.always_busy = {"a"}
    assert [str(failure) for failure in keeper.close()] == ["a is needed."]


def test_a_request_without_an_answer_is_made_again_and_its_file_is_left_nowhere(
    keeper: FileKeeper, sites: Sites
) -> None:
    sites.unanswered = {"a", "b"}
    keeper.make_first()
    keeper.begin(clock_at(1999))
    sites.await_state(lambda: sites.there == {"a", "b", "c"})
    sites.remove("a")  # its removal was done, but the answer was lost
    keeper.check()
    assert keeper.close() == []
    assert sites.there == set()


class Broker:
    """A broker's client by which files are registered; the answer to the first registration is lost."""

    def __init__(self, *left: str) -> None:
        self.there = {name: view_of(FileRegistration(name=name, size_bytes=1, sites=("delft",))) for name in left}
        self.registrations = 0

    def files(self) -> list[FileView]:
        return list(self.there.values())

    def register_file(self, registration: FileRegistration) -> FileView:
        self.registrations += 1
        if registration.name in self.there:
            raise InvalidInput(f"name: a file {registration.name!r} is there already.")
        self.there[registration.name] = view_of(registration)
        if self.registrations == 1:
            raise Unanswered("The broker does not answer.")
        return self.there[registration.name]

    def remove_file(self, name: str) -> None:
        del self.there[name]


def view_of(registration: FileRegistration) -> FileView:
    return FileView(name=registration.name, size_bytes=registration.size_bytes, sha256="0" * 64, replicas=())


def test_a_file_that_was_made_without_an_answer_counts_as_made() -> None:
    name = "mine-file-1"
    broker, topology = Broker("own"), topology_named("mini")
    with kept_files(broker, topology, {name: FILES["a"]}, {name: 0.0}, Dilation(1), seed=0):
        assert set(broker.there) == {name, "own"}
    assert broker.registrations == 2
    assert set(broker.there) == {"own"}


class Left(Sites):
    """A broker's client by which left files are removed; those that `vanished` are listed, but gone when asked for."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.there = set(names)
        self.vanished: set[str] = set()

    def files(self) -> list[FileView]:
        listed = sorted(self.there | self.vanished)
        return [view_of(FileRegistration(name=name, size_bytes=1, sites=("delft",))) for name in listed]

    def remove_file(self, name: str) -> None:
        self.remove(name)


def test_the_files_of_a_killed_campaign_are_removed_and_no_others() -> None:
    others = {"input", "second-file-1", "my-first-file-1", "first-file-", "first-file-x", "first-file-1.old"}
    left = Left("first-file-1", "first-file-20", *others)
    assert remove_left(left, "first", host_patience_s=0.0) == {}
    assert left.there == others


def test_a_left_file_that_is_still_in_use_is_waited_for_and_one_that_is_gone_is_no_failure() -> None:
    left = Left("first-file-1", "first-file-2")
    left.busy, left.vanished = {"first-file-1"}, {"first-file-3"}
    assert remove_left(left, "first") == {}
    assert left.there == set()


def test_left_files_that_stay_are_returned_by_name_with_the_reason() -> None:
    left = Left("first-file-1", "first-file-2", "first-file-3")
    left.always_busy = {"first-file-1", "first-file-3"}
    stay = remove_left(left, "first", host_patience_s=0.0)
    assert {name: str(failure) for name, failure in stay.items()} == {
        "first-file-1": "first-file-1 is needed.", "first-file-3": "first-file-3 is needed.",
    }  # fmt: skip
    assert left.there == {"first-file-1", "first-file-3"}
