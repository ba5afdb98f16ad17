"""How to call every entry point with one value, and the faulty values to call it with."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from faulty_values import (
    CLASSES,
    DENSE,
    FREE,
    GRAPH,
    LABELS,
    MATRIX,
    NODES,
    NUMBERS,
    PAIRS,
    POINTS,
    PROBABILITIES,
    SPARSE_POINTS,
    STRUCTURE,
    VALUES,
    WRONG_SIZE,
    Faulty,
    graph,
    listed,
    only,
    pairs,
    points,
    points_only,
    weights,
    weights_as_mask,
)
from scipy import sparse

import truegraph
from truegraph import data, evaluation, learning
from truegraph.data import Interactions, NodeDataset
from truegraph.report import plots

Entries = dict[str, tuple[Callable[[Any], Any], Faulty]]

ENDS = np.array([0, 4, 7])
_QUANTITIES = ("NaN", "nothing", "text", "uint64 beyond 2**63")  # gaps, and what float() reads
NEGATIVE = {"negative": lambda a: -a}
NO_LABELS = {"three dimensions": NUMBERS["three dimensions"]}  # classes may be of any kind
ONES = np.ones((4, 3))


@cache
def learned() -> Any:
    """Return a small learned graph."""
    return truegraph.learn_graph(POINTS, degree=4)


def _replaced(**parts: Any) -> Any:
    return dataclasses.replace(learned(), **parts).posterior()


def _wide(table: Any) -> Any:
    width = np.shape(table)[1] if np.ndim(table) > 1 or sparse.issparse(table) else 3
    return np.ones((4, width))


def _like(value: Any) -> Any:
    return SPARSE_POINTS if sparse.issparse(value) else POINTS


def of_learning() -> Entries:
    """Points, distances, masks and learned graphs."""
    learn, bipartite, learner = (
        *(truegraph.learn_graph, truegraph.learn_bipartite_graph),
        truegraph.GraphLearner(degree=3),
    )
    few = points(POINTS[:8], SPARSE_POINTS[:8])
    one = learning.EmbeddingDistance(POINTS)
    precomputed = {"metric": "precomputed", "options": {"theta": 1.0}}
    # fmt: off
    found: Entries = {
        "learn_graph:X": (lambda v: learn(v, degree=3), points()),
        "learn_graph:X precomputed": (lambda v: learn(v, **precomputed), weights(sized=False)),
        "learn_graph:X cosine": (lambda v: learn(v, degree=3, metric="cosine"), points()),
        "learn_graph:fixed_pairs": (lambda v: learn(POINTS, 3, fixed_pairs=v), weights_as_mask()),
        "learn_graph:forbidden_pairs": (
            lambda v: learn(POINTS, 3, forbidden_pairs=v), weights_as_mask()),
        "learn_bipartite_graph:users": (lambda v: bipartite(v, _wide(v), degree=2), few),
        "learn_bipartite_graph:items": (lambda v: bipartite(_wide(v), v, degree=2), few),
        "GraphLearner.fit:X": (learner.fit, points()),
        "GraphLearner.fit:fixed_pairs": (
            lambda v: learner.fit(POINTS, fixed_pairs=v), weights_as_mask()),
        "GraphLearner.fit:forbidden_pairs": (
            lambda v: learner.fit(POINTS, forbidden_pairs=v), weights_as_mask()),
        "GraphLearner.fit_transform:X": (learner.fit_transform, points()),
        "GraphLearner.transform:X": (
            lambda v: learner.fit(_like(v)).transform(v), points(sized=True)),
        "GraphLearner.update:X": (lambda v: learner.fit(_like(v)).update(v), points()),
        "LearnedGraph.explore:features": (
            lambda v: learned().explore(features=v), points(sized=True)),
        "LearnedGraph.explore:predictions": (
            lambda v: learned().explore(predictions=v), listed(PROBABILITIES, DENSE, sized=True)),
        "LearnedGraph.explore:observed": (lambda v: learned().explore(observed=v), graph()),
        "LearnedGraph:adjacency": (lambda v: _replaced(adjacency=v), weights()),
        "LearnedGraph:candidates": (lambda v: _replaced(candidates=v), weights()),
        "LearnedGraph:multipliers": (
            lambda v: _replaced(multipliers=v),
            listed(np.ones(NODES), DENSE | NEGATIVE, sized=True)),
        "LearnedGraph.slack:pairs": (lambda v: learned().slack(v, one), pairs()),
        "LearnedGraph.slack:distances": (
            lambda v: learned().slack(PAIRS, v), listed(np.ones(len(PAIRS)), DENSE, sized=True)),
        "LearnedGraph.to_pyg:features": (lambda v: learned().to_pyg(v), points(sized=True)),
        "LearnedGraph.to_pyg:labels": (
            lambda v: learned().to_pyg(POINTS, v), listed(LABELS, CLASSES, sized=True)),
        "LabelDisagreement:labels": (
            lambda v: learning.LabelDisagreement(v, GRAPH),
            listed(PROBABILITIES, DENSE, sized=True)),
        "LabelDisagreement:graph": (lambda v: learning.LabelDisagreement(LABELS, v), graph()),
        "LabelDisagreement.from_shares:shares": (
            learning.LabelDisagreement.from_shares, listed(PROBABILITIES, DENSE)),
        "CosineDistance:points": (learning.CosineDistance, points()),
        "EmbeddingDistance:points": (learning.EmbeddingDistance, points()),
    }
    # fmt: on
    distances = (
        *(learning.CosineDistance(POINTS), learning.LabelDisagreement(LABELS, GRAPH)),
        *(one, learning.SumDistance(one, one, 1.0)),
    )
    for distance in distances:
        name = type(distance).__name__
        found |= {
            f"{name}.pair_values:rows": (
                lambda v, d=distance: d.pair_values(v, ENDS),
                listed(ENDS, NUMBERS, sized=True),
            ),
            f"{name}.pair_values:columns": (
                lambda v, d=distance: d.pair_values(ENDS, v),
                listed(ENDS, NUMBERS, sized=True),
            ),
            f"{name}.values_from:others": (
                lambda v, d=distance: d.values_from(0, v),
                listed(ENDS, NUMBERS),
            ),
            f"{name}.permuted:order": (
                lambda v, d=distance: d.permuted(v),
                listed(np.arange(NODES), NUMBERS),
            ),
        }
    return found


def of_partitions() -> Entries:
    """Graphs in partitions: arrays in memory, as files have tests of their own."""
    from truegraph import distributed

    def call(*tables: Any) -> Any:
        is_one = len(tables) == 1
        learn = distributed.learn_graph if is_one else distributed.learn_bipartite_graph
        return learn(*tables, degree=4, memory="1GB", random_state=0)

    return {
        "distributed.learn_graph:X": (call, [(POINTS, DENSE)]),
        "distributed.learn_bipartite_graph:users": (lambda v: call(v, POINTS), [(POINTS, DENSE)]),
        "distributed.learn_bipartite_graph:items": (lambda v: call(POINTS, v), [(POINTS, DENSE)]),
    }


def of_data() -> Entries:
    """Containers and conversions."""
    users, items = np.array([0, 1, 1]), np.array([0, 0, 1])
    ids = (("a", "b"), ("x", "y"))
    ratings, nodes = np.array([1.0, 2.0, 3.0]), np.array([0, 1, 5])
    dataset = NodeDataset("d", LABELS, POINTS.astype(np.float32), GRAPH)
    turned, amounts = nodes[::-1].copy(), listed(ratings, DENSE, sized=True)
    # Times may be words: dates, or numbers as files hold them.
    moments = listed(ratings, {k: v for k, v in DENSE.items() if k != "text"}, sized=True)
    # fmt: off
    found: Entries = {
        "as_adjacency:graph": (data.as_adjacency, graph()),
        "to_networkx:adjacency": (data.to_networkx, points_only(GRAPH)),
        "to_pandas:adjacency": (data.to_pandas, points_only(GRAPH)),
        "to_pyg:adjacency": (data.to_pyg, points_only(GRAPH)),
        "to_pyg:features": (lambda v: data.to_pyg(GRAPH, v), points(sized=True)),
        "to_pyg:labels": (
            lambda v: data.to_pyg(GRAPH, None, v), listed(LABELS, CLASSES, sized=True)),
        "merge_edges:sources": (
            lambda v: data.merge_edges(v, nodes, None, NODES),
            listed(turned, NUMBERS, sized=True)),
        "merge_edges:targets": (
            lambda v: data.merge_edges(nodes, v, None, NODES),
            listed(turned, NUMBERS, sized=True)),
        "merge_edges:weights": (
            lambda v: data.merge_edges(nodes, turned, v, NODES),
            listed(ratings, DENSE | NEGATIVE, sized=True)),
        "random_split:labels": (
            lambda v: data.random_split(v, 2, test_size=2, validation_size=2),
            listed(LABELS, CLASSES)),
        "NodeDataset:labels": (
            lambda v: NodeDataset("d", v, POINTS, GRAPH), listed(LABELS, CLASSES, sized=True)),
        "NodeDataset:features": (lambda v: NodeDataset("d", LABELS, v), points(sized=True)),
        "NodeDataset:graph": (lambda v: NodeDataset("d", LABELS, None, v), weights()),
        "NodeDataset:component_nodes": (
            lambda v: NodeDataset("d", LABELS, component_nodes=v), listed(nodes, NUMBERS)),
        "NodeDataset.restrict:nodes": (dataset.restrict, listed(nodes, NUMBERS)),
        "Interactions.from_arrays:ratings": (
            lambda v: Interactions.from_arrays(users, items, v), amounts),
        "Interactions.from_arrays:times": (
            lambda v: Interactions.from_arrays(users, items, None, v), moments),
        "Interactions.from_matrix:matrix": (
            Interactions.from_matrix, [(MATRIX, STRUCTURE | VALUES), (MATRIX.toarray(), DENSE)]),
    }
    # fmt: on
    for name, make in (
        ("Interactions", Interactions),
        ("Interactions.from_numbers", Interactions.from_numbers),
    ):
        found |= {
            f"{name}:users": (
                lambda v, f=make: f(v, items, *ids),
                listed(users, NUMBERS, sized=True),
            ),
            f"{name}:items": (
                lambda v, f=make: f(users, v, *ids),
                listed(items, NUMBERS, sized=True),
            ),
            f"{name}:ratings": (lambda v, f=make: f(users, items, *ids, ratings=v), amounts),
            f"{name}:times": (lambda v, f=make: f(users, items, *ids, times=v), moments),
        }
    return found


ASIDE = np.arange(NODES // 2, NODES)  # nodes whose labels are set aside


@cache
def _classifier() -> Any:
    labels = LABELS.copy()
    labels[ASIDE] = -1
    made = truegraph.NodeClassifier("label-propagation", random_state=0)
    return made.fit(POINTS, labels, graph=GRAPH)


@cache
def _regressor() -> Any:
    return truegraph.NodeRegressor(random_state=0).fit(POINTS, POINTS[:, 0], graph=GRAPH)


def of_nodes() -> Entries:
    """Classes and numbers of nodes."""
    new = [(sparse.csr_array(POINTS[:2]), STRUCTURE | VALUES), (POINTS[:2], DENSE)]
    edges, chosen = np.array([[0, NODES], [1, NODES + 1]]), listed(np.array([0, 2]), NUMBERS)
    aside = (ASIDE, LABELS[ASIDE])
    pair = {
        "one list": lambda v: v[0],
        "a row too few": lambda v: (v[0], v[1][:-1]),
        "beyond the end": lambda v: (v[0] + NODES, v[1]),
        "unknown label": lambda v: (v[0], v[1] + 7),
    }
    found: Entries = {}
    # fmt: off
    for model in ("gcn", "bgcn-fast"):
        def fit(X: Any = POINTS, y: Any = LABELS, graph: Any = GRAPH, model: str = model,
                **more: Any) -> Any:
            options = {"epochs": 2} if model == "gcn" else {"degree": 4}
            made = truegraph.NodeClassifier(model, options=options, random_state=0)
            return made.fit(X, y, graph=graph, **more)
        name = "NodeClassifier.fit"
        found |= {
            f"{name}:X {model}": (lambda v, f=fit: f(X=v), points(sized=True)),
            f"{name}:graph {model}": (lambda v, f=fit: f(graph=v), graph()),
            f"{name}:y {model}": (lambda v, f=fit: f(y=v), listed(LABELS, NO_LABELS, sized=True)),
            f"{name}:validation {model}": (
                lambda v, f=fit: f(validation=v), listed(np.array([2, 3]), NUMBERS)),
        }
    regress = truegraph.NodeRegressor(random_state=0).fit
    found |= {
        "NodeRegressor.fit:X": (lambda v: regress(v, POINTS[:, 0]), points(sized=True)),
        "NodeRegressor.fit:graph": (lambda v: regress(POINTS, POINTS[:, 0], graph=v), graph()),
        "NodeRegressor.fit:y": (
            lambda v: regress(POINTS, v),
            listed(POINTS[:, 0], only(DENSE, *_QUANTITIES), sized=True)),
        "NodeClassifier.calibrate:nodes": (
            lambda v: _classifier().calibrate(v, aside[1]), listed(ASIDE, NUMBERS, sized=True)),
        "NodeClassifier.calibrate:labels": (
            lambda v: _classifier().calibrate(ASIDE, v), listed(aside[1], NUMBERS, sized=True)),
        "NodeClassifier.predict_set:calibration": (
            lambda v: _classifier().predict_set(calibration=v), [(aside, pair)]),
        "NodeClassifier:class_prior": (
            lambda v: truegraph.NodeClassifier(class_prior=v, effort="low", random_state=0).fit(
                POINTS, LABELS, graph=GRAPH),
            listed(np.full(2, 0.5), DENSE | NEGATIVE, sized=True)),
    }
    for name, made, more in (
        ("NodeClassifier.predict", _classifier, {}),
        ("NodeClassifier.predict_proba", _classifier, {}),
        ("NodeClassifier.predict_set", _classifier, {"calibration": aside}),
        ("NodeRegressor.predict", _regressor, {}),
    ):
        def ask(name: str = name, made: Any = made, more: Any = more, **given: Any) -> Any:
            return getattr(made(), name.split(".")[1])(**given, **more)
        found |= {
            f"{name}:nodes": (lambda v, f=ask: f(nodes=v), chosen),
            f"{name}:X": (lambda v, f=ask: f(X=v), new),
            f"{name}:edges": (lambda v, f=ask: f(X=POINTS[:2], edges=v), listed(edges, NUMBERS)),
        }
    spreading = truegraph.GraphLabelSpreading
    found |= {
        "GraphLabelSpreading:graph": (lambda v: spreading(v).fit(None, LABELS), graph()),
        "GraphLabelSpreading.fit:y": (
            lambda v: spreading(GRAPH).fit(None, v), listed(LABELS, NO_LABELS, sized=True)),
        "GraphLabelSpreading.predict:nodes": (
            lambda v: spreading(GRAPH).fit(None, LABELS).predict(nodes=v), chosen),
        "GraphLabelSpreading.predict_proba:nodes": (
            lambda v: spreading(GRAPH).fit(None, LABELS).predict_proba(nodes=v), chosen),
    }
    # fmt: on
    return found


@cache
def _predictor(model: str) -> Any:
    options = None if model == "auto" else {"epochs": 2}
    return truegraph.LinkPredictor(model, options=options, random_state=0).fit(GRAPH, POINTS)


def of_links() -> Entries:
    """Link prediction."""
    found: Entries = {}
    few = points(POINTS[:4], sparse.csr_array(POINTS[:4]))
    for model in ("auto", "bgae"):

        def fit(graph: Any = GRAPH, X: Any = None, model: str = model, **more: Any) -> Any:
            options = None if model == "auto" else {"epochs": 2}
            made = truegraph.LinkPredictor(model, options=options, random_state=0)
            return made.fit(graph, X, **more)

        name = "LinkPredictor.fit"
        found |= {
            f"{name}:graph {model}": (lambda v, f=fit: f(graph=v), graph()),
            f"{name}:X {model}": (lambda v, f=fit: f(X=v), points(sized=True)),
            f"{name}:validation {model}": (
                lambda v, f=fit: f(validation=(v, FREE[2:])),
                pairs(FREE[:2]),
            ),
        }
        if model != "auto":  # which has no use for them
            found[f"{name}:pairs {model}"] = (lambda v, f=fit: f(pairs=v), pairs())
    for method in ("decision_function", "predict_proba", "uncertainty", "slack"):
        found[f"LinkPredictor.{method}:pairs"] = (
            lambda v, m=method: getattr(_predictor("bgae"), m)(v),
            pairs(),
        )
    auto = _predictor
    found |= {
        "LinkPredictor.predict_new:X": (lambda v: auto("auto").predict_new(v, [[0, 5]]), few),
        "LinkPredictor.predict_new:pairs": (
            lambda v: auto("auto").predict_new(POINTS[:4], v),
            pairs(),
        ),
        "LinkPredictor.suggest_new:X": (lambda v: auto("auto").suggest_new(v), few),
    }
    return found


def of_recommenders() -> Entries:
    """Recommendation."""
    free = MATRIX.toarray() == 0  # of which some stay free: negatives of the refit
    held = sparse.csr_array((free & (np.arange(9) % 2 == 0)).astype(float))
    options = {"ease": None, "bbpr-mf": {"epochs": 2, "degree": 2}}
    found: Entries = {}
    for model, given in options.items():
        made = truegraph.Recommender(model, options=given, random_state=0)
        found |= {
            f"Recommender.fit:interactions {model}": (made.fit, [(MATRIX, STRUCTURE | VALUES)]),
            f"Recommender.fit:validation {model}": (
                lambda v, m=made: m.fit(MATRIX, validation=v),
                [(held, STRUCTURE | VALUES)],
            ),
        }
    masks = STRUCTURE | VALUES | WRONG_SIZE | {"wide": lambda m: m[:, :-1]}
    ease = truegraph.Recommender("ease", random_state=0)
    found["Recommender.rank_all:masked"] = (
        lambda v: ease.fit(MATRIX).rank_all(v, 5),
        [(MATRIX, masks)],
    )
    return found


def of_evaluation() -> Entries:
    """Metrics, and pictures."""
    e, figures, scores = evaluation, np.arange(6.0), POINTS[:, 0]
    lists = np.tile(np.arange(5), (MATRIX.shape[0], 1))
    outside = {name: fault for name, fault in NUMBERS.items() if name != "negative"}  # -1: ended
    chances, classes = listed(PROBABILITIES, DENSE, sized=True), listed(LABELS, NUMBERS, sized=True)
    any_class = listed(LABELS, CLASSES, sized=True)
    # fmt: off
    found: Entries = {
        "mean_std:values": (e.mean_std, listed(figures, only(DENSE, "NaN", "infinity", "nothing"))),
        "paired_wilcoxon:first": (
            lambda v: e.paired_wilcoxon(v, figures + 1.0), listed(figures, DENSE, sized=True)),
        "paired_wilcoxon:second": (
            lambda v: e.paired_wilcoxon(figures + 1.0, v), listed(figures, DENSE, sized=True)),
        "class_metrics:labels": (lambda v: e.class_metrics(v, PROBABILITIES), classes),
        "class_metrics:probabilities": (lambda v: e.class_metrics(LABELS, v), chances),
        "class_metrics:uncertainty": (
            lambda v: e.class_metrics(LABELS, PROBABILITIES, v), listed(scores, DENSE, sized=True)),
        "set_metrics:labels": (lambda v: e.set_metrics(v, PROBABILITIES > 0.5), classes),
        "set_metrics:members": (
            lambda v: e.set_metrics(LABELS, v), listed(PROBABILITIES, DENSE, sized=True)),
        "plots.adjacency:matrix": (plots.adjacency, graph(sized=False)),
        "plots.adjacency:labels": (lambda v: plots.adjacency(GRAPH, v), any_class),
        "plots.side_by_side:observed": (lambda v: plots.side_by_side(v, GRAPH), graph()),
        "plots.side_by_side:learned": (lambda v: plots.side_by_side(GRAPH, v), graph()),
        "plots.side_by_side:labels": (lambda v: plots.side_by_side(GRAPH, GRAPH, v), any_class),
        "plots.paired_differences:differences": (
            lambda v: plots.paired_differences({"a - b": v}), listed(figures, DENSE)),
    }
    # fmt: on
    found["reliability_curve:labels"] = (lambda v: e.reliability_curve(v, PROBABILITIES), classes)
    found["reliability_curve:probabilities"] = (lambda v: e.reliability_curve(LABELS, v), chances)
    held = [(MATRIX, STRUCTURE | VALUES), (MATRIX.toarray(), only(DENSE, "a number"))]
    for rank in (e.score_rankings, e.ranking_metrics):
        found[f"{rank.__name__}:top_items"] = (
            lambda v, f=rank: f(v, MATRIX, ks=[2]),
            listed(lists, outside, sized=True),
        )
        found[f"{rank.__name__}:held_out"] = (lambda v, f=rank: f(lists, v, ks=[2]), held)
    one_score = listed(figures, only(DENSE, "infinity"))
    found["link_metrics:links"] = (lambda v: e.link_metrics(v, figures), one_score)
    found["link_metrics:non_links"] = (lambda v: e.link_metrics(figures, v), one_score)
    shares = listed(figures / 6, DENSE, sized=False)
    found["link_metrics:link_probabilities"] = (
        lambda v: e.link_metrics(figures, figures, v, figures / 6),
        shares,
    )
    found["link_metrics:non_link_probabilities"] = (
        lambda v: e.link_metrics(figures, figures, figures / 6, v),
        shares,
    )
    return found


def _cells(values: Any) -> Any:
    """Return AnnData whose points were replaced behind the back of its constructor."""
    import anndata

    found = anndata.AnnData(POINTS.copy())
    found._X = values
    return found


def _pyg(values: Any) -> Any:
    import torch
    from torch_geometric.data import Data

    return Data(x=torch.as_tensor(np.asarray(values)))


def of_adapters() -> Entries:
    """PyTorch Geometric, AnnData and UMAP."""
    from truegraph import anndata, pyg, umap

    numeric = only(DENSE, "text", "nothing")  # a tensor holds no others
    embed = umap.embed
    return {
        "LearnGraph.forward:data": (
            lambda v: pyg.LearnGraph(degree=3)(_pyg(v)),
            listed(POINTS, numeric),
        ),
        "neighbors:adata": (lambda v: anndata.neighbors(_cells(v), 3, use_rep="X"), points()),
        "embed:X": (lambda v: embed(learned(), v, n_epochs=2), points(sized=True)),
        "embed:init": (
            lambda v: embed(learned(), POINTS, n_epochs=2, init=v),
            listed(POINTS[:, :2], DENSE, sized=True),
        ),
    }


PARTS = (
    *(of_learning, of_partitions, of_data, of_nodes, of_links),
    *(of_recommenders, of_evaluation, of_adapters),
)


def entries() -> Entries:
    """Return everything."""
    found: Entries = {}
    for part in PARTS:
        found |= part()
    return found
