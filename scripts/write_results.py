"""Put the tables of experiments into their pages under results/, and the figures into RESULTS.md.

    python scripts/write_results.py table1 links       # from results/NAME_trials.csv
    python scripts/write_results.py runs/table1        # from a run: writes its CSVs first

results/NAME.md holds the words; its tables stand between two comments, ``<!-- table NAME -->``
and ``<!-- end NAME -->``, and are replaced by those that the trials give now. Nobody types a figure
of a table. A table or picture of the report goes between ``<!-- part NAME: HEADING -->`` and
``<!-- end part -->``, where HEADING is the one that it has in the report; pictures are drawn to
results/. Trials that come from a CSV lack what some of these parts show: they then stay as they
are. benchmarks/README.md repeats the first table of an experiment where it has a place for it.
Only the pages that are named change; then the short tables of RESULTS.md, README.md and docs/ are
made anew from the CSVs (scripts/digests.py).
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path

from digests import refresh
from restore_runs import restore

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


def known_experiment(name: str, folder: Path) -> Experiment | None:
    """Return the whole experiment of a name: that of results/NAME.toml, or the built-in one."""
    if (own := folder / f"{name}.toml").is_file():
        return Experiment.from_toml(own)
    return builtin_experiments().get(name)


def restored_run(name: str, folder: Path, place: Path) -> Path:
    """Make the store of an experiment from its trials under results/."""
    experiment, trials = known_experiment(name, folder), folder / f"{name}_trials.csv"
    if experiment is None or not trials.is_file():
        raise SystemExit(f"{name!r} is neither the folder of a run nor one of {trials}.")
    restore(experiment, trials, place / name)
    return place / name


def tables_of(run: Path, folder: Path) -> tuple[str, list[str]]:
    """Write a run's cells and trials as CSV; return its name and its tables as Markdown."""
    with TrialStore.open(run) as store:
        stored = store.experiment
    # The last call may have run a part of the experiment: the table is of the whole.
    experiment = known_experiment(stored.name, folder) or stored
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
        lines.append(f"![{panel.alternative}]({file.name})")
    return "\n".join([f"**{picture.heading}**\n", *lines, f"\n{picture.caption}\n"])


def put(document: Path, name: str, tables: str) -> bool:
    """Put tables into a document, and return whether it has a place for them."""
    text = replaced(document.read_text(encoding="utf-8"), name, tables)
    if text is not None:
        write_text(document, text)
    return text is not None


def write(run: Path, root: Path) -> None:
    """Write the page of one run."""
    folder = root / "results"
    name, tables = tables_of(run, folder)
    page = folder / f"{name}.md"
    if not page.is_file() or not put(page, name, "\n".join(tables)):
        places = f"<!-- table {name} --> and <!-- end {name} -->"
        raise SystemExit(f"{page} has no place for the tables of {name}: add {places}.")
    write_text(page, with_parts(page.read_text(encoding="utf-8"), Run.read(run), folder))
    benchmarks = root / "benchmarks" / "README.md"
    if benchmarks.is_file():
        put(benchmarks, name, tables[0])


def main() -> None:
    """Do it for every experiment or run that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", help="names of experiments, or folders of runs")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of RESULTS.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        for name in options.names:
            is_run = Path(name).is_dir()
            run = (
                Path(name) if is_run else restored_run(name, options.root / "results", Path(place))
            )
            write(run, options.root)
    refresh(options.root)


if __name__ == "__main__":
    main()
