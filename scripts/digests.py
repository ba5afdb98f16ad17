"""Fill the short tables and single figures that documents take from the CSVs under results/.

    python scripts/digests.py

A short table stands between two comments. The first one says what it shows: a metric, columns
(a data set with the conditions that vary in its experiment), and one row per line, each of an
experiment and a label, with the words to show after an equals sign::

    <!-- digest accuracy: cora labels 5 = Cora, 5 labels; citeseer labels 5
    table1/GCN
    paper:table1/GCN = GCN, in the paper
    beyond/refined = **truegraph**
    -->
    ...
    <!-- end digest -->

A single figure stands before a comment that says where it is from, and so does the difference of
two rows: ``76.5<!--=beyond/refined/cora labels 5/accuracy-->`` and
``+7.5<!--=beyond/refined - beyond/GCN/cora labels 5/accuracy-->``. The list of all pages under
results/ stands between ``<!-- pages -->`` and ``<!-- end pages -->``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from truegraph.data.storage import write_text
from truegraph.evaluation import Metric
from truegraph.experiments.tasks.base import find_task

ROOT = Path(__file__).resolve().parent.parent
DIGEST = re.compile(r"(<!-- digest (.*?)\n(.*?)-->\n).*?(<!-- end digest -->)", re.S)
FIGURE = re.compile(r"(?<![\w.+-])[+-]?[\w.,]+(<!--=(.*?)-->)")
PAGES = re.compile(r"(<!-- pages -->\n).*?(<!-- end pages -->)", re.S)


@dataclass(frozen=True)
class Figure:
    """One cell of an experiment: the mean, the paper's mean, how many trials, its metric."""

    mean: float | None
    paper: float | None
    trials: int
    metric: Metric


@cache
def figures(results: Path, experiment: str) -> dict[tuple[str, str, str], Figure]:
    """Return the cells of an experiment by label, column and metric."""
    path = results / f"{experiment}.csv"
    if not path.is_file():
        raise SystemExit(f"{path} is missing: there is no experiment {experiment!r}.")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    names = list(rows[0])
    conditions = names[names.index("dataset") + 1 : names.index("model")]
    swept = [name for name in conditions if len({row[name] for row in rows}) > 1]
    return {
        (row["label"], _column(row, swept), row["metric"]): Figure(
            mean=float(row["mean"]) if row["mean"] else None,
            paper=float(row["paper_mean"]) if row["paper_mean"] else None,
            trials=int(row["trials"]),
            metric=find_task(row["task"]).metrics[row["metric"]],
        )
        for row in rows
    }


def _column(row: dict[str, str], swept: list[str]) -> str:
    return " ".join([row["dataset"], *(f"{name} {row[name]}" for name in swept)])


def digest(results: Path, head: str, body: str) -> str:
    """Return the table that a comment asks for, as Markdown."""
    name, _, listed = head.partition(":")
    columns = [_named(column) for column in listed.split(";")]
    found = [(_named(line), list(_row(results, line, name, columns))) for line in body.splitlines()]
    shown = next((cell for _, row in found for cell in row if cell is not None), None)
    if shown is None:
        raise SystemExit(f"The digest of {head!r} is empty: no cell of it is under {results}.")
    heading = [shown.metric.heading, *(words for _, words in columns), "trials"]
    rows = [heading, ["---"] * len(heading)]
    for (source, words), row in found:
        is_paper = source.startswith("paper:")
        values = [None if cell is None else (cell.paper if is_paper else cell.mean) for cell in row]
        texts = ["-" if value is None else shown.metric.shown(value) for value in values]
        rows.append([words, *texts, "-" if is_paper else _trials(row)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _named(text: str) -> tuple[str, str]:
    """Return what a column or line refers to, and the words to show for it."""
    source, _, words = (part.strip() for part in text.partition(" = "))
    return source, words or source.rpartition("/")[2]


def _row(
    results: Path, line: str, metric: str, columns: list[tuple[str, str]]
) -> Iterator[Figure | None]:
    source = _named(line)[0].removeprefix("paper:")
    experiment, _, label = source.partition("/")
    cells = figures(results, experiment)
    if label not in {known for known, _, _ in cells}:
        raise SystemExit(f"{line!r} of a digest: {experiment} has no label {label!r}.")
    for column, _ in columns:
        yield cells.get((label, column, metric))


def _trials(row: list[Figure | None]) -> str:
    counts = sorted({cell.trials for cell in row if cell is not None and cell.trials})
    if not counts:
        return "-"
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def single_figure(results: Path, source: str) -> str:
    """Return the figure, or the difference, that a comment behind it names."""
    rows, column, metric = source.rsplit("/", 2)
    cells = []
    for row in rows.split(" - "):
        experiment, _, label = row.partition("/")
        cell = figures(results, experiment).get((label, column, metric))
        if cell is None or cell.mean is None:
            raise SystemExit(f"{source!r}: {experiment} has no such cell.")
        cells.append(cell)
    shown = cells[0].metric
    if len(cells) == 1:
        return shown.shown(cells[0].mean)
    return shown.signed(cells[0].mean - cells[1].mean)


def pages(results: Path) -> str:
    """Return a list of the pages of experiments."""
    lines = []
    for page in sorted(results.glob("*.md"), key=lambda path: path.stem.replace("_", "-")):
        text = page.read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title}](results/{page.name})\n")
    return "".join(lines)


def refreshed(text: str, root: Path) -> str:
    """Return a document with its digests, figures and list of pages made anew."""
    results = root / "results"
    text = DIGEST.sub(lambda at: f"{at[1]}{digest(results, at[2], at[3])}{at[4]}", text)
    text = FIGURE.sub(lambda at: f"{single_figure(results, at[2])}{at[1]}", text)
    return PAGES.sub(lambda at: f"{at[1]}{pages(results)}{at[2]}", text)


def documents(root: Path) -> list[Path]:
    """Return the documents that may hold figures of experiments; the pages of results first."""
    own = [root / name for name in ("RESULTS.md", "README.md", "benchmarks/README.md")]
    found = [*sorted((root / "results").glob("*.md")), *sorted((root / "docs").glob("*.md")), *own]
    return [path for path in found if path.is_file()]


def refresh(root: Path) -> list[Path]:
    """Fill all documents, and return those that changed."""
    figures.cache_clear()
    changed = []
    for path in documents(root):
        old = path.read_text(encoding="utf-8")
        if (new := refreshed(old, root)) != old:
            write_text(path, new)
            changed.append(path)
    return changed


if __name__ == "__main__":
    for path in refresh(ROOT):
        print(path.relative_to(ROOT))
