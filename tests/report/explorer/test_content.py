"""What the explorer shows: right figures, in the right place, by the size of the graph."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from truegraph import InputError, LearnedGraph, learn_graph
from truegraph.report.explorer import content as module
from truegraph.report.explorer.edges import LEARNED, NOTHING_SHARED, OBSERVED, shared_features
from truegraph.report.explorer.page import Explorer, render

POINTS = np.random.default_rng(0).normal(size=(60, 3))


@pytest.fixture(scope="module")
def graph() -> LearnedGraph:
    return learn_graph(POINTS, degree=5)


def shown(graph: LearnedGraph, centre: Any = None, **given: Any) -> dict[str, Any]:
    everything = dict.fromkeys(("labels", "names", "features", "predictions", "observed"))
    return module.content(graph, module.check_known(graph, **everything | given), centre, "t")


def array(text: str, kind: Any) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_every_edge_with_its_posterior(graph: LearnedGraph) -> None:
    found = shown(graph)
    edges = found["edges"]
    table = graph.posterior().to_pandas().query("weight > 0").reset_index()
    assert found["drawsAll"]
    assert edges["count"] == graph.n_edges == len(table)
    for name, column in (("source", "source"), ("target", "target")):
        assert array(edges[name], np.uint32).tolist() == table[column].tolist()
    for name, column in (
        ("weight", "weight"),
        ("probability", "inclusion"),
        ("lower", "lower"),
        ("upper", "upper"),
    ):
        assert np.allclose(array(edges[name], np.float32), table[column], rtol=1e-5)
    distances = [
        graph.candidates[pair] for pair in zip(table["source"], table["target"], strict=True)
    ]
    assert np.allclose(array(edges["distance"], np.float32), distances, rtol=1e-5)


def test_observed_edges_are_told_from_learned_ones(graph: LearnedGraph) -> None:
    observed = graph.adjacency.tolil()
    lost = int(graph.adjacency[[0]].indices[0])
    observed[0, lost] = observed[lost, 0] = 0.0
    free = int(np.setdiff1d(np.arange(1, 60), graph.adjacency[[0]].indices)[0])
    observed[0, free] = observed[free, 0] = 2.0
    edges = shown(graph, observed=observed.tocsr())["edges"]
    pairs = zip(array(edges["source"], np.uint32), array(edges["target"], np.uint32), strict=True)
    kind = dict(zip(pairs, array(edges["kind"], np.uint8), strict=True))
    assert kind.pop((0, lost)) == LEARNED
    assert kind.pop((0, free)) == OBSERVED
    assert set(kind.values()) == {LEARNED | OBSERVED}


def test_labels_and_predictions(graph: LearnedGraph) -> None:
    chances = np.tile([0.2, 0.7, 0.1], (60, 1))
    labels = np.array([*["a", "b", "c"] * 19, None, np.nan, ""], dtype=object)
    found = shown(graph, labels=labels, predictions=chances)
    columns = {column["name"]: column for column in found["columns"]}
    assert columns["label"]["categories"] == ["a", "b", "c"]
    codes = array(columns["label"]["values"], np.uint16)
    assert codes[:4].tolist() == [0, 1, 2, 0]
    assert codes[-3:].tolist() == [65535] * 3
    assert columns["prediction"]["categories"] == ["a", "b", "c"]
    entropy = -(chances[0] * np.log(chances[0])).sum()
    assert np.allclose(array(columns["entropy"]["values"], np.float32), entropy)
    assert array(found["classes"]["codes"], np.uint16)[:3].tolist() == [1, 0, 2]
    assert set(found["next"]["nodes"]) == {57, 58, 59}  # the others have labels


def test_predictions_as_the_program_writes_them(graph: LearnedGraph) -> None:
    names = [f"n{number}" for number in range(60)]
    table = pd.DataFrame(
        {
            "node": names[::-1],
            "label": ["x"] * 59 + ["y"],
            "probability": 0.9,
            "predictive_entropy": np.linspace(0, 1, 60),
            "mutual_information": np.nan,
        }
    )
    found = shown(graph, names=names, predictions=table)
    columns = {column["name"]: column for column in found["columns"]}
    codes = array(columns["prediction"]["values"], np.uint16)
    assert codes.tolist() == [1] + [0] * 59  # node n0 is in the last row
    assert "mutual information" not in columns
    with pytest.raises(InputError, match="node in predictions 'n59' is not known"):
        shown(graph, names=names, predictions=table[1:])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labels": ["a"]}, "labels has shape"),
        ({"labels": np.arange(60).reshape(30, 2)}, "labels has shape"),
        ({"predictions": np.ones((60, 3))}, "sum to 1"),
        ({"predictions": np.full((59, 2), 0.5)}, "predictions"),
        ({"predictions": pd.DataFrame({"class": ["a"] * 60})}, "but not label"),
        ({"features": pd.DataFrame({"x": [1.0]})}, "1 rows for 60 nodes"),
        ({"observed": csr_array((3, 3))}, "3 nodes"),
        ({"names": ["a"] * 60}, "the same name"),
        ({"centre": 60}, "centre 60 is not known"),
    ],
)
def test_bad_input(graph: LearnedGraph, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        shown(graph, **given)


def test_shared_features_are_what_few_others_have() -> None:
    dense = np.zeros((20, 4))
    dense[:, 0] = 1.0  # everybody has it: it says nothing
    dense[[3, 7], 2] = 5.0
    dense[[3, 7, 8, 9, 10], 3] = 1.0
    pair = np.array([3]), np.array([7])
    assert shared_features(dense, *pair).tolist() == [[2, 3, NOTHING_SHARED]]
    assert shared_features(csr_array(dense), *pair).tolist() == [[2, 3, 0]]
    nothing = shared_features(csr_array(dense[:, 1:]), np.array([0]), np.array([1]))
    assert nothing.tolist() == [[NOTHING_SHARED] * 3]


def test_large_graphs_are_shown_by_selection_and_by_cluster(
    graph: LearnedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ALL_NODES", 50)
    found = shown(graph)
    assert not found["drawsAll"]
    assert found["edges"]["count"] == graph.n_edges
    monkeypatch.setattr(module, "MOST_NODES", 55)
    labels = ["a"] * 30 + ["b"] * 30
    found = shown(graph, labels=labels)
    assert found["unit"] == "cluster"
    assert 1 < found["count"] < 30
    sizes = array(found["columns"][0]["values"], np.float32)
    assert sizes.sum() == 60
    assert [len(members) for members in found["members"]] == np.minimum(sizes, 12).tolist()
    assert "centre=" in found["notes"][0]
    ego = shown(graph, centre=7)
    assert ego["unit"] == "node"
    assert "7" in ego["names"]
    near = graph.adjacency[[7]].indices
    assert {str(node) for node in near} < set(ego["names"])


def test_five_thousand_nodes_fit_into_five_megabytes() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(5000, 8))
    graph = learn_graph(points, degree=18)
    names = [f"a name of thirty letters {number:05}" for number in range(5000)]
    chances = rng.dirichlet(np.ones(10), size=5000)
    known = {"names": names, "features": points, "predictions": chances}
    document = shown(graph, labels=rng.integers(0, 10, 5000), **known)
    assert document["drawsAll"]
    page = render(document)
    assert len(page.encode()) < 5e6
    assert "5000 nodes" in repr(Explorer(document))
