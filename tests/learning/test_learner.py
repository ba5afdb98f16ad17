from __future__ import annotations

import numpy as np
import pytest

from truegraph import GraphLearner, learn_graph
from truegraph.learning import CosineDistance, EmbeddingDistance

POINTS = np.random.default_rng(81).normal(size=(80, 3))


def test_the_default_degree_is_ten() -> None:
    certificate = learn_graph(POINTS).certificate
    assert certificate.wanted_degree == 10.0
    assert certificate.degree == pytest.approx(10.0, rel=0.01)


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
