"""Node classification in the engine: the same trials as alone, and what is kept of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truegraph.data import load_dataset, random_split
from truegraph.data.storage import csr_from_arrays, read_npz
from truegraph.errors import DataError
from truegraph.evaluation import accuracy
from truegraph.experiments import Context, Experiment, TrialStore, find_task
from truegraph.experiments.runner import run_experiment
from truegraph.experiments.tasks.classification import MODELS, packed, unpacked
from truegraph.learning import LearnedGraph
from truegraph.tasks.classify.trials import METHODS, run_trials


def experiment(**changes: Any) -> Experiment:
    content = {"name": "one", "task": "classification", "datasets": ["cora"], "trials": 2}
    return Experiment.from_dict(content | {"models": [{"name": "gcn", "epochs": 8}]} | changes)


def test_the_models_are_those_of_the_task() -> None:
    assert set(MODELS) == set(METHODS)


def test_bits_survive() -> None:
    bits = np.random.default_rng(0).random(1000) < 0.3
    assert np.array_equal(unpacked(packed(bits), 1000), bits)
    assert len(packed(bits)) < 200


def test_a_trial_is_what_it_would_be_alone(tmp_path: Path) -> None:
    run_experiment(experiment(labels=7), tmp_path, jobs=1)
    with TrialStore.open(tmp_path) as store:
        record = store.records()[1]
    cora = load_dataset("cora")
    split = random_split(cora.labels, 7, random_state=1)
    alone = run_trials(
        "gcn", cora.features, cora.graph, cora.labels, [split], [1], options={"epochs": 8}
    )
    test = np.sort(split.test)
    right = alone.predictions[0, test] == cora.labels[test]
    assert record.metrics["accuracy"] == accuracy(cora.labels[test], alone.predictions[0, test])
    details = record.details
    assert np.array_equal(unpacked(details["correct"], 1000), right)
    degrees = np.asarray(cora.graph.sum(axis=1)).ravel()[test]
    high = unpacked(details["high_degree"], 1000)
    assert degrees[high].min() > np.median(degrees) >= degrees[~high].max()
    reliability = details["reliability"]
    assert sum(reliability["count"]) == 1000
    assert len(reliability["confidence"]) == len(reliability["accuracy"]) == 15
    assert record.fingerprint == cora.fingerprint
    assert record.source == "embedded"


def test_other_data_than_the_run_was_started_with_are_refused(tmp_path: Path) -> None:
    cell = experiment().cells()[0]
    with pytest.raises(DataError, match="differs from the one that the run was started with"):
        find_task("classification").run(cell, [0], Context(tmp_path, "another fingerprint"))


def test_learned_graphs_and_one_embedding_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = {"samples": 2, "degree": 4, "settings": {"epochs": 3}, "tol": 1e-2}
    model = {"name": "bgcn", "embedding_seed": 0, "embedding_options": {"epochs": 5}, **quick}
    wanted = experiment(models=[model], labels=20, batch=1, keep=["graph"])
    # two processes want the same embedding at once
    run_experiment(wanted, tmp_path / "two", jobs=2, cache=tmp_path / "cache")
    assert len(list((tmp_path / "cache").glob("vgae-*.npz"))) == 1
    run_experiment(wanted, tmp_path / "one", jobs=1, cache=tmp_path / "cache")
    with TrialStore.open(tmp_path / "two") as store:
        records = store.records()
    with TrialStore.open(tmp_path / "one") as store:
        assert [r.metrics for r in store.records()] == [r.metrics for r in records]
        others = [record.details | {"stages": {}} for record in store.records()]
        assert others == [record.details | {"stages": {}} for record in records]
    assert ["graph_file" in record.details for record in records] == [True, False]
    file = tmp_path / "two" / records[0].details["learned_graph_file"]
    assert LearnedGraph.load(file).n_edges == records[0].details["learned_graph"]["edges"]
    cora = load_dataset("cora")
    for record in records[:1]:
        facts = record.details["learned_graph"]
        arrays = read_npz(tmp_path / "two" / record.details["graph_file"])
        learned = csr_from_arrays(arrays, "learned")
        assert facts["edges"] == learned.nnz // 2
        assert facts["mean_degree"] == pytest.approx(learned.nnz / 2708)
        ends = learned.tocoo()
        same = arrays["labels"][ends.row] == arrays["labels"][ends.col]
        assert facts["homophily"] == pytest.approx(same.mean())
        kept = sum(1 for i, j in zip(*cora.graph.nonzero(), strict=True) if learned[i, j] > 0)
        assert facts["observed_kept"] == pytest.approx(kept / cora.graph.nnz)
        assert (csr_from_arrays(arrays, "observed") != cora.graph).nnz == 0
        assert facts["scope"] in ("candidates", "global")
