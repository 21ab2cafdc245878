"""What the live tests share: one standing testbed of the topology `mini`.

Needs Docker with Compose; the first run builds the images.
"""

from collections.abc import Iterator

import pytest

from tests.live.command_line import CommandLine

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
