"""Words of the documentation that rest on figures: they fail when the figures turn.

The figures themselves are put into the pages by scripts/digests.py; tests/test_results.py checks
that they are current.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parent.parent
CITATIONS = ("cora", "citeseer", "pubmed")


def accuracy(experiment: str, **conditions: object) -> pd.Series:
    """Return the mean accuracies in per cent by model, of the cells that meet conditions."""
    table = pd.read_csv(ROOT / "results" / f"{experiment}.csv").query("metric == 'accuracy'")
    for name, value in conditions.items():
        table = table[table[name] == value]
    by_model = table.set_index("label")["mean"] * 100
    assert by_model.index.is_unique
    return by_model


def test_refined_gains_with_few_labels_and_little_with_many() -> None:
    for dataset in CITATIONS:
        few = accuracy("beyond", dataset=dataset, labels=5)
        many = accuracy("beyond", dataset=dataset, labels=20)
        assert few["refined"] > max(few["GCN"], few["APPNP"])
        assert many["refined"] - many["APPNP"] < min(1.5, few["refined"] - few["APPNP"])


def test_missing_edges_raise_the_gain_and_false_ones_end_it() -> None:
    cora = {noise: accuracy("noise", dataset="cora", noise=noise) for noise in (-0.75, 0.0, 1.0)}
    gain = {noise: models["refined"] - models["GCN"] for noise, models in cora.items()}
    assert gain[-0.75] > gain[0.0]
    assert cora[1.0]["paper's recipe"] > cora[1.0]["refined"]


def test_the_committee_leads_on_spoilt_data() -> None:
    for change in ("false-edges", "random-graph", "shuffled-features"):
        models = accuracy("spoilt", change=change)
        assert models.idxmax() == "auto"


def test_the_readme_bolds_the_best_row() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| ") and line.count("|") == 7]
    figures = {row[0]: [float(text) for text in row[1:5]] for row in rows if "." in row[1]}
    best = next(values for name, values in figures.items() if "**" in name)
    assert len(figures) > 4
    for values in figures.values():
        assert all(own >= other for own, other in zip(best, values, strict=True))
