"""The verbs of ``files``: the files that jobs read, the sites that hold them, and the bandwidths between sites."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption
from emulator.cli.tables import show_rows
from emulator.cli.testbeds import broker_of
from emulator.model.documents import validate
from emulator.model.files import FileRegistration, FileView
from emulator.model.units import BYTES_PER_MEGABYTE

files_app = typer.Typer(
    help="Register, list and remove files that jobs read, and show the bandwidths between sites.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add the verbs of this file to `app`."""
    app.add_typer(files_app, name="files")


@files_app.command("list")
def list_files(name: NameOption = DEFAULT_NAME, as_json: JsonOption = False) -> None:
    """List every file, the sites that hold it, and the transfers in progress.

    Example: testbed files list --json
    """
    with broker_of(name) as client:
        _show(client.files(), as_json=as_json)


@files_app.command("register")
def register_file(
    file: Annotated[str, typer.Argument(help="Its logical name.", metavar="FILE")],
    size_bytes: Annotated[int, typer.Option("--bytes", help="Its size.")],
    sites: Annotated[str, typer.Option("--sites", help="The clusters to make it at, for instance delft,leiden.")],
    seed: Annotated[int, typer.Option(help="Of its content, together with its name.")] = 0,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Make a file of random-looking bytes at some sites, for jobs to read.

    Example: testbed files register input --bytes 5000000 --sites delft,leiden
    """
    content = {"name": file, "size_bytes": size_bytes, "sites": sites.split(","), "seed": seed}
    registration = validate(content, FileRegistration, source="files register")
    with broker_of(name) as client:
        _show([client.register_file(registration)], as_json=as_json)


@files_app.command("remove")
def remove_file(
    file: Annotated[str, typer.Argument(help="Its logical name.", metavar="FILE")], name: NameOption = DEFAULT_NAME
) -> None:
    """Remove a file and all its replicas, unless a job that has not ended needs it.

    Example: testbed files remove input
    """
    with broker_of(name) as client:
        client.remove_file(file)


@files_app.command("bandwidths")
def show_bandwidths(name: NameOption = DEFAULT_NAME, as_json: JsonOption = False) -> None:
    """Show the bandwidth that a transfer between two sites may expect: measured, stated by the topology, or assumed.

    Example: testbed files bandwidths
    """
    with broker_of(name) as client:
        bandwidths = client.bandwidths()
    if as_json:
        _print_json(bandwidths)
        return
    rows = [
        {
            "from": bandwidth.source,
            "to": bandwidth.target,
            "rate (Mbit/s)": bandwidth.rate_mbit,
            "origin": bandwidth.origin.value,
            "transfers": bandwidth.transfers,
        }
        for bandwidth in bandwidths
    ]
    show_rows(rows, as_json=False)


def _show(files: list[FileView], *, as_json: bool) -> None:
    if as_json:
        _print_json(files)
    elif files:
        show_rows([_row(file) for file in files], as_json=False)
    else:
        print("The broker knows no files.")


def _row(file: FileView) -> dict[str, Any]:
    return {
        "file": file.name,
        "size (MB)": file.size_bytes / BYTES_PER_MEGABYTE,
        "sites": ", ".join(replica.site if replica.kept else f"{replica.site} (brought)" for replica in file.replicas),
        "users": sum(replica.users for replica in file.replicas),
        "on its way": ", ".join(
            f"{transfer.source} to {transfer.target}: {transfer.received_bytes / file.size_bytes:.0%}"
            for transfer in file.transfers
        ),
    }


def _print_json(views: Sequence[BaseModel]) -> None:
    print(json.dumps([view.model_dump(mode="json") for view in views], indent=2))
