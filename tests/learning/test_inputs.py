"""Bad input: every message names the argument, the value and the remedy. Good input: unchanged."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lab.known_problems import paper_graph
from scipy import sparse
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

from truegraph import ColumnPlan, learn_bipartite_graph, learn_graph
from truegraph.errors import InputError
from truegraph.learning import EmbeddingDistance

POINTS = np.random.default_rng(0).normal(size=(20, 3))
DISTANCES = ((POINTS[:, None] - POINTS) ** 2).sum(axis=2)


def changed(array: np.ndarray, where: Any, value: float) -> np.ndarray:
    copy = array.copy()
    copy[where] = value
    return copy


def one_sided() -> csr_array:
    """A pair stored in one direction only."""
    return csr_array(np.triu(DISTANCES, 1))


def lonely() -> csr_array:
    """Node 7 has no stored pair."""
    return csr_array(changed(changed(DISTANCES, (7, slice(None)), 0.0), (slice(None), 7), 0.0))


BAD_POINTS = [
    (changed(POINTS, (4, 1), np.nan), {}, "X contains NaN in row 4, column 1; remove or replace"),
    (changed(POINTS, (5, 0), np.inf), {}, "X contains infinity in row 5, column 0; remove"),
    (csr_array(changed(POINTS, (6, 2), -np.inf)), {}, "X contains infinity in row 6, column 2"),
    (np.float32(changed(POINTS, (4, 1), np.nan)), {}, "X contains NaN in row 4"),
    (np.empty((0, 3)), {}, r"X.*0 sample.*\(0, 3\).*minimum of 2"),
    (np.empty((5, 0)), {}, r"X.*0 feature.*\(5, 0\).*minimum of 1"),
    (POINTS[:1], {}, r"X.*1 sample.*\(1, 3\).*minimum of 2"),
    (POINTS[0], {}, r"(?s)X.*2D array.*1D array.*Reshape"),
    (np.zeros((3, 3, 3)), {}, r"X.*dim 3.*<= 2"),
    ([["a", "b"], ["c", "d"]], {}, r"X has type <U1, not real numbers"),
    (POINTS + 1j, {}, r"X.*[Cc]omplex"),
    (np.ma.masked_greater(POINTS, 1.0), {}, "X is a masked array; fill masked entries"),
    (POINTS, {"degree": 20}, "degree=20 .*at most 19 .*ask for degree <= 19"),
    (POINTS[:5], {"degree": 10}, "degree=10 .*at most 4 .*ask for degree <= 4"),
    (1e200 * POINTS, {}, r"(X|points) .*e\+200.*scale"),
]


@pytest.mark.parametrize(("X", "options", "words"), BAD_POINTS)
def test_bad_points(X: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        learn_graph(X, **options)


BAD_DISTANCES = [
    (changed(DISTANCES, (4, 1), np.nan), "X contains NaN in row 4, column 1; remove or replace"),
    (csr_array(changed(DISTANCES, (5, 0), np.inf)), "X contains infinity in row 5, column 0"),
    (changed(DISTANCES, (3, 8), -2.5), "X .*negative distance -2.5 in row 3, column 8; .*>= 0"),
    (csr_array(changed(DISTANCES, (3, 8), -2.5)), "X .*negative distance -2.5 in row 3, column 8"),
    (changed(DISTANCES, (3, 8), 9.0), r"X is not symmetric: .*\(3, 8\) and \(8, 3\) differ; make"),
    (one_sided(), r"X is not symmetric: entry \(0, 1\) is stored .*store every pair in both"),
    (DISTANCES[:, :7], r"X must be square .* shape \(20, 7\)"),
    (csr_array(DISTANCES[:7]), r"X must be square .* shape \(7, 20\)"),
    (lonely(), "node 7 has no candidate pair .*store a distance for it"),
    (csr_array((20, 20)), "node 0 has no candidate pair"),
    (csr_array(np.diag(np.ones(20))), "node 0 has no candidate pair"),
    (np.zeros((1, 1)), r"X.*1 sample"),
]


@pytest.mark.parametrize(("X", "words"), BAD_DISTANCES)
def test_bad_distances(X: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        paper_graph(X, metric="precomputed", degree=5)


def test_a_degree_beyond_the_stored_pairs() -> None:
    ring = csr_array(np.roll(np.eye(20), 1, axis=1) + np.roll(np.eye(20), -1, axis=1))
    with pytest.raises(InputError, match=r"degree=3 .*at most 2 .*ask for degree <= 2"):
        paper_graph(ring, metric="precomputed", degree=3)


BAD_OPTIONS = [
    ({"degree": 0.5}, "degree=0.5 must be a finite number >= 1"),
    ({"degree": -3}, "degree=-3 must be a finite number >= 1"),
    ({"degree": np.nan}, "degree=nan must be a finite number >= 1"),
    ({"degree": "ten"}, "degree='ten' must be a finite number >= 1, or 'auto'"),
    ({"options": {"theta": 0.0}}, "theta=0.0 must be a finite number > 0"),
    ({"options": {"alpha": 1.0, "beta": -1.0}}, "beta=-1.0 must be a finite number > 0"),
    (
        {"options": {"alpha": 1.0}},
        "given by alpha; give degree, or theta, or alpha and beta together",
    ),
    ({"degree": 3, "options": {"theta": 1.0}}, "given by degree and theta; give degree, or theta"),
    ({"metric": "manhattan"}, "metric='manhattan' must be one of 'sqeuclidean'"),
    ({"metric": ["cosine"]}, r"metric=\['cosine'\] must be one of"),
    ({"candidates": "annoy"}, "candidates='annoy' must be one of 'auto'"),
    ({"options": {"candidate_ratio": 0.5}}, "candidate_ratio=0.5 must be a finite number >= 1"),
    ({"scope": "all"}, "scope='all' must be one of 'candidates', 'global'"),
    ({"options": {"solver": "admm"}}, "solver='admm' must be one of 'newton', 'primal-dual'"),
    ({"options": {"tol": 0.0}}, "tol=0.0 must be a finite number >= 1e-15"),
    ({"options": {"max_iter": 0}}, "max_iter=0 must be a finite number >= 1"),
    ({"options": {"n_jobs": 0}}, "n_jobs=0 must be a number of threads, -1 for all cores, or None"),
    ({"options": {"n_jobs": "two"}}, "n_jobs='two' must be"),
    ({"random_state": "seed"}, "random_state='seed' must be an integer"),
    ({"random_state": -1}, "random_state=-1 must be an integer from 0"),
    (
        {"scope": "global", "candidates": "ivf"},
        "scope='global' needs exact search.*candidates='ivf'.*use candidates='exact'",
    ),
]


@pytest.mark.parametrize(("options", "words"), BAD_OPTIONS, ids=str)
def test_bad_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        learn_graph(POINTS, **options)


def test_global_scope_needs_all_precomputed_pairs() -> None:
    some = csr_array(np.where(np.median(DISTANCES) > DISTANCES, DISTANCES, 0.0))
    with pytest.raises(InputError, match="scope='global' needs the distances of all pairs, but X"):
        paper_graph(some, metric="precomputed", degree=3, scope="global")


MASK = csr_array(([True], ([0], [5])), shape=(20, 20))


@pytest.mark.parametrize("name", ["fixed_pairs", "forbidden_pairs"])
def test_bad_masks(name: str) -> None:
    with pytest.raises(InputError, match=rf"{name} has shape \(3, 20\), but 20 rows are expected"):
        paper_graph(POINTS, 5, **{name: csr_array((3, 20))})
    with pytest.raises(InputError, match=f"{name} has type <U4, not real numbers"):
        paper_graph(POINTS, 5, **{name: "mask"})


def test_a_pair_cannot_be_both_fixed_and_forbidden() -> None:
    for options in ({}, {"metric": "precomputed"}):
        X = DISTANCES if options else POINTS
        with pytest.raises(
            InputError, match=r"pair \(0, 5\) .*fixed_pairs .*forbidden_pairs; take"
        ):
            paper_graph(X, 5, fixed_pairs=MASK, forbidden_pairs=MASK, **options)


def test_forbidding_all_pairs_of_a_node() -> None:
    forbidden = np.zeros((20, 20))
    forbidden[3] = 1.0
    with pytest.raises(InputError, match=r"node 3 has no candidate pair .*forbid less"):
        paper_graph(POINTS, 5, forbidden_pairs=csr_array(forbidden))


def test_forbidding_so_much_that_the_degree_cannot_be_reached() -> None:
    far = np.abs(np.subtract.outer(np.arange(20), np.arange(20))) > 2
    with pytest.raises(InputError, match=r"degree=6 cannot be reached.* at most 3\.7"):
        paper_graph(POINTS, 6, forbidden_pairs=csr_array(far), candidate_ratio=10)


def test_fixing_a_pair_without_a_distance() -> None:
    some = csr_array(np.where(np.equal(DISTANCES, DISTANCES[0, 5]), 0.0, DISTANCES))
    with pytest.raises(InputError, match="fixed_pairs names a pair without a stored distance"):
        paper_graph(some, 5, metric="precomputed", fixed_pairs=MASK)


BAD_BIPARTITE = [
    ((POINTS, None), {}, "items is None; give a table"),
    ((POINTS, POINTS[:, :2]), {}, "users has 3 features and items has 2; both"),
    ((changed(POINTS, (2, 0), np.nan), POINTS), {}, "users contains NaN in row 2"),
    ((POINTS, changed(POINTS, (2, 0), np.inf)), {}, "items contains infinity in row 2"),
    ((POINTS, np.empty((0, 3))), {}, r"items is empty \(shape \(0, 3\)\); give at least"),
    ((POINTS, POINTS[0]), {}, r"items has shape \(3,\); give a table"),
    ((POINTS, [["a", "b", "c"]]), {}, "items has type <U1, not real numbers"),
    ((POINTS, POINTS[:3]), {"degree": 6}, "degree=6 .*at most 5.2"),
    ((DISTANCES, DISTANCES), {"metric": "precomputed"}, "items must be None with metric="),
    ((-DISTANCES[:4], None), {"metric": "precomputed"}, "users contains the negative distance"),
    ((DISTANCES[0], None), {"metric": "precomputed"}, r"users has shape \(20,\); give a table"),
    ((csr_array(np.eye(20, 19)), None), {"metric": "precomputed", "degree": 1}, "node 19 has no"),
]


@pytest.mark.parametrize(("tables", "options", "words"), BAD_BIPARTITE)
def test_bad_users_and_items(tables: tuple, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        learn_bipartite_graph(*tables, **options)


def test_a_distance_object_with_one_node() -> None:
    with pytest.raises(InputError, match=r"1 node; a graph needs at least two nodes"):
        paper_graph(EmbeddingDistance([[1.0]]), degree=1)


def test_bad_input_is_found_in_under_a_second() -> None:
    points = np.zeros((200_000, 16))
    points[150_000, 3] = np.nan
    began = time.process_time()
    with pytest.raises(InputError, match="row 150000, column 3"):
        learn_graph(points)
    assert time.process_time() - began < 1.0


def test_values_whose_sum_overflows_are_finite() -> None:
    """The check sums the values; an infinite sum alone does not make them infinite."""
    huge = np.full((30, 3), 1e307) * np.random.default_rng(1).random((30, 3))
    assert paper_graph(huge, 3, metric="cosine").certificate.converged


def stored_arrays(X: Any) -> list[np.ndarray]:
    """The arrays that an input is made of."""
    if sparse.issparse(X):
        names = ("row", "col", "data") if X.format == "coo" else ("indptr", "indices", "data")
        return [getattr(X, name) for name in names]
    return [X.to_numpy() if isinstance(X, pd.DataFrame) else np.asarray(X)]


def unsorted(X: csr_array) -> csr_array:
    """Return the same matrix with every row stored backwards."""
    backwards = np.concatenate([np.arange(e - 1, s - 1, -1) for s, e in pairwise(X.indptr)])
    return csr_array((X.data[backwards], X.indices[backwards], X.indptr), shape=X.shape)


NEAR = csr_array(DISTANCES * (DISTANCES < 4.0) + 1.0 * (np.eye(20, k=1) + np.eye(20, k=-1)))

KINDS = [
    (POINTS, {}),
    (np.asfortranarray(POINTS), {}),
    (POINTS.astype(np.float32), {}),
    ((10 * POINTS).astype(np.int64), {}),
    (POINTS.tolist(), {}),
    (pd.DataFrame(POINTS), {}),
    (csr_array(POINTS), {}),
    (csr_matrix(POINTS), {}),
    (csc_array(POINTS), {}),
    (coo_array(POINTS), {}),
    (unsorted(csr_array(POINTS)), {}),
    (POINTS, {"metric": "cosine"}),
    (unsorted(csr_array(POINTS)), {"metric": "cosine"}),
    (DISTANCES, {"metric": "precomputed"}),
    (csr_array(DISTANCES + np.eye(20)), {"metric": "precomputed"}),
    (unsorted(NEAR), {"metric": "precomputed"}),
    (coo_array(NEAR), {"metric": "precomputed"}),
    (csc_array(NEAR), {"metric": "precomputed"}),
]


@pytest.mark.parametrize(("X", "options"), KINDS)
def test_every_kind_of_input_is_accepted_and_left_alone(X: Any, options: dict[str, Any]) -> None:
    before = [array.copy() for array in stored_arrays(X)]
    for array in stored_arrays(X):
        array.flags.writeable = False
    graph = paper_graph(X, degree=3, **options)
    assert graph.certificate.degree == pytest.approx(3.0, rel=0.1)
    for now, then in zip(stored_arrays(X), before, strict=True):
        np.testing.assert_array_equal(now, then)
    # And the graph keeps no part of it.
    for array in stored_arrays(X):
        assert not np.shares_memory(graph.candidates.data, array)


@pytest.mark.parametrize("X", [kind for kind, options in KINDS if not options][:-1])
def test_every_form_of_points_gives_the_same_graph(X: Any) -> None:
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    if isinstance(X, pd.DataFrame):  # whose columns are scaled
        dense = ColumnPlan().fit_transform(X)
    found = paper_graph(X, theta=1.0, tol=1e-12).adjacency
    wanted = paper_graph(dense, theta=1.0, tol=1e-12).adjacency
    assert abs(found - wanted).max() < 1e-6


@pytest.mark.parametrize("form", [np.asarray, csr_array, coo_array, list])
def test_every_form_of_users_and_items(form: Any) -> None:
    users, items = form(POINTS[:8]), form(POINTS[8:])
    wanted = learn_bipartite_graph(
        POINTS[:8], POINTS[8:], options={"theta": 1.0, "tol": 1e-12}
    ).biadjacency
    found = learn_bipartite_graph(users, items, options={"theta": 1.0, "tol": 1e-12}).biadjacency
    assert abs(found - wanted).max() < 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"options": {"local_scaling": "seven"}},
            "local_scaling='seven' must be a whole number of at least 1",
        ),
        ({"options": {"local_scaling": 0}}, "local_scaling=0 must be a whole number of at least 1"),
        ({"options": {"connected": "yes"}}, "connected='yes' must be True, False or 'auto'"),
    ],
)
def test_bad_options_of_neighbour_graphs(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        learn_graph(POINTS, 5, **options)


def test_options_are_known_by_name() -> None:
    with pytest.raises(InputError, match=r"unknown option 'max_iters'. Did you mean 'max_iter'"):
        learn_graph(POINTS, options={"max_iters": 3})
    with pytest.raises(InputError, match="options has type list; give None or a dict"):
        learn_graph(POINTS, options=["tol"])


def test_a_graph_is_no_points() -> None:
    graph = paper_graph(POINTS, 5)
    with pytest.raises(InputError, match="X is a LearnedGraph, which has been learned already"):
        learn_graph(graph)
    again = paper_graph(graph.edge_distances(), 3, metric="precomputed")  # what the error suggests
    assert again.n_nodes == graph.n_nodes
