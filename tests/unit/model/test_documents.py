"""Documents in YAML: what is none is refused in a sentence, whichever error the parser raises."""

from __future__ import annotations

import pytest

from emulator.model.documents import read_document
from emulator.model.errors import InvalidInput
from emulator.model.topology import Topology


@pytest.mark.parametrize(
    "text", ["{{ name }}: x", "[a, b]: 1", "name: 2024-02-30", "name: [", "name: a\nname: b", "[" * 100_000]
)
def test_what_is_no_yaml_is_refused_in_a_sentence(tmp_path, text):
    (tmp_path / "document.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"document\.yaml: not valid YAML: ") as refused:
        read_document(tmp_path / "document.yaml", Topology)
    assert "\n" not in str(refused.value)
