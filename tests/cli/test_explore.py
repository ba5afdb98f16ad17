"""``truegraph explore``: files in, one page out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truegraph import learn_graph


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    points = np.random.default_rng(0).normal(size=(40, 2))
    names = [f"n{number}" for number in range(40)]
    learn_graph(points, degree=4).named(names).save("graph.npz")
    pd.DataFrame({"node": names[:10], "label": ["a", "b"] * 5}).to_csv("labels.csv", index=False)
    table = pd.DataFrame({"id": names[::-1], "height": points[::-1, 0], "kind": ["x", "y"] * 20})
    table.to_csv("features.csv", index=False)
    pd.DataFrame({"source": names[:5], "target": names[5:10]}).to_csv("edges.csv", index=False)
    chances = {"node": names, "label": ["a"] * 40, "probability": 0.8}
    pd.DataFrame(chances).to_csv("predictions.csv", index=False)
    return tmp_path


def test_everything_on_one_page(program, files: Path) -> None:
    given = ["--labels", "labels.csv", "--features", "features.csv", "--edges", "edges.csv"]
    done = program("explore", "graph.npz", *given, "--predictions", "predictions.csv")
    assert done.code == 0, done.err
    assert "Page: explorer.html" in done.out
    page = (files / "explorer.html").read_text()
    for text in ('"height"', '"kind"', '"hasObserved":true', '"prediction"', '"n39"'):
        assert text in page


def test_the_neighbourhood_of_one_node(program, files: Path) -> None:
    done = program("explore", "graph.npz", "--centre", "n3", "--out", "n3.html")
    assert done.code == 0, done.err
    assert '"n3"' in (files / "n3.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["graph.csv"], "must be the .npz file of a learned graph"),
        (["missing.npz"], "missing.npz"),
        (["graph.npz", "--centre", "n77"], "centre 'n77' is not known"),
        (["graph.npz", "--out", "page.txt"], "let the name end in .html"),
        (["graph.npz", "--labels", "strange.csv"], "node in strange.csv 'zz' is not known"),
    ],
)
def test_bad_usage(program, files: Path, words: list[str], message: str) -> None:
    (files / "strange.csv").write_text("node,label\nzz,a\n")
    done = program("explore", *words)
    assert done.code == 2
    assert message in done.err
