"""Training: what it reads, that it comes again bit for bit, goes on, and stops when it should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.paper.algorithm1 import snapshots
from truegraph.paper.networks import CLASSIFIERS
from truegraph.paper.step import TrainingError
from truegraph.paper.training import Training, predict_proba, sample_proba

SHORT = {
    "dfnet-att": {"epochs": 4, "units": (4, 4), "heads": 2},
    "gat": {"epochs": 4},
    "sbm-gcn": {"epochs": 4},
}


def training(problem, name="gcn", seed=11, **options) -> Training:
    return Training(name, problem, SHORT.get(name, {"epochs": 12}) | options, seed)


def same(first, second) -> bool:
    second = second.state_dict()
    return all(torch.equal(w, second[name]) for name, w in first.state_dict().items())


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name != "dfnet-att"])
def test_networks_learn(problem, name):
    how = {"patience": None} if name in ("gat", "sbm-gcn") else {}
    network = training(problem, name, epochs=150, learning_rate=0.02, **how).run(problem.graph)
    found = predict_proba(network, problem.graph, problem.features)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-5)
    right = (found.argmax(1) == problem.labels).mean()
    assert right > {"mlp": 0.45, "chebynet": 0.6, "gat": 0.6}.get(name, 0.75)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_seed_fixes_the_bits_and_test_labels_are_never_read(problem, name):
    first = training(problem, name).run(problem.graph)
    assert not same(first, training(problem, name, seed=3).run(problem.graph))
    seen = np.full(60, -1)
    for nodes in (problem.train, problem.validation):
        seen[nodes] = problem.labels[nodes]
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        again = training(replace(problem, labels=seen), name).run(problem.graph)
    finally:
        torch.set_num_threads(before)
    assert same(first, again)


def test_a_second_run_goes_on_where_the_first_ended(problem, other_graph):
    once, twice = training(problem), training(problem)
    once.run(problem.graph, 9)
    twice.run(problem.graph, 4)
    assert same(twice.run(problem.graph, 5), once.network)
    assert twice.epoch == 9
    by_epoch, in_runs = training(problem), training(problem)
    by_epoch.run(lambda epoch: problem.graph if epoch < 3 else other_graph, 7)
    in_runs.run(problem.graph, 3)
    in_runs.run(other_graph, 4)
    assert same(by_epoch.network, in_runs.network)


def test_training_that_stops_early_keeps_its_best_weights(problem):
    how = {"epochs": 400, "patience": 5, "learning_rate": 0.05}
    labels = torch.from_numpy(problem.labels[problem.validation])

    def loss(network) -> float:
        with torch.no_grad():
            inputs = network.prepare(problem.graph, problem.features, problem.validation)
            return float(torch.nn.functional.cross_entropy(network(inputs), labels))

    stopped = training(problem, "sbm-gcn", **how)
    losses = [loss(network) for network in stopped.epochs(problem.graph)]
    assert len(losses) == np.argmin(losses) + 1 + 5 < 400
    assert loss(stopped.network) == pytest.approx(min(losses))
    endless = training(problem, "sbm-gcn", **how | {"patience": None, "epochs": len(losses) + 9})
    endless.run(problem.graph)
    assert endless.epoch == len(losses) + 9


def test_passes_with_dropout_scatter_around_the_prediction(problem):
    network = training(problem, epochs=150).run(problem.graph)
    samples = list(sample_proba(network, 100, problem.graph, problem.features, 0))
    again = list(sample_proba(network, 2, problem.graph, problem.features, 0))
    np.testing.assert_array_equal(samples[1], again[1])
    assert not np.array_equal(samples[0], samples[1])
    plain = predict_proba(network, problem.graph, problem.features).argmax(1)
    assert (np.mean(samples, axis=0).argmax(1) == plain).mean() > 0.9


@pytest.mark.parametrize("on_epoch", [True, False])
def test_snapshots_are_the_last_iterates(problem, other_graph, on_epoch):
    graphs, X = [problem.graph, other_graph], problem.features
    where, states = None if on_epoch else problem.graph, []

    def alternating(epoch: int) -> csr_array:
        return graphs[epoch % 2]

    found = list(snapshots(training(problem), alternating, 6, 3, states, where, X))
    assert len(found) == len(states) == 3
    for epoch, network in enumerate(training(problem).epochs(alternating, 6)):
        if epoch >= 3:
            graph = graphs[epoch % 2] if on_epoch else problem.graph
            wanted = predict_proba(network, graph, X)
            np.testing.assert_array_equal(found[epoch - 3], wanted)
            assert torch.equal(states[epoch - 3]["W1"], network.W1)
    with pytest.raises(InputError, match="samples=9 exceeds the 6 training epochs"):
        next(snapshots(training(problem), problem.graph, 6, 9, [], None, X))


def test_wrong_arguments_are_named(problem):
    with pytest.raises(InputError, match="gat stops early"):
        Training("gat", replace(problem, validation=problem.train[:0]))
    with pytest.raises(TrainingError, match=r"loss of gcn is .*Scale the columns"):
        training(problem, learning_rate=1e38).run(problem.graph)
