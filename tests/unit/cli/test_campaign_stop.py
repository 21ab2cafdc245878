"""The verb `campaign stop` after a campaign was killed: it ends the run, and removes the input files that are left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from emulator.model.files import FileRegistration
from emulator.model.views import RunRequest
from emulator.runs import container_testbed, input_files
from emulator.runs.holding import Testbed
from tests.unit.broker_double import BrokerDouble, WideAreaDouble


@pytest.fixture
def stop(
    testbed: Testbed, call: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> Callable[[], tuple[int, str, str]]:
    """Return a function that runs ``testbed campaign stop`` on the double."""

    @contextmanager
    def named(name: str) -> Iterator[Testbed]:
        yield testbed

    monkeypatch.setattr(container_testbed, "testbed_named", named)
    monkeypatch.setattr(input_files, "remove_left", partial(input_files.remove_left, host_patience_s=0.0))
    return partial(call, "campaign", "stop")


def leave(broker: BrokerDouble, testbed: Testbed, *files: str) -> None:
    """Leave a run and files as a campaign does that is killed."""
    testbed.client.take_run(RunRequest(name="first"))
    broker.files = {name: FileRegistration(name=name, size_bytes=1, sites=("delft",)) for name in files}


def test_the_run_is_ended_and_what_it_left_is_removed(
    stop: Callable[[], tuple[int, str, str]], broker: BrokerDouble, testbed: Testbed, wide_area: WideAreaDouble
) -> None:
    leave(broker, testbed, "first-file-1", "input")
    assert stop() == (0, "Run 1 (first) is ended; the testbed is free.\n", "")
    assert not broker.held
    assert list(broker.files) == ["input"]
    assert wide_area.programmed == [1.0]


def test_files_that_stay_are_named_and_the_testbed_is_not_said_to_be_free(
    stop: Callable[[], tuple[int, str, str]], broker: BrokerDouble, testbed: Testbed
) -> None:
    leave(broker, testbed, "first-file-1", "first-file-2", "first-file-3")
    broker.needed_files = {"first-file-1", "first-file-3"}
    code, shown, said = stop()
    assert (code, shown) == (1, "")
    assert said == (
        "testbed: Run 1 (first) is ended, but input files of it are left: first-file-1, first-file-3 "
        "(File 'first-file-1' is needed by a job that has not ended); remove each with `testbed files remove`.\n"
    )
    assert not broker.held
    assert list(broker.files) == ["first-file-1", "first-file-3"]


def test_there_is_nothing_to_stop_where_no_run_holds_the_testbed(stop: Callable[[], tuple[int, str, str]]) -> None:
    code, _, said = stop()
    assert (code, said) == (1, "testbed: No run holds the testbed, so there is nothing to stop.\n")
