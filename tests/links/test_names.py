"""Nodes keep their names, in whatever the graph and its features come."""

from __future__ import annotations

from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest

from truegraph import InputError, LinkPredictor

RNG = np.random.default_rng(0)
GROUP = np.arange(40) % 2
LINKED = np.triu(RNG.random((40, 40)) < np.where(GROUP[:, None] == GROUP, 0.3, 0.03), 1)
ENDS = RNG.permutation(np.argwhere(LINKED))
FEATURES = RNG.normal(size=(40, 3)) + 2.0 * GROUP[:, None]
MODELS = ["auto", "adamic-adar"]


def named(kind: str, names: list[Any]) -> Any:
    """Return the graph with names, its edges in random order."""
    edges = [(names[i], names[j]) for i, j in ENDS]
    if kind == "networkx":
        graph = nx.Graph(edges)
        graph.add_nodes_from(names)
        return graph
    if kind == "table":
        return pd.DataFrame(edges, columns=["source", "target"])
    return igraph.Graph(n=40, edges=ENDS.tolist(), vertex_attrs={"name": names})


def answer(predictor: LinkPredictor) -> set[tuple[Any, float]]:
    table = predictor.suggest(8)
    pairs = map(frozenset, table[["source", "target"]].to_numpy().tolist())
    return set(zip(pairs, table["probability"].round(6), strict=True))


@pytest.mark.parametrize("kind", ["networkx", "table", "igraph"])
@pytest.mark.parametrize("names", [[f"n{i:02}" for i in range(40)], [7 * i + 3 for i in range(40)]])
@pytest.mark.parametrize("model", MODELS)
def test_a_named_graph_is_matched_with_rows_by_name(kind, names, model):
    """Whatever the order of nodes, the answer is that of the matrix in the order of the rows."""
    X = pd.DataFrame(FEATURES, index=names, columns=list("abc"))
    matrix = (LINKED | LINKED.T).astype(float)
    plain = LinkPredictor(model, random_state=0).fit(matrix, X)
    found = LinkPredictor(model, random_state=0).fit(named(kind, names), X)
    assert found.node_names_ == tuple(names)
    assert answer(found) == answer(plain)
    row = found.suggest(1).iloc[0]
    assert row["source"] in names
    assert set(row["through"]) <= set(names)
    assert found.suggest_for(names[5], 2)["source"].tolist() == [names[5]] * 2
    pairs = [(names[3], names[8]), (names[0], names[39])]
    np.testing.assert_array_equal(found.predict_proba(pairs), plain.predict_proba(pairs))


@pytest.mark.parametrize("kind", ["networkx", "table", "igraph"])
def test_names_of_a_graph_alone_come_back_and_are_saved(kind, tmp_path):
    names = [f"n{i:02}" for i in range(40)]
    predictor = LinkPredictor(random_state=0).fit(named(kind, names))
    table = predictor.suggest(5)
    assert set(table["source"]) | set(table["target"]) <= set(names)
    predictor.save(tmp_path)
    loaded = LinkPredictor.load(tmp_path)
    assert loaded.suggest(5).equals(table)
    chance = loaded.predict_proba(table[["source", "target"]])
    np.testing.assert_array_equal(chance, predictor.predict_proba(table[["source", "target"]]))


def test_new_nodes_are_linked_with_names():
    names = [f"n{i:02}" for i in range(40)]
    X = pd.DataFrame(FEATURES, index=names, columns=list("abc"))
    predictor = LinkPredictor(random_state=0).fit(named("networkx", names), X)
    assert set(predictor.suggest_new(X[:2], k=3)["target"]) <= set(names)
    chance = predictor.predict_new(X[:2], [(0, "n05"), (1, "n06")])
    np.testing.assert_array_equal(chance, predictor.predict_new(X[:2], [(0, 5), (1, 6)]))


@pytest.mark.filterwarnings("ignore:scores do not tell")
def test_names_that_do_not_fit_are_told():
    names = [f"n{i:02}" for i in range(40)]
    X = pd.DataFrame(FEATURES[:39], index=names[:39], columns=list("abc"))
    with pytest.raises(InputError, match="node 'n39' of the graph has no row in X"):
        LinkPredictor().fit(named("networkx", names), X)
    for kind in ("networkx", "table", "igraph"):
        with pytest.raises(InputError, match="which do not say which row of X"):
            LinkPredictor().fit(named(kind, names), FEATURES)
    predictor = LinkPredictor("katz").fit(named("networkx", names))
    with pytest.raises(InputError, match="'n99' is not a node"):
        predictor.predict_proba([("n01", "n99")])
    with pytest.raises(InputError, match="'n99' is not a node"):
        predictor.suggest_for("n99")


def test_validation_pairs_may_be_named():
    names = [f"n{i:02}" for i in range(40)]
    hidden = [(names[i], names[j]) for i, j in ENDS[:6]]
    kept = nx.Graph([(names[i], names[j]) for i, j in ENDS[6:]])
    kept.add_nodes_from(names)
    others = [(names[i], names[j]) for i, j in np.argwhere(~LINKED) if i < j][::5]
    predictor = LinkPredictor("adamic-adar").fit(kept, validation=(hidden, others))
    suggested = predictor.suggest(1000)[["source", "target"]].to_numpy().tolist()
    assert not set(map(frozenset, suggested)) & set(map(frozenset, hidden))
    for wrong in (5, [hidden]):
        with pytest.raises(InputError, match="two lists of pairs"):
            LinkPredictor("adamic-adar").fit(kept, validation=wrong)
