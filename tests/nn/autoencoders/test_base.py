"""Training of auto-encoders: choice of the epoch, dropout keys."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from truegraph.nn.autoencoders.base import (
    LinkData,
    drawn_dropout,
    one_torch_thread,
    train_autoencoder,
)
from truegraph.nn.autoencoders.vgae import GAE, VGAE, VGAESettings


def graph_of(n_nodes: int = 60, seed: int = 0) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n_nodes, n_nodes)) < 0.1, 1)
    return sparse.csr_array((upper | upper.T).astype(float))


def model_of(kind=GAE, **settings):
    graph = graph_of()
    features = sparse.csr_array(np.random.default_rng(1).random((60, 8)))
    return kind.on(LinkData(features, graph, graph), VGAESettings(**settings))


def test_without_a_judge_the_last_epoch_counts():
    model = model_of()
    weights, _ = train_autoencoder(model, random_state=0, epochs=5, learning_rate=0.01)
    longer, _ = train_autoencoder(model, random_state=0, epochs=6, learning_rate=0.01)
    assert any(not torch.equal(weights[name], longer[name]) for name in weights)


def test_the_judge_picks_the_first_of_the_best_epochs():
    model, seen = model_of(), []
    ratings = [0.1, 0.7, 0.3, 0.7, 0.2]

    def judge(weights):
        seen.append({name: weight.clone() for name, weight in weights.items()})
        return ratings[len(seen) - 1]

    chosen, history = train_autoencoder(
        model, random_state=0, epochs=5, learning_rate=0.01, judge=judge
    )
    assert len(history) == len(seen) == 5
    assert all(torch.equal(chosen[name], seen[1][name]) for name in chosen)
    assert not torch.equal(chosen["first"], seen[4]["first"])


def test_gae_and_vgae_share_their_encoder_but_not_the_noise():
    plain, variational = model_of(GAE), model_of(VGAE)
    weights = variational.initial(3)
    assert set(plain.initial(3)) == {"first", "mean"}
    assert torch.equal(plain.initial(3)["mean"], weights["mean"])
    torch.testing.assert_close(plain.embedding(weights), variational.embedding(weights))
    generator = torch.Generator().manual_seed(0)
    assert torch.equal(plain.draw(weights, generator), plain.vectors(weights))
    assert not torch.equal(variational.draw(weights, generator), variational.vectors(weights))


def test_loss_of_gae_is_the_reconstruction_alone():
    model = model_of(GAE)
    weights = model.initial(0)
    loss = model.loss(weights, torch.Generator().manual_seed(0))
    assert loss == model.reconstruction(model.embedding(weights))


def test_dropout_acts_in_training_only():
    model, plain = model_of(GAE, dropout=0.5), model_of(GAE)
    weights = plain.initial(0)
    assert torch.equal(model.vectors(weights), plain.vectors(weights))
    generators = [torch.Generator().manual_seed(seed) for seed in (0, 0, 1)]
    losses = [model.loss(weights, generator).item() for generator in generators]
    assert losses[0] == losses[1] != losses[2]
    assert losses[0] != plain.loss(weights, generators[0]).item()


def test_draws_of_the_posterior_have_its_mean_and_spread():
    model = model_of(VGAE)
    weights = model.initial(0)
    mean, log_std = model.encode(weights)
    generator = torch.Generator().manual_seed(0)
    draws = torch.stack([model.draw(weights, generator) for _ in range(4000)])
    torch.testing.assert_close(draws.mean(0), mean, atol=0.15, rtol=0.0)
    torch.testing.assert_close(draws.std(0), log_std.exp(), rtol=0.1, atol=0.0)


def test_dropout_keys_follow_the_generator():
    assert drawn_dropout(0.5, None) is None
    assert drawn_dropout(0.0, torch.Generator()) is None
    first, second = (drawn_dropout(0.5, torch.Generator().manual_seed(s)) for s in (0, 1))
    assert first is not None
    assert second is not None
    assert first.keys.shape == (1, 2)
    assert (first.keys != second.keys).any()


def _fail_on_one_thread() -> None:
    with one_torch_thread():
        assert torch.get_num_threads() == 1
        raise ZeroDivisionError


def test_one_torch_thread_gives_back_what_was_allowed():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with pytest.raises(ZeroDivisionError):
            _fail_on_one_thread()
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
