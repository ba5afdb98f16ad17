"""Points that join a learned graph."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lab.known_problems import paper_graph
from scipy.sparse import csr_array

from truegraph import GraphLearner, InputError

POINTS = np.random.default_rng(0).normal(size=(300, 4))


def test_the_grown_graph_is_the_optimum_on_its_candidates() -> None:
    learner = GraphLearner(graph_model="paper", degree=6).fit(POINTS[:280])
    theta = learner.certificate_.theta
    graph = learner.update(POINTS[280:]).graph_
    assert graph.n_nodes == 300
    assert graph.certificate.converged
    assert graph.certificate.scope == "candidates"
    assert graph.certificate.theta == theta
    again = paper_graph(graph.candidates, metric="precomputed", theta=theta, tol=1e-09)
    np.testing.assert_allclose(
        graph.adjacency.toarray(), again.adjacency.toarray(), atol=1e-3 * again.adjacency.max()
    )


def test_it_is_close_to_learning_again_from_scratch() -> None:
    learner = GraphLearner(graph_model="paper", degree=6).fit(POINTS[:280])
    graph = learner.update(POINTS[280:]).graph_
    fresh = paper_graph(POINTS, theta=graph.certificate.theta)
    difference = abs(graph.adjacency - fresh.adjacency).sum() / fresh.adjacency.sum()
    assert difference < 0.02
    assert learner.transform(POINTS) is graph.adjacency


def test_distances_are_scaled_anew_where_new_points_change_them() -> None:
    learner = GraphLearner(graph_model="paper", options={"local_scaling": 7, "theta": 0.5}).fit(
        POINTS[:280]
    )
    graph = learner.update(POINTS[280:290]).update(POINTS[290:]).graph_
    assert graph.certificate.converged
    fresh = paper_graph(POINTS, local_scaling=7, theta=0.5)
    found, expected = graph.candidates.toarray(), fresh.candidates.toarray()
    common = found * expected > 0.0
    # An outlier may not be told of a new point that is nearer to it than to whom that lists.
    assert np.isclose(found[common], expected[common]).mean() > 0.95
    assert abs(graph.adjacency - fresh.adjacency).sum() < 0.02 * fresh.adjacency.sum()


def test_the_default_grows() -> None:
    learner = GraphLearner().fit(POINTS[:280])
    graph = learner.update(POINTS[280:] + 1000.0).graph_
    assert graph.certificate.converged
    assert graph.adjacency[280:, :280].nnz >= 1


def test_the_certificate_says_how_complete_the_candidates_are() -> None:
    line = np.arange(40.0)[:, None]
    learner = GraphLearner(graph_model="paper", degree=4, options={"candidate_ratio": 2}).fit(line)
    assert learner.update([[40.0]]).certificate_.recall > 0.95
    crowd = np.linspace(19.0, 21.0, 30)[:, None]  # nearer to each other than to any point before
    assert learner.update(crowd).certificate_.recall < 0.95


def test_names_go_on() -> None:
    table = pd.DataFrame(POINTS[:50], index=[f"p{i}" for i in range(50)])
    learner = GraphLearner(graph_model="paper", degree=4).fit(table[:45])
    assert learner.update(table[45:]).graph_.names == tuple(table.index)
    with pytest.raises(InputError, match="X has none; give X an index"):
        learner.update(POINTS[50:52])


def test_sparse_points_and_cosine_distance() -> None:
    points = csr_array(np.maximum(POINTS, 0.0))
    learner = GraphLearner(graph_model="paper", degree=5, metric="cosine").fit(points[:290])
    graph = learner.update(points[290:]).graph_
    dense = GraphLearner(graph_model="paper", degree=5, metric="cosine").fit(points.toarray()[:290])
    dense.update(points.toarray()[290:])
    np.testing.assert_array_equal(graph.adjacency.indices, dense.adjacency_.indices)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"options": {"mutual": True}}, "update cannot keep mutual=True"),
        ({"options": {"solver": "primal-dual", "tol": 0.1}}, "solver='newton'"),
    ],
)
def test_what_cannot_grow_is_named(options: dict, message: str) -> None:
    learner = GraphLearner(graph_model="paper", degree=4, **options).fit(POINTS[:40])
    with pytest.raises(InputError, match=message):
        learner.update(POINTS[40:])


def test_distances_cannot_grow() -> None:
    distances = ((POINTS[:30, None] - POINTS[:30]) ** 2).sum(axis=2)
    learner = GraphLearner(graph_model="paper", degree=4, metric="precomputed").fit(distances)
    with pytest.raises(InputError, match="learned from points"):
        learner.update(distances)


def test_bad_points_are_named() -> None:
    learner = GraphLearner(graph_model="paper", degree=4).fit(POINTS[:40])
    with pytest.raises(InputError, match="features"):
        learner.update(POINTS[40:, :2])
    with pytest.raises(InputError, match="NaN in row 1"):
        learner.update(np.array([[0.0] * 4, [np.nan] * 4]))
    assert learner.graph_.n_nodes == 40
