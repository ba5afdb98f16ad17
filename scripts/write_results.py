"""Put the tables of finished runs into RESULTS.md, and their cells and trials under results/.

    python scripts/write_results.py runs/table1 runs/fixed

RESULTS.md holds the words; a table stands between two comments, ``<!-- table NAME -->`` and
``<!-- end NAME -->``, where NAME is the experiment's, and is replaced by the one that the run's
store gives now. Nobody types a figure of a table. A table or picture of the report goes between
``<!-- part NAME: HEADING -->`` and ``<!-- end part -->``, where HEADING is the one that it has in
the report; pictures are drawn to results/. A store that was restored from the committed trials
lacks what most of these parts show: they then stay as they are. benchmarks/README.md repeats the
first table of a run where it has a place for it.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from truegraph.data.storage import write_text
from truegraph.experiments import Experiment, TrialStore
from truegraph.experiments.experiment import builtin_experiments
from truegraph.report.cell_summary import summarise
from truegraph.report.page import Picture
from truegraph.report.run_page import run_page
from truegraph.report.runs import Run
from truegraph.report.summary import cells_csv, result_tables, trials_csv
from truegraph.report.tables import Table, markdown

ROOT = Path(__file__).resolve().parent.parent


def tables_of(run: Path, folder: Path) -> tuple[str, list[str]]:
    """Write a run's cells and trials as CSV; return its name and its tables as Markdown."""
    with TrialStore.open(run) as store:
        stored = store.experiment
    # The last call may have run a part of the experiment: the table is of the whole.
    experiment = builtin_experiments().get(stored.name, stored)
    if (own := folder / f"{stored.name}.toml").is_file():
        experiment = Experiment.from_toml(own)
    with TrialStore.create(run, experiment) as store:
        records = store.records()
    cells = summarise(records, experiment)
    write_text(folder / f"{experiment.name}.csv", cells_csv(cells, experiment))
    write_text(folder / f"{experiment.name}_trials.csv", trials_csv(records, experiment))
    return experiment.name, [shown(table) for table in result_tables(cells, experiment)]


def shown(table: Table) -> str:
    """Return a table as Markdown; those with a row per cell are folded away."""
    text = f"{markdown(table.rows)}\n{table.caption}\n"
    if len(table.rows) <= 20 and "in full" not in table.heading:
        return f"**{table.heading}**\n\n{text}"
    return f"<details><summary>{table.heading}</summary>\n\n{text}\n</details>\n"


def replaced(text: str, name: str, tables: str) -> str | None:
    """Return the document with new tables of one experiment; None if it has no place for them."""
    begin, end = f"<!-- table {name} -->", f"<!-- end {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        return None
    return pattern.sub(lambda _: f"{begin}\n{tables}\n{end}", text)


def with_parts(text: str, run: Run, folder: Path) -> str:
    """Return the document with the parts of the run's report that it has a place for."""
    name = run.experiment.name
    pattern = re.compile(f"(<!-- part {re.escape(name)}: (.*?) -->\n).*?(<!-- end part -->)", re.S)
    if not pattern.search(text):
        return text
    parts = {part.heading: part for part in run_page([run]).parts}

    def filled(place: re.Match[str]) -> str:
        begin, heading, end = place.groups()
        part = parts.get(heading)
        if isinstance(part, Table):
            return f"{begin}{shown(part)}\n{end}"
        if isinstance(part, Picture):
            return f"{begin}{drawn(part, name, folder)}\n{end}"
        return place.group()

    return pattern.sub(filled, text)


def drawn(picture: Picture, name: str, folder: Path) -> str:
    """Draw the panels of a picture to files; return the Markdown that shows them."""
    lines = []
    for number, panel in enumerate(picture.panels, 1):
        file = folder / f"{name}-{number}.png"
        panel.figure.savefig(file, dpi=110, metadata={"Software": None})
        lines.append(f"![{panel.alternative}]({folder.name}/{file.name})")
    return "\n".join([f"**{picture.heading}**\n", *lines, f"\n{picture.caption}\n"])


def put(document: Path, name: str, tables: str) -> bool:
    """Put tables into a document, and return whether it has a place for them."""
    text = replaced(document.read_text(encoding="utf-8"), name, tables)
    if text is not None:
        write_text(document, text)
    return text is not None


def main() -> None:
    """Do it for every run that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+", help="folders of runs")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of RESULTS.md")
    options = parser.parse_args()
    for run in options.runs:
        name, tables = tables_of(run, options.root / "results")
        if not put(options.root / "RESULTS.md", name, "\n".join(tables)):
            places = f"<!-- table {name} --> and <!-- end {name} -->"
            raise SystemExit(f"RESULTS.md has no place for {name}: add {places}.")
        results = options.root / "RESULTS.md"
        text = results.read_text(encoding="utf-8")
        write_text(results, with_parts(text, Run.read(run), options.root / "results"))
        benchmarks = options.root / "benchmarks" / "README.md"
        if benchmarks.is_file():
            put(benchmarks, name, tables[0])


if __name__ == "__main__":
    main()
