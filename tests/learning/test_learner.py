from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.sparse import csr_array

from truegraph import GraphLearner, LearnedGraph, learn_bipartite_graph, learn_graph
from truegraph.learning import CosineDistance, EmbeddingDistance

POINTS = np.random.default_rng(81).normal(size=(80, 3))


def _same(first: LearnedGraph, second: LearnedGraph) -> bool:
    return (first.adjacency != second.adjacency).nnz == 0


def test_the_default_is_a_graph_in_place_of_nearest_neighbours() -> None:
    points = np.vstack([POINTS, POINTS + 100.0])
    graph = learn_graph(points)
    assert _same(graph, learn_graph(points, 8, local_scaling=7, connected=True))
    assert _same(graph, learn_graph(points, "auto"))
    assert graph.certificate.wanted_degree == 8.0
    assert graph.certificate.added_edges >= 1


def test_a_density_gives_the_plain_model() -> None:
    points = np.vstack([POINTS, POINTS + 100.0])
    plain = {"local_scaling": None, "connected": False}
    for density in ({"degree": 6}, {"theta": 0.1}, {"alpha": 1.0, "beta": 0.5}):
        assert _same(learn_graph(points, **density), learn_graph(points, **density, **plain))


def test_auto_leaves_out_what_cannot_be() -> None:
    proved = learn_graph(POINTS, scope="global")
    assert proved.certificate.scope == "global"
    assert _same(proved, learn_graph(POINTS, 8, scope="global", connected=True))
    parts = np.vstack([POINTS[:20], POINTS[:20] + 100.0])
    across = csr_array(np.kron([[0, 1], [1, 0]], np.ones((20, 20))))
    forbidden = learn_graph(parts, forbidden_pairs=across)
    assert forbidden.adjacency[:20, 20:].nnz == 0
    distances = csr_array(block_diag(*[1.0 - np.eye(9)] * 2))
    given = learn_graph(distances, metric="precomputed")
    assert _same(given, learn_graph(distances, 8, metric="precomputed", local_scaling=7))


def test_between_users_and_items_the_default_is_the_plain_model_with_degree_ten() -> None:
    graph = learn_bipartite_graph(POINTS[:40], POINTS[40:])
    assert _same(graph, learn_bipartite_graph(POINTS[:40], POINTS[40:], 10))
    learner = GraphLearner().fit_bipartite(POINTS[:40], POINTS[40:])
    assert _same(graph, learner.graph_)


@pytest.mark.parametrize(
    ("metric", "distance"), [("sqeuclidean", EmbeddingDistance), ("cosine", CosineDistance)]
)
def test_a_metric_is_short_for_a_distance_object(metric: str, distance: type) -> None:
    by_name = learn_graph(POINTS, 6, metric=metric)
    by_object = learn_graph(distance(POINTS), 6)
    assert (by_name.adjacency != by_object.adjacency).nnz == 0


def test_rows_of_zeros_have_a_place_in_a_cosine_graph() -> None:
    points = POINTS.copy()
    points[[3, 40]] = 0.0
    graph = learn_graph(points, 6, metric="cosine")
    assert graph.certificate.converged
    assert graph.adjacency[3, 40] == graph.adjacency[[3, 40]].max()


def test_auto_says_what_it_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(82).normal(size=(400, 3))
    assert learn_graph(points, 5).certificate.search == "exact"
    monkeypatch.setattr("truegraph.learning.search.candidates.LARGEST_EXACT", 300)
    certificate = learn_graph(points, 5, random_state=0).certificate
    assert certificate.search == "ivf"
    assert 0.98 <= certificate.recall <= 1.0
    # Only exact search can prove that no pair is missing.
    assert learn_graph(points, 5, scope="global").certificate.search == "exact"


def test_the_search_is_wide_enough_for_the_ratio() -> None:
    for ratio in (1.0, 2.5, 4.0):
        graph = learn_graph(POINTS, degree=6, candidate_ratio=ratio)
        assert np.diff(graph.candidates.indptr).min() == np.ceil(6 * ratio)


def test_progress_goes_to_standard_error_and_changes_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    silent = GraphLearner(degree=5).fit(POINTS)
    assert capsys.readouterr() == ("", "")
    watched = GraphLearner(degree=5, progress=True).fit(POINTS)
    out, err = capsys.readouterr()
    assert out == ""
    assert "search" in err
    assert "solve" in err
    assert (watched.adjacency_ != silent.adjacency_).nnz == 0
