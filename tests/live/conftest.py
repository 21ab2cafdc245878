"""What the live tests share: one standing testbed of the topology `mini`, and one container of the node image.

Needs Docker with Compose; the first run builds the images.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.command_line import CommandLine
from tests.live.grid import Grid
from tests.live.node_container import NodeContainer, node_container

LIVE_NAME = "livetest"


@pytest.fixture(scope="session")
def standing_testbed() -> Iterator[CommandLine]:
    """A testbed of the topology `mini`, brought up and taken down as a user does; nothing of it is left behind."""
    testbed = CommandLine(LIVE_NAME)
    if testbed.left_over():
        testbed.succeed("down")
    testbed.succeed("up", "--topology", "mini")
    yield testbed
    testbed.succeed("down")
    assert testbed.left_over() == []


@pytest.fixture
def grid(standing_testbed: CommandLine, tmp_path: Path) -> Iterator[Grid]:
    """The standing testbed for one test, whose jobs have all ended afterwards."""
    grid = Grid(standing_testbed, tmp_path)
    yield grid
    grid.end_all()


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeContainer]:
    """A container of the node image, in which applications run without a testbed."""
    with node_container(tmp_path_factory.mktemp("exchange")) as container:
        yield container
