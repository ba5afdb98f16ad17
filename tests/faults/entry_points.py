"""Every public callable that takes arrays, and every fault that an array can have.

Run as a program, it calls them all with faulty input and prints one line before and one after each
call, so that whoever started it learns which call ended the process.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

ROOMS = ("", ".data", ".learning", ".evaluation", ".pyg", ".testing")
ARRAY = re.compile(
    r"NDArray|ArrayLike|csr_array|Features|IndexArray|Floats|Pairs|\bAny\b|\bData\b|\bobject\b"
)
# Parameters whose type says Any, or something like it, and which are no arrays.
NO_ARRAYS = {
    "random_state", "options", "prior", "node_names", "names", "fit_params", "degree",
    "settings", "data_home", "table", "progress",
}  # fmt: skip
# Classes that only hold results, and are taken by no function.
RESULTS = {"InteractionSplit", "KnownProblem", "NodeFeatures", "NodeSplit", "PlantedInteractions",
           "ReliabilityCurve"}  # fmt: skip

UNTRIED = {
    # Tables of mixed columns, in which text, dates and gaps are data.
    "ColumnPlan.fit:X",
    "ColumnPlan.fit:y",
    "ColumnPlan.fit_transform:X",
    "ColumnPlan.from_document:arrays",
    "ColumnPlan.from_document:document",
    "ColumnPlan.get_feature_names_out:input_features",
    "ColumnPlan.ids:X",
    "ColumnPlan.names:X",
    "ColumnPlan.to_document:arrays",
    "ColumnPlan.transform:X",
    "ColumnPlan.unknown_categories:X",
    # Classes of any kind: text, numbers, gaps.
    "LearnedGraph.explore:labels",
    # y is ignored, as scikit-learn's pipelines want it.
    "GraphLearner.fit:y",
    "GraphLearner.fit_transform:y",
    # Abstract, or tried through every class that has it.
    "Distance.pair_values:rows",
    "Distance.pair_values:columns",
    "Distance.values_from:others",
    "Distance.permuted:order",
}

RNG = np.random.default_rng(0)
NODES = 24
POINTS = RNG.normal(size=(NODES, 3))
SPARSE_POINTS = sparse.csr_array(
    np.column_stack([np.ones(NODES), np.where(RNG.random((NODES, 4)) < 0.6, 1.0, 0.0)])
)
_UPPER = np.triu(RNG.random((NODES, NODES)) < 0.3, 1).astype(float)
_UPPER[np.arange(NODES - 1), np.arange(1, NODES)] = 1.0
GRAPH = sparse.csr_array(_UPPER + _UPPER.T)
MATRIX = sparse.csr_array((RNG.random((12, 9)) < 0.4).astype(float))
LABELS = np.arange(NODES) % 2
PAIRS = np.array([[0, 5], [3, 9], [2, 20]])
FREE = np.argwhere(np.triu(np.asarray(GRAPH.todense()) == 0, 1))[:4]
PROBABILITIES = np.full((NODES, 2), 0.5)


def public() -> Iterator[tuple[str, Any]]:
    """Yield the names and objects of everything callable that users may use."""
    for room in ROOMS:
        module = importlib.import_module(f"truegraph{room}")
        names = getattr(module, "__all__", None) or [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        ]
        for name in names:
            thing = getattr(module, name)
            if not callable(thing) or (isinstance(thing, type) and issubclass(thing, Exception)):
                continue
            yield name, thing
            if isinstance(thing, type):
                for method in dir(thing):
                    found = getattr(thing, method)
                    if not method.startswith("_") and callable(found):
                        yield f"{name}.{method}", found


def array_parameters() -> set[str]:
    """Return "callable:parameter" for every parameter that may be an array."""
    found = set()
    for name, thing in public():
        if name in RESULTS or not getattr(thing, "__module__", "").startswith("truegraph"):
            continue
        for parameter in inspect.signature(thing).parameters.values():
            kinds = (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
            if parameter.name in NO_ARRAYS or parameter.kind in kinds:
                continue
            if ARRAY.search(str(parameter.annotation)) and parameter.name != "self":
                found.add(f"{name}:{parameter.name}")
    return found


# Faults: each returns a copy of something sound with one thing wrong.


def _with(matrix: Any, **arrays: Any) -> Any:
    """Replace arrays of a sparse matrix behind the back of its constructor."""
    broken = matrix.copy()
    for name, array in arrays.items():
        setattr(broken, name, array)
    return broken


def _changed(array: Any, value: Any, place: int = 5) -> Any:
    copy = np.array(array, order="C")
    copy.reshape(-1)[min(place, copy.size - 1)] = value
    return copy


def _coo(matrix: Any, value: int) -> Any:
    entries = sparse.coo_array(matrix)
    entries.coords = (_changed(entries.coords[0], value), entries.coords[1])
    return entries


STRUCTURE: dict[str, Callable[[Any], Any]] = {
    "index too large": lambda m: _with(m, indices=_changed(m.indices, 10**6)),
    "index just outside": lambda m: _with(m, indices=_changed(m.indices, m.shape[1])),
    "index negative": lambda m: _with(m, indices=_changed(m.indices, -7)),
    "indices of float": lambda m: _with(m, indices=m.indices + 0.5),
    "indices too few": lambda m: _with(m, indices=m.indices[:-3]),
    "values too few": lambda m: _with(m, data=m.data[:-3]),
    "indptr too far": lambda m: _with(m, indptr=_changed(m.indptr, 10**6, len(m.indptr))),
    "indptr falls": lambda m: _with(m, indptr=_changed(m.indptr, 0)),
    "indptr negative": lambda m: _with(m, indptr=_changed(m.indptr, -5)),
    "indptr starts late": lambda m: _with(m, indptr=_changed(m.indptr, 1, 0)),
    "indptr too short": lambda m: _with(m, indptr=m.indptr[:-2]),
    "indptr too long": lambda m: _with(m, indptr=np.append(m.indptr, m.indptr[-1])),
    "coo index too large": lambda m: _coo(m, 10**6),
    "coo index negative": lambda m: _coo(m, -3),
    "csc index too large": lambda m: _with(c := m.tocsc(), indices=_changed(c.indices, 10**6)),
    "values of two dimensions": lambda m: _with(m, data=np.ones((2, m.nnz))),
}  # fmt: skip
VALUES: dict[str, Callable[[Any], Any]] = {
    "NaN": lambda m: _with(m, data=_changed(m.data.astype(float), np.nan)),
    "infinity": lambda m: _with(m, data=_changed(m.data.astype(float), np.inf)),
    "complex": lambda m: m.astype(complex) * (1 + 2j),
    "uint64 beyond 2**63": lambda m: _with(m, data=_changed(m.data.astype(np.uint64), 2**63 + 9)),
}  # fmt: skip
NEGATIVE: dict[str, Callable[[Any], Any]] = {
    "negative": lambda m: _with(m, data=_changed(m.data, -1.0)),
}
DENSE: dict[str, Callable[[Any], Any]] = {
    "NaN": lambda a: _changed(np.array(a, dtype=float), np.nan),
    "infinity": lambda a: _changed(np.array(a, dtype=float), np.inf),
    "complex": lambda a: np.array(a) * (1 + 2j),
    "text": lambda a: np.array(a).astype(str),
    "nothing": lambda a: _changed(np.array(a).astype(object), None),
    "three dimensions": lambda a: np.array(a)[..., None, None],
    "uint64 beyond 2**63": lambda a: _changed(np.abs(np.array(a)).astype(np.uint64), 2**63 + 9),
    "a number": lambda a: 3.0,
}
WRONG_SIZE: dict[str, Callable[[Any], Any]] = {"a row too few": lambda a: a[:-1]}
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "beyond the end": lambda a: _changed(a, 10**6, 0),
    "negative": lambda a: _changed(a, -1, 0),
    "float": lambda a: np.array(a) + 0.5,
    "NaN": lambda a: _changed(np.array(a, dtype=float), np.nan, 0),
    "complex": lambda a: np.array(a) * (1 + 2j),
    "text": lambda a: np.array(a).astype(str),
    "uint64 beyond 2**63": lambda a: _changed(np.array(a).astype(np.uint64), 2**63 + 1, 0),
    "three dimensions": lambda a: np.array(a)[..., None, None],
}
CLASSES = {k: v for k, v in NUMBERS.items() if k not in ("beyond the end", "negative")}

Faulty = list[tuple[Any, dict[str, Callable[[Any], Any]]]]


def points(value: Any = POINTS, stored: Any = SPARSE_POINTS, *, sized: bool = False) -> Faulty:
    """Tables of real numbers, dense and sparse."""
    size = WRONG_SIZE if sized else {}
    return [(stored, STRUCTURE | VALUES | size), (value, DENSE | size)]


def weights(stored: Any = GRAPH, *, sized: bool = True) -> Faulty:
    """Sparse matrices of values >= 0."""
    return [(stored, STRUCTURE | VALUES | NEGATIVE | (WRONG_SIZE if sized else {}))]


def graph() -> Faulty:
    """Graphs in all forms that a matrix can have."""
    dense = {k: v for k, v in DENSE.items() if k != "a number"}
    return [*weights(), (GRAPH.toarray(), dense | WRONG_SIZE)]


def pairs(value: Any = PAIRS) -> Faulty:
    """Pairs of node numbers."""
    flat: dict[str, Callable[[Any], Any]] = {"one column": lambda a: np.array(a)[:, :1]}
    return [(value, NUMBERS | flat)]


def listed(value: Any, faults: dict[str, Callable[[Any], Any]], *, sized: bool = False) -> Faulty:
    """Lists of numbers."""
    return [(value, faults | (WRONG_SIZE if sized else {}))]


# What is fitted once, and asked often.


@cache
def _classifier() -> Any:
    import truegraph

    made: Any = truegraph.NodeClassifier("gcn", options={"epochs": 5}, random_state=0)
    return made.fit(POINTS, LABELS, graph=GRAPH)


@cache
def _links(bayesian: bool = False) -> Any:
    import truegraph

    kind = truegraph.BayesianLinkPredictor if bayesian else truegraph.LinkPredictor
    return kind("gae", options={"epochs": 3}, random_state=0).fit(GRAPH)


@cache
def _refined() -> Any:
    import truegraph

    return truegraph.LinkPredictor(options={"scale": "off"}, random_state=0).fit(GRAPH, POINTS)


@cache
def _recommender() -> Any:
    import truegraph

    return truegraph.Recommender("ease", random_state=0).fit(MATRIX)


@cache
def _learned() -> Any:
    import truegraph

    return truegraph.learn_graph(POINTS, degree=4)


def _distances() -> dict[str, Any]:
    from truegraph import learning

    embedding = learning.EmbeddingDistance(POINTS)
    return {
        "CosineDistance": learning.CosineDistance(POINTS),
        "EmbeddingDistance": embedding,
        "LabelDisagreement": learning.LabelDisagreement(LABELS, GRAPH),
        "SumDistance": learning.SumDistance(embedding, embedding, 1.0),
    }


def _data(**parts: Any) -> Any:
    import torch
    from torch_geometric.data import Data

    return Data(**{name: torch.as_tensor(np.asarray(part)) for name, part in parts.items()})


def entries() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    """Return how to call each entry point with one value, and the faulty values."""
    return _learning() | _containers() | _estimators() | _evaluation()


def _learning() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    import truegraph
    from truegraph import learning, pyg, testing

    learn, learner = truegraph.learn_graph, truegraph.GraphLearner
    distances = GRAPH  # edges as candidate pairs at distance 1
    found: dict[str, tuple[Callable[[Any], Any], Faulty]] = {
        "learn_graph:X": (lambda v: learn(v, degree=3), points()),
        "learn_graph:fixed_pairs": (lambda v: learn(POINTS, 3, fixed_pairs=v), weights_as_mask()),
        "learn_graph:forbidden_pairs": (
            lambda v: learn(POINTS, 3, forbidden_pairs=v),
            weights_as_mask(),
        ),
        "learn_graph:X precomputed": (
            lambda v: learn(v, theta=1.0, metric="precomputed"),
            weights(distances, sized=False),
        ),
        "learn_graph:X cosine": (lambda v: learn(v, degree=3, metric="cosine"), points()),
        "learn_bipartite_graph:users": (
            lambda v: truegraph.learn_bipartite_graph(v, np.ones((4, _width(v))), degree=2),
            points(POINTS[:8], SPARSE_POINTS[:8]),
        ),
        "learn_bipartite_graph:items": (
            lambda v: truegraph.learn_bipartite_graph(np.ones((4, _width(v))), v, degree=2),
            points(POINTS[:8], SPARSE_POINTS[:8]),
        ),
        "GraphLearner.fit_bipartite:users": (
            lambda v: learner(degree=2).fit_bipartite(v, np.ones((4, _width(v)))),
            points(POINTS[:8], SPARSE_POINTS[:8]),
        ),
        "GraphLearner.fit_bipartite:items": (
            lambda v: learner(degree=2).fit_bipartite(np.ones((4, _width(v))), v),
            points(POINTS[:8], SPARSE_POINTS[:8]),
        ),
        "GraphLearner.update:X": (
            lambda v: (
                learner(degree=3).fit(POINTS if not sparse.issparse(v) else SPARSE_POINTS).update(v)
            ),
            points(),
        ),
        "GraphLearner.fit:X": (lambda v: learner(degree=3).fit(v), points()),
        "GraphLearner.fit:fixed_pairs": (
            lambda v: learner(degree=3).fit(POINTS, fixed_pairs=v),
            weights_as_mask(),
        ),
        "GraphLearner.fit:forbidden_pairs": (
            lambda v: learner(degree=3).fit(POINTS, forbidden_pairs=v),
            weights_as_mask(),
        ),
        "GraphLearner.fit_transform:X": (lambda v: learner(degree=3).fit_transform(v), points()),
        "GraphLearner.transform:X": (
            lambda v: (
                learner(degree=3)
                .fit(POINTS if not sparse.issparse(v) else SPARSE_POINTS)
                .transform(v)
            ),
            points(sized=True),
        ),
        "LearnedGraph.explore:features": (
            lambda v: _learned().explore(features=v),
            points(sized=True),
        ),
        "LearnedGraph.explore:predictions": (
            lambda v: _learned().explore(predictions=v),
            listed(PROBABILITIES, DENSE, sized=True),
        ),
        "LearnedGraph.explore:observed": (lambda v: _learned().explore(observed=v), graph()),
        "LearnedGraph:adjacency": (lambda v: _made(adjacency=v), weights()),
        "LearnedGraph:candidates": (lambda v: _made(candidates=v), weights()),
        "LearnedGraph:multipliers": (
            lambda v: _made(multipliers=v),
            listed(np.ones(NODES), DENSE | {"negative": lambda a: -a}, sized=True),
        ),
        "LearnedGraph.slack:pairs": (
            lambda v: _learned().slack(v, learning.EmbeddingDistance(POINTS)),
            pairs(),
        ),
        "LearnedGraph.slack:distances": (
            lambda v: _learned().slack(PAIRS, v),
            listed(np.ones(len(PAIRS)), DENSE, sized=True),
        ),
        "LearnedGraph.to_pyg:features": (lambda v: _learned().to_pyg(v), points(sized=True)),
        "LearnedGraph.to_pyg:labels": (
            lambda v: _learned().to_pyg(POINTS, v),
            listed(LABELS, CLASSES, sized=True),
        ),
        "LabelDisagreement:labels": (
            lambda v: learning.LabelDisagreement(v, GRAPH),
            listed(PROBABILITIES, DENSE, sized=True),
        ),
        "LabelDisagreement:graph": (lambda v: learning.LabelDisagreement(LABELS, v), graph()),
        "LabelDisagreement.from_shares:shares": (
            learning.LabelDisagreement.from_shares,
            listed(PROBABILITIES, DENSE),
        ),
        "CosineDistance:points": (learning.CosineDistance, points()),
        "EmbeddingDistance:points": (learning.EmbeddingDistance, points()),
        "LearnGraph.forward:data": (
            lambda v: pyg.LearnGraph(degree=3)(_data(x=v)),
            listed(POINTS, {k: f for k, f in DENSE.items() if k not in ("text", "nothing")}),
        ),
        "primal_objective:adjacency": (
            lambda v: testing.primal_objective(v, GRAPH, 1.0),
            weights(),
        ),
        "primal_objective:distances": (
            lambda v: testing.primal_objective(GRAPH, v, 1.0),
            weights(),
        ),
        "dual_bound:multipliers": (
            lambda v: testing.dual_bound(v, GRAPH, 1.0),
            listed(np.ones(NODES), DENSE, sized=True),
        ),
        "dual_bound:distances": (
            lambda v: testing.dual_bound(np.ones(NODES), v, 1.0),
            weights(),
        ),
    }
    ends = np.array([0, 4, 7])
    for name, distance in _distances().items():
        found |= {
            f"{name}.pair_values:rows": (
                lambda v, d=distance: d.pair_values(v, ends),
                listed(ends, NUMBERS, sized=True),
            ),
            f"{name}.pair_values:columns": (
                lambda v, d=distance: d.pair_values(ends, v),
                listed(ends, NUMBERS, sized=True),
            ),
            f"{name}.values_from:others": (
                lambda v, d=distance: d.values_from(0, v),
                listed(ends, NUMBERS),
            ),
            f"{name}.permuted:order": (
                lambda v, d=distance: d.permuted(v),
                listed(np.arange(NODES), NUMBERS),
            ),
        }
    return found


def _width(table: Any) -> int:
    return int(np.shape(table)[1]) if np.ndim(table) > 1 or sparse.issparse(table) else 3


def weights_as_mask() -> Faulty:
    """Masks: what is stored and not zero counts, so that a sign means nothing."""
    mask = sparse.csr_array(np.roll(np.eye(NODES), 5, axis=1))
    return [(mask, STRUCTURE | VALUES | WRONG_SIZE)]


def _made(**parts: Any) -> Any:
    import dataclasses

    return dataclasses.replace(_learned(), **parts).posterior()


def _containers() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    from truegraph import data
    from truegraph.data import Interactions, NodeDataset

    users, items = np.array([0, 1, 1]), np.array([0, 0, 1])
    ids = (("a", "b"), ("x", "y"))
    ratings = np.array([1.0, 2.0, 3.0])
    nodes = np.array([0, 1, 5])
    dataset = NodeDataset("d", LABELS, POINTS.astype(np.float32), GRAPH)
    return {
        "as_adjacency:graph": (data.as_adjacency, graph()),
        "to_networkx:adjacency": (data.to_networkx, points_only(GRAPH)),
        "to_pandas:adjacency": (data.to_pandas, points_only(GRAPH)),
        "to_pyg:adjacency": (data.to_pyg, points_only(GRAPH)),
        "to_pyg:features": (lambda v: data.to_pyg(GRAPH, v), points(sized=True)),
        "to_pyg:labels": (
            lambda v: data.to_pyg(GRAPH, None, v),
            listed(LABELS, CLASSES, sized=True),
        ),
        "merge_edges:sources": (
            lambda v: data.merge_edges(v, nodes, None, NODES),
            listed(nodes[::-1].copy(), NUMBERS, sized=True),
        ),
        "merge_edges:targets": (
            lambda v: data.merge_edges(nodes, v, None, NODES),
            listed(nodes[::-1].copy(), NUMBERS, sized=True),
        ),
        "merge_edges:weights": (
            lambda v: data.merge_edges(nodes, nodes[::-1], v, NODES),
            listed(ratings, DENSE | {"negative": lambda a: -a}, sized=True),
        ),
        "random_split:labels": (
            lambda v: data.random_split(v, 2, test_size=2, validation_size=2),
            listed(LABELS, CLASSES),
        ),
        "NodeDataset:labels": (
            lambda v: NodeDataset("d", v, POINTS, GRAPH),
            listed(LABELS, CLASSES, sized=True),
        ),
        "NodeDataset:features": (lambda v: NodeDataset("d", LABELS, v), points(sized=True)),
        "NodeDataset:graph": (lambda v: NodeDataset("d", LABELS, None, v), weights()),
        "NodeDataset:component_nodes": (
            lambda v: NodeDataset("d", LABELS, component_nodes=v),
            listed(nodes, NUMBERS),
        ),
        "NodeDataset.restrict:nodes": (dataset.restrict, listed(nodes, NUMBERS)),
        "Interactions:users": (
            lambda v: Interactions(v, items, *ids),
            listed(users, NUMBERS, sized=True),
        ),
        "Interactions:items": (
            lambda v: Interactions(users, v, *ids),
            listed(items, NUMBERS, sized=True),
        ),
        "Interactions:ratings": (
            lambda v: Interactions(users, items, *ids, ratings=v),
            listed(ratings, DENSE, sized=True),
        ),
        "Interactions:times": (
            lambda v: Interactions(users, items, *ids, times=v),
            listed(ratings, DENSE, sized=True),
        ),
        "Interactions.from_numbers:users": (
            lambda v: Interactions.from_numbers(v, items, *ids),
            listed(users, NUMBERS, sized=True),
        ),
        "Interactions.from_numbers:items": (
            lambda v: Interactions.from_numbers(users, v, *ids),
            listed(items, NUMBERS, sized=True),
        ),
        "Interactions.from_numbers:ratings": (
            lambda v: Interactions.from_numbers(users, items, *ids, ratings=v),
            listed(ratings, DENSE, sized=True),
        ),
        "Interactions.from_numbers:times": (
            lambda v: Interactions.from_numbers(users, items, *ids, times=v),
            listed(ratings, DENSE, sized=True),
        ),
        "Interactions.from_arrays:ratings": (
            lambda v: Interactions.from_arrays(users, items, v),
            listed(ratings, DENSE, sized=True),
        ),
        "Interactions.from_arrays:times": (
            lambda v: Interactions.from_arrays(users, items, None, v),
            listed(ratings, DENSE, sized=True),
        ),
        "Interactions.from_matrix:matrix": (
            Interactions.from_matrix,
            [(MATRIX, STRUCTURE | VALUES), (MATRIX.toarray(), DENSE)],
        ),
    }


def points_only(stored: Any) -> Faulty:
    """Sparse matrices of real numbers."""
    return [(stored, STRUCTURE | VALUES)]


def _estimators() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    import truegraph

    found: dict[str, tuple[Callable[[Any], Any], Faulty]] = {}
    few = {"options": {"epochs": 2}, "random_state": 0}
    classifiers: dict[str, Callable[..., Any]] = {
        "NodeClassifier": lambda: truegraph.NodeClassifier("gcn", **few),
        "BayesianNodeClassifier": lambda **given: truegraph.BayesianNodeClassifier(
            degree=4, recipe="fast", random_state=0, options=given
        ),
    }
    for name, make in classifiers.items():
        found |= {
            f"{name}.fit:X": (
                lambda v, make=make: make().fit(v, LABELS, graph=GRAPH),
                points(sized=True),
            ),
            f"{name}.fit:graph": (
                lambda v, make=make: make().fit(POINTS, LABELS, graph=v),
                graph(),
            ),
            f"{name}.fit:y": (
                lambda v, make=make: make().fit(POINTS, v, graph=GRAPH),
                listed(LABELS, {"three dimensions": NUMBERS["three dimensions"]}, sized=True),
            ),
            f"{name}.fit:validation": (
                lambda v, make=make: make().fit(POINTS, LABELS, graph=GRAPH, validation=v),
                listed(np.array([2, 3]), NUMBERS),
            ),
        }
        for method in ("predict", "predict_proba"):
            ask = lambda method=method: getattr(_classifier(), method)  # noqa: E731
            edges = np.array([[0, NODES], [1, NODES + 1]])
            found |= {
                f"{name}.{method}:nodes": (
                    lambda v, ask=ask: ask()(v),
                    listed(np.array([0, 2]), NUMBERS),
                ),
                f"{name}.{method}:X": (
                    lambda v, ask=ask: ask()(X=v),
                    [(sparse.csr_array(POINTS[:2]), STRUCTURE | VALUES), (POINTS[:2], DENSE)],
                ),
                f"{name}.{method}:edges": (
                    lambda v, ask=ask: ask()(X=POINTS[:2], edges=v),
                    listed(edges, NUMBERS),
                ),
            }
    found["BayesianNodeClassifier:options"] = (
        lambda v: classifiers["BayesianNodeClassifier"](embedding=v).fit(
            POINTS, LABELS, graph=GRAPH
        ),
        listed(POINTS, {k: f for k, f in DENSE.items() if k != "a number"}, sized=True),
    )
    found["BayesianNodeClassifier:class_prior"] = (
        lambda v: truegraph.BayesianNodeClassifier(class_prior=v, random_state=0).fit(
            POINTS, LABELS, graph=GRAPH
        ),
        listed(np.full(2, 0.5), DENSE | {"negative": lambda a: -a}, sized=True),
    )
    spreading = truegraph.GraphLabelSpreading
    found |= {
        "GraphLabelSpreading:graph": (lambda v: spreading(v).fit(LABELS), graph()),
        "GraphLabelSpreading.fit:y": (
            lambda v: spreading(GRAPH).fit(v),
            listed(LABELS, {"three dimensions": NUMBERS["three dimensions"]}, sized=True),
        ),
        "GraphLabelSpreading.predict:nodes": (
            lambda v: spreading(GRAPH).fit(LABELS).predict(v),
            listed(np.array([0, 2]), NUMBERS),
        ),
        "GraphLabelSpreading.predict_proba:nodes": (
            lambda v: spreading(GRAPH).fit(LABELS).predict_proba(v),
            listed(np.array([0, 2]), NUMBERS),
        ),
    }
    return found | _link_predictors() | _recommenders()


def _link_predictors() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    import truegraph

    found: dict[str, tuple[Callable[[Any], Any], Faulty]] = {}
    kinds = (truegraph.LinkPredictor, truegraph.BayesianLinkPredictor)
    for kind in kinds:
        make = lambda kind=kind, **given: kind(  # noqa: E731
            "gae", options={"epochs": 2}, random_state=0, **given
        )
        name = kind.__name__
        fit = f"{name}.fit"
        found |= {
            f"{fit}:A": (lambda v, make=make: make().fit(v), graph()),
            f"{fit}:X": (lambda v, make=make: make().fit(GRAPH, v), points(sized=True)),
            f"{fit}:pairs": (lambda v, make=make: make().fit(GRAPH, pairs=v), pairs()),
            f"{fit}:validation": (
                lambda v, make=make: make().fit(GRAPH, validation=(v, FREE[2:])),
                pairs(FREE[:2]),
            ),
        }
        for method in ("decision_function", "predict_proba", "uncertainty", "slack"):
            if hasattr(kind, method):
                is_bayesian = kind is kinds[1]
                found[f"{name}.{method}:pairs"] = (
                    lambda v, b=is_bayesian, method=method: getattr(_links(b), method)(v),
                    pairs(),
                )
    few = POINTS[:4]
    found |= {
        "LinkPredictor.predict_new:X": (
            lambda v: _refined().predict_new(v, [[0, 5]]),
            points(few, sparse.csr_array(few)),
        ),
        "LinkPredictor.predict_new:pairs": (lambda v: _refined().predict_new(few, v), pairs()),
        "LinkPredictor.suggest_new:X": (
            lambda v: _refined().suggest_new(v),
            points(few, sparse.csr_array(few)),
        ),
    }
    found["BayesianLinkPredictor:embedding"] = (
        lambda v: truegraph.BayesianLinkPredictor(
            "gae", options={"epochs": 2}, embedding=v, random_state=0
        ).fit(GRAPH),
        listed(POINTS, DENSE, sized=True),
    )
    return found


def _recommenders() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    import truegraph

    makers: dict[str, Callable[[], Any]] = {
        "Recommender": lambda: truegraph.Recommender("ease", random_state=0),
        "BayesianRecommender": lambda: truegraph.BayesianRecommender(
            "bpr-mf", options={"epochs": 2}, degree=2, random_state=0
        ),
    }
    free = MATRIX.toarray() == 0  # of which some stay free: negatives of the refit
    held = sparse.csr_array((free & (np.arange(9) % 2 == 0)).astype(float))
    found: dict[str, tuple[Callable[[Any], Any], Faulty]] = {}
    for name, make in makers.items():
        found |= {
            f"{name}.fit:interactions": (
                lambda v, make=make: make().fit(v),
                [(MATRIX, STRUCTURE | VALUES)],
            ),
            f"{name}.fit:validation": (
                lambda v, make=make: make().fit(MATRIX, validation=v),
                [(held, STRUCTURE | VALUES)],
            ),
            f"{name}.rank_all:masked": (
                lambda v: _recommender().rank_all(v, 5),
                [(MATRIX, STRUCTURE | VALUES | WRONG_SIZE | {"wide": lambda m: m[:, :-1]})],
            ),
        }
    return found


def _evaluation() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    from truegraph import evaluation as e

    right = LABELS == 1
    figures = np.arange(6.0)
    found: dict[str, tuple[Callable[[Any], Any], Faulty]] = {
        "mean_std:values": (e.mean_std, listed(figures, only(DENSE, "NaN", "infinity", "nothing"))),
        "paired_wilcoxon:first": (
            lambda v: e.paired_wilcoxon(v, figures + 1.0),
            listed(figures, DENSE, sized=True),
        ),
        "paired_wilcoxon:second": (
            lambda v: e.paired_wilcoxon(figures + 1.0, v),
            listed(figures, DENSE, sized=True),
        ),
        "error_detection_auroc:uncertainty": (
            lambda v: e.error_detection_auroc(v, right),
            listed(POINTS[:, 0], DENSE, sized=True),
        ),
        "error_detection_auroc:correct": (
            lambda v: e.error_detection_auroc(POINTS[:, 0], v),
            listed(LABELS, CLASSES, sized=True),
        ),
        "score_trial:labels": (
            lambda v: e.score_trial(v, PROBABILITIES, POINTS[:, 0]),
            listed(LABELS, NUMBERS, sized=True),
        ),
        "score_trial:probabilities": (
            lambda v: e.score_trial(LABELS, v, POINTS[:, 0]),
            listed(PROBABILITIES, DENSE, sized=True),
        ),
        "score_trial:uncertainty": (
            lambda v: e.score_trial(LABELS, PROBABILITIES, v),
            listed(POINTS[:, 0], DENSE, sized=True),
        ),
    }
    for name in ("accuracy", "macro_f1"):
        score = getattr(e, name)
        found |= {
            f"{name}:labels": (
                lambda v, f=score: f(v, LABELS),
                listed(LABELS, CLASSES, sized=True),
            ),
            f"{name}:predicted": (
                lambda v, f=score: f(LABELS, v),
                listed(LABELS, CLASSES, sized=True),
            ),
        }
    by_probability = ("brier_score", "negative_log_likelihood", "expected_calibration_error")
    for name in (*by_probability, "reliability_curve"):
        score = getattr(e, name)
        found |= {
            f"{name}:labels": (
                lambda v, f=score: f(v, PROBABILITIES),
                listed(LABELS, NUMBERS, sized=True),
            ),
            f"{name}:probabilities": (
                lambda v, f=score: f(LABELS, v),
                listed(PROBABILITIES, DENSE, sized=True),
            ),
        }
    return found


def only(faults: dict[str, Callable[[Any], Any]], *without: str) -> dict[str, Any]:
    """Return the faults but some."""
    return {name: fault for name, fault in faults.items() if name not in without}


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield a name and a call, the sound one of every entry point first."""
    for entry, (call, faulty) in entries().items():
        for form, (sound, faults) in enumerate(faulty):
            yield f"{entry} / {form} / sound", lambda call=call, sound=sound: call(sound)
            for fault, broken in faults.items():
                yield (
                    f"{entry} / {form} / {fault}",
                    lambda call=call, sound=sound, broken=broken: call(broken(sound)),
                )


def outcome(call: Callable[[], Any]) -> str:
    """Return what became of a call, in one line."""
    try:
        call()
    except Exception as error:
        line = str(error).replace("\n", " ")
        return f"{type(error).__mro__[0].__name__}: {line}"
    return "result"


def main(start: int) -> None:
    """Run the cases from a number on."""
    warnings.simplefilter("ignore")
    for number, (name, call) in enumerate(cases()):
        if number >= start:
            print(f"{number}\t{name}\tbegins", flush=True)
            print(f"{number}\t{name}\t{outcome(call)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
