"""``truegraph data``: which data sets there are, what they hold, fetching and exporting them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from truegraph.cli.output import check_target_folder, print_json, print_rows, print_table, tell

data_commands = typer.Typer(
    no_args_is_help=True, help="List, show, fetch and export the named data sets."
)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the data set, such as cora.")]


@data_commands.command("list", epilog="Example: truegraph data list")
def list_command(as_json: Json = False) -> None:
    """List the data sets, their sizes, and where each is found."""
    from truegraph.data import list_datasets, list_interaction_sets

    kinds: dict[str, Any] = {
        "datasets": list_datasets(),
        "interaction_sets": list_interaction_sets(),
    }
    if as_json:
        print_json({kind: [asdict(info) for info in found] for kind, found in kinds.items()})
        return
    for found in kinds.values():
        rows = [["name", *found[0].statistics, "found", "description"]]
        for info in found:
            sizes = ["-" if size is None else str(size) for size in info.statistics.values()]
            rows.append([info.name, *sizes, _where(info), info.description])
        print_table(rows)


@data_commands.command("info", epilog="Example: truegraph data info cora")
def info_command(name: Name, as_json: Json = False) -> None:
    """Show the statistics, the origin and the licence of a data set."""
    from truegraph.data import dataset_info, interaction_info, load_dataset

    is_pairs = _is_interactions(name)
    info: Any = interaction_info(name) if is_pairs else dataset_info(name)
    document = asdict(info)
    if not is_pairs:
        document["largest_component"] = None
        if info.source is not None:
            dataset = load_dataset(info.name)
            document["statistics"] = dataset.statistics()
            if dataset.graph is not None:
                document["largest_component"] = dataset.largest_component().statistics()
    if as_json:
        print_json(document)
        return
    tell(f"{info.name}: {info.description}")
    rows = [(key, _number(value)) for key, value in document["statistics"].items()]
    rows += [
        (f"{key} in the paper", str(value)) for key, value in document.get("paper", {}).items()
    ]
    if document.get("largest_component"):
        part = document["largest_component"]
        rows.append(("largest component", f"{part['nodes']:,} nodes, {part['edges']:,} edges"))
    rows += [("status", info.status)] if is_pairs else []
    print_rows([*rows, ("found", _where(info)), ("origin", info.origin), ("licence", info.licence)])


@data_commands.command("fetch", epilog="Example: truegraph data fetch pubmed")
def fetch_command(name: Name) -> None:
    """Download a data set into the cache, checked against its known checksum."""
    from truegraph import data

    if _is_interactions(name):
        data.load_interactions(name)  # none can be downloaded: the error says how to get it
        source = data.interaction_info(name).source
    else:
        info = data.dataset_info(name)
        source = None if info.can_fetch else info.source
        if source is None:
            tell(f"{name} is in {data.fetch_dataset(name)}")
            return
    tell(f"{name} needs no download ({source}).")


@data_commands.command("export", epilog="Example: truegraph data export cora --out cora")
def export_command(
    name: Name,
    out: Annotated[Path, typer.Option(help="Folder for the files.", metavar="FOLDER")],
) -> None:
    """Write a data set as .csv files, in the form in which the commands take your own."""
    check_target_folder("--out", out)
    from truegraph.data import load_dataset, load_interactions
    from truegraph.data.exporting import export_interactions, export_nodes

    if _is_interactions(name):
        files = export_interactions(load_interactions(name), out)
    else:
        files = export_nodes(load_dataset(name), out)
    tell("\n".join(str(file) for file in files))


def _is_interactions(name: str) -> bool:
    from truegraph.data import list_interaction_sets

    return name.lower() in [entry.name for entry in list_interaction_sets()]


def _where(info: Any) -> str:
    return info.source or ("can be fetched" if getattr(info, "can_fetch", False) else "not here")


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
