"""Embeddings: the SVD against a dense one, that of a VGAE, and those kept on disk."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

from truegraph.data.operators import normalise_features, normalised_adjacency
from truegraph.data.storage import read_npz
from truegraph.errors import InputError
from truegraph.paper.embedding import (
    svd_embedding,
    vgae_embedding,
)
from truegraph.paper.step import TrainingError
from truegraph.progress import Progress


def _data(nodes: int = 60, features: int = 40) -> tuple[csr_array, csr_array]:
    generator = np.random.default_rng(0)
    table = csr_array(random_array((nodes, features), density=0.2, rng=generator))
    links = np.triu(generator.random((nodes, nodes)) < 0.08, 1)
    return table, csr_array((links | links.T).astype(float))


def _spread(table: csr_array, graph: csr_array) -> np.ndarray:
    operator = normalised_adjacency(graph).toarray()
    return operator @ operator @ normalise_features(table, by="length").toarray().astype(float)


def test_inner_products_are_those_of_the_dense_svd() -> None:
    table, graph = _data()
    left, values, _ = np.linalg.svd(_spread(table, graph), full_matrices=False)
    expected = left[:, :8] * values[:8]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = svd_embedding(table, graph, dimension=8)
    assert found.shape == (60, 8)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=2e-3)


def test_seeds_repeat_and_nodes_without_features_are_zero() -> None:
    table, _ = _data()
    table = csr_array(table.toarray() * (np.arange(60) != 7)[:, None])
    alone = csr_array((60, 60))
    found = svd_embedding(table, alone, dimension=5)
    assert np.array_equal(found, svd_embedding(table, alone, dimension=5))
    assert not found[7].any()
    np.testing.assert_allclose(np.delete(np.linalg.norm(found, axis=1), 7), 1.0)


def planted(nodes: int = 120):
    rng = np.random.default_rng(0)
    labels = np.arange(nodes) % 2
    upper = np.triu(rng.random((nodes, nodes)) < np.where(labels[:, None] == labels, 0.2, 0.01), 1)
    features = (rng.random((nodes, 40)) < 0.1).astype(np.float32)  # they tell nothing
    return csr_array(features), csr_array((upper | upper.T).astype(float)), labels


def neighbour_agreement(embedding, labels) -> float:
    distance = ((embedding[:, None] - embedding[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    return float((labels[distance.argmin(axis=1)] == labels).mean())


@pytest.mark.parametrize("factor", [1.0, 7.0])  # weights shape the encoder, not the target
def test_embedding_separates_planted_communities(factor):
    features, graph, labels = planted()
    embedding = vgae_embedding(features, factor * graph, seed=0)
    assert embedding.shape == (120, 16)
    assert embedding.dtype == np.float32
    assert neighbour_agreement(embedding, labels) > 0.95
    assert neighbour_agreement(features.toarray(), labels) < 0.7


def test_the_seed_fixes_the_bits_for_any_number_of_threads():
    features, graph, _ = planted(300)
    before, found = torch.get_num_threads(), []
    try:
        for threads, seed in ((1, 3), (2, 3), (1, 4)):
            torch.set_num_threads(threads)
            found.append(vgae_embedding(features, graph, seed=seed, options={"epochs": 10}))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


class Counter(Progress):
    """Counts the epochs that were trained."""

    def __init__(self) -> None:
        self.epochs = 0

    def update(self, done, total=None, note=""):
        self.epochs += 1


def test_cache_knows_data_settings_and_seed_apart(tmp_path):
    features, graph, _ = planted()
    for seed, options, given in (
        (0, {"epochs": 2}, features),
        (1, {"epochs": 2}, features),
        (0, {"epochs": 3}, features),
        (0, {"epochs": 2}, 2.0 * features),
    ):
        vgae_embedding(given, graph, seed=seed, options=options, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def _flip_a_bit(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [None, _flip_a_bit, lambda file: file.write_bytes(b"")])
def test_cache_saves_the_training_and_damaged_files_are_replaced(tmp_path, damage):
    features, graph, _ = planted()
    given = {"seed": 0, "options": {"epochs": 3}, "cache": tmp_path / "deep"}
    computed = vgae_embedding(features, graph, **given)
    (file,) = (tmp_path / "deep").iterdir()
    if damage is not None:
        damage(file)
    trained = Counter()
    again = vgae_embedding(features, graph, progress=trained, **given)
    np.testing.assert_array_equal(again, computed)
    assert trained.epochs == (0 if damage is None else 3)
    np.testing.assert_array_equal(read_npz(file)["embedding"], computed)


def test_what_cannot_be_embedded_is_refused():
    features, graph, _ = planted()
    with pytest.raises(TrainingError, match="vgae"):
        vgae_embedding(features * 1e25, graph, seed=0, options={"epochs": 3})
    with pytest.raises(InputError, match="epochs=0"):
        vgae_embedding(features, graph, seed=0, options={"epochs": 0})
    with pytest.raises(InputError, match="at least one link"):
        vgae_embedding(features[:4], csr_array((4, 4)), seed=0)
