"""Algorithm 1: its steps, its options, and the Bayesian GCN of Zhang et al."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from truegraph.errors import InputError
from truegraph.fit_log import FitLog
from truegraph.learning.search.distances import EmbeddingDistance, LabelDisagreement, SumDistance
from truegraph.paper import algorithm1 as module
from truegraph.paper import parametric_bgcn as parametric
from truegraph.paper.algorithm1 import BayesianGCN, algorithm1, wanted_degree
from truegraph.paper.training import Training, predict_proba, sample_proba
from truegraph.seeds import derived_seed

QUICK = {"embedding_options": {"epochs": 20}, "samples": 10, "degree": 8}
EMBEDDING = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([[0.0], [4.0], [8.0]], 20, 0)


def run(task, log: FitLog | None = None, **options: Any) -> BayesianGCN:
    return algorithm1(task, QUICK | options, FitLog() if log is None else log)


def test_each_step_is_that_of_the_paper(problem):
    found, X, graph = run(problem, embedding=EMBEDDING), problem.features, problem.graph
    base = Training("gcn", problem).run(graph)
    labels = predict_proba(base, graph, X).argmax(axis=1)
    distance = SumDistance(EmbeddingDistance(EMBEDDING), LabelDisagreement(labels, graph))
    assert found.learned.certificate.degree == pytest.approx(8, rel=0.02)
    near = distance.pair_values(*found.learned.adjacency.nonzero()).mean()
    assert near < 0.5 * distance.pair_values(*np.triu_indices(60, 1)).mean()
    fresh = Training("gcn", problem, seed=derived_seed(5, module._FRESH))
    network = fresh.run(found.learned.adjacency)
    passes = list(sample_proba(network, 10, graph, X, 5))
    np.testing.assert_allclose(found.probabilities, np.mean(passes, axis=0), atol=1e-6)
    entropies = [-(p * np.log(p)).sum(axis=1) for p in passes]
    np.testing.assert_allclose(found.expected_entropy, np.mean(entropies, axis=0), atol=1e-5)
    assert (found.probabilities.argmax(axis=1) == problem.labels).mean() > 0.85


@pytest.mark.parametrize(
    "options",
    [
        {"weight_sampling": "snapshots", "schedule": "continue", "continued_epochs": 20},
        {"schedule": "continue", "continued_epochs": 10},
        {"graph_inference": "mean", "concentration": 20.0},
        {"graph_inference": "samples", "gcn_options": {"epochs": 12}},
        {"embedding": "svd", "embedding_options": {"dimension": 4}},
    ],
)
def test_every_variant_runs_and_comes_again(problem, options):
    first, second = run(problem, **options), run(problem, **options)
    assert np.isfinite(first.probabilities).all()
    np.testing.assert_allclose(first.probabilities.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(first.probabilities, second.probabilities)
    assert (first.expected_entropy > 0).all()


def test_the_embedding_is_read_from_the_cache_and_serves_other_splits(problem, tmp_path):
    task = replace(problem, cache=tmp_path)
    first = run(task, embedding_seed=1)
    (file,) = tmp_path.glob("*.npz")
    written = file.stat().st_mtime_ns
    again = run(replace(task, train=task.train[:-1], seed=7), embedding_seed=1)
    assert file.stat().st_mtime_ns == written
    assert not np.array_equal(first.probabilities, again.probabilities)


def test_the_degree_is_lowered_on_few_nodes_with_a_note(problem):
    log = FitLog()
    run(problem, log, degree=None)
    assert any("degree 10 instead of 100" in note for note in log.notes)
    assert list(log.seconds) == ["embedding", "gcn", "graph learning", "weight samples"]
    assert wanted_degree(500, 60, 3) == 59.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample": 3}, "unknown option 'sample'.*'samples'"),
        ({"samples": 0}, "samples"),
        ({"schedule": "never"}, "schedule='never'"),
        ({"degree": 0.5}, "degree"),
        ({"embedding": "pca"}, "embedding='pca'"),
        ({"embedding": np.ones((3, 2))}, "embedding"),
        ({"concentration": 2.0}, "does not change the most probable graph"),
        ({"embedding_options": {"epoch": 1}}, "unknown option 'epoch'"),
        ({"gcn_options": {"hiden": 1}}, "unknown option 'hiden'"),
        ({"weight_sampling": "snapshots", "samples": 300}, "exceeds the 200 training epochs"),
    ],
)
def test_wrong_options_are_named(problem, options, message):
    with pytest.raises(InputError, match=message):
        run(problem, **options)


# --- the parametric Bayesian GCN ------------------------------------------------------------------


def test_the_parametric_bgcn_learns(problem):
    options = {"start_iterations": 50, "fit_iterations": 20}
    found = parametric.parametric_bgcn(problem, options, FitLog())
    assert (found.probabilities.argmax(axis=1) == problem.labels).mean() > 0.85
    assert len(found.weights) == 59
    with pytest.raises(InputError, match="samples=100 must be below sampled_epochs=100"):
        parametric.parametric_bgcn(problem, {"samples": 100}, FitLog())
