"""``truegraph learn --posterior``: the table, the summary, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from truegraph import learn_graph
from truegraph.data import as_adjacency, read_edges

POINTS = np.random.default_rng(0).normal(size=(60, 4))
COLUMNS = ["source", "target", "weight", "mean", "std", "inclusion", "lower", "upper"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    np.save(tmp_path / "points.npy", POINTS)
    return tmp_path / "points.npy"


def test_the_table_and_the_summary(program: Any, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "graph.csv"
    done = program("learn", source, "--degree", 6, "--posterior", "--out", out)
    assert done.code == 0, done.err
    graph = learn_graph(POINTS, degree=6)
    posterior = graph.posterior()
    table = pd.read_csv(out)
    assert list(table.columns) == COLUMNS
    pd.testing.assert_frame_equal(table, posterior.to_pandas())
    # read as a graph, it is the learned one
    again = as_adjacency(read_edges(out), node_names=[str(i) for i in range(60)])
    assert abs(again - graph.adjacency).max() < 1e-12
    pairs = graph.candidates.nnz // 2
    stated = f"mean-field; concentration {posterior.concentration:.4g}, {pairs:,} candidates"
    assert stated in done.out
    assert "not calibrated to data" in done.out
    assert f"expected with a weight above {posterior.threshold:.3g}" in done.out


def test_draws(program: Any, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "graph.csv"
    arguments = ("learn", source, "--degree", 6, "--posterior", "--samples", 40, "--seed", 3)
    done = program(*arguments, "--out", out, "--excess", 0.2)
    assert done.code == 0, done.err
    assert "gibbs; concentration" in done.out
    assert "40 from 4 chains of 200 sweeps" in done.out
    assert "draws" in done.err
    expected = learn_graph(POINTS, degree=6).posterior(
        "gibbs", samples=40, random_state=3, excess=0.2
    )
    pd.testing.assert_frame_equal(pd.read_csv(out), expected.to_pandas())
    silent = program(*arguments, "--quiet")
    assert (silent.code, silent.out, silent.err) == (0, "", "")


def test_the_document(program: Any, source: Path) -> None:
    done = program("learn", source, "--posterior", "--concentration", 50, "--json", "--quiet")
    found = json.loads(done.out)["posterior"]
    assert found["method"] == "mean-field"
    assert found["concentration"] == 50
    posterior = learn_graph(POINTS).posterior(concentration=50)
    assert found["expected_edges"] == pytest.approx(posterior.inclusion().sum() / 2)
    assert found["weight_ratio"] > 1.0
    assert found["diagnostics"] is None
    assert json.loads(program("learn", source, "--json", "--quiet").out)["posterior"] is None
    drawn = program("learn", source, "--posterior", "--samples", 8, "--json", "--quiet")
    assert json.loads(drawn.out)["posterior"]["diagnostics"]["draws"] == 8


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--samples", 5], "--samples is an option of the posterior; add --posterior."),
        (["--excess", 0.1], "--excess is an option of the posterior"),
        (
            ["--posterior", "--excess", 0.1, "--concentration", 5],
            "--concentration and --excess both decide the spread",
        ),
        (["--posterior", "--out", "g.npz"], "the posterior is written to .csv only"),
        (["--posterior", "--concentration", -1], "concentration=-1.0 must be a finite number > 0"),
    ],
)
def test_what_is_refused(program: Any, source: Path, arguments: list[Any], said: str) -> None:
    done = program("learn", source, "--quiet", *arguments)
    assert done.code == 2
    assert said in done.err
