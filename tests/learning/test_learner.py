from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lab.known_problems import paper_graph
from scipy.linalg import block_diag
from scipy.sparse import csr_array

from truegraph import GraphLearner, InputError, LearnedGraph, learn_bipartite_graph, learn_graph
from truegraph.learning import CosineDistance, EmbeddingDistance

POINTS = np.random.default_rng(81).normal(size=(80, 3))


def _same(first: LearnedGraph, second: LearnedGraph) -> bool:
    return (first.adjacency != second.adjacency).nnz == 0


SCALED = {"local_scaling": 7, "connected": True}
PARTS = np.vstack([POINTS, POINTS + 100.0])


@pytest.mark.parametrize("density", [(8, {}), ("auto", {}), ("auto", {"theta": 0.1})], ids=str)
def test_the_graph_model_does_not_depend_on_how_the_density_is_given(density: Any) -> None:
    degree, options = density
    graph = learn_graph(PARTS, degree, options=options)
    same = paper_graph(PARTS, degree, options={**options, **SCALED})
    assert _same(graph, same)
    assert graph.certificate.added_edges >= 1
    plain = paper_graph(PARTS, degree, options=options)
    own = {**options, "local_scaling": None, "connected": False}
    assert _same(plain, learn_graph(PARTS, degree, options=own))
    assert not _same(plain, graph)


def test_components_are_joined_where_that_may_be() -> None:
    across = csr_array(np.kron([[0, 1], [1, 0]], np.ones((80, 80))))
    assert learn_graph(PARTS, forbidden_pairs=across).adjacency[:80, 80:].nnz == 0
    distances = csr_array(block_diag(*[1.0 - np.eye(9)] * 2))
    given = learn_graph(distances, metric="precomputed")
    scaled = {"local_scaling": 7}
    plain = {"metric": "precomputed", "graph_model": "paper"}
    assert _same(given, learn_graph(distances, **plain, options=scaled))


def test_a_proof_among_all_pairs_asks_for_the_plain_model() -> None:
    with pytest.raises(InputError, match=r"this model scales them .*give graph_model='paper'"):
        learn_graph(POINTS, scope="global")
    assert paper_graph(POINTS, scope="global").certificate.scope == "global"


def test_between_users_and_items_the_default_is_the_plain_model() -> None:
    sides = POINTS[:40], POINTS[40:]
    graph = learn_bipartite_graph(*sides)
    assert _same(graph, learn_bipartite_graph(*sides, 8, options={"local_scaling": None}))
    scaled = learn_bipartite_graph(*sides, graph_model="scaled")
    assert _same(scaled, learn_bipartite_graph(*sides, options={"local_scaling": 7}))


@pytest.mark.parametrize(
    ("metric", "distance"), [("sqeuclidean", EmbeddingDistance), ("cosine", CosineDistance)]
)
def test_a_metric_is_short_for_a_distance_object(metric: str, distance: type) -> None:
    by_name = paper_graph(POINTS, 6, metric=metric)
    by_object = paper_graph(distance(POINTS), 6)
    assert (by_name.adjacency != by_object.adjacency).nnz == 0


def test_rows_of_zeros_have_a_place_in_a_cosine_graph() -> None:
    points = POINTS.copy()
    points[[3, 40]] = 0.0
    graph = paper_graph(points, 6, metric="cosine")
    assert graph.certificate.converged
    assert graph.adjacency[3, 40] == graph.adjacency[[3, 40]].max()


def test_auto_says_what_it_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(82).normal(size=(400, 3))
    assert paper_graph(points, 5).certificate.search == "exact"
    monkeypatch.setattr("truegraph.learning.search.candidates.LARGEST_EXACT", 300)
    certificate = paper_graph(points, 5, random_state=0).certificate
    assert certificate.search == "ivf"
    assert 0.98 <= certificate.recall <= 1.0
    # Only exact search can prove that no pair is missing.
    assert paper_graph(points, 5, scope="global").certificate.search == "exact"


def test_the_search_is_wide_enough_for_the_ratio() -> None:
    for ratio in (1.0, 2.5, 4.0):
        graph = paper_graph(POINTS, degree=6, candidate_ratio=ratio)
        assert np.diff(graph.candidates.indptr).min() == np.ceil(6 * ratio)


def test_progress_goes_to_standard_error_and_changes_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    silent = GraphLearner(graph_model="paper", degree=5).fit(POINTS)
    assert capsys.readouterr() == ("", "")
    watched = GraphLearner(graph_model="paper", degree=5, progress=True).fit(POINTS)
    out, err = capsys.readouterr()
    assert out == ""
    assert "search" in err
    assert "solve" in err
    assert (watched.adjacency_ != silent.adjacency_).nnz == 0


def test_the_default_is_the_graph_of_degree_eight() -> None:
    points = np.random.default_rng(0).normal(size=(300, 8))
    default, eight = learn_graph(points), learn_graph(points, degree=8)
    assert (default.adjacency != eight.adjacency).nnz == 0
    assert default.certificate.wanted_degree == eight.certificate.wanted_degree == 8.0
