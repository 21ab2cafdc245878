"""What a user gave on the command line, and the refusal of options that would have no effect there."""

from __future__ import annotations

from collections.abc import Iterable

import typer

from emulator.model.errors import InvalidInput


def given_options(context: typer.Context) -> set[str]:
    """Return the parameters that are given on the command line, not by default or by a variable."""
    sources = {parameter: context.get_parameter_source(parameter) for parameter in context.params}
    return {parameter for parameter, source in sources.items() if source and source.name == "COMMANDLINE"}


def refuse_given(context: typer.Context, parameters: Iterable[str], why: str, *, instead: str = "") -> None:
    """Refuse those of `parameters` that are given on the command line, because they would have no effect.

    The sentence names all of them as a user types them, and says `why`. `instead` is what can be done other than to
    leave them out.

    Raises:
        InvalidInput: if one is given.
    """
    given = given_options(context) & set(parameters)
    options = sorted(_typed(parameter.opts[0]) for parameter in context.command.params if parameter.name in given)
    if options:
        remedy = f"{instead}, or leave" if instead else "leave"
        left_out = "it" if len(options) == 1 else "them"
        raise InvalidInput(f"{', '.join(options)}: {why}; {remedy} {left_out} out.")


def _typed(name: str) -> str:
    """Return an option as it is typed, and an argument as the usage shows it."""
    return name if name.startswith("-") else name.upper()
