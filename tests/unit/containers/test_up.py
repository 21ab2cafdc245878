"""What `up` refuses before it asks Docker for anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.containers.state import TestbedSpec
from emulator.containers.up import bring_up
from emulator.model.catalogue import equal_clusters
from emulator.model.documents import document_text
from emulator.model.errors import InvalidInput


def test_more_clusters_than_a_router_serves_are_for_simulations_alone(tmp_path: Path) -> None:
    large = tmp_path / "large.yaml"
    large.write_text(document_text(equal_clusters("16x4")), encoding="utf-8")
    with pytest.raises(InvalidInput, match="has 16 emulated clusters, and a testbed's router serves at most 15"):
        bring_up(TestbedSpec("refused", large, "auto", None))
