"""Figures that the documentation states in words are those of the committed results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "does_it_help.md").read_text()
CITATIONS = ("cora", "citeseer", "pubmed")


def accuracy(experiment: str, **conditions: object) -> pd.Series:
    """Return the mean accuracies in per cent by model, of the cells that meet conditions."""
    table = pd.read_csv(ROOT / "results" / f"{experiment}.csv").query("metric == 'accuracy'")
    for name, value in conditions.items():
        table = table[table[name] == value]
    by_model = table.set_index("label")["mean"] * 100
    assert by_model.index.is_unique
    return by_model


def gains(labels: int, rival: str) -> tuple[float, float]:
    found = [accuracy("beyond", dataset=name, labels=labels) for name in CITATIONS]
    differences = [models["refined"] - models[rival] for models in found]
    return min(differences), max(differences)


def test_gains_on_citation_graphs() -> None:
    low, high = gains(5, "GCN")
    assert f"{low:.1f} (Pubmed) to {high:.1f} points (Citeseer) above a GCN" in PAGE
    assert "{:.1f} to {:.1f} above APPNP (`beyond`)".format(*gains(5, "APPNP")) in PAGE
    assert "{:.1f} to {:.1f} points above a GCN".format(*gains(20, "GCN")) in PAGE
    assert "{:.1f} to {:.1f} above APPNP: little".format(*gains(20, "APPNP")) in PAGE


def test_strangers() -> None:
    digits = accuracy("strangers", dataset="digits", labels=5)
    assert (
        f"{digits['auto']:.1f}; label spreading {digits['label spreading']:.1f}, logistic "
        f"regression {digits['logistic regression']:.1f}"
    ) in PAGE
    texas = accuracy("strangers", dataset="texas", labels=5)
    assert (
        f"{texas['auto']:.1f}; a GCN {texas['GCN']:.1f}, but logistic regression "
        f"{texas['logistic regression']:.1f}"
    ) in PAGE


def test_missing_and_false_edges() -> None:
    cora = {noise: accuracy("noise", dataset="cora", noise=noise) for noise in (-0.75, 0.0, 1.0)}
    gain = {noise: models["refined"] - models["GCN"] for noise, models in cora.items()}
    assert f"from {gain[0.0]:.1f} points to {gain[-0.75]:.1f} when" in PAGE
    assert f"a gain of {gain[1.0]:.1f} points when they double" in PAGE
    assert cora[1.0]["paper's recipe"] > cora[1.0]["refined"]
