"""The site of the manual: pages made from the program are whole, and no page fetches anything from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.cli.verbs import VERBS
from emulator.model.project import PROJECT_ROOT

DOCS = PROJECT_ROOT / "docs"
FETCHED = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=["'](?:https?:)?//[^"']+""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    strict = ["--quiet", "--fail-on-warning", "--keep-going"]
    subprocess.run([sys.executable, "-m", "sphinx", *strict, str(DOCS), str(made)], check=True, cwd=PROJECT_ROOT)
    return made


@pytest.mark.long
def test_no_page_fetches_anything(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    assert {page.name: found for page in pages if (found := FETCHED.findall(page.read_text(encoding="utf-8")))} == {}


@pytest.mark.long
def test_pages_made_from_the_program_are_whole(site: Path) -> None:
    verbs = (site / "reference" / "verbs.html").read_text(encoding="utf-8")
    assert [name for name in VERBS if f'id="testbed-{name}"' not in verbs] == []
    assert "/v1/runs/current" in (site / "reference" / "http-api.html").read_text(encoding="utf-8")
    assert "processors_per_node" in (site / "reference" / "schemas.html").read_text(encoding="utf-8")
