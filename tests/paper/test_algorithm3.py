"""Algorithm 3: the fair comparison, planted false negatives, which pairs are removed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.data import load_interactions, split_randomly
from truegraph.data.interaction_sets import planted_interactions
from truegraph.errors import InputError
from truegraph.paper import algorithm3 as module
from truegraph.paper.algorithm3 import (
    CHOICES,
    Algorithm3,
    algorithm3,
    bipartite_graph,
    ranked_pairs,
    removed_pairs,
)
from truegraph.paper.step import one_thread
from truegraph.paper.training_recommenders import (
    HeldOutRecall,
    NegativePool,
    train_base,
    train_ranking,
)

QUICK: dict[str, dict[str, Any]] = {
    "bpr-mf": {"width": 16, "learning_rate": 5e-3, "batch": 512},
    "lightgcn": {"width": 16, "learning_rate": 5e-3, "batch": 512, "patience": 20},
    "ngcf": {"width": 16, "learning_rate": 2e-3, "batch": 512, "patience": 10, "epochs": 20},
    "mgccf": {"width": 16, "learning_rate": 2e-3, "batch": 512, "patience": 20},
}
SPLIT = split_randomly(load_interactions("planted"), random_state=0)
NOTHING = csr_array((30, 40))


def found(name: str = "bpr-mf", split: Any = SPLIT, seed: int = 0, **choices: Any) -> Algorithm3:
    options = QUICK[name] | {key: choices.pop(key) for key in ("epochs",) if key in choices}
    own = {**CHOICES, **choices}
    return algorithm3(name, split.train, split.validation, options, own, seed=seed)


def same(first: torch.nn.Module, second: torch.nn.Module) -> bool:
    parts = first.state_dict(), second.state_dict()
    return all(torch.equal(parts[0][name], parts[1][name]) for name in parts[0])


@pytest.mark.parametrize("name", list(QUICK))
def test_removing_nothing_is_the_base_model_trained_on_bit_for_bit(name: str) -> None:
    base, _ = train_base(
        name, SPLIT.train, SPLIT.validation, options=QUICK[name] | {"epochs": 6}, seed=3
    )
    pool, how = NegativePool(SPLIT.train), {"patience": 3, "may_keep_start": True}
    with one_thread():
        history = train_ranking(base, SPLIT.validation, pool, seed=[3, 1], **how)
    nothing = found(name, seed=3, epochs=6, fractions=(0.0,), continued_patience=3)
    assert nothing.removed.nnz == 0
    assert same(base, nothing.network)
    assert (history["losses"] == nothing.history["losses"]).all()
    assert (history["recalls"] == nothing.history["recalls"]).all()
    some = found(name, seed=3, epochs=6, fractions=(0.2,), continued_patience=3)
    assert some.removed.nnz > 0
    assert (some.history["losses"][:3] != history["losses"][:3]).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_planted_false_negatives_are_found_and_removing_them_raises_recall(seed: int) -> None:
    observed, unseen = planted_interactions(liked_share=0.8, observed_share=0.25, random_state=seed)
    split = split_randomly(observed, (0.85, 0.15, 0.0), random_state=seed)
    hidden = csr_array(unseen + split.validation)
    chance = hidden.nnz / (240 * 180 - split.train.nnz)
    bayesian = found(split=split, seed=seed, continued_patience=30)
    precision = (hidden[bayesian.removed.tocoo().coords] != 0).mean()
    assert precision > 3 * chance
    recall = HeldOutRecall(csr_array(split.train + split.validation), unseen)
    baseline = found(split=split, seed=seed, continued_patience=30, fractions=(0.0,))
    with torch.no_grad():
        assert recall(bayesian.network()) > recall(baseline.network()) + 0.03


def test_the_fraction_with_the_best_recall_wins_whatever_the_threads() -> None:
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            results.append(found("ngcf", fractions=(0.1, 0.01), continued_patience=3, epochs=5))
    finally:
        torch.set_num_threads(before)
    assert list(results[0].recalls) == [0.01, 0.1]
    assert results[0].recalls[results[0].fraction] == max(results[0].recalls.values())
    assert same(results[0].network, results[1].network)
    assert results[0].recalls == results[1].recalls


# --- the learned graph and the removed pairs --------------------------------------------------


def vectors(n_users: int = 30, n_items: int = 40, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_users + n_items, 5))


def cosine_distances(points: np.ndarray, n_users: int) -> np.ndarray:
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return 1.0 - unit[:n_users] @ unit[n_users:].T


def ranked(
    points: np.ndarray, train: csr_array = NOTHING, largest: float = 0.2, degree: float = 6.0
) -> Any:
    graph = bipartite_graph(points, train, largest, degree)
    return graph, *ranked_pairs(graph, train.shape[0])


def test_the_graph_is_certified_between_users_and_items_and_serves_everyone() -> None:
    graph, (users, items, weights), correlation = ranked(vectors())
    assert graph.certificate.converged
    assert graph.certificate.scope == "global"
    assert (graph.biadjacency.sum(axis=0) > 0).all()
    assert (graph.biadjacency.sum(axis=1) > 0).all()
    assert graph.adjacency[:30, :30].nnz == graph.adjacency[30:, 30:].nnz == 0
    assert 0.0 < correlation < 1.0  # weights know more than the distance
    assert len(users) == 30 * 40
    assert (weights == graph.biadjacency.toarray()[users, items]).all()
    assert (np.diff(weights) <= 0).all()
    rest = weights == 0
    far = cosine_distances(vectors(), 30)[users, items]
    assert (np.diff(far[rest]) >= -1e-12).all()
    kept = module._edges_only(graph)
    assert kept.candidates.nnz == graph.adjacency.nnz
    row, column = graph.biadjacency.nonzero()
    distances = kept.candidates[:30, 30:].toarray()[row, column]
    assert distances == pytest.approx(cosine_distances(vectors(), 30)[row, column], abs=1e-12)


def test_the_count_is_a_share_of_all_pairs_and_training_pairs_are_counted() -> None:
    train = csr_array((np.random.default_rng(2).random((30, 40)) < 0.3).astype(np.float32))
    _, pairs, _ = ranked(vectors(), train)
    for fraction in (0.0, 0.01, 0.2):
        removed, count = removed_pairs(pairs, NOTHING, fraction), round(fraction * 1200)
        assert removed.nnz == count
        top = set(zip(pairs[0][:count], pairs[1][:count], strict=True))
        assert set(zip(*removed.tocoo().coords, strict=True)) <= top
    removed = removed_pairs(pairs, train, 0.1)
    assert removed.multiply(train).nnz == 0
    assert removed.nnz == 120 - int(train.toarray()[pairs[0][:120], pairs[1][:120]].sum())


def test_no_pool_falls_below_a_hundredth_of_the_items() -> None:
    """Everything of user 0 is to go; the pairs with the lowest weights stay."""
    n_items = 300
    order = np.arange(2 * n_items)
    weights = np.linspace(1.0, 0.5, len(order))
    pairs = (order // n_items, order % n_items, weights)
    train = csr_array((np.ones(10), (np.zeros(10, int), np.arange(10))), shape=(2, n_items))
    removed = removed_pairs(pairs, train, 0.5)
    assert np.diff(removed.indptr).tolist() == [n_items - 10 - 3, 0]
    assert removed.indices.max() == n_items - 4
    everything = removed_pairs(pairs, train, 1.0)
    assert np.diff(everything.indptr).tolist() == [n_items - 13, n_items - 3]


def test_many_pairs_are_searched_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    points, few = vectors(200, 300), {"largest": 0.05, "degree": 8.0}
    full = ranked(points, csr_array((200, 300)), **few)[1]
    monkeypatch.setattr(module, "_ALL_PAIRS", 1000)
    searched = ranked(points, csr_array((200, 300)), **few)[1]
    assert len(searched[0]) < len(full[0])
    count = int(0.05 * 60_000)
    top = [set(zip(r[0][:count], r[1][:count], strict=True)) for r in (full, searched)]
    assert len(top[0] & top[1]) > 0.95 * count
    monkeypatch.setattr(module, "_MOST_REMOVED", 100)
    with pytest.raises(InputError, match="use smaller fractions"):
        ranked(points, csr_array((200, 300)))
