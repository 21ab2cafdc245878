"""The disk of the host is one, however many sites are on it."""

import pytest

from emulator.broker.files.disk_space import KEPT_FREE_BYTES, DiskSpace
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.files import FileRegistration
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


def file(size_bytes: int, sites: tuple[str, ...] = SITES) -> FileRegistration:
    return FileRegistration(name="f", size_bytes=size_bytes, sites=sites)


def test_a_file_at_several_sites_needs_its_size_at_each(space: DiskSpace) -> None:
    with space.reserved(file(FREE_BYTES, SITES[:1])):
        pass
    expected = rf"^size_bytes: 1004 bytes .* at 4 sites.* {FREE_BYTES} are available"
    with pytest.raises(InvalidInput, match=expected), space.reserved(file(251)):
        pass
    with space.reserved(file(250)):
        pass


def test_what_is_reserved_is_not_available_to_another_file_until_it_is_written(space: DiskSpace) -> None:
    too_large = pytest.raises(InvalidInput, match="but 200 are available")
    with space.reserved(file(200)), too_large, space.reserved(file(201, SITES[:1])):
        pass
    with space.reserved(file(201, SITES[:1])):
        pass


def test_a_file_that_failed_leaves_nothing_reserved(space: DiskSpace) -> None:
    with pytest.raises(OSError, match="disk"), space.reserved(file(250)):
        raise OSError("disk")
    with space.reserved(file(250)):
        pass
