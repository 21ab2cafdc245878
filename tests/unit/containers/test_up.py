"""What `up` refuses before it asks Docker for anything."""

from __future__ import annotations

import pytest

from emulator.containers.state import TestbedSpec
from emulator.containers.up import bring_up
from emulator.model.errors import InvalidInput
from emulator.model.project import TOPOLOGIES


@pytest.mark.parametrize("name", ["das2-2003", "das2-2003-single"])
def test_a_topology_that_jobs_are_not_paced_by_is_for_predictions_alone(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"which jobs that run are not paced by: it is for `testbed predict`"):
        bring_up(TestbedSpec("refused", TOPOLOGIES / f"{name}.yaml", "auto", None))
