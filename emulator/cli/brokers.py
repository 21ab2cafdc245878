"""How a verb speaks to the broker of a standing testbed."""

from __future__ import annotations

from emulator.client import BrokerClient
from emulator.containers.state import standing


def broker_of(name: str) -> BrokerClient:
    """A client of the broker of the testbed called `name`; to be closed.

    Raises:
        NotStanding: if it does not stand.
    """
    state = standing(name)
    return BrokerClient(state.api_url, state.token)
