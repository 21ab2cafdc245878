"""The verb ``monitor``: the metrics of a running testbed over time, in Prometheus and Grafana."""

from __future__ import annotations

from typing import Annotated

import typer

from emulator.cli.given_options import refuse_given
from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption
from emulator.cli.progress import step_printer
from emulator.cli.tables import show_rows
from emulator.model.errors import TestbedNotUp


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command()(monitor)


def monitor(
    context: typer.Context,
    grafana: Annotated[
        bool, typer.Option("--grafana", help="Start Grafana, too, with a dashboard; its image is pulled.")
    ] = False,
    stop: Annotated[
        bool, typer.Option("--stop", help="Stop both; what Prometheus collected stays until `testbed down`.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="The port of Prometheus.", show_default="the first free one from 9090"),
    ] = None,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Start Prometheus beside a running testbed, to see its metrics over time.

    It keeps running until `testbed monitor --stop` or `testbed down`, and is seen at this host's loopback only.

    Example: testbed monitor
    """
    from emulator.containers.monitoring.files import DASHBOARD
    from emulator.containers.monitoring.starting import start_monitor, stop_monitor
    from emulator.containers.state import testbed_state

    if stop:
        refuse_given(context, {"grafana", "port", "as_json"}, "with --stop nothing is started")
        if not stop_monitor(testbed_state(name), step_printer()):
            raise TestbedNotUp(f"No monitor of the testbed {name!r} runs, so there is nothing to stop.")
        return
    links = start_monitor(testbed_state(name), grafana=grafana, port=port, observe=step_printer())
    dashboard = links.grafana or str(DASHBOARD)
    rows = [{"part": "prometheus", "where": links.prometheus}, {"part": "dashboard", "where": dashboard}]
    show_rows(rows, as_json=as_json)
