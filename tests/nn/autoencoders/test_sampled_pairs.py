"""The estimate of the sum over all pairs: unbiased, with the same bits for any threads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from truegraph.errors import InputError
from truegraph.nn.autoencoders.reconstruction import ReconstructionLoss
from truegraph.nn.autoencoders.reconstruction_kernel import sum_over_pairs
from truegraph.nn.autoencoders.sampled_pairs import fitted_quadratic, sampled_sum
from truegraph.nn.autoencoders.vgae import embed_vgae


def embedding_of(n_nodes: int, scale: float = 0.6) -> np.ndarray:
    rng = np.random.default_rng(n_nodes)
    return (scale * rng.normal(size=(n_nodes, 6)) + 0.2).astype(np.float32)


def stored_pairs(n_nodes: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n_nodes + 1)
    links = np.triu(rng.random((n_nodes, n_nodes)) < 5.0 / n_nodes)
    found = sparse.csr_array((links | links.T).astype(float))
    a, b = np.full(found.nnz, 6.0), np.full(found.nnz, -7.0)
    return found.indptr.astype(np.int64), found.indices.astype(np.int64), a, b


@pytest.mark.parametrize("parts", [2, 3, 4, 7])
@pytest.mark.parametrize("n_nodes", [5, 128, 300, 1111])
def test_the_mean_over_all_shifts_is_exact(n_nodes: int, parts: int) -> None:
    """Every shift has the same probability, so this is what unbiased means."""
    z, stored = embedding_of(n_nodes), stored_pairs(n_nodes)
    value, gradient = sum_over_pairs(z, *stored, 1)
    found = [sampled_sum(z, stored, parts, shift, 1) for shift in range(parts)]
    assert np.mean([total for total, _ in found]) == pytest.approx(value, rel=2e-6)
    mean = np.mean([half for _, half in found], axis=0)
    np.testing.assert_allclose(mean, gradient, atol=3e-6 * np.abs(gradient).max())


def test_one_estimate_is_near() -> None:
    """The quadratic leaves little to estimate."""
    z, stored = embedding_of(3000), stored_pairs(3000)
    value, gradient = sum_over_pairs(z, *stored, 1)
    total, half = sampled_sum(z, stored, 4, 1, 1)
    assert total == pytest.approx(value, rel=1e-3)
    assert total != value
    assert np.linalg.norm(half - gradient) < 0.05 * np.linalg.norm(gradient)


def test_the_bits_do_not_depend_on_the_threads() -> None:
    z, stored = embedding_of(1500), stored_pairs(1500)
    one, two = (sampled_sum(z, stored, 3, 2, threads) for threads in (1, 2))
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])


def test_the_quadratic_is_next_to_softplus() -> None:
    a, b, c = fitted_quadratic(embedding_of(400, scale=0.1))
    assert (a, b, c) == pytest.approx((np.log(2.0), 0.5, 0.125), abs=0.01)


def test_the_loss_takes_every_tile_once_before_any_comes_again() -> None:
    graph = sparse.csr_array((np.random.default_rng(4).random((700, 700)) < 0.01).astype(float))
    graph = graph.maximum(graph.T)
    loss, exact = ReconstructionLoss.from_graph(graph), ReconstructionLoss.from_graph(graph)
    loss.parts = 4
    z = torch.from_numpy(embedding_of(700))
    values = [loss(z).item() for _ in range(4)]
    assert len(set(values)) == 4
    assert np.mean(values) == pytest.approx(exact(z).item(), rel=1e-5)


def planted_graph(n_nodes: int = 600) -> sparse.csr_array:
    """Return links mostly within two groups."""
    rng = np.random.default_rng(8)
    group = np.arange(n_nodes) % 2
    chance = np.where(group[:, None] == group, 0.04, 0.002)
    links = np.triu(rng.random((n_nodes, n_nodes)) < chance, 1)
    return sparse.csr_array((links | links.T).astype(float))


def contrast(embedding: np.ndarray) -> float:
    """Return by how much logits within the groups exceed those across, in standard deviations."""
    logits = embedding @ embedding.T
    group = np.arange(len(logits)) % 2
    same = group[:, None] == group
    return float((logits[same].mean() - logits[~same].mean()) / logits.std())


def test_an_embedding_trained_on_estimates_is_as_good() -> None:
    graph = planted_graph()
    features = sparse.eye_array(graph.shape[0], format="csr")
    options = {"random_state": 0, "epochs": 60}
    exact = embed_vgae(features, graph, **options)
    estimated, again = (embed_vgae(features, graph, pair_parts=4, **options) for _ in range(2))
    assert contrast(exact) > 1.0
    assert contrast(estimated) == pytest.approx(contrast(exact), rel=0.05)
    assert not np.array_equal(estimated, exact)
    np.testing.assert_array_equal(estimated, again)


def test_parts_must_be_at_least_one() -> None:
    graph = planted_graph(20)
    with pytest.raises(InputError, match="pair_parts=0 must be a whole number >= 1"):
        embed_vgae(sparse.eye_array(20, format="csr"), graph, random_state=0, pair_parts=0)
