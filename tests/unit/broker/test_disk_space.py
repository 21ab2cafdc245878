"""The disk of a host is one, however many sites are on it."""

import pytest

from emulator.broker.files import disk_space
from emulator.broker.files.disk_space import ANSWER_SERVES_HOST_S, KEPT_FREE_BYTES, DiskSpace
from emulator.model.catalogue import topology_named
from emulator.model.errors import TransferFailed
from tests.unit.broker.simulated_file_servers import file_servers

MINI = topology_named("mini")
SITES = tuple(MINI.cluster_names)
FREE_BYTES = 1_000


@pytest.fixture
def space() -> DiskSpace:
    servers = {server.site: server for server in file_servers(*SITES)}
    for server in servers.values():
        server.disk_bytes = KEPT_FREE_BYTES + FREE_BYTES
    return DiskSpace(MINI, servers)


def test_a_file_at_several_sites_needs_its_size_at_each(space: DiskSpace) -> None:
    with space.reserved(SITES[:1], FREE_BYTES):
        pass
    expected = rf"^1004 bytes .* at 4 sites.* {FREE_BYTES} are available"
    with pytest.raises(TransferFailed, match=expected), space.reserved(SITES, 251):
        pass
    with space.reserved(SITES, 250):
        pass


def test_what_is_reserved_is_not_available_to_another_file_until_it_is_written(space: DiskSpace) -> None:
    too_large = pytest.raises(TransferFailed, match="but 200 are available")
    with space.reserved(SITES, 200), too_large, space.reserved(SITES[:1], 201):
        pass
    with space.reserved(SITES[:1], 201):
        pass


def test_what_is_written_while_a_site_is_asked_may_be_missing_in_its_answer(space: DiskSpace) -> None:
    writing = space.reserved(SITES, 200)
    writing.__enter__()
    first = space._servers[SITES[0]]
    ask = first.free_bytes

    def ask_while_the_other_ends() -> int:
        said = ask()
        writing.__exit__(None, None, None)
        return said

    first.free_bytes = ask_while_the_other_ends
    with pytest.raises(TransferFailed, match="but 200 are available"), space.reserved(SITES[:1], 201):
        pass


def test_a_file_that_failed_leaves_nothing_reserved(space: DiskSpace) -> None:
    with pytest.raises(OSError, match="disk"), space.reserved(SITES, 250):
        raise OSError("disk")
    with space.reserved(SITES, 250):
        pass


def asked(space: DiskSpace) -> list[int]:
    """Return the answers of the first site, to which each question adds one."""
    answers: list[int] = []
    first = space._servers[SITES[0]]
    ask = first.free_bytes

    def note() -> int:
        answers.append(ask())
        return answers[-1]

    first.free_bytes = note
    return answers


def test_an_answer_serves_for_other_files_too_and_promises_no_more_than_was_free(space: DiskSpace) -> None:
    answers = asked(space)
    with space.reserved(SITES[:1], 400), space.reserved(SITES[:1], 600):
        assert len(answers) == 1
        with pytest.raises(TransferFailed, match="but 0 are available"), space.reserved(SITES[:1], 1):
            pass
    assert len(answers) == 2, "a site is asked before a file is refused"


def test_space_that_was_freed_since_the_answer_is_found_by_another_one(space: DiskSpace) -> None:
    answers = asked(space)
    with space.reserved(SITES[:1], 900):
        pass
    # The file was removed again, so that the site has all of its disk.
    with space.reserved(SITES[:1], 900):
        pass
    assert len(answers) == 2


def test_an_old_answer_serves_no_more(space: DiskSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, now_host_s = asked(space), [1000.0]
    monkeypatch.setattr(disk_space.time, "monotonic", lambda: now_host_s[0])
    for later_host_s in (0.0, ANSWER_SERVES_HOST_S - 1.0, 1.0):
        now_host_s[0] += later_host_s
        with space.reserved(SITES[:1], 1):
            pass
    assert len(answers) == 2


def test_what_has_been_written_of_a_file_under_way_is_not_counted_twice(
    space: DiskSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_host_s = [1000.0]
    monkeypatch.setattr(disk_space.time, "monotonic", lambda: now_host_s[0])
    with space.reserved(SITES[:1], 600) as under_way:
        under_way.written_bytes = 500
        for server in space._servers.values():
            server.disk_bytes -= 500
        now_host_s[0] += ANSWER_SERVES_HOST_S + 1.0
        with space.reserved(SITES[:1], 300):
            pass
        with pytest.raises(TransferFailed, match="but 400 are available"), space.reserved(SITES[:1], 401):
            pass


HOSTS = dict(zip(SITES, ("left", "left", "right", "right"), strict=True))


@pytest.fixture
def spaces() -> DiskSpace:
    """The disks of two hosts with two sites each; the second has a tenth of what is free on the first."""
    servers = {server.site: server for server in file_servers(*SITES)}
    for site, server in servers.items():
        server.disk_bytes = KEPT_FREE_BYTES + (FREE_BYTES if HOSTS[site] == "left" else FREE_BYTES // 10)
    return DiskSpace(MINI, servers, HOSTS)


def test_each_host_has_a_disk_of_its_own_which_its_sites_share(spaces: DiskSpace) -> None:
    refused = pytest.raises(TransferFailed, match=r"at 1 site, .* host 'right' share its disk, but 40 are available")
    first, full = spaces.reserved(SITES[2:3], 60), spaces.reserved(SITES[:1], FREE_BYTES)
    with first, full, refused, spaces.reserved(SITES[3:], 41):
        pass
    with spaces.reserved(SITES[3:], 41):
        pass


def test_a_file_at_sites_of_several_hosts_needs_room_on_each(spaces: DiskSpace) -> None:
    with spaces.reserved(SITES, 50):
        pass
    refused = pytest.raises(TransferFailed, match=r"^102 bytes are needed at 2 sites, .* host 'right'")
    with refused, spaces.reserved(SITES, 51):
        pass
    # What one host had room for is free again.
    with spaces.reserved(SITES[:1], FREE_BYTES):
        pass


def test_what_is_written_of_a_file_to_one_host_is_told_its_disk_alone(
    spaces: DiskSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_host_s = [1000.0]
    monkeypatch.setattr(disk_space.time, "monotonic", lambda: now_host_s[0])
    with spaces.reserved(SITES[2:3], 60) as under_way:
        under_way.written_bytes = 60
        for site in SITES[2:]:
            spaces._servers[site].disk_bytes -= 60
        now_host_s[0] += ANSWER_SERVES_HOST_S + 1.0
        with spaces.reserved(SITES[3:], 40), spaces.reserved(SITES[:2], FREE_BYTES // 2):
            pass
