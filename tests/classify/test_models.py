"""Every model by name: what it reads, what it predicts for new nodes, and that it can be saved."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from truegraph import GraphLabelSpreading, InputError, learn_graph
from truegraph.classify.inputs import complete_inputs, extend_inputs
from truegraph.classify.models import MODELS, find_model
from truegraph.classify.problem import Problem, hidden_labels
from truegraph.fit_log import FitLog
from truegraph.saving import load, save

SHORT = {
    "dfnet-att": {"epochs": 3, "units": (4, 4), "heads": 2},
    "gat": {"epochs": 3},
    "sbm-gcn": {"epochs": 20},
    "bgcn-parametric": {
        "sampled_epochs": 6, "samples": 3, "start_iterations": 5, "fit_iterations": 5,
    },
    "bgcn": {"embedding_options": {"epochs": 5}, "samples": 4, "degree": 6},
    "bgcn-refined": {"embedding_options": {"epochs": 5}, "degree": 6},
    "bgcn-fast": {"degree": 6},
}  # fmt: skip
FIXED = [name for name in MODELS if name not in ("auto", "bgcn-refined", "bgcn-fast")]


def made_up(nodes: int = 60, words: int = 12) -> tuple[csr_array, csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = np.arange(nodes) % 3
    chance = 0.15 + 0.4 * (labels[:, None] == np.arange(words)[None, :] % 3)
    features = csr_array((rng.random((nodes, words)) < chance).astype(float))
    same = labels[:, None] == labels[None, :]
    edges = np.triu(rng.random(same.shape) < np.where(same, 0.3, 0.03), 1)
    return features, csr_array((edges | edges.T).astype(float)), labels


FEATURES, GRAPH, LABELS = made_up()
TRAIN, VALIDATION = np.arange(12), np.arange(12, 24)


def problem(labels=LABELS, features=FEATURES, seed=0, stops_early=True) -> Problem:
    inputs = complete_inputs(features, GRAPH if features is FEATURES else None, len(labels))
    validation = VALIDATION if stops_early else TRAIN[:0]
    return Problem(inputs, hidden_labels(labels, TRAIN, validation), TRAIN, validation, 3, seed)


def fitted(name: str, given: Problem | None = None, **options):
    model = find_model(name)
    given = problem(stops_early=model.stops_early) if given is None else given
    return model.fit(given, SHORT.get(name, {}) | options, FitLog())


@pytest.mark.parametrize("name", FIXED)
def test_a_fitted_model_predicts_new_nodes_and_comes_back_from_disk(name, tmp_path):
    found = fitted(name)
    assert found.probabilities.shape == (60, 3)
    assert found.probabilities.dtype == np.float32
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, rtol=1e-5)
    inputs = problem().inputs
    if name != "bgcn-parametric":  # whose fitted nodes are predicted on drawn graphs
        np.testing.assert_allclose(found.predict(inputs), found.probabilities, atol=1e-6)
    grown = extend_inputs(inputs, FEATURES[:2], [(60, 3), (60, 6), (61, 4)])
    after = found.predict(grown)
    assert after.shape == (62, 3)
    np.testing.assert_allclose(after.sum(axis=1), 1, rtol=1e-5)
    save(found, tmp_path)
    again = load(type(found), tmp_path)
    np.testing.assert_array_equal(again.predict(grown), after)
    np.testing.assert_array_equal(again.probabilities, found.probabilities)
    is_sampled = name in ("bgcn", "bgcn-parametric")
    assert (found.expected_entropy is not None) == is_sampled
    assert (found.learned_graph is not None) == (name in ("bgcn", "learned-spreading"))


@pytest.mark.parametrize("name", FIXED)
def test_labels_of_other_nodes_are_never_read(name):
    given = problem()
    poisoned = given.labels.copy()
    seen = TRAIN if not find_model(name).stops_early else np.concatenate([TRAIN, VALIDATION])
    poisoned[np.setdiff1d(np.arange(60), seen)] = -7
    for labels in (given.labels, poisoned):
        own = Problem(given.inputs, labels, TRAIN, given.validation, 3, 0)
        np.testing.assert_array_equal(fitted(name, own).probabilities, fitted(name).probabilities)


def test_the_names_load_no_torch():
    code = "import sys; from truegraph.classify.models import MODELS; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_unknown_names_and_options_are_named():
    with pytest.raises(InputError, match=r"model='bgnc' is unknown\. Did you mean 'bgcn'"):
        find_model("bgnc")
    for name in FIXED:
        with pytest.raises(InputError, match="unknown option 'no_such'"):
            fitted(name, no_such=1)
    with pytest.raises(InputError, match="strength=0"):
        fitted("logistic-regression", strength=0)
    with pytest.raises(InputError, match="alpha=1"):
        fitted("label-propagation", alpha=1.0)


@pytest.mark.parametrize("name", ["gcn", "appnp"])
def test_dense_counts_do_not_keep_networks_at_their_start(name):
    rng = np.random.default_rng(1)
    labels = np.arange(60) % 3
    rates = 1.0 + 1.0 * (labels[:, None] == np.arange(600)[None, :] % 3)
    counts = csr_array(rng.poisson(20 * rates).astype(float))
    given = problem(labels, counts, stops_early=False)
    log = FitLog()
    found = find_model(name).fit(given, None, log)
    assert (found.probabilities.argmax(axis=1) == labels).mean() > 0.95
    assert found.probabilities.max(axis=1).mean() > 0.6  # .34 at the start
    assert "features are dense counts: rows are divided by length, not by sum" in log.notes
    again = found.predict(given.inputs)
    np.testing.assert_allclose(again, found.probabilities, atol=1e-6)


def test_few_validation_nodes_limit_the_epochs_unless_they_are_set():
    log = FitLog()
    find_model("sbm-gcn").fit(problem(), {"patience": 2}, log)
    assert log.notes == ["few validation nodes: at most 1000 epochs unless set"]
    log = FitLog()
    find_model("sbm-gcn").fit(problem(), {"epochs": 3}, log)
    assert not log.notes


@pytest.mark.parametrize("dense", [False, True])
def test_logistic_regression_is_that_of_scikit_learn(dense):
    table = np.random.default_rng(0).normal(size=(60, 4)) + LABELS[:, None]
    given = problem(features=table) if dense else problem()
    found = fitted("logistic-regression", given)
    rows = FEATURES.toarray()
    if dense or FEATURES.nnz >= 0.2 * rows.size:
        rows = table if dense else rows
        rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    model = LogisticRegression(C=10.0, max_iter=1000).fit(rows[TRAIN], LABELS[TRAIN])
    np.testing.assert_allclose(found.probabilities, model.predict_proba(rows), atol=1e-4)


def test_a_class_without_training_nodes_has_no_chance():
    two = np.where(LABELS == 2, 0, LABELS)
    found = fitted("logistic-regression", problem(two)).probabilities
    assert (found[:, 2] == 0.0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)


def test_spreading_baselines_are_label_spreading_on_their_graphs():
    known = hidden_labels(LABELS, TRAIN, TRAIN[:0])
    wanted = GraphLabelSpreading(GRAPH, alpha=0.9).fit(None, known).predict_proba()
    np.testing.assert_allclose(fitted("label-propagation").probabilities, wanted, atol=1e-6)
    graph = learn_graph(FEATURES, metric="cosine", random_state=0)
    wanted = GraphLabelSpreading(graph).fit(None, known).predict_proba()
    found = fitted("learned-spreading")
    np.testing.assert_allclose(found.probabilities, wanted, atol=1e-6)
    assert abs(found.learned_graph.adjacency - graph.adjacency).max() == 0.0
