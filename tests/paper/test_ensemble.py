"""Ensembles of APPNP: each member is an APPNP, and nothing but its labelled nodes is read."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from truegraph.data.operators import normalise_features
from truegraph.paper.ensemble import AppnpEnsemble, heaviest_columns, train_ensemble
from truegraph.paper.networks import network_class
from truegraph.paper.step import stream
from truegraph.paper.training import predict_proba
from truegraph.saving import load, save

ORDER = np.arange(60).reshape(3, 20).T.ravel()  # one of each class in turn
TRAIN = [ORDER[:12], ORDER[6:18], ORDER[:18]]
SCALINGS = ("sum", "length", "sum")
OPTIONS = {"epochs": 15, "hidden": 8}


def trained(problem, labels=None, **changes):
    return train_ensemble(
        problem.features,
        problem.graph,
        problem.labels if labels is None else labels,
        TRAIN,
        classes=3,
        scalings=SCALINGS,
        options=OPTIONS | changes,
        seed=3,
    )


def test_each_member_predicts_as_an_appnp_with_its_weights(problem):
    found = trained(problem)
    for k, scaling in enumerate(SCALINGS):
        network = network_class("appnp")(problem.features.shape[1], 3, stream(0, 0), {"hidden": 8})
        network.load_state_dict({"W1": found.W1[:, k], "W2": found.W2[k]})
        wanted = predict_proba(
            network, problem.graph, normalise_features(problem.features, scaling)
        )
        own = found.predict_proba(problem.graph, problem.features)[k]
        np.testing.assert_allclose(own, wanted, atol=1e-6)


def test_only_labels_of_training_nodes_are_read(problem):
    poisoned = problem.labels.copy()
    poisoned[ORDER[18:]] = -1
    assert torch.equal(trained(problem).W1, trained(problem, poisoned).W1)


def test_a_member_reads_no_labels_of_another(problem):
    changed = problem.labels.copy()
    changed[ORDER[12:18]] = (changed[ORDER[12:18]] + 1) % 3
    before, after = trained(problem), trained(problem, changed)
    assert torch.equal(before.W1[:, 0], after.W1[:, 0])
    assert not torch.equal(before.W1[:, 1], after.W1[:, 1])


def test_samples_scatter_around_the_prediction_and_come_again(problem):
    found = trained(problem, epochs=60)
    samples = [np.stack(list(found.sample_proba(30, problem.graph, problem.features)))] * 2
    np.testing.assert_array_equal(*samples)
    mean = samples[0].mean(axis=0)
    assert samples[0].std(axis=0).max() > 1e-3
    assert np.abs(mean - found.predict_proba(problem.graph, problem.features)).max() < 0.2


def test_saved_members_predict_alike(problem, tmp_path):
    found = trained(problem)
    save(found, tmp_path)
    again = load(AppnpEnsemble, tmp_path)
    wanted = found.predict_proba(problem.graph, problem.features)
    np.testing.assert_array_equal(again.predict_proba(problem.graph, problem.features), wanted)


@pytest.mark.parametrize("at_once", [1, 10**9])
def test_memory_limits_do_not_change_a_prediction(problem, monkeypatch, at_once):
    found = trained(problem)
    wanted = found.predict_proba(problem.graph, problem.features)
    monkeypatch.setattr("truegraph.paper.ensemble._AT_ONCE", at_once)
    own = found.predict_proba(problem.graph, problem.features)
    np.testing.assert_allclose(own, wanted, rtol=1e-5)


def test_training_leaves_out_what_hardly_counts(monkeypatch):
    spread = np.array([[0.5, 0.3, 0.15, 0.05, 0.0], [0.6, 0.2, 0.15, 0.05, 0.0]], dtype=np.float32)
    assert heaviest_columns(spread).tolist() == [0, 1, 2]
    monkeypatch.setattr("truegraph.paper.ensemble._MOST_NODES", 2)
    assert heaviest_columns(spread[:, ::-1]).tolist() == [3, 4]
