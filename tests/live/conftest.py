"""What the live tests share: one standing testbed of the topology `mini`, and one container of the node image.

Needs Docker with Compose; the first run builds the images.
"""

from collections.abc import Iterator

import pytest

from tests.live.command_line import CommandLine
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


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeContainer]:
    """A container of the node image, in which applications run without a testbed."""
    with node_container(tmp_path_factory.mktemp("exchange")) as container:
        yield container
