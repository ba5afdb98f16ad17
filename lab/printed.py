"""What the paper prints, so that our figures can stand beside its own.

The tables lie in ``paper/*.json`` as they are printed: per cent where the paper has per cent, the
spread after "±", two asterisks around what is set in bold.

>>> figure = printed("classify", "cora", "gcn", {"labels": 5, "split": "random"}, "accuracy")
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
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "paper"


class PaperFigure(NamedTuple):
    """A printed figure in the unit of our metrics, and whether it is set in bold."""

    mean: float
    std: float | None
    bold: bool


def printed(
    task: str, dataset: str, model: str, conditions: Mapping[str, Any], metric: str
) -> PaperFigure | None:
    """Return what the paper prints for a cell, or None if it prints nothing.

    Conditions that the paper does not name may have any value, but it changes no data.
    """
    if conditions.get("noise", 0.0) or conditions.get("change", "none") != "none":
        return None
    here = {**conditions, "dataset": dataset, "model": model, "metric": metric}
    for place, figure in _all_figures(task):
        if all(name in here and here[name] == value for name, value in place.items()):
            return figure
    return None


def bases(task: str) -> dict[str, str]:
    """Return the base model that the paper tests each Bayesian model against; {} if it does not."""
    return {model: base for table in _tables(task) for model, base in _rivals(table).items()}


def _rivals(table: Mapping[str, Any]) -> Mapping[str, str]:
    found: Mapping[str, str] = table.get("rivals", {})
    return found


@cache
def _all_figures(task: str) -> list[tuple[Mapping[str, Any], PaperFigure]]:
    return [found for table in _tables(task) for found in _figures(table)]


@cache
def _tables(task: str) -> list[dict[str, Any]]:
    found = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))]
    return [table for table in found if table["task"] == task]


def _figures(table: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], PaperFigure]]:
    [(column, values)] = table["across"].items()
    for row in table["rows"]:
        shared = table.get("same", {}) | {k: v for k, v in row.items() if k != "values"}
        for value, text in zip(values, row["values"], strict=True):
            yield shared | {column: value}, _figure(text, table.get("percent", False))


def _figure(text: str, percent: bool) -> PaperFigure:
    plain = text.strip("*").rstrip("%").replace(",", "")
    unit = 0.01 if percent or "%" in text else 1.0
    mean, _, std = plain.partition("±")
    # Rounded, so that 74.2 per cent is 0.742 and not 0.7420000000000001.
    spread = round(float(std) * unit, 8) if std else None
    return PaperFigure(round(float(mean) * unit, 8), spread, text.startswith("**"))
