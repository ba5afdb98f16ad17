"""Users and items: edges only across, every user and item kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pytest
from scipy.sparse import csr_array

from truegraph import ColumnPlan, InputError, LearnedGraph, learn_bipartite_graph


def tables(kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(51)
    users, items = rng.normal(size=(40, 3)), rng.normal(size=(90, 3))
    if kind == "apart":
        items = items + 30.0
    if kind == "duplicates":
        items = np.repeat(items[:30], 3, axis=0)
    if kind == "outlier":
        users[7] = 100.0
    return users, items


def assert_across(graph: LearnedGraph, n_users: int) -> None:
    """Check that all weight is between users and items, and that nobody is left out."""
    for matrix in (graph.adjacency, graph.candidates):
        assert matrix[:n_users, :n_users].nnz == 0
        assert matrix[n_users:, n_users:].nnz == 0
    assert (graph.adjacency.sum(axis=1) > 0.0).all()
    assert (graph.biadjacency != graph.adjacency[:n_users, n_users:]).nnz == 0
    assert (graph.biadjacency.sum(axis=0) > 0.0).all()


@pytest.mark.parametrize("kind", ["mixed", "apart", "duplicates", "outlier"])
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("solver", ["newton", "primal-dual"])
@pytest.mark.filterwarnings("ignore::truegraph.errors.ConvergenceWarning")
def test_edges_are_across_and_nobody_is_left_out(kind: str, metric: str, solver: str) -> None:
    users, items = tables(kind)
    graph = learn_bipartite_graph(users, items, degree=4, metric=metric, options={"solver": solver})
    assert_across(graph, 40)
    if solver == "newton":
        assert graph.certificate.converged
        assert graph.certificate.degree == pytest.approx(4.0, rel=0.02)


@pytest.mark.parametrize("engine", ["ivf", "sketch"])
def test_approximate_search(engine: str) -> None:
    rng = np.random.default_rng(52)
    users, items = rng.normal(size=(300, 4)), rng.normal(size=(1200, 4))
    graph = learn_bipartite_graph(users, items, degree=5, candidates=engine, random_state=1)
    assert_across(graph, 300)
    assert graph.certificate.search == engine
    assert graph.certificate.recall >= 0.98
    exact = learn_bipartite_graph(users, items, options={"theta": graph.certificate.theta})
    assert graph.certificate.primal == pytest.approx(exact.certificate.primal, rel=1e-3)


def test_sparse_and_dense_tables_agree() -> None:
    rng = np.random.default_rng(53)
    users = rng.random((30, 12)) * (rng.random((30, 12)) < 0.4)
    items = rng.random((50, 12)) * (rng.random((50, 12)) < 0.4)
    options = {"options": {"theta": 2.0, "tol": 1e-12}}
    dense = learn_bipartite_graph(users, items, **options)
    both = learn_bipartite_graph(csr_array(users), csr_array(items), **options)
    one = learn_bipartite_graph(csr_array(users), items, **options)
    assert abs(both.adjacency - dense.adjacency).max() < 1e-6
    assert abs(one.adjacency - dense.adjacency).max() < 1e-6


def test_precomputed_distances_between_users_and_items() -> None:
    users, items = tables("mixed")
    values = ((users[:, None] - items) ** 2).sum(axis=2)
    points = learn_bipartite_graph(
        users, items, options={"theta": 1.0, "candidate_ratio": 20, "tol": 1e-12}
    )
    given = learn_bipartite_graph(
        values, metric="precomputed", options={"theta": 1.0, "tol": 1e-12}
    )
    assert given.n_users == 40
    assert given.certificate.search == "given"
    assert abs(given.adjacency - points.adjacency).max() < 1e-6


def test_stored_zeros_are_candidates() -> None:
    """A rating matrix turned into distances has zeros that mean: very near."""
    entries = np.array([0.0, 1.0, 0.0, 2.0]), (np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]))
    stored = csr_array(entries, shape=(2, 3))
    graph = learn_bipartite_graph(
        stored, metric="precomputed", options={"theta": 1.0, "tol": 1e-12}
    )
    assert graph.certificate.candidate_pairs == 4
    assert_across(graph, 2)
    weights = graph.biadjacency.toarray()
    assert weights[0, 0] > weights[0, 1] > 0.0
    assert weights[1, 0] == 0.0
    assert weights[0, 2] == 0.0


def test_one_user() -> None:
    graph = learn_bipartite_graph(
        np.zeros((1, 2)), np.arange(10.0).reshape(5, 2), options={"theta": 1.0}
    )
    assert graph.n_edges == 5
    assert_across(graph, 1)


def test_as_many_users_as_items_at_the_same_places() -> None:
    """User i sits on item i; the distance zero pair is theirs and is not taken for a self-loop."""
    points = np.random.default_rng(54).normal(size=(25, 2))
    graph = learn_bipartite_graph(points, points, options={"theta": 20.0})
    weights = graph.biadjacency.toarray()
    assert (weights.argmax(axis=1) == np.arange(25)).all()


def people(count: int, seed: int, name: str) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            name: [f"{name} {number}" for number in range(count)],
            "age": rng.integers(18, 80, count),
            "town": rng.choice(["Rome", "Bonn"], count),
        }
    )


def test_tables_of_users_and_items_share_one_plan() -> None:
    users, items = people(30, 0, "user_id"), people(20, 1, "item_id")
    graph = learn_bipartite_graph(users, items, degree=3)
    shared = pd.concat([users, items])[["age", "town"]]
    points = ColumnPlan(id_column=None).fit_transform(shared)
    plain = learn_bipartite_graph(points[:30], points[30:], degree=3)
    np.testing.assert_array_equal(graph.adjacency.toarray(), plain.adjacency.toarray())
    assert graph.names == (*users["user_id"], *items["item_id"])
    assert list(graph.plan.encoders_) == ["age", "town"]
    same = learn_bipartite_graph(polars.from_pandas(users), polars.from_pandas(items), degree=3)
    np.testing.assert_array_equal(graph.adjacency.toarray(), same.adjacency.toarray())
    again = learn_bipartite_graph(users, items, degree=3, plan=graph.plan)
    np.testing.assert_array_equal(graph.adjacency.toarray(), again.adjacency.toarray())


def test_tables_that_cannot_be_compared_are_refused() -> None:
    users, items = people(30, 0, "user_id"), people(20, 1, "item_id")
    with pytest.raises(InputError, match="users has the columns town, which items lacks"):
        learn_bipartite_graph(users, items.drop(columns="town"), degree=3)
    with pytest.raises(InputError, match="users is a table and items is not"):
        learn_bipartite_graph(users, np.ones((9, 2)), degree=3)
