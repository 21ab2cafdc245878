"""What the live tests share: the images, a testbed of each of three topologies, and one container of the node image.

Needs Docker with Compose; the first run builds the images. Nearly all tests of a testbed use `quick`, whose jobs do not
wait for middleware, or `two-sites`, whose links are quickly checked. Tests of the middleware's overhead, or of a state
that a job has only while it waits, use `mini`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from emulator.client import BrokerClient
from emulator.containers import engine
from emulator.containers.images import ensure_images
from emulator.containers.progress import ignore
from emulator.containers.state import testbed_state
from tests.live.command_line import QUICK_FILE, TWO_SITES_FILE, CommandLine
from tests.live.grid import Grid
from tests.live.node_container import NodeContainer, node_container
from tests.live.resident_world import ResidentWorld

QUICK_NAME = "livetest"
TWO_SITES_NAME = "livetest-two"
MINI_NAME = "livetest-mini"


FILES_OF = {
    "node": (
        "test_ensflow.py", "test_failing.py", "test_heat.py", "test_laplace.py", "test_messages.py", "test_poisson.py",
        "test_resident_world.py", "test_start.py", "test_synthetic.py",
    ),
    "mini": ("test_mini.py", "test_killed_broker.py"),
    "two_sites": (
        "test_attribution.py", "test_calibrate.py", "test_disturbances.py", "test_files.py", "test_measure.py",
        "test_mending.py", "test_verify.py",
    ),
    "das": ("test_real_cluster.py",),
}  # fmt: skip
"""The files whose tests share a testbed or the node's container, by its fixture; all others share `testbed`."""

TESTBED_OF = {file: testbed for testbed, files in FILES_OF.items() for file in files}

MEASURING = (
    "test_attribution.py", "test_calibrate.py", "test_disturbances.py", "test_measure.py", "test_verify.py",
)  # fmt: skip
"""The files whose tests measure time on this host."""


def pytest_configure(config: pytest.Config) -> None:
    """Have the tests run in the order of their files: they share testbeds, and some build on what others left there."""
    config.option.randomly_reorganize = False


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test by what it needs: `live`, `node` or the testbed `quick`, and `timed` if it measures."""
    item.add_marker("live")
    used = set(getattr(item, "fixturenames", ()))
    if item.path.name in MEASURING:
        item.add_marker("timed")
    if "node" in used:
        item.add_marker("node")
    if item.path.name not in TESTBED_OF:
        item.add_marker("quick")
    shared = used & {*FILES_OF, "testbed"}
    assert shared <= {TESTBED_OF.get(item.path.name, "testbed")}, f"{item.nodeid} uses the testbed of other files"


@pytest.fixture(scope="session")
def images() -> None:
    """All images, made where they do not exist yet."""
    ensure_images(engine.connect(), ignore)


@contextmanager
def brought_up(name: str, topology: str) -> Iterator[CommandLine]:
    """Bring a testbed up and take it down as a user does; assert that nothing of it is left."""
    testbed = CommandLine(name)
    if testbed.left_over():
        testbed.succeed("down")
    testbed.succeed("up", "--topology", topology)
    yield testbed
    testbed.succeed("down")
    assert testbed.left_over() == []


@pytest.fixture(scope="session")
def testbed(images: None) -> Iterator[CommandLine]:
    """Yield a running testbed of the topology `quick`."""
    with brought_up(QUICK_NAME, str(QUICK_FILE)) as testbed:
        yield testbed


@pytest.fixture(scope="session")
def mini(images: None) -> Iterator[CommandLine]:
    """Yield a running testbed of the topology `mini`, whose middleware overhead is 5 s and 1 s per component."""
    with brought_up(MINI_NAME, "mini") as testbed:
        yield testbed


@pytest.fixture(scope="session")
def two_sites(images: None) -> Iterator[CommandLine]:
    """A running testbed of two small clusters, `east` and `west`."""
    with brought_up(TWO_SITES_NAME, str(TWO_SITES_FILE)) as testbed:
        yield testbed


@pytest.fixture
def grid(testbed: CommandLine) -> Iterator[Grid]:
    """Yield the jobs of `testbed`, and end them all after the test."""
    with jobs_of(testbed) as grid:
        yield grid


@pytest.fixture
def paced_grid(mini: CommandLine) -> Iterator[Grid]:
    """Yield the jobs of `mini`, and end them all after the test."""
    with jobs_of(mini) as grid:
        yield grid


@contextmanager
def jobs_of(testbed: CommandLine) -> Iterator[Grid]:
    """Yield the jobs of a testbed, and cancel those that still run afterwards."""
    with broker_of(testbed) as client:
        grid = Grid(testbed, client)
        yield grid
    with broker_of(testbed) as grid.client:  # the test may have made the token anew
        grid.end_all()


def broker_of(testbed: CommandLine) -> BrokerClient:
    """Return a client of a testbed's broker, with the token that it has now."""
    state = testbed_state(testbed.name)
    return BrokerClient(state.api_url, state.token)


@pytest.fixture(scope="session")
def node(images: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeContainer]:
    """Yield a container of the node image, in which applications run without a testbed."""
    with node_container(tmp_path_factory.mktemp("exchange")) as container:
        yield container


@pytest.fixture(scope="session")
def world(node: NodeContainer) -> Iterator[ResidentWorld]:
    """Yield one MPI world in that container; it starts with its first job."""
    world = ResidentWorld(node)
    yield world
    world.close()
