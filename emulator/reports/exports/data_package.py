"""The description of a co-allocation trace for other programs: a Frictionless Data Package (specs.frictionlessdata.io).

It names the tables, and for every column its type and meaning, so that readers of such packages check and load them.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from typing import Any, Final, Union, get_args, get_origin

from emulator.model.rows import Row
from emulator.reports.exports.coallocation_trace import Trace, TraceComponent, TraceJob, TraceRun, csv_text

TRACE_VERSION: Final = "1.0.0"
"""The version of the tables: the first number changes when a column goes or changes its meaning."""

PACKAGE_FILE: Final = "datapackage.json"
_TABLES: Final[Mapping[str, tuple[type[Row], tuple[str, ...]]]] = {
    "runs": (TraceRun, ("run",)),
    "jobs": (TraceJob, ("run", "job")),
    "components": (TraceComponent, ("run", "job", "component")),
}
"""The tables by name: the type of their rows, and the columns that tell their rows apart."""

_REFERENCES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "jobs": ("runs", ("run",)),
    "components": ("jobs", ("run", "job")),
}
_TYPES: Final[Mapping[object, str]] = {int: "integer", float: "number", str: "string"}


def trace_files(trace: Trace, license_name: str | None) -> dict[str, str]:
    """Return the files of a data package by name: its description, and a table in CSV for each kind of row."""
    rows: Mapping[str, tuple[Row, ...]] = {"runs": trace.runs, "jobs": trace.jobs, "components": trace.components}
    tables = {f"{name}.csv": csv_text(kind, rows[name]) for name, (kind, _) in _TABLES.items()}
    return {PACKAGE_FILE: json.dumps(_package(trace, license_name), indent=1) + "\n", **tables}


def _package(trace: Trace, license_name: str | None) -> dict[str, Any]:
    return {
        "profile": "tabular-data-package",
        "name": "coallocation-trace",
        "title": "Jobs with co-allocation in an emulated multicluster",
        "description": (
            f"{len(trace.jobs)} jobs of {len(trace.runs)} runs of the Multicluster Testbed. Times are emulated seconds "
            "since the start of a run, divided by its time scale."
        ),
        "version": TRACE_VERSION,
        **({"licenses": [{"name": license_name}]} if license_name else {}),
        "resources": [_resource(name) for name in _TABLES],
    }


def _resource(name: str) -> dict[str, Any]:
    kind, key = _TABLES[name]
    schema: dict[str, Any] = {
        "fields": [
            {"name": column, "type": _type_name(field.annotation), "description": field.description}
            for column, field in kind.model_fields.items()
        ],
        "primaryKey": list(key),
        "missingValues": [""],
    }
    if name in _REFERENCES:
        table, columns = _REFERENCES[name]
        schema["foreignKeys"] = [
            {"fields": list(columns), "reference": {"resource": table, "fields": list(columns)}},
        ]
    return {
        "profile": "tabular-data-resource",
        "name": name,
        "path": f"{name}.csv",
        "encoding": "utf-8",
        "schema": schema,
    }


def _type_name(annotation: object) -> str:
    """Return the type of a column: that of its values, text if there are several in a cell."""
    if get_origin(annotation) in (Union, types.UnionType):
        (annotation,) = (each for each in get_args(annotation) if each is not type(None))
    return _TYPES.get(annotation, "string")
