from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from sklearn.metrics.pairwise import cosine_distances

from truegraph.errors import InputError
from truegraph.learning import (
    CosineDistance,
    Distance,
    EmbeddingDistance,
    LabelDisagreement,
    SumDistance,
)
from truegraph.learning.search import distances
from truegraph.learning.search.neighbours import ExactSearch

REPEATABLE = settings(deadline=None, derandomize=True, database=None, max_examples=25)
SEEDS = st.integers(0, 2**32 - 1)


def observed_graph(rng: np.random.Generator, nodes: int) -> csr_array:
    """Draw a weighted graph in which some nodes have no neighbour."""
    upper = np.triu(rng.random((nodes, nodes)) < 2.0 / nodes, 1) * rng.uniform(0.1, 9.0)
    return csr_array(upper + upper.T)


def double_sum(probabilities: np.ndarray, graph: csr_array) -> np.ndarray:
    """Equation 7 of the paper word for word: mean disagreement over N_i x N_j."""
    nodes = graph.shape[0]
    around = [np.union1d([i], np.flatnonzero(graph.toarray()[i])) for i in range(nodes)]
    out = np.empty((nodes, nodes))
    for i in range(nodes):
        for j in range(nodes):
            total = 0.0
            for k in around[i]:
                for m in around[j]:
                    total += 1.0 - sum(probabilities[k] * probabilities[m])
            out[i, j] = total / (len(around[i]) * len(around[j]))
    return out


def all_values(distance: Distance) -> np.ndarray:
    nodes = distance.n_nodes
    rows, columns = np.divmod(np.arange(nodes**2), nodes)
    return distance.pair_values(rows, columns).reshape(nodes, nodes)


def off_diagonal(matrix: np.ndarray) -> np.ndarray:
    return matrix[~np.eye(len(matrix), dtype=bool)]


def squared_distances(points: np.ndarray) -> np.ndarray:
    return ((points[:, None] - points) ** 2).sum(axis=2)


@given(seed=SEEDS, nodes=st.integers(2, 12))
@REPEATABLE
def test_label_disagreement_is_the_papers_double_sum(seed: int, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    graph, labels = observed_graph(rng, nodes), rng.integers(0, 3, size=nodes)
    wanted = double_sum(np.eye(3)[labels], graph)
    np.testing.assert_allclose(all_values(LabelDisagreement(labels, graph)), wanted, atol=1e-12)
    probabilities = rng.dirichlet(np.ones(3), size=nodes)
    wanted = double_sum(probabilities, graph)
    found = all_values(LabelDisagreement(probabilities, graph))
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@given(seed=SEEDS, nodes=st.integers(3, 12))
@REPEATABLE
def test_the_sum_is_the_papers_combined_distance(seed: int, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    points, graph = rng.normal(size=(nodes, 2)), observed_graph(rng, nodes)
    labels = np.arange(nodes) % 2
    D1, D2 = squared_distances(points), double_sum(np.eye(2)[labels], graph)
    largest = off_diagonal(D2).max()
    delta = off_diagonal(D1).max() / largest if largest > 0.0 else 0.0
    combined = SumDistance(EmbeddingDistance(points), LabelDisagreement(labels, graph))
    assert combined.weight == pytest.approx(delta, rel=1e-9)
    assert combined.weight_rule == "exact"
    np.testing.assert_allclose(all_values(combined), D1 + delta * D2, atol=1e-9)


def make(kind: str, rng: np.random.Generator, nodes: int = 40) -> Distance:
    """Build one distance of each kind, with duplicates and empty rows among the nodes."""
    points = rng.normal(size=(nodes, 4))
    points[nodes // 2] = points[0]
    points[3] = 0.0
    sparse = csr_array(random_array((nodes, 30), density=0.1, rng=rng))
    graph, labels = observed_graph(rng, nodes), rng.integers(0, 4, size=nodes)
    disagreement = LabelDisagreement(labels, graph)
    return {
        "embedding": lambda: EmbeddingDistance(points),
        "sparse embedding": lambda: EmbeddingDistance(sparse),
        "cosine": lambda: CosineDistance(points),
        "sparse cosine": lambda: CosineDistance(sparse),
        "labels": lambda: disagreement,
        "sum": lambda: SumDistance(EmbeddingDistance(points), disagreement),
        "sparse sum": lambda: SumDistance(EmbeddingDistance(sparse), disagreement, 0.3),
        "sum of sums": lambda: SumDistance(
            SumDistance(CosineDistance(points), disagreement), EmbeddingDistance(points), 2.0
        ),
    }[kind]()


KINDS = [
    "embedding",
    "sparse embedding",
    "cosine",
    "sparse cosine",
    "labels",
    "sum",
    "sparse sum",
    "sum of sums",
]


@pytest.mark.parametrize("kind", KINDS)
def test_search_vectors_rank_as_the_distance(kind: str) -> None:
    """D_ij = factor |q_i - b_j|^2 + (something of i), so both have the same nearest nodes."""
    distance = make(kind, np.random.default_rng(7))
    values, nodes, k = all_values(distance), distance.n_nodes, 12
    found = ExactSearch(distance.base).query(distance.queries, np.arange(nodes), k)
    for i in range(nodes):
        others = np.delete(values[i], i)
        assert len(set(found[i])) == k
        assert i not in found[i]
        np.testing.assert_allclose(values[i, found[i]], np.sort(others)[:k], atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_symmetric_to_the_bit_and_not_negative(kind: str) -> None:
    values = all_values(make(kind, np.random.default_rng(8)))
    np.testing.assert_array_equal(values, values.T)
    assert (values >= 0.0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_largest_visits_all_pairs(kind: str) -> None:
    distance = make(kind, np.random.default_rng(9))
    assert distance.largest() == off_diagonal(all_values(distance)).max()
    assert distance.largest_is_exact


def test_largest_of_many_nodes_is_an_estimate_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(10)
    points = rng.standard_t(3.0, size=(500, 3))
    labels = rng.integers(0, 4, size=500)
    graph = observed_graph(rng, 500)
    exact = SumDistance(EmbeddingDistance(points), LabelDisagreement(labels, graph))
    monkeypatch.setattr(distances, "_EXACT_MAXIMUM", 400)
    D1, D2 = EmbeddingDistance(points), LabelDisagreement(labels, graph)
    estimate = SumDistance(D1, D2)
    assert (exact.weight_rule, estimate.weight_rule) == ("exact", "estimate")
    assert not D1.largest_is_exact
    # The farthest point from any point is at least half the diameter away.
    assert exact.first.largest() / 4.0 <= D1.largest() <= exact.first.largest()
    assert 0.5 * exact.weight <= estimate.weight <= 2.0 * exact.weight


def test_sparse_and_dense_points_have_the_same_distances() -> None:
    sparse = csr_array(random_array((40, 20), density=0.2, rng=np.random.default_rng(1)))
    dense = sparse.toarray()
    for kind in (EmbeddingDistance, CosineDistance):
        np.testing.assert_allclose(all_values(kind(sparse)), all_values(kind(dense)), atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_nothing_cancels(form: type, offset: float) -> None:
    """Duplicates are at distance zero, and a large common part of all points costs no digits."""
    points = offset + np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.5]])
    values = all_values(EmbeddingDistance(form(points)))
    np.testing.assert_array_equal(values, [[0, 0, 0.25], [0, 0, 0.25], [0.25, 0.25, 0]])


@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1.0, 1e200])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_cosine_ignores_the_length_of_rows(form: type, scale: float) -> None:
    points = np.random.default_rng(2).normal(size=(20, 3))
    stretched = form(points * scale * np.arange(1, 21)[:, None])
    found = all_values(CosineDistance(stretched))
    np.testing.assert_allclose(found, cosine_distances(points), atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_rows_of_zeros_are_at_cosine_distance_one_from_all_others(form: type) -> None:
    points = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [-1.0, 0.0]])
    values = all_values(CosineDistance(form(points)))
    assert values[0, 2] == 0.0
    np.testing.assert_allclose(values[0, [1, 3]], 1.0)
    np.testing.assert_allclose(values[1, 3], 1.0 + np.sqrt(0.5))


def test_weights_of_the_observed_graph_and_self_loops_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    graph, labels = observed_graph(rng, 15), rng.integers(0, 2, size=15)
    weighted = csr_array(7.0 * graph.toarray() + 5.0 * np.eye(15))
    pattern = csr_array((graph.toarray() != 0).astype(float))
    np.testing.assert_array_equal(
        LabelDisagreement(labels, weighted).shares, LabelDisagreement(labels, pattern).shares
    )


def test_inputs_stay_as_they_were() -> None:
    rng = np.random.default_rng(5)
    points, labels, graph = rng.normal(size=(9, 2)), rng.integers(0, 3, 9), observed_graph(rng, 9)
    unsorted = csr_array(
        (np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 0, 1, 0]), np.array([0, 2, 4])), shape=(2, 2)
    )
    before = points.copy(), labels.copy(), graph.toarray(), unsorted.indices.copy()
    for distance in (
        EmbeddingDistance(points),
        CosineDistance(points),
        LabelDisagreement(labels, graph),
        EmbeddingDistance(unsorted),
    ):
        all_values(distance)
        assert distance.queries.shape[0] == distance.n_nodes
    for now, then in zip((points, labels, graph.toarray(), unsorted.indices), before, strict=True):
        np.testing.assert_array_equal(now, then)


PROBABILITIES = np.full((4, 2), 0.5)
EMPTY = csr_array((4, 4))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: EmbeddingDistance([[1.0], [np.nan]]), "points contains NaN in row 1"),
        (lambda: CosineDistance([[np.inf], [1.0]]), "points contains infinity in row 0"),
        (lambda: EmbeddingDistance(csr_array([[np.nan, 1.0]])), "points contains NaN in row 0"),
        (lambda: EmbeddingDistance([1.0, 2.0]), r"points must be a table .*shape \(2,\)"),
        (lambda: EmbeddingDistance(np.empty((3, 0))), r"points has no columns \(shape \(3, 0\)\)"),
        (lambda: EmbeddingDistance([[1e200], [0.0]]), "points .*1e\\+200.*scale"),
        (lambda: LabelDisagreement([0, 1], EMPTY), r"labels has shape \(2,\).* 4 nodes"),
        (lambda: LabelDisagreement(np.zeros((4, 2, 2)), EMPTY), r"labels has shape \(4, 2, 2\)"),
        (lambda: LabelDisagreement(2.0 * PROBABILITIES, EMPTY), "labels .*row 0.* 2"),
        (lambda: LabelDisagreement([[1.5, -0.5]] * 4, EMPTY), "labels .*row 0.*-0.5"),
        (lambda: LabelDisagreement(np.nan * PROBABILITIES, EMPTY), "labels contains NaN in row 0"),
        (lambda: LabelDisagreement([0.0, 1.0, np.nan, 1.0], EMPTY), "labels .*NaN"),
        (lambda: LabelDisagreement.from_shares([[0.2, 0.2]]), "shares .*row 0.*0.4"),
        (lambda: LabelDisagreement.from_shares([0.5, 0.5]), r"shares .*shape \(2,\)"),
        (
            lambda: SumDistance(EmbeddingDistance([[1.0]] * 2), EmbeddingDistance([[1.0]] * 3)),
            "first has 2 nodes and second has 3",
        ),
        (
            lambda: SumDistance(
                EmbeddingDistance([[1.0]] * 2), EmbeddingDistance([[1.0]] * 2), -1.0
            ),
            "weight=-1.0 must be a finite number >= 0",
        ),
        (
            lambda: SumDistance(EmbeddingDistance([[1.0]]), EmbeddingDistance([[1.0]])),
            "1 node",
        ),
    ],
)
def test_bad_input_is_named(build: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        build()
