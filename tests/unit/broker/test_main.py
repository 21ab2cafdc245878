"""A record is one line, so that nothing in it can pass for another."""

import logging
import sys

import pytest

from emulator.broker.__main__ import OneLineFormatter, read_token
from emulator.model.errors import InvalidInput


def written(message: str, *, error: Exception | None = None) -> str:
    trace = None
    if error is not None:
        try:
            raise error
        except type(error):
            trace = sys.exc_info()
    record = logging.LogRecord("broker", logging.WARNING, __file__, 1, "%s", (message,), trace)
    return OneLineFormatter("%(levelname)s: %(message)s").format(record)


def test_text_cannot_begin_a_line_of_its_own():
    assert (
        written("job\nWARNING: all is well\r\u2028\x1b[2J") == "WARNING: job\\nWARNING: all is well\\r\\u2028\\x1b[2J"
    )


def test_an_error_s_own_words_cannot_either_and_its_trace_is_kept():
    line = written("it failed", error=ValueError("a\nWARNING: b"))
    assert line.isprintable()
    assert "ValueError: a\\nWARNING: b" in line
    assert "test_main.py" in line


@pytest.mark.parametrize("content", ["", "\n", "  \n"])
def test_a_broker_does_not_start_with_an_empty_token(tmp_path, content):
    file = tmp_path / "token"
    file.write_text(content)
    with pytest.raises(InvalidInput, match="is empty"):
        read_token(file)
    file.write_text("secret\n")
    assert read_token(file) == "secret"
