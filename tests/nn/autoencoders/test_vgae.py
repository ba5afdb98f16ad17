"""The variational graph auto-encoder: its layers, its training and the cache of embeddings."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.metrics import roc_auc_score

from truegraph.data.nodes.datasets import load_dataset
from truegraph.data.storage import read_npz, write_npz
from truegraph.errors import InputError
from truegraph.nn.autoencoders.reconstruction import ReconstructionLoss
from truegraph.nn.autoencoders.vgae import (
    VGAE,
    VGAESettings,
    divergence,
    embed_vgae,
    train_autoencoder,
)
from truegraph.nn.block_model.mmsbm import sample_block_graph
from truegraph.nn.graph_operators import normalised_adjacency
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.base import Inputs
from truegraph.nn.training.training import TrainingError
from truegraph.progress import Progress

RING = sparse.csr_array(np.roll(np.eye(4), 1, axis=1) + np.roll(np.eye(4), -1, axis=1))


def model_of(features, graph, **settings) -> VGAE:
    inputs = Inputs(FixedSparse(features), FixedSparse(normalised_adjacency(graph)))
    return VGAE(inputs, ReconstructionLoss.from_graph(graph), VGAESettings(**settings))


def ring_model() -> tuple[VGAE, dict[str, torch.Tensor]]:
    """Four nodes on a ring, one feature; the weights make every number easy to follow."""
    features = sparse.csr_array(np.array([[1.0], [2.0], [3.0], [-4.0]]))
    weights = {
        "first": torch.tensor([[[1.0, -1.0]]]),
        "mean": torch.tensor([[[3.0], [9.0]]]),
        "log_std": torch.tensor([[[0.0], [-9.0]]]),
    }
    return model_of(features, RING, hidden=2, dimension=1), weights


def test_forward_pass_on_four_nodes_worked_by_hand():
    # On the ring every row of the operator is a mean over a node and its two neighbours:
    # A x = (-1/3, 2, 1/3, 0), so relu gives (0, 2, 1/3, 0) and (1/3, 0, 0, 0), and the second
    # mean gives (2/3, 7/9, 7/9, 1/9) and (1/9, 1/9, 0, 1/9).
    model, weights = ring_model()
    mean, log_std = model.encode(weights)
    torch.testing.assert_close(mean.ravel(), torch.tensor([3.0, 10 / 3, 7 / 3, 4 / 3]))
    torch.testing.assert_close(log_std.ravel(), torch.tensor([-1.0, -1.0, 0.0, -1.0]))


def test_loss_on_four_nodes_is_the_formula_of_the_paper():
    model, weights = ring_model()
    loss = model.loss(weights, torch.Generator().manual_seed(5)).item()
    noise = torch.randn((4, 1), generator=torch.Generator().manual_seed(5)).numpy().ravel()
    mean, log_std = np.array([3.0, 10 / 3, 7 / 3, 4 / 3]), np.array([-1.0, -1.0, 0.0, -1.0])
    z = mean + noise * np.exp(log_std)
    logits, target = np.outer(z, z), RING.toarray() + np.eye(4)
    # Eight of sixteen pairs are links: pos_weight (16 - 8)/8 = 1, norm 16/(2 (16 - 8)) = 1.
    cross_entropy = np.mean(np.logaddexp(0.0, logits) - target * logits)
    kl = 0.5 / 4 * np.mean(mean**2 + np.exp(2 * log_std) - 1 - 2 * log_std)
    assert loss == pytest.approx(cross_entropy + kl, rel=1e-5)


def test_divergence_is_zero_at_the_prior_and_positive_elsewhere():
    zeros = torch.zeros((5, 3))
    assert divergence(zeros, zeros, torch.ones((5, 3))) == 0.0
    assert divergence(zeros, zeros + 0.3, torch.exp(zeros + 0.3)) > 0.0
    assert divergence(zeros - 0.1, zeros, torch.ones((5, 3))) > 0.0


def planted(n_nodes: int = 120, seed: int = 0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n_nodes) % 2
    graph = sample_block_graph(labels, np.array([0.2, 0.2]), 0.01, rng)
    features = (rng.random((n_nodes, 40)) < 0.1).astype(np.float32)  # they tell nothing
    return features, graph, labels


def nearest_neighbour_agreement(embedding, labels) -> float:
    distance = ((embedding[:, None] - embedding[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    return float((labels[distance.argmin(axis=1)] == labels).mean())


def test_embedding_separates_planted_communities():
    features, graph, labels = planted()
    embedding = embed_vgae(features, graph, random_state=0)
    assert embedding.shape == (120, 16)
    assert embedding.dtype == np.float32
    assert nearest_neighbour_agreement(embedding, labels) > 0.95
    assert nearest_neighbour_agreement(features, labels) < 0.7


def test_loss_falls_and_the_history_has_every_epoch():
    features, graph, _ = planted()
    model = model_of(sparse.csr_array(features), graph)
    _, history = train_autoencoder(model, random_state=0, epochs=60, learning_rate=0.01)
    assert len(history) == 60
    assert np.mean(history[-5:]) < 0.8 * history[0]


def test_seed_fixes_the_bits_for_any_number_of_threads():
    features, graph, _ = planted(n_nodes=300)
    before = torch.get_num_threads()
    embeddings = []
    try:
        for n_threads, seed in ((1, 3), (2, 3), (1, 4)):
            torch.set_num_threads(n_threads)
            embeddings.append(embed_vgae(features, graph, random_state=seed, epochs=10))
            assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(embeddings[0], embeddings[1])
    assert (embeddings[0] != embeddings[2]).any()


def test_dense_and_sparse_features_give_the_same_bits():
    features, graph, _ = planted()
    dense = embed_vgae(features, graph, random_state=0, epochs=5)
    stored = embed_vgae(sparse.csr_array(features), graph, random_state=0, epochs=5)
    np.testing.assert_array_equal(dense, stored)


def test_normalised_features_are_rows_divided_by_their_sums():
    features, graph, _ = planted()
    features[:, 0] += 1.0
    rows = features / features.sum(axis=1, keepdims=True)
    ours = embed_vgae(features, graph, random_state=0, epochs=5, normalize_features=True)
    by_hand = embed_vgae(rows, graph, random_state=0, epochs=5)
    np.testing.assert_allclose(ours, by_hand, rtol=1e-4, atol=1e-5)
    assert not np.allclose(ours, embed_vgae(features, graph, random_state=0, epochs=5), rtol=0.01)


class Counter(Progress):
    """Counts the epochs that were trained."""

    def __init__(self) -> None:
        self.epochs = 0

    def update(self, done, total=None, note=""):
        self.epochs += 1


def test_cache_gives_the_same_embedding_without_training(tmp_path):
    features, graph, _ = planted()
    first, second = Counter(), Counter()
    options = {"random_state": 0, "epochs": 4, "cache": tmp_path / "deep" / "cache"}
    computed = embed_vgae(features, graph, progress=first, **options)
    options["random_state"] = np.int64(0)
    stored = embed_vgae(sparse.csr_array(features), graph, progress=second, **options)
    np.testing.assert_array_equal(computed, stored)
    assert (first.epochs, second.epochs) == (4, 0)


def test_cache_knows_data_settings_and_seed_apart(tmp_path):
    features, graph, _ = planted()
    other = features.copy()
    other[0, 0] += 1.0
    base = {"random_state": 0, "epochs": 2, "cache": tmp_path}
    embed_vgae(features, graph, **base)
    for changed in (
        {"random_state": 1},
        {"epochs": 3},
        {"hidden": 8},
        {"dimension": 4},
        {"normalize_features": True},
    ):
        embed_vgae(features, graph, **{**base, **changed})
    embed_vgae(other, graph, **base)
    embed_vgae(features, graph[::-1][:, ::-1], **base)
    assert len(list(tmp_path.iterdir())) == 8


def _truncate(file):
    file.write_bytes(file.read_bytes()[:-200])


def _change_a_number(file):
    arrays = read_npz(file)
    arrays["embedding"][0, 0] += 1.0
    write_npz(file, arrays)


def _drop_the_digest(file):
    write_npz(file, {"embedding": read_npz(file)["embedding"]})


def _empty(file):
    file.write_bytes(b"")


@pytest.mark.parametrize("damage", [_truncate, _change_a_number, _drop_the_digest, _empty])
def test_a_damaged_cache_file_is_replaced(tmp_path, damage):
    features, graph, _ = planted()
    options = {"random_state": 0, "epochs": 3, "cache": tmp_path}
    computed = embed_vgae(features, graph, **options)
    (file,) = tmp_path.iterdir()
    damage(file)
    trained = Counter()
    np.testing.assert_array_equal(
        embed_vgae(features, graph, progress=trained, **options), computed
    )
    assert trained.epochs == 3
    assert list(tmp_path.iterdir()) == [file]
    np.testing.assert_array_equal(read_npz(file)["embedding"], computed)


def test_a_loss_that_is_not_finite_names_model_and_epoch():
    features, graph, _ = planted()
    with pytest.raises(TrainingError, match=r"loss of vgae is .* in epoch 0"):
        embed_vgae(features * 1e25, graph, random_state=0, epochs=3)


def test_weights_of_links_shape_the_encoder_but_not_the_target():
    features, graph, labels = planted()
    heavy = embed_vgae(features, 7.0 * graph, random_state=0, epochs=100)
    assert nearest_neighbour_agreement(heavy, labels) > 0.95


def test_errors_name_the_argument_and_the_remedy():
    features, graph, _ = planted()
    with pytest.raises(InputError, match="one row of features per node"):
        embed_vgae(features[:50], graph, random_state=0)
    with pytest.raises(InputError, match="random_state=-1"):
        embed_vgae(features, graph, random_state=-1)
    features[3, 4] = np.nan
    with pytest.raises(InputError, match="features hold NaN"):
        embed_vgae(features, graph, random_state=0)
    with pytest.raises(InputError, match="weights >= 0"):
        embed_vgae(np.eye(4), -RING, random_state=0)
    with pytest.raises(InputError, match="at least one link"):
        embed_vgae(np.eye(4), sparse.csr_array((4, 4)), random_state=0)


def test_embedding_of_cora_ranks_its_own_links_first():
    cora = load_dataset("cora")
    sources, targets = sparse.triu(cora.graph).nonzero()
    z = embed_vgae(cora.features, cora.graph, random_state=0)
    others = np.random.default_rng(0).integers(cora.n_nodes, size=(2, len(sources)))
    links = (z[sources] * z[targets]).sum(axis=1)
    non_links = (z[others[0]] * z[others[1]]).sum(axis=1)
    truth = np.repeat([1, 0], len(sources))
    assert roc_auc_score(truth, np.concatenate([links, non_links])) > 0.98
