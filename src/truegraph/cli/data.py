"""``truegraph data``: which data sets there are, what they hold, and fetching them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truegraph.cli.common.options import OUTPUT
from truegraph.cli.common.outputs import check_target_folder, print_json, print_rows
from truegraph.cli.common.running import print_table

if TYPE_CHECKING:
    from truegraph.data import DatasetInfo

data_commands = typer.Typer(
    no_args_is_help=True, help="List, show, fetch and export the named data sets."
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the data set, such as cora.")]


@data_commands.command("list", epilog="Example: truegraph data list")
def list_command(as_json: Json = False) -> None:
    """List the data sets, their sizes, and where each is found."""
    from truegraph.data import list_datasets, list_interaction_sets

    infos = list_datasets()
    interaction_sets = list_interaction_sets()
    if as_json:
        print_json(
            {
                "datasets": [asdict(info) for info in infos],
                "interaction_sets": [asdict(entry) for entry in interaction_sets],
            }
        )
        return
    rows = [["name", "nodes", "edges", "features", "classes", "found", "description"]]
    for info in infos:
        sizes = ["-" if size is None else str(size) for size in info.statistics.values()]
        rows.append([info.name, *sizes, _where(info), info.description])
    print_table(rows)
    rows = [["name", "users", "items", "interactions", "found", "description"]]
    for entry in interaction_sets:
        sizes = [str(size) for size in entry.statistics.values()]
        rows.append([entry.name, *sizes, entry.source or "not here", entry.description])
    print_table(rows)


@data_commands.command("info", epilog="Example: truegraph data info cora")
def info_command(name: Name, as_json: Json = False) -> None:
    """Show the statistics, the origin and the licence of a data set."""
    from truegraph.data import dataset_info, list_interaction_sets

    if name.lower() in [entry.name for entry in list_interaction_sets()]:
        _interaction_info(name, as_json)
        return
    info = dataset_info(name)
    document = asdict(info) | _measured(info)
    if as_json:
        print_json(document)
        return
    typer.echo(f"{info.name}: {info.description}")
    rows = [(key, _number(value)) for key, value in document["statistics"].items()]
    if document["largest_component"] is not None:
        component = document["largest_component"]
        rows.append(
            ("largest component", f"{component['nodes']:,} nodes, {component['edges']:,} edges")
        )
    rows += [("found", _where(info)), ("origin", info.origin), ("licence", info.licence)]
    print_rows(rows)


def _interaction_info(name: str, as_json: bool) -> None:
    from truegraph.data import interaction_info

    info = interaction_info(name)
    if as_json:
        print_json(asdict(info))
        return
    typer.echo(f"{info.name}: {info.description}")
    rows = [(key, _number(value)) for key, value in info.statistics.items()]
    rows += [(f"{key} in the paper", str(value)) for key, value in info.paper.items()]
    rows += [("status", info.status), ("found", info.source or "not here")]
    print_rows([*rows, ("origin", info.origin), ("licence", info.licence)])


@data_commands.command("fetch", epilog="Example: truegraph data fetch pubmed")
def fetch_command(name: Name, as_json: Json = False) -> None:
    """Download a data set into the cache, checked against its known checksum."""
    from truegraph.data import (
        dataset_info,
        fetch_dataset,
        interaction_info,
        list_interaction_sets,
        load_interactions,
    )

    if name.lower() in [entry.name for entry in list_interaction_sets()]:
        load_interactions(name)  # none can be downloaded: the error says how to get it
        entry = interaction_info(name)
        _print_fetched(entry.name, None, entry.source or "", as_json)
        return
    info = dataset_info(name)
    comes_along = info.source is not None and not info.can_fetch
    path = None if comes_along else str(fetch_dataset(name))
    _print_fetched(info.name, path, info.source or "download", as_json)


def _print_fetched(name: str, path: str | None, source: str, as_json: bool) -> None:
    if as_json:
        print_json({"name": name, "path": path, "source": source})
    elif path is None:
        typer.echo(f"{name} needs no download ({source}).")
    else:
        typer.echo(f"{name} is in {path}")


@data_commands.command("export", epilog="Example: truegraph data export cora --out cora")
def export_command(
    name: Name,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the files.", rich_help_panel=OUTPUT)
    ],
    as_json: Json = False,
) -> None:
    """Write a data set as .csv files, in the form in which the commands take your own."""
    check_target_folder("--out", out)
    from truegraph.data import list_interaction_sets, load_dataset, load_interactions
    from truegraph.data.exporting import export_interactions, export_nodes

    is_pairs = name.lower() in [entry.name for entry in list_interaction_sets()]
    files = (
        export_interactions(load_interactions(name), out)
        if is_pairs
        else export_nodes(load_dataset(name), out)
    )
    if as_json:
        print_json({"name": name.lower(), "files": [str(file) for file in files]})
    else:
        typer.echo("\n".join(str(file) for file in files))


def _measured(info: DatasetInfo) -> dict[str, Any]:
    """Return the statistics of the data set itself, or the listed ones if it is not here."""
    from truegraph.data import load_dataset

    if info.source is None:
        return {"statistics": info.statistics, "largest_component": None}
    dataset = load_dataset(info.name)
    component = None if dataset.graph is None else dataset.largest_component().statistics()
    return {"statistics": dataset.statistics(), "largest_component": component}


def _where(info: DatasetInfo) -> str:
    if info.source is not None:
        return info.source
    return "can be fetched" if info.can_fetch else "not here"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
