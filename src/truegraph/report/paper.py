"""What the paper prints, so that our figures can stand beside its own.

The tables lie in ``paper/*.json`` as they are printed: per cent where the paper has per cent, the
spread after "±", two asterisks around what is set in bold. `printed` looks a figure up.

>>> figure = printed("classification", "cora", "gcn", {"labels": 5, "split": "random"}, "accuracy")
>>> figure.mean, figure.std, figure.bold
(0.7, 0.037, False)

References
----------
S. Pal, S. Malekmohammadi, F. Regol, Y. Zhang, Y. Xu, M. Coates, "Non-parametric graph learning for
Bayesian graph neural networks", UAI 2020.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class PaperFigure:
    """One printed figure.

    Attributes
    ----------
    mean : float
        In the unit of our metrics: a share where the paper prints per cent.
    std : float or None
        What stands after "±", in the same unit; None where nothing does.
    bold : bool
        Whether it is set in bold.
    """

    mean: float
    std: float | None
    bold: bool


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper.

    Attributes
    ----------
    title, task : str
    figures : tuple of (place, PaperFigure)
        A place gives data set, model, metric and conditions by name; what it leaves out may be
        anything.
    rivals : dict of str to str
        The base model that each Bayesian model is tested against; empty where the paper tests the
        best model against the second best.
    ours : str or None
        The model that the table puts forward.
    """

    title: str
    task: str
    figures: tuple[tuple[Mapping[str, Any], PaperFigure], ...]
    rivals: Mapping[str, str] = field(default_factory=dict)
    ours: str | None = None


def printed(
    task: str, dataset: str, model: str, conditions: Mapping[str, Any], metric: str
) -> PaperFigure | None:
    """Return what the paper prints for a cell, or None if it prints nothing.

    Parameters
    ----------
    task : str
        "classification", "links", "recommendation" or "datasets".
    dataset, model, metric : str
    conditions : dict
        Such as ``{"labels": 5, "split": "random"}``; conditions that the paper does not name may
        have any value.
    """
    here = {**conditions, "dataset": dataset, "model": model, "metric": metric}
    for table in paper_tables(task):
        for place, figure in table.figures:
            if all(name in here and here[name] == value for name, value in place.items()):
                return figure
    return None


def rivals(task: str) -> dict[str, str]:
    """Return the base model that the paper tests each Bayesian model against; {} if it does not."""
    return {model: base for table in paper_tables(task) for model, base in table.rivals.items()}


def put_forward(task: str) -> str | None:
    """Return the model that the paper proposes for a task, or None if it proposes several."""
    return next((table.ours for table in paper_tables(task) if table.ours), None)


@cache
def paper_tables(task: str) -> tuple[PaperTable, ...]:
    """Return the paper's tables of a task, in the order of their files' names."""
    folder = files("truegraph.report").joinpath("paper_figures")
    documents = [
        json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".json")
    ]
    return tuple(_table(document) for document in documents if document["task"] == task)


def _table(document: Mapping[str, Any]) -> PaperTable:
    return PaperTable(
        title=document["title"],
        task=document["task"],
        figures=tuple(_figures(document)),
        rivals=document.get("rivals", {}),
        ours=document.get("ours"),
    )


def _figures(document: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], PaperFigure]]:
    [(column, values)] = document["across"].items()
    for row in document["rows"]:
        shared = document.get("same", {}) | {k: v for k, v in row.items() if k != "values"}
        for value, text in zip(values, row["values"], strict=True):
            yield shared | {column: value}, _figure(text, document.get("percent", False))


def _figure(text: str, percent: bool) -> PaperFigure:
    plain = text.strip("*").rstrip("%").replace(",", "")
    unit = 0.01 if percent or "%" in text else 1.0
    mean, _, std = plain.partition("±")
    return PaperFigure(
        mean=_scaled(mean, unit),
        std=_scaled(std, unit) if std else None,
        bold=text.startswith("**"),
    )


def _scaled(number: str, unit: float) -> float:
    # Rounded, so that 74.2 per cent is 0.742 and not 0.7420000000000001.
    return round(float(number) * unit, 8)
