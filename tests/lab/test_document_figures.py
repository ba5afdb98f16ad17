"""Figures in the documentation are those of the committed trials.

A figure of a document names its source behind it: experiment, label, cell and metric.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lab.experiment import load
from lab.store import trials_of
from lab.summary import Findings

ROOT = Path(__file__).parents[2]
FIGURE = re.compile(r"(\d+\.\d+)\**<!--=([^/]+)/([^/]+)/([^/]+)/([^/]+?)-->")
STATED = [
    (page.name, *found.groups())
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    for found in FIGURE.finditer(page.read_text(encoding="utf-8"))
]


def test_documents_name_the_sources_of_their_figures() -> None:
    assert len({page for page, *_ in STATED}) >= 2


@pytest.mark.parametrize(("page", "figure", "experiment", "label", "column", "metric"), STATED)
def test_figures_are_those_of_the_trials(
    page: str, figure: str, experiment: str, label: str, column: str, metric: str
) -> None:
    findings = Findings(load(experiment), trials_of(load(experiment)))
    cells = {(cell.label, findings.column(cell)): cell for cell in findings.cells}
    found = findings.summary(cells[label, column], metric)
    assert found is not None
    assert findings.metrics[metric].shown(found.mean) == figure
