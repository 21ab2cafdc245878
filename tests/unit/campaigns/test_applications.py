"""An application is known wherever the house names the applications one by one: this names those places.

A new one is added to `apps.run.APPLICATIONS` (its module and class), `emulator.model.applications.APPLICATIONS` (what
may be submitted), `emulator.campaigns.measured_applications` (what a matrix chooses for it), `emulator.campaigns.work`
(what it computes in an iteration, where it has a grid) and docs/applications.md (a row and a section).
`emulator.reports.exports.poisson_skeleton` is Poisson's alone.
"""

from __future__ import annotations

import argparse
import inspect
import re
from importlib import import_module

import pytest

from apps.run import APPLICATIONS as RUN_APPLICATIONS
from apps.run import make_parser
from emulator.campaigns.measured_applications import measured_application
from emulator.campaigns.work import all_updates, largest_share
from emulator.model.applications import APPLICATIONS, TESTBED_ARGUMENTS
from emulator.model.errors import UnknownName
from emulator.model.house import HOUSE

PAGE = (HOUSE / "docs" / "applications.md").read_text(encoding="utf-8")
GRID, PROCESSORS = 400, 4


def options_of(application: str) -> set[str]:
    """The names of the options on its command line, without their hyphens in front."""
    (applications,) = (
        action for action in make_parser(application)._actions if isinstance(action, argparse._SubParsersAction)
    )
    actions = applications.choices[application]._actions
    return {option.removeprefix("--") for action in actions for option in action.option_strings}


def test_what_may_be_submitted_is_what_the_nodes_run():
    assert set(APPLICATIONS) == set(RUN_APPLICATIONS)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_its_module_is_an_application_s(application):
    registered = RUN_APPLICATIONS[application]
    module = import_module(registered.module)
    assert callable(module.add_arguments)
    assert callable(module.read_options)
    assert {"iterate", "results"} <= {name for name, _ in inspect.getmembers(getattr(module, registered.class_name))}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_measuring_sets_arguments_that_it_has(application):
    measured, options = measured_application(application), options_of(application)
    assert {measured.length, "iterations", *measured.fixed} <= options
    assert measured.has_grid == ("grid" in options)
    assert measured.synchronizes == ("synchronized" in options)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_what_the_testbed_sets_is_an_option_of_the_ranks(application):
    assert options_of(application) >= TESTBED_ARGUMENTS - {"save"}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_its_work_is_known_where_it_has_a_grid(application):
    if measured_application(application).has_grid:
        share = largest_share(application, GRID, PROCESSORS)
        assert 0 < share.updates <= all_updates(application, GRID) <= PROCESSORS * share.updates
    else:
        with pytest.raises(UnknownName):
            largest_share(application, GRID, PROCESSORS)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_its_page_has_a_row_and_a_section_with_its_arguments(application):
    assert f"\n| [{application}](#{application}) |" in PAGE
    section = PAGE.split(f"\n## {application.capitalize()}\n")[1].split("\n## ")[0]
    common = {"help", "h", "save", "start-at"} | TESTBED_ARGUMENTS
    described = set(re.findall(r"--([a-z][a-z-]*)", section))
    assert options_of(application) - {"-h"} - common <= described
