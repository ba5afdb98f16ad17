"""Removed pairs: which, how many, in which order, and that no pool runs dry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.learning import LearnedGraph
from truegraph.tasks.recommend import false_negatives
from truegraph.tasks.recommend.false_negatives import RankedPairs, rank_pairs, remove_negatives


def vectors(n_users: int = 30, n_items: int = 40, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_users + n_items, 5))


def cosine_distances(points: np.ndarray, n_users: int) -> np.ndarray:
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return 1.0 - unit[:n_users] @ unit[n_users:].T


NOTHING = csr_array((30, 40))


def test_pairs_come_by_weight_and_then_by_distance() -> None:
    ranked = rank_pairs(vectors(), 30, degree=6)
    assert len(ranked.users) == 30 * 40
    table = ranked.graph.biadjacency.toarray()
    assert (ranked.weights == table[ranked.users, ranked.items]).all()
    assert (np.diff(ranked.weights) <= 0).all()
    rest = ranked.weights == 0
    assert 0 < rest.sum() < rest.size
    far = cosine_distances(vectors(), 30)[ranked.users, ranked.items]
    assert (np.diff(far[rest]) >= -1e-12).all()


def test_the_graph_is_certified_between_users_and_items_and_serves_everyone() -> None:
    ranked = rank_pairs(vectors(), 30, degree=6)
    graph = ranked.graph
    assert isinstance(graph, LearnedGraph)
    assert graph.certificate.converged
    assert graph.certificate.scope == "global"
    assert (graph.biadjacency.sum(axis=0) > 0).all()
    assert (graph.biadjacency.sum(axis=1) > 0).all()
    assert graph.adjacency[:30, :30].nnz == graph.adjacency[30:, 30:].nnz == 0
    # what is kept of the candidates are the distances of the edges
    assert graph.candidates.nnz == graph.adjacency.nnz
    row, column = graph.biadjacency.nonzero()
    kept = graph.candidates[:30, 30:].toarray()[row, column]
    assert kept == pytest.approx(cosine_distances(vectors(), 30)[row, column], abs=1e-12)


def test_weights_know_more_than_the_distance() -> None:
    assert 0.0 < rank_pairs(vectors(), 30, degree=6).rank_correlation < 1.0


def test_lengths_of_the_vectors_do_not_matter_but_zero_vectors_are_allowed() -> None:
    points = vectors()
    scaled = points * np.random.default_rng(1).uniform(0.1, 9.0, size=(70, 1))
    one, two = rank_pairs(points, 30, degree=6), rank_pairs(scaled, 30, degree=6)
    assert (one.items[:200] == two.items[:200]).mean() > 0.99
    points[3] = 0.0
    assert np.isfinite(rank_pairs(points, 30, degree=6).weights).all()


@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.2])
def test_the_count_is_a_share_of_all_pairs(fraction: float) -> None:
    ranked = rank_pairs(vectors(), 30, degree=6)
    removed = remove_negatives(ranked, NOTHING, fraction)
    assert removed.count == round(fraction * 1200)
    assert removed.per_user.sum() == removed.count
    row, column = removed.pairs.nonzero()
    top = set(zip(ranked.users[: removed.count], ranked.items[: removed.count], strict=True))
    assert set(zip(row, column, strict=True)) <= top


def test_of_training_pairs_none_is_removed_whether_counted_or_not() -> None:
    ranked = rank_pairs(vectors(), 30, degree=6)
    train = csr_array((np.random.default_rng(2).random((30, 40)) < 0.3).astype(np.float32))
    counted = remove_negatives(ranked, train, 0.1)
    left_out = remove_negatives(ranked, train, 0.1, exclude_train=True)
    for removed in (counted, left_out):
        assert removed.pairs.multiply(train).nnz == 0
        assert removed.overlap(train) == 0.0
    assert left_out.count == 120
    first = ranked.users[:120], ranked.items[:120]
    assert counted.count == 120 - int(train.toarray()[first].sum())


def test_a_share_of_the_links() -> None:
    ranked = rank_pairs(vectors(), 30, degree=6)
    links = ranked.graph.n_edges
    half = remove_negatives(ranked, NOTHING, 0.5, fraction_of="links")
    assert half.count == round(links / 2)
    assert (half.pairs.data > 0).all()


def test_overlap_and_precision() -> None:
    ranked = rank_pairs(vectors(), 30, degree=6)
    removed = remove_negatives(ranked, NOTHING, 0.1)
    held = csr_array((np.random.default_rng(3).random((30, 40)) < 0.2).astype(np.float32))
    common = int(removed.pairs.astype(bool).multiply(held).nnz)
    stored_zeros = int((removed.pairs.data == 0).sum())
    assert stored_zeros == 0
    assert removed.overlap(held) == common / held.nnz
    assert removed.precision(held) == common / removed.count


def test_no_pool_falls_below_a_hundredth_of_the_items() -> None:
    """Everything of user 0 is to go; the pairs with the lowest weights stay."""
    n_items = 300
    order = np.arange(2 * n_items)
    users, items = order // n_items, order % n_items
    ranked = RankedPairs(
        rank_pairs(vectors(), 30, degree=6).graph,
        users,
        items,
        np.linspace(1.0, 0.5, len(order)),
        (2, n_items),
        0.0,
    )
    train = csr_array((np.ones(10), (np.zeros(10, int), np.arange(10))), shape=(2, n_items))
    removed = remove_negatives(ranked, train, 0.5)
    assert removed.per_user.tolist() == [n_items - 10 - 3, 0]
    assert removed.kept == 3
    assert removed.pairs.indices.max() == n_items - 4
    everything = remove_negatives(ranked, train, 1.0)
    assert everything.per_user.tolist() == [n_items - 13, n_items - 3]


def test_many_pairs_are_searched_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    full = rank_pairs(vectors(200, 300), 200, degree=8, largest=0.05)
    monkeypatch.setattr(false_negatives, "_ALL_PAIRS", 1000)
    searched = rank_pairs(vectors(200, 300), 200, degree=8, largest=0.05)
    assert len(searched.users) < len(full.users)
    count = int(0.05 * 60_000)
    top = [set(zip(r.users[:count], r.items[:count], strict=True)) for r in (full, searched)]
    assert len(top[0] & top[1]) > 0.95 * count


def test_impossible_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    ranked = rank_pairs(vectors(), 30, degree=6)
    with pytest.raises(InputError, match=r"fraction=1\.5"):
        remove_negatives(ranked, NOTHING, 1.5)
    with pytest.raises(InputError, match="fraction_of='users'"):
        remove_negatives(ranked, NOTHING, 0.1, fraction_of="users")  # type: ignore[arg-type]
    monkeypatch.setattr(false_negatives, "_MOST_REMOVED", 100)
    with pytest.raises(InputError, match="use smaller fractions"):
        rank_pairs(vectors(), 30, degree=6)
