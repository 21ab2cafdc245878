"""The verbs of the ``testbed`` command: their names, their lines of help, and how a verb's module is loaded.

The module of a verb has the verb's name. It is imported only when the verb is run or asked for its own help, so that
``testbed --help`` does not wait for what the verbs import. A unit test compares the lines with the verbs' own help.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperGroup

from emulator.model.errors import TestbedError
from emulator.model.project import with_extra

_OWN_PACKAGES: Final = ("apps", "emulator", "workloads")


class PackageMissing(TestbedError):
    """A Python package that a verb needs is not installed; the message names the extra that installs it."""


class Verb(NamedTuple):
    """A verb's line of help, and the extra that installs what it needs (empty: it needs none)."""

    line: str
    extra: str = ""


VERBS: Final = {
    "doctor": Verb("Check what this host, and the real clusters of a topology, have and lack for a testbed.", "live"),
    "hosts": Verb("Check the hosts over which a testbed is to spread, and show what each would carry.", "live"),
    "images": Verb("Make the images that a testbed needs and that do not exist yet.", "live"),
    "up": Verb("Bring a testbed up, or mend the one that exists.", "live"),
    "down": Verb("Take a testbed down: containers, networks, volumes and state.", "live"),
    "status": Verb("Show a running testbed: clusters, idle processors, router and API.", "live"),
    "shell": Verb("Open a shell at a cluster's head, as its user.", "live"),
    "logs": Verb("Print what the testbed's containers wrote.", "live"),
    "measure": Verb("Measure extension factors: how much longer a job takes when it is spread over clusters.", "live"),
    "plan": Verb("Say whether this host can carry a run, from which dilation on, and about how long it takes.", "live"),
    "verify": Verb("Measure every link and direction of the wide area against what is asked of it.", "live"),
    "calibrate": Verb(
        "Derive a processor profile: the cost of a grid-point update, or the weight of an application other than "
        "poisson.",
        "live",
    ),
    "predict": Verb(
        "Predict an iteration of a job, and how much longer it takes than in one cluster, with 95% intervals."
    ),
    "put": Verb(
        "Copy files into the home folder of every cluster, where jobs find them: programs of your own, and their data.",
        "live",
    ),
    "submit": Verb("Submit a job.", "live"),
    "jobs": Verb("List the jobs that the broker knows, or show all that it knows of one.", "live"),
    "queue": Verb("List the waiting jobs in the order in which they would be tried.", "live"),
    "clusters": Verb("Show the clusters as their local resource managers report them now.", "live"),
    "output": Verb("Print what a job wrote: its standard output, and on standard error its standard error.", "live"),
    "cancel": Verb("Cancel a job that waits, starts or runs.", "live"),
    "report": Verb(
        "Show one run or compare several: times with 95% intervals, utilization, extension factors, verdicts.", "sim"
    ),
    "compare": Verb(
        "Compare a live run with simulations of the same schedule: times, utilization, and placements that differ.",
        "sim",
    ),
    "claims": Verb("Decide the published claims C29 to C48 by runs of the published campaigns, part by part.", "sim"),
    "page": Verb("Open a page in your browser: a running testbed as it works, or a recorded run at any speed.", "live"),
    "watch": Verb(
        "Watch a running testbed in the terminal: clusters, queue, jobs and verdict lights; q quits.", "live"
    ),
    "monitor": Verb("Start Prometheus beside a running testbed, to see its metrics over time.", "live"),
    "replay": Verb(
        "Make every decision of a run, or of all runs in a folder, again from its record; exits 1 if one differs."
    ),
    "reproduce": Verb(
        "Measure a published table of DAS-2 again: each cell with its published value and error, and the claims.",
        "live",
    ),
    "simulate": Verb(
        "Simulate a workload under a placement policy and a queue discipline, or what a live run did (--like)."
    ),
    "sweep": Verb("Simulate a workload over policies, queues, loads and seeds, on all processors.", "sim"),
    "share": Verb("Simulate jobs that share nodes with each other and with local users.", "sim"),
    "study": Verb("Run a published simulation study again and decide its claims.", "sim"),
    "export": Verb(
        "Write files for other tools: a job on a topology for SimGrid's SMPI to predict, or the jobs of a run."
    ),
    "campaign": Verb("Run, list and stop campaigns: streams of jobs on a running testbed.", "live"),
    "background": Verb("Hold a load of other users' jobs on a running testbed, outside of campaigns.", "live"),
    "list": Verb("List what comes with the testbed by name, each with a line about it."),
    "help": Verb("Show a page of the manual, or a section of one, by its topic; without a topic list them all."),
    "schema": Verb("Print the JSON schema of a document, for editors and other programs."),
    "validate": Verb(
        "Check a topology, a campaign, a job, a processor profile or an inventory of hosts, before a verb takes it.",
        "live",
    ),
    "files": Verb("Register, list and remove files that jobs read, and show the bandwidths between sites.", "live"),
}


class VerbGroup(TyperGroup):
    """The group of all verbs: it knows their lines of help, and loads a verb once it is resolved."""

    _resolved = ""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the verb that `args` begin with, loaded, and the rest of them."""
        if args and args[0] in VERBS:
            self._resolved = args[0]
            self.commands[args[0]] = load_verb(args[0])
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb.

        Raises:
            PackageMissing: if a package that another project makes cannot be imported.
        """
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            from emulator.model.faults import reworded  # only where an option's value is wrong: it loads pydantic

            error.message = reworded(error.message)
            raise
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package in _OWN_PACKAGES or self._resolved not in VERBS:
                raise
            raise PackageMissing(_missing(self._resolved, package)) from error


def command_line(**settings: Any) -> typer.Typer:
    """Return an empty command line with the settings of ours, and `settings`."""
    always = {"no_args_is_help": True, "pretty_exceptions_enable": False, "rich_markup_mode": "rich"}
    return typer.Typer(**{"add_completion": False, **always, **settings})


def load_verb(name: str) -> Any:
    """Import the module of a verb, and return the verb as a command."""
    loaded = command_line()
    import_module(f"emulator.cli.{name}").register(loaded)
    return typer.main.get_group(loaded).commands[name]


def _missing(verb: str, package: str) -> str:
    extra = VERBS[verb].extra
    remedy = f"install the extra {extra!r}: {with_extra(extra)}" if extra else "install it"
    return f"`testbed {verb}` needs the Python package {package!r}, which is not installed ({remedy})."
