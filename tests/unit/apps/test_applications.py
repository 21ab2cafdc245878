"""Every application's descriptor agrees with its code, its command line and its page."""

from __future__ import annotations

import argparse
import inspect
import re
from importlib import import_module

import pytest

from apps.descriptor import ApplicationDescriptor
from apps.registry import APPLICATIONS, TESTBED_ARGUMENTS, all_updates, application_named, largest_share
from apps.run import make_parser
from emulator.model.errors import UnknownName
from emulator.model.project import PROJECT_ROOT

PAGE = (PROJECT_ROOT / "docs" / "applications.md").read_text(encoding="utf-8")
GRID, PROCESSORS = 400, 4

each_application = pytest.mark.parametrize("descriptor", APPLICATIONS.values(), ids=APPLICATIONS.keys())


def defaults_of(application: str) -> dict[str, object]:
    """The options on its command line, without their hyphens in front, and their defaults."""
    (applications,) = (
        action for action in make_parser(application)._actions if isinstance(action, argparse._SubParsersAction)
    )
    actions = applications.choices[application]._actions
    return {option.removeprefix("--"): action.default for action in actions for option in action.option_strings}


@each_application
def test_its_module_is_an_application_s(descriptor: ApplicationDescriptor) -> None:
    module = import_module(descriptor.module)
    assert callable(module.add_arguments)
    assert callable(module.read_options)
    assert {"iterate", "results"} <= {name for name, _ in inspect.getmembers(getattr(module, descriptor.class_name))}


@each_application
def test_it_has_the_arguments_that_measuring_sets_and_those_that_the_testbed_sets(
    descriptor: ApplicationDescriptor,
) -> None:
    options = defaults_of(descriptor.name)
    assert {descriptor.length, "iterations", *descriptor.fixed} <= options.keys()
    assert options.keys() >= TESTBED_ARGUMENTS - {"save"}
    lengths = {"iterations"} - {descriptor.length}
    assert descriptor.arguments == options.keys() - TESTBED_ARGUMENTS - lengths - {"help", "-h"}
    assert descriptor.has_grid == ("grid" in options)
    assert descriptor.synchronizes == ("synchronized" in options)
    assert options.get("exchange", descriptor.form.exchange) == descriptor.form.exchange


@each_application
def test_its_default_length_is_that_of_its_command_line(descriptor: ApplicationDescriptor) -> None:
    assert defaults_of(descriptor.name)[descriptor.length] == descriptor.default_length


@each_application
def test_its_work_is_known_where_it_has_a_grid(descriptor: ApplicationDescriptor) -> None:
    if descriptor.has_grid:
        share = largest_share(descriptor.name, GRID, PROCESSORS)
        assert 0 < share.updates <= all_updates(descriptor.name, GRID) <= PROCESSORS * share.updates
    else:
        with pytest.raises(UnknownName):
            largest_share(descriptor.name, GRID, PROCESSORS)


@each_application
def test_its_page_has_a_row_and_a_section_with_its_arguments(descriptor: ApplicationDescriptor) -> None:
    assert f"\n| [{descriptor.name}](#{descriptor.name}) |" in PAGE
    section = PAGE.split(f"\n## {descriptor.name.capitalize()}\n")[1].split("\n## ")[0]
    common = {"help", "h", "-h", "save"} | TESTBED_ARGUMENTS
    described = set(re.findall(r"--([a-z][a-z-]*)", section))
    assert defaults_of(descriptor.name).keys() - common <= described


@pytest.mark.parametrize(
    ("application", "grid", "processors", "objection"),
    [
        ("poisson", 400, 16, None),
        ("poisson", 3, 7, "cannot be divided over 7 processes"),
        ("laplace", 400, 8, "square process grid cannot be made of 8"),
        ("laplace", 5, 9, "at least 2 x 2 points"),
        ("heat", 3, 8, "cannot be divided over 7 workers"),
        ("ensflow", 64, 7, "60 members cannot be divided over 7"),
        ("ensflow", 4, 1, "--grid must be at least 8"),
        ("synthetic", 0, 7, None),
    ],
)
def test_a_problem_that_cannot_be_run_is_objected_to_as_the_application_does(
    application: str, grid: int, processors: int, objection: str | None
) -> None:
    said = application_named(application).objection(grid, processors, {})
    assert said is None if objection is None else objection in (said or "")
