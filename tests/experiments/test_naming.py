"""Settings are named by what varies among them."""

from __future__ import annotations

from types import SimpleNamespace

from truegraph.experiments.naming import Naming


def test_only_what_varies_is_named() -> None:
    cells = [
        SimpleNamespace(dataset="cora", conditions={"labels": labels, "noise": 0})
        for labels in (5, 10)
    ]
    naming = Naming(cells)
    assert naming.swept == ["labels"]
    assert naming.setting(cells[1]) == "cora, labels 10"
    assert naming.heading(cells[1]) == "cora\nlabels 10"
    assert naming.columns(cells[1]) == ["cora", "10"]
    assert naming.fixed_text() == " Conditions: noise 0."


def test_nothing_varies() -> None:
    cell = SimpleNamespace(dataset="cora", conditions={})
    naming = Naming([cell])
    assert naming.heading(cell) == naming.setting(cell) == "cora"
    assert naming.fixed_text() == ""
