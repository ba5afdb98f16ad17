"""Training many trials at once: each as if alone, through stops, failures and interrupts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn import device
from truegraph.nn.classifiers.gcn import GCN, GCNSettings
from truegraph.nn.classifiers.registry import CLASSIFIERS
from truegraph.nn.training.stopping import EarlyStopping
from truegraph.nn.training.targets import Targets, cross_entropy
from truegraph.nn.training.trained import TrainedClassifier, restore_classifier
from truegraph.nn.training.training import Training, TrainingError
from truegraph.progress import Progress

SEEDS = [11, 3, 5, 8, 2]
SHORT = GCNSettings(epochs=12)


class StoppingGCN(GCN):
    """A GCN that stops early, after different epochs in different trials."""

    name = "stopping-gcn"
    stopping = EarlyStopping(3)


@pytest.fixture
def stopping_gcn(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(CLASSIFIERS, "stopping-gcn", StoppingGCN)
    return "stopping-gcn"


@pytest.fixture
def threads() -> Callable[[int], None]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def train_classifier(
    name: str, features, graphs, labels, train, *, progress=None, on_epoch=None, **how
) -> TrainedClassifier:
    training = Training(name, features, labels, train, **how)
    return training.run(graphs, progress=progress, on_epoch=on_epoch)


def _train(problem, name: str = "gcn", trials=range(5), graphs=None, **options):
    options = {"settings": SHORT, "classes": 3, **options}
    return train_classifier(
        name,
        problem.features,
        problem.graph if graphs is None else graphs,
        problem.labels,
        [problem.train[t] for t in trials],
        validation=[problem.validation[t] for t in trials],
        seeds=[SEEDS[t] for t in trials],
        **options,
    )


def _same(first: TrainedClassifier, second: TrainedClassifier) -> bool:
    return all(torch.equal(w, second.weights[name]) for name, w in first.weights.items())


def test_training_learns(problem) -> None:
    proba = _train(problem, settings=GCNSettings()).predict_proba()
    assert proba.shape == (5, 60, 3)
    assert proba.dtype == np.float32
    np.testing.assert_allclose(proba.sum(2), 1, rtol=1e-5)
    assert (proba.argmax(2) == problem.labels).mean() > 0.85


def test_a_trial_is_the_same_alone_and_among_others(problem, other_graphs) -> None:
    for graphs in (problem.graph, other_graphs):
        together = _train(problem, graphs=graphs)
        for trial in range(5):
            own = graphs if graphs is problem.graph else [graphs[trial]]
            alone = _train(problem, trials=[trial], graphs=own)
            assert _same(alone, together.select([trial]))
            np.testing.assert_array_equal(alone.predict_proba()[0], together.predict_proba()[trial])
            pairs = zip(alone.sample_proba(2), together.sample_proba(2), strict=True)
            for one, many in pairs:
                np.testing.assert_array_equal(one[0], many[trial])


def test_the_number_of_threads_does_not_show(problem, threads) -> None:
    threads(1)
    one = _train(problem)
    threads(2)
    two = _train(problem)
    assert _same(one, two)
    np.testing.assert_array_equal(one.predict_proba(), two.predict_proba())


def test_a_trial_that_stops_early_is_as_if_alone(problem, stopping_gcn, threads) -> None:
    threads(2)
    settings = GCNSettings(epochs=60, learning_rate=0.1)
    together = Training(
        stopping_gcn, problem.features, problem.labels, problem.train,
        validation=problem.validation, seeds=SEEDS, settings=settings,
    )  # fmt: skip
    result = together.run(problem.graph)
    ends = np.isfinite(together.history).sum(0)
    assert len(set(ends)) > 1, "the trials must stop at different times for this test to say much"
    for trial in range(5):
        alone = _train(problem, stopping_gcn, [trial], settings=settings)
        assert _same(alone, result.select([trial]))


def test_a_stopped_trial_has_its_best_weights(problem, stopping_gcn) -> None:
    settings, seen = GCNSettings(epochs=60, learning_rate=0.1), []
    held_out = Targets.from_sets(problem.labels[None], problem.validation[:1], "validation")

    def watch(epoch: int, classifier: TrainedClassifier) -> None:
        seen.append(classifier.weights["first"].clone())

    def loss(weights: dict) -> float:
        logits = result.model.forward(weights, result.inputs, None)
        return cross_entropy(logits, held_out).item()

    result = _train(problem, stopping_gcn, [0], settings=settings, on_epoch=watch)
    plain = []
    _train(problem, "gcn", [0], settings=settings, on_epoch=lambda e, c: plain.append(
        {n: w.clone() for n, w in c.weights.items()}
    ))  # fmt: skip
    losses = [loss(weights) for weights in plain[: len(seen)]]
    assert loss(result.weights) == min(losses)
    assert len(seen) == int(np.argmin(losses)) + 1 + 3


def test_the_same_seed_gives_the_same_bits_and_another_does_not(problem) -> None:
    assert _same(_train(problem), _train(problem))
    first, second = _train(problem, trials=[0, 0]).weights["first"]
    assert torch.equal(first, second)
    other = _train(problem, trials=[1]).weights["first"][0]
    assert not torch.equal(first, other)


def test_test_labels_are_never_read(problem) -> None:
    labels = np.full(60, -1)
    for trial in range(5):
        labels[problem.train[trial]] = problem.labels[problem.train[trial]]
    changed = _train(problem._replace(labels=labels))
    assert _same(changed, _train(problem))


def test_a_second_run_goes_on_where_the_first_ended(problem, other_graphs) -> None:
    def training() -> Training:
        return Training(
            "gcn", problem.features, problem.labels, problem.train, seeds=SEEDS, settings=SHORT
        )

    once, twice = training(), training()
    once.run(problem.graph, epochs=9)
    twice.run(problem.graph, epochs=4)
    assert _same(twice.run(problem.graph, epochs=5), once.classifier)
    assert twice.epoch == 9
    # a function of the epoch may change the graph between epochs
    by_epoch, in_runs = training(), training()
    by_epoch.run(lambda epoch: problem.graph if epoch < 3 else other_graphs, epochs=7)
    in_runs.run(problem.graph, epochs=3)
    in_runs.run(other_graphs, epochs=4)
    assert _same(by_epoch.classifier, in_runs.classifier)


def test_epochs_are_reported_and_can_be_watched(problem) -> None:
    done, epochs, firsts = [], [], []

    class Watching(Progress):
        def update(self, count: float, total: float | None = None, note: str = "") -> None:
            done.append((count, total))

    def watch(epoch: int, classifier: TrainedClassifier) -> None:
        epochs.append(epoch)
        firsts.append(classifier.predict_proba())

    result = _train(problem, progress=Watching(), on_epoch=watch)
    assert done == [(k + 1, 12) for k in range(12)]
    assert epochs == list(range(12))
    np.testing.assert_array_equal(firsts[-1], result.predict_proba())
    assert not np.array_equal(firsts[-2], firsts[-1])


def test_dropout_samples_differ_and_average_near_the_prediction(problem) -> None:
    trained = _train(problem, settings=GCNSettings())
    samples = list(trained.sample_proba(200))
    again = list(trained.sample_proba(2, seed=0))
    np.testing.assert_array_equal(samples[1], again[1])
    assert not np.array_equal(samples[0], samples[1])
    assert not np.array_equal(samples[0], next(trained.sample_proba(1, seed=1)))
    agreement = np.mean(samples, 0).argmax(2) == trained.predict_proba().argmax(2)
    assert agreement.mean() > 0.9


def test_prediction_on_another_graph_and_on_more_nodes(problem, other_graphs) -> None:
    trained = _train(problem)
    other = trained.predict_proba(other_graphs)
    one = trained.select([2]).predict_proba(other_graphs[2])
    np.testing.assert_array_equal(other[2], one[0])
    prepared = trained.prepare_graphs(other_graphs)
    np.testing.assert_array_equal(other, trained.predict_proba(prepared))
    grown = np.zeros((61, 61))
    grown[:60, :60] = problem.graph.toarray()
    grown[60, :5] = grown[:5, 60] = 1
    features = np.vstack([problem.features.toarray(), problem.features.toarray()[:1]])
    assert trained.predict_proba(csr_array(grown), features).shape == (5, 61, 3)


def test_dense_features_are_as_good_as_sparse_ones(problem) -> None:
    dense = problem._replace(features=problem.features.toarray())
    assert _same(_train(dense), _train(problem))


def test_saved_weights_predict_the_same(problem) -> None:
    trained = _train(problem)
    restored = restore_classifier(
        "gcn", trained.state_dict(), SHORT, SEEDS, problem.features, problem.graph, classes=3
    )
    np.testing.assert_array_equal(restored.predict_proba(), trained.predict_proba())
    np.testing.assert_array_equal(next(restored.sample_proba(1)), next(trained.sample_proba(1)))


def test_other_devices_train_to_the_same_answer(problem, monkeypatch) -> None:
    ours = _train(problem).predict_proba()
    monkeypatch.setattr(device, "uses_kernels", lambda tensor: False)
    np.testing.assert_allclose(_train(problem).predict_proba(), ours, atol=1e-3)


def test_a_loss_that_is_not_finite_keeps_the_last_good_weights(problem, monkeypatch) -> None:
    good = _train(problem, settings=GCNSettings(epochs=6))
    whole_loss = GCN.loss

    def failing(self, weights, inputs, prepared, noise):
        losses, updates = whole_loss(self, weights, inputs, prepared, noise)
        # the weights after seven epochs are the ones that fail; those after six were good
        return (losses * torch.nan if noise.step == 7 else losses), updates

    monkeypatch.setattr(GCN, "loss", failing)
    with pytest.raises(TrainingError, match="gcn is not finite in epoch 7 of trial") as caught:
        _train(problem, trials=range(5))
    assert "The likely cause is features of very different or huge size" in str(caught.value)
    assert caught.value.classifier.weights["first"].isfinite().all()
    kept = caught.value.classifier
    failed = [t for t in range(5) if _same(kept.select([t]), good.select([t]))]
    assert failed, "at least the trials that failed fall back to the weights of six epochs"


@pytest.mark.parametrize("count", [1, 2])
def test_an_interrupt_leaves_the_last_completed_epoch(problem, monkeypatch, threads, count) -> None:
    threads(count)
    six = _train(problem, settings=GCNSettings(epochs=6))
    training = Training(
        "gcn", problem.features, problem.labels, problem.train, seeds=SEEDS, settings=SHORT
    )
    calls = []

    def interrupted(self, weights) -> None:
        calls.append(1)
        if len(calls) == 6 * len(training._groups) + 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(GCN, "constrain", interrupted)
    with pytest.raises(KeyboardInterrupt):
        training.run(problem.graph)
    assert training.epoch == 6
    assert _same(training.classifier, six)
    monkeypatch.undo()
    assert _same(training.run(problem.graph, epochs=6), _train(problem))


def test_wrong_arguments_are_named(problem, stopping_gcn) -> None:
    features, graph, labels, train, _ = problem
    cases = [
        (("gnc", features, graph, labels, train[0]), {}, "'gnc'"),
        (("gcn", features, graph, labels, train), {}, "5 node sets; give one, or .*one per seed"),
        (("gcn", features, graph, labels[:5], train[0]), {}, r"it must be \(60,\)"),
        (("gcn", features, graph[:50, :50], labels, train[0]), {}, "graphs has shape"),
        (
            ("gcn", features, [graph] * 3, labels, train[0]),
            {"seeds": [1, 2]},
            "graphs holds 3 graphs",
        ),
        (("gcn", features, graph, labels, train[0]), {"seeds": [-1]}, r"seeds=\[-1\] must be"),
        (("gcn", features, graph.toarray(), labels, train[0]), {}, "graphs has type ndarray"),
        (("gcn", features.toarray()[0], graph, labels, train[0]), {}, r"it must be \(N, F\)"),
        ((stopping_gcn, features, graph, labels, train[0]), {}, "give validation nodes"),
        (("gcn", features, graph, labels * 1.0, train[0]), {}, "labels has type float64"),
        (("gcn", features, graph, labels, train[0]), {"classes": 2}, "has the label 2"),
        (
            ("mlp", features, graph, labels, train[0]),
            {"settings": SHORT},
            "settings has type GCNSettings",
        ),
    ]
    for arguments, options, message in cases:
        with pytest.raises(InputError, match=message):
            train_classifier(*arguments, **options)


def test_there_is_no_classifier_before_the_first_run(problem) -> None:
    training = Training("gcn", problem.features, problem.labels, problem.train[0])
    with pytest.raises(InputError, match="run"):
        _ = training.classifier
