"""The page's files: complete, from nowhere else, and without a way for text to become a program."""

import re

import pytest

from emulator.model.errors import InvalidInput
from emulator.model.page_assets import ASSETS_PATH, read_assets
from emulator.page import ASSETS

SCRIPTS = sorted(ASSETS.glob("*.js"))
FILES = sorted(path for path in ASSETS.iterdir() if path.is_file())
MAKES_TEXT_A_PROGRAM = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setTimeout\(\s*[\"'`]|srcdoc"
    r"|DOMParser|createContextualFragment"
)


def test_every_file_is_served():
    served = {path.removeprefix(ASSETS_PATH) for path in read_assets(ASSETS)}
    assert served == {"/"} | {path.name for path in FILES} - {"index.html"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_imports_what_exists_and_is_exported(script):
    for names, source in re.findall(r"import \{([^}]*)\} from \"\./([a-z]+\.js)\";", script.read_text()):
        exported = (ASSETS / source).read_text()
        for name in re.findall(r"\w+", names):
            assert re.search(rf"export (async )?(function|class|const) {name}\b", exported), f"{name} of {source}"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_never_makes_a_program_of_text(script):
    assert not MAKES_TEXT_A_PROGRAM.findall(script.read_text())


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_a_file_names_no_other_host(file):
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}", file.read_text()))
    assert addresses <= {"http://www.w3.org"}


def test_the_first_page_has_what_the_scripts_look_for():
    first = (ASSETS / "index.html").read_text()
    wanted = {name for script in SCRIPTS for name in re.findall(r"element\(\"([\w-]+)\"\)", script.read_text())}
    assert wanted
    assert wanted <= set(re.findall(r'id="([\w-]+)"', first))
    assert "style=" not in first
    assert "onclick=" not in first
    assert not re.search(r"<script(?![^>]*src=)", first)


def test_a_folder_without_a_page_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="holds no live page"):
        read_assets(tmp_path)
