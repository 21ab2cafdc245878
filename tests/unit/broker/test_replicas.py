"""Replicas are brought where jobs run, shared, cancelled when no job waits, and removed after their last user."""

from __future__ import annotations

import threading
import time

import pytest

from emulator.broker.files.catalogue import Catalogue
from emulator.broker.files.disk_space import KEPT_FREE_BYTES
from emulator.broker.files.registry import FileRegistry
from emulator.broker.files.replicas import Replicas
from emulator.broker.loop import Loop
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput, JournalFailed, TestbedBusy, TransferFailed, UnknownName
from emulator.model.files import BandwidthOrigin, FileRegistration
from emulator.policies.state import FileState
from tests.unit.broker.broker_setup import PATIENCE_HOST_S
from tests.unit.broker.faulty_journal import FaultyDatabase
from tests.unit.broker.simulated_file_servers import BYTES_PER_HOST_S, file_servers

TOPOLOGY = topology_named("mini")
SIZE_BYTES = 1000


class Files:
    """The files of a broker over simulated file servers, and the loop that owns them."""

    def __init__(self, folder) -> None:
        self.servers = {server.site: server for server in file_servers(*TOPOLOGY.cluster_names)}
        servers = list(self.servers.values())
        self.replicas = Replicas(TOPOLOGY, servers, Catalogue(folder / "files.sqlite"))
        self.needed: set[str] = set()
        self.loop = Loop(lambda: None, lambda: None)
        self.loop.open()
        self.replicas.open(self.loop.post)
        self.registry = FileRegistry(TOPOLOGY, servers, self.replicas, self.loop.call, lambda: self.needed)

    def register(self, name: str = "input", *sites: str):
        return self.registry.register(FileRegistration(name=name, size_bytes=SIZE_BYTES, sites=sites or ("delft",)))

    def deliver(self, job: int, name: str = "input", dilation: float = 1.0, on_arrived=lambda arrived: None, **sources):
        return self.loop.call(lambda: self.replicas.deliver(job, name, sources, Dilation(dilation), on_arrived))

    def release_job(self, job: int) -> None:
        self.loop.call(lambda: self.replicas.release_job(job))

    def sites(self, name: str = "input") -> dict[str, tuple[bool, int]]:
        return {replica.site: (replica.kept, replica.users) for replica in self.registry.file(name).replicas}

    def until(self, condition) -> None:
        deadline = time.monotonic() + PATIENCE_HOST_S
        while not condition():
            assert time.monotonic() < deadline, f"the condition did not hold within {PATIENCE_HOST_S:g} s"
            time.sleep(0.002)

    def close(self) -> None:
        self.loop.call(self.replicas.close)
        self.loop.close()


@pytest.fixture
def files(tmp_path):
    files = Files(tmp_path)
    yield files
    files.close()


def test_a_file_is_made_at_its_sites_and_listed_with_its_checksum(files):
    view = files.register("input", "utrecht", "delft")
    assert [replica.site for replica in view.replicas] == ["delft", "utrecht"]
    assert view.sha256 == files.servers["delft"].files["input"].sha256
    assert files.registry.files() == [view]
    assert "input" not in files.servers["leiden"].files


def test_a_registration_that_fails_at_one_site_leaves_nothing_at_any(files):
    files.servers["leiden"].refuses = True
    with pytest.raises(TransferFailed, match="could not be made at 'leiden'"):
        files.register("input", "delft", "leiden")
    assert files.registry.files() == []
    assert files.servers["delft"].files == {}
    files.servers["leiden"].refuses = False
    files.register("input", "delft", "leiden")


def test_a_name_that_is_taken_is_refused(files):
    files.register()
    with pytest.raises(InvalidInput, match="'input' is there already"):
        files.register()


def test_a_file_at_an_unknown_cluster_is_refused(files):
    with pytest.raises(UnknownName, match=r"^sites: there is no cluster 'leyden' \(known: "):
        files.register("new", "delft", "leyden")
    assert files.registry.files() == []


@pytest.mark.parametrize("change", ["make", "remove"])
def test_a_file_that_is_being_made_or_removed_can_be_neither_registered_nor_removed(files, change, monkeypatch):
    if change == "remove":
        files.register()
    begun, may_go_on, delft = threading.Event(), threading.Event(), files.servers["delft"]
    work = getattr(delft, change)

    def slowly(*arguments):
        begun.set()
        assert may_go_on.wait(PATIENCE_HOST_S)
        return work(*arguments)

    monkeypatch.setattr(delft, change, slowly)
    changing = threading.Thread(target=files.register if change == "make" else files.registry.remove, args=("input",))
    changing.start()
    assert begun.wait(PATIENCE_HOST_S)
    try:
        for attempt in (files.register, files.registry.remove):
            with pytest.raises(TestbedBusy, match=r"^File 'input' is being made or removed: wait for it\.$"):
                attempt("input")
    finally:
        may_go_on.set()
        changing.join()
    assert [view.name for view in files.registry.files()] == (["input"] if change == "make" else [])


def test_a_file_comes_to_where_the_job_runs_and_goes_when_it_has_ended(files):
    files.register()
    arrived = []
    delivery = files.deliver(1, delft="delft", leiden="delft", utrecht="delft", on_arrived=arrived.append)
    assert delivery.complete() == max(each.host_arrived_s for each in arrived)
    assert files.deliver(2, delft="delft").complete() is None
    files.release_job(2)
    assert files.sites() == {"delft": (True, 1), "leiden": (False, 1), "utrecht": (False, 1)}
    assert files.servers["leiden"].files == files.servers["delft"].files
    files.release_job(1)
    assert files.sites() == {"delft": (True, 0)}
    files.until(lambda: not files.servers["leiden"].files and not files.servers["utrecht"].files)
    assert "input" in files.servers["delft"].files


def test_a_file_that_came_is_there_though_its_rate_cannot_be_kept(files, monkeypatch):
    def refuse(source: str, target: str, bytes_per_s: float) -> None:
        raise JournalFailed("The broker's catalogue of files cannot be written for now (database or disk is full).")

    files.register()
    monkeypatch.setattr(files.replicas.catalogue, "record_transfer", refuse)
    files.deliver(1, leiden="delft").complete()
    assert files.sites() == {"delft": (True, 1), "leiden": (False, 1)}
    assert files.servers["leiden"].files == files.servers["delft"].files


def test_jobs_share_a_transfer_and_the_replica_stays_for_the_last_of_them(files):
    files.register()
    files.servers["leiden"].holds_back = True
    first, second = files.deliver(1, leiden="delft"), files.deliver(2, leiden="delft")
    files.until(lambda: files.servers["leiden"].transfers)
    files.release_job(1)
    files.servers["leiden"].transfers[0].go_on()
    second.complete()
    with pytest.raises(TransferFailed, match="ended while its input file was under way"):
        first.complete()
    assert len(files.servers["leiden"].transfers) == 1
    assert files.sites()["leiden"] == (False, 1)
    files.release_job(2)
    files.until(lambda: not files.servers["leiden"].files)


def test_progress_is_shown_and_a_transfer_that_nobody_waits_for_is_cancelled(files):
    files.register()
    files.servers["leiden"].holds_back = True
    files.deliver(1, leiden="delft")
    files.until(
        lambda: [transfer.received_bytes for transfer in files.registry.file("input").transfers] == [SIZE_BYTES // 2]
    )
    files.release_job(1)
    files.until(lambda: not files.registry.file("input").transfers)
    assert files.servers["leiden"].files == {}
    assert files.sites() == {"delft": (True, 0)}


def test_a_job_that_wants_what_is_just_being_cancelled_has_it_brought_anew(files):
    files.register()
    files.servers["leiden"].holds_back = True
    files.deliver(1, leiden="delft")
    files.until(lambda: files.servers["leiden"].transfers)

    def cancel_and_want():
        files.replicas.release_job(1)
        return files.replicas.deliver(2, "input", {"leiden": "delft"}, Dilation(1.0))

    second = files.loop.call(cancel_and_want)
    files.until(lambda: len(files.servers["leiden"].transfers) == 2)
    files.servers["leiden"].transfers[1].go_on()
    second.complete()
    assert "input" in files.servers["leiden"].files
    assert files.sites()["leiden"] == (False, 1)


def test_a_job_that_wants_what_is_just_being_removed_has_it_brought_anew(files):
    files.register()
    files.deliver(1, leiden="delft").complete()
    removing, may_remove = threading.Event(), threading.Event()
    remove = files.servers["leiden"].remove

    def slowly(name):
        removing.set()
        assert may_remove.wait(PATIENCE_HOST_S)
        remove(name)

    files.servers["leiden"].remove = slowly
    files.release_job(1)
    second = files.deliver(2, leiden="delft")
    assert removing.wait(PATIENCE_HOST_S)
    may_remove.set()
    second.complete()
    assert "input" in files.servers["leiden"].files


def test_a_source_stays_while_a_file_comes_from_there(files):
    files.register()
    files.deliver(1, leiden="delft").complete()
    files.servers["utrecht"].holds_back = True
    second = files.deliver(2, utrecht="leiden")
    files.release_job(1)
    files.until(lambda: files.servers["utrecht"].transfers)
    assert files.sites()["leiden"] == (False, 1)
    files.servers["utrecht"].transfers[0].go_on()
    second.complete()
    files.release_job(2)
    assert files.sites() == {"delft": (True, 0)}


def test_a_transfer_that_fails_says_why_and_leaves_the_catalogue_as_it_was(files):
    files.register()
    files.servers["delft"].files.clear()
    with pytest.raises(TransferFailed, match="did not come to 'leiden'"):
        files.deliver(1, leiden="delft").complete()
    assert list(files.sites()) == ["delft"]


def test_bandwidth_is_what_transfers_had_in_emulated_bytes_per_second(files):
    """A million bytes per host second at dilation 4, where an emulated second lasts four: four million."""
    files.register()
    pair = (TOPOLOGY.index("delft"), TOPOLOGY.index("leiden"))
    assert files.replicas.bandwidths.forecast(*pair).origin is BandwidthOrigin.STATED
    files.deliver(1, dilation=4.0, leiden="delft").complete()
    forecast = files.replicas.bandwidths.forecast(*pair)
    assert forecast.bytes_per_s == pytest.approx(4 * BYTES_PER_HOST_S, rel=1e-3)
    (measured,) = [view for view in files.registry.bandwidths() if view.origin is BandwidthOrigin.MEASURED]
    assert (measured.source, measured.target, measured.rate_mbit) == ("delft", "leiden", pytest.approx(32, rel=1e-3))


def test_what_was_measured_is_known_to_the_next_broker(files, tmp_path):
    files.register()
    files.deliver(1, leiden="delft").complete()
    again = Replicas(TOPOLOGY, list(files.servers.values()), Catalogue(tmp_path / "files.sqlite"))
    assert again.bandwidths.forecasts() == files.replicas.bandwidths.forecasts()
    again.close()


def test_what_was_measured_before_a_run_is_forgotten_also_by_the_next_broker(files, tmp_path):
    stated = files.replicas.bandwidths.forecasts()
    files.register()
    files.deliver(1, leiden="delft").complete()
    assert files.replicas.bandwidths.forecasts() != stated
    files.replicas.forget_bandwidths()
    again = Replicas(TOPOLOGY, list(files.servers.values()), Catalogue(tmp_path / "files.sqlite"))
    assert files.replicas.bandwidths.forecasts() == again.bandwidths.forecasts() == stated
    again.close()


def test_what_was_brought_for_jobs_of_a_former_broker_is_unknown_to_the_next_and_swept(files, tmp_path):
    files.register()
    files.deliver(1, leiden="delft").complete()
    again = Replicas(TOPOLOGY, list(files.servers.values()), Catalogue(tmp_path / "files.sqlite"))
    again.open(lambda work: work())
    assert [replica.site for replica in again.view("input").replicas] == ["delft"]
    registry = FileRegistry(TOPOLOGY, list(files.servers.values()), again, lambda work: work(), set)
    assert registry.tidy("leiden") == registry.tidy("delft") == []
    assert files.servers["leiden"].files == {}
    assert "input" in files.servers["delft"].files
    again.close()


def test_a_file_whose_removal_cannot_be_recorded_is_there_and_is_removed_later(files):
    files.register()
    disk = files.replicas.catalogue._database = FaultyDatabase(files.replicas.catalogue._database)
    disk.failing = ("COMMIT",)
    with pytest.raises(JournalFailed, match="disk is full"):
        files.registry.remove("input")
    assert files.sites() == {"delft": (True, 0)}
    assert "input" in files.servers["delft"].files
    disk.failing = ()
    files.registry.remove("input")
    assert files.servers["delft"].files == {}


def test_a_file_that_cannot_be_recorded_is_at_no_site_and_its_name_is_free(files):
    disk = files.replicas.catalogue._database = FaultyDatabase(files.replicas.catalogue._database)
    disk.failing = ("INSERT",)
    with pytest.raises(JournalFailed, match="disk is full"):
        files.register()
    assert (files.registry.files(), files.servers["delft"].files) == ([], {})
    disk.failing = ()
    files.register()


def test_no_file_is_brought_or_made_where_this_host_s_disk_has_no_room(files):
    for server in files.servers.values():
        server.disk_bytes = KEPT_FREE_BYTES + 2 * SIZE_BYTES - 1
    files.register()
    for server in files.servers.values():
        server.disk_bytes -= SIZE_BYTES
    with pytest.raises(TransferFailed, match=f"did not come to 'leiden': {SIZE_BYTES} bytes are needed at 1 site, "):
        files.deliver(1, leiden="delft").complete()
    assert files.servers["leiden"].transfers == []
    with pytest.raises(InvalidInput, match=f"^size_bytes: {SIZE_BYTES} bytes are needed at 1 site, "):
        files.register("new")


@pytest.mark.parametrize(("source_is_real", "target_is_real"), [(True, False), (True, True), (False, True)])
def test_a_container_gets_a_key_for_each_file_of_a_real_head(files, source_is_real, target_is_real):
    files.register()
    delft, leiden = files.servers["delft"], files.servers["leiden"]
    delft.is_real, leiden.is_real = source_is_real, target_is_real
    leiden.holds_back = True
    delivery = files.deliver(1, leiden="delft")
    files.until(lambda: leiden.keys)
    needs_key = source_is_real and not target_is_real
    assert leiden.keys[0].startswith("-----BEGIN OPENSSH PRIVATE KEY-----") == needs_key
    assert len(delft.admitted) == needs_key
    assert not leiden.admitted
    files.until(lambda: leiden.transfers)
    leiden.transfers[0].go_on()
    delivery.complete()
    assert not delft.admitted


def test_what_is_under_way_is_reserved_on_this_host_s_disk(files):
    for server in files.servers.values():
        server.disk_bytes = KEPT_FREE_BYTES + 3 * SIZE_BYTES - 1
    files.register()
    for server in files.servers.values():
        server.disk_bytes -= SIZE_BYTES
    files.servers["leiden"].holds_back = True
    first = files.deliver(1, leiden="delft")
    files.until(
        lambda: [transfer.received_bytes for transfer in files.registry.file("input").transfers] == [SIZE_BYTES // 2]
    )
    for server in files.servers.values():
        server.disk_bytes -= SIZE_BYTES // 2  # what has come is on the disk
    with pytest.raises(TransferFailed, match=f"but {SIZE_BYTES - 1} are available"):
        files.deliver(2, utrecht="delft").complete()
    files.servers["leiden"].transfers[0].go_on()
    first.complete()
    files.deliver(3, utrecht="delft").complete()


def test_policies_see_files_with_their_sites_in_alphabetical_order_and_no_lost_site_if_another_has_it(files):
    files.register("input", "utrecht", "amsterdam")
    files.register("other", "leiden")
    state = files.replicas.states(["input", "gone"], lost=())
    assert state == {"input": FileState((0, 3), float(SIZE_BYTES))}
    assert files.replicas.states(["input"], lost=["amsterdam"])["input"].sites == (3,)
    assert files.replicas.states(["other"], lost=["leiden"])["other"].sites == (2,)


def test_a_site_that_is_found_is_swept_and_what_it_lost_is_known_to_be_lost(files):
    files.register("here", "delft")
    files.register("there", "delft", "leiden")
    files.servers["delft"].files["stranger"] = files.servers["delft"].files.pop("here")
    del files.servers["delft"].files["there"]
    assert files.registry.tidy("delft") == ["here"]
    assert files.servers["delft"].files == {}
    assert [view.name for view in files.registry.files()] == ["there"]
    assert list(files.sites("there")) == ["leiden"]


def test_a_registered_file_is_removed_everywhere_but_not_under_a_job(files):
    files.register()
    files.deliver(1, leiden="delft").complete()
    with pytest.raises(TestbedBusy, match="needed by a job that has not ended"):
        files.registry.remove("input")
    files.release_job(1)
    files.until(lambda: not files.servers["leiden"].files)
    files.needed = {"input"}
    with pytest.raises(TestbedBusy):
        files.registry.remove("input")
    files.needed = set()
    files.until(lambda: not files.loop.call(lambda: files.replicas.operations.has_operation("input")))
    files.registry.remove("input")
    assert files.servers["delft"].files == {}
    with pytest.raises(UnknownName, match="no file 'input'"):
        files.registry.remove("input")
