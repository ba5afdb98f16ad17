"""Tables over trials say what the trials say."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import f1_score, log_loss, roc_auc_score

from truegraph.data import NodeSplit
from truegraph.evaluation import paired_wilcoxon
from truegraph.report.trials import (
    METRICS,
    ModelScores,
    score_trial,
    score_trials,
    table,
    without_nan,
)


def scores(name: str, accuracies: list[float]) -> ModelScores:
    values = {metric: [0.5] * len(accuracies) for metric in METRICS}
    return ModelScores(name, values | {"accuracy": accuracies}, seconds=1.0)


def test_metrics_against_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([0.6] * 4, size=200)
    labels = np.array([rng.choice(4, p=row) for row in probabilities])
    predicted = probabilities.argmax(axis=1)
    uncertainty = 1.0 - probabilities.max(axis=1)
    found = score_trial(labels, probabilities, uncertainty)
    assert list(found) == list(METRICS)
    assert found["accuracy"] == np.mean(predicted == labels)
    assert found["macro_f1"] == pytest.approx(f1_score(labels, predicted, average="macro"))
    assert found["negative_log_likelihood"] == pytest.approx(log_loss(labels, probabilities))
    auroc = roc_auc_score(predicted != labels, uncertainty)
    assert found["error_detection_auroc"] == pytest.approx(auroc)


def test_only_the_test_nodes_of_each_trial_count() -> None:
    nodes = np.arange(4)
    splits = [
        NodeSplit(nodes[:1], nodes[1:2], nodes[2:]),
        NodeSplit(nodes[3:], nodes[2:3], nodes[:2]),
    ]
    labels = np.array([0, 0, 1, 1])
    right = np.eye(2)[labels]
    results = SimpleNamespace(
        probabilities=np.stack([right, 1.0 - right]), predictive_entropy=np.zeros((2, 4))
    )
    values = score_trials(labels, splits, results)
    assert values["accuracy"] == [1.0, 0.0]
    assert values["brier_score"] == [0.0, 2.0]
    assert np.isnan(values["error_detection_auroc"]).all()


def test_table_shows_mean_std_and_the_paired_test() -> None:
    first, second = [0.70, 0.72, 0.74, 0.71, 0.69], [0.75, 0.76, 0.77, 0.76, 0.75]
    rows = table([scores("gcn", first), scores("bgcn", second)])
    assert rows[0][0] == "model"
    assert rows[0][-1] == "p vs gcn"
    assert rows[1][:2] == ["gcn", f"{100 * np.mean(first):.1f} ± {100 * np.std(first):.1f}"]
    assert rows[1][-1] == ""
    assert rows[2][-1] == f"{paired_wilcoxon(second, first).p_value:.2g}"


def test_undefined_values_are_left_out() -> None:
    model = scores("gcn", [0.5, 0.5])
    model.values["error_detection_auroc"] = [float("nan"), 0.8]
    assert table([model])[1][6] == "0.800 ± 0.000"
    model.values["error_detection_auroc"] = [float("nan")] * 2
    assert table([model])[1][6] == "-"
    assert json.dumps(without_nan([float("nan"), 0.25])) == "[null, 0.25]"
