"""The picture of a run that compares graphs."""

from __future__ import annotations

import pytest

from truegraph.report.parts.graph_quality import kind_of


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("learned, default", "learned"),
        ("learned, degree 20", "learned"),
        ("learned, degree 7.5, locally scaled", "learned, locally scaled"),
        ("k-NN self-tuned, k 15", "k-NN self-tuned"),
        ("UMAP, k 5", "UMAP"),
    ],
)
def test_kinds_of_graphs(label: str, kind: str) -> None:
    assert kind_of(label) == kind
