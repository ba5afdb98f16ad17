"""`GraphLearner` behaves as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from lab.known_problems import planted_clusters
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from truegraph import GraphLearner, learn_graph
from truegraph.errors import InputError

POINTS = np.random.default_rng(61).normal(size=(60, 4))


WHOLE = "a graph belongs to its nodes as a whole: it cannot be computed for some of the rows"
EXPECTED_FAILURES = {
    "check_methods_sample_order_invariance": WHOLE,
    "check_methods_subset_invariance": WHOLE,
    "check_fit_idempotent": WHOLE,
}


@parametrize_with_checks(
    [GraphLearner(graph_model="paper", degree=3)],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
    xfail_strict=True,  # an exception that is no longer needed fails
)
def test_scikit_learns_own_checks(estimator: GraphLearner, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"metric": "cosine"},
        {"degree": "auto", "options": {"theta": 2.0}},
        {"options": {"solver": "primal-dual", "max_iter": 5000}},
    ],
    ids=str,
)
def test_fit_transform_is_the_adjacency(options: dict[str, Any]) -> None:
    learner = GraphLearner(**{"degree": 5, "graph_model": "paper", **options})
    adjacency = learner.fit_transform(POINTS)
    assert isinstance(adjacency, csr_array)
    assert (adjacency != learner.graph_.adjacency).nnz == 0
    assert (learner.adjacency_ != learner.graph_.adjacency).nnz == 0
    assert learner.certificate_ == learner.graph_.certificate
    assert learner.n_features_in_ == 4
    assert (learn_graph(POINTS, **learner.get_params()).adjacency != adjacency).nnz == 0


def test_transform_is_for_the_data_of_fit_only() -> None:
    learner = GraphLearner(graph_model="paper", degree=5).fit(POINTS)
    assert (learner.transform(POINTS.copy()) != learner.adjacency_).nnz == 0
    with pytest.raises(InputError, match=r"X is not the data of fit; .*use fit_transform"):
        learner.transform(POINTS[:30])
    with pytest.raises(InputError, match="X is not the data of fit"):
        learner.transform(POINTS + 1e-9)


def test_clone_and_parameters() -> None:
    learner = GraphLearner(
        graph_model="paper", degree=7, metric="cosine", random_state=3, options={"tol": 1e-4}
    )
    copy = clone(learner)
    assert copy.get_params() == learner.get_params()
    assert copy.set_params(degree=4, scope="global").degree == 4
    assert learner.degree == 7
    assert len(learner.get_params()) <= 12


def test_the_matrix_as_a_table_names_the_nodes() -> None:
    table = pd.DataFrame(POINTS, columns=list("abcd")).set_axis([f"n{i}" for i in range(60)])
    learner = GraphLearner(degree=5).set_output(transform="pandas")
    found = learner.fit_transform(table)
    assert list(learner.feature_names_in_) == list("abcd")
    assert list(found.columns) == list(found.index) == list(table.index)
    assert (csr_array(found.sparse.to_coo()) != learner.adjacency_).nnz == 0
    pd.testing.assert_frame_equal(learner.transform(table), found)
    assert clone(learner).set_output(transform="pandas").fit_transform(POINTS).columns[3] == "node3"
    with pytest.raises(InputError, match="a table of polars has no sparse columns"):
        learner.set_output(transform="polars").transform(table)


def test_in_a_pipeline_before_spectral_clustering() -> None:
    points, labels = planted_clusters(3, 40, separation=9.0, random_state=2)
    pipeline = make_pipeline(
        StandardScaler(with_std=False),  # scaling would pull the clusters together
        GraphLearner(graph_model="paper", degree=10),
        SpectralClustering(3, affinity="precomputed", random_state=0),
    )
    assert adjusted_rand_score(labels, pipeline.fit_predict(points)) == 1.0


def test_masks_go_through_fit() -> None:
    forbidden = csr_array(np.ones((60, 60)) - np.kron(np.eye(2), np.ones((30, 30))))
    learner = GraphLearner(graph_model="paper", degree=4).fit(POINTS, forbidden_pairs=forbidden)
    assert learner.adjacency_[:30, 30:].nnz == 0
    through = GraphLearner(graph_model="paper", degree=4).fit_transform(
        POINTS, forbidden_pairs=forbidden
    )
    assert (through != learner.adjacency_).nnz == 0
