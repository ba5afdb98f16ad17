"""Saved classifiers: equal bit for bit when loaded, and refused when damaged or foreign."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truegraph import BayesianNodeClassifier, InputError, NodeClassifier
from truegraph.data.storage import read_safetensors

FURTHER = {
    "settings": {"epochs": 20},
    "base_settings": {"epochs": 20},
    "embedding_options": {"epochs": 10},
}


def _bayesian(**changes: Any) -> BayesianNodeClassifier:
    return BayesianNodeClassifier(
        **{
            "recipe": "paper",
            "degree": 8,
            "samples": 4,
            "options": FURTHER,
            "random_state": 0,
            **changes,
        }
    )


@pytest.fixture(scope="module")
def saved(planted: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "classifier"
    train = planted.splits[0].train
    labels = np.full(120, -1)
    labels[train] = planted.labels[train]
    _bayesian().fit(planted.features, labels, graph=planted.graph).save(folder)
    return folder


@pytest.mark.parametrize(
    "estimator",
    [
        _bayesian(),
        _bayesian(
            options=FURTHER
            | {
                "weight_sampling": "snapshots",
                "embedding": np.eye(120)[:, :5],
                "embedding_options": {},
            }
        ),
        _bayesian(
            recipe="refined",
            options={"settings": {"epochs": 20}, "embedding_options": {"epochs": 10}},
        ),
        _bayesian(recipe="fast", options={"settings": {"epochs": 20}}),
        NodeClassifier("gcn", options={"epochs": 20}, random_state=1),
        NodeClassifier("dfnet-att", options={"epochs": 3}, random_state=1),
        NodeClassifier("label-propagation", random_state=1),
        NodeClassifier(
            "bgcn-parametric",
            options={
                "settings": {"epochs": 10},
                "sampled_epochs": 5,
                "samples": 3,
                "start_iterations": 5,
                "fit_iterations": 5,
            },
            random_state=1,
        ),
    ],
    ids=[
        "bgcn",
        "snapshots",
        "refined",
        "fast",
        "gcn",
        "dfnet-att",
        "label-propagation",
        "parametric",
    ],
)
def test_a_loaded_classifier_is_the_same(planted: Any, tmp_path: Path, estimator: Any) -> None:
    names = np.array(["ant", "bee", "cat"])[planted.labels].astype(object)
    names[planted.splits[0].test] = None
    fitted = estimator.fit(planted.features, names, graph=planted.graph)
    fitted.save(tmp_path / "model")
    loaded = type(estimator).load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(), fitted.predict_proba())
    assert np.array_equal(loaded.predict(), fitted.predict())
    assert np.array_equal(loaded.predictive_entropy_, fitted.predictive_entropy_)
    new = {"X": planted.features[:2], "edges": [(120, 3), (121, 120)]}
    assert np.array_equal(loaded.predict_proba(**new), fitted.predict_proba(**new))
    assert loaded.notes_ == fitted.notes_
    assert loaded.classes_.tolist() == ["ant", "bee", "cat"]
    if fitted.learned_graph_ is None:
        assert loaded.learned_graph_ is None
    else:
        assert (loaded.learned_graph_.adjacency != fitted.learned_graph_.adjacency).nnz == 0
        assert np.array_equal(loaded.mutual_information_, fitted.mutual_information_)
    # and once more from the loaded one
    loaded.save(tmp_path / "again")
    assert np.array_equal(
        type(estimator).load(tmp_path / "again").predict_proba(**new), fitted.predict_proba(**new)
    )


def test_files_are_not_pickles(saved: Path) -> None:
    assert sorted(path.name for path in saved.iterdir()) == [
        "arrays.npz",
        "classifier.json",
        "learned_graph.npz",
        "weights.safetensors",
    ]


@pytest.mark.parametrize("name", ["arrays.npz", "learned_graph.npz", "weights.safetensors"])
def test_damage_is_noticed(saved: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(saved, tmp_path / "copy")
    contents = bytearray((folder / name).read_bytes())
    contents[len(contents) // 2] ^= 1
    (folder / name).write_bytes(contents)
    with pytest.raises(InputError, match=f"{name}: damaged"):
        BayesianNodeClassifier.load(folder)
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"{name}: no such file"):
        BayesianNodeClassifier.load(folder)


def test_cut_weights_are_noticed_by_the_reader_too(saved: Path, tmp_path: Path) -> None:
    cut = tmp_path / "weights.safetensors"
    cut.write_bytes((saved / "weights.safetensors").read_bytes()[:-8])
    with pytest.raises(InputError, match="damaged or not a safetensors file"):
        read_safetensors(cut)


def test_foreign_folders_are_refused(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a saved classifier"):
        NodeClassifier.load(tmp_path)
    with pytest.raises(InputError, match="not a saved classifier"):
        NodeClassifier.load(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"use BayesianNodeClassifier\.load"):
        NodeClassifier.load(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "not a saved classifier"),
        ({"version": 99}, "version 99"),
        ({"files": None}, "damaged"),
        ({"files": {"../secret": "0"}}, "unknown file"),
        ({"weights": {"model": "gcn"}}, "damaged"),
        ({"params": {"no_such_parameter": 1}}, "damaged"),
        ({"seed": None}, "damaged"),
    ],
)
def test_documents_that_lie_are_refused(
    saved: Path, tmp_path: Path, changes: Any, message: str
) -> None:
    folder = shutil.copytree(saved, tmp_path / "copy")
    document = json.loads((folder / "classifier.json").read_text())
    (folder / "classifier.json").write_text(json.dumps({**document, **changes}))
    with pytest.raises(InputError, match=message):
        BayesianNodeClassifier.load(folder)
    (folder / "classifier.json").write_text("{")
    with pytest.raises(InputError, match="not valid JSON"):
        BayesianNodeClassifier.load(folder)


def test_folders_from_before_members_had_shares_are_read(planted: Any, tmp_path: Path) -> None:
    fitted = _bayesian(recipe="fast", options={"settings": {"epochs": 20}, "safeguard": None})
    fitted.fit(planted.features, planted.labels, graph=planted.graph).save(tmp_path / "model")
    document = json.loads((tmp_path / "model" / "classifier.json").read_text())
    assert [member.pop("share") for member in document["weights"]["members"]] == [1.0]
    (tmp_path / "model" / "classifier.json").write_text(json.dumps(document))
    loaded = BayesianNodeClassifier.load(tmp_path / "model")
    new = {"X": planted.features[:2], "edges": [(120, 3), (121, 120)]}
    assert np.array_equal(loaded.predict_proba(**new), fitted.predict_proba(**new))


def test_what_cannot_be_saved_is_named(planted: Any, tmp_path: Path) -> None:
    fitted = NodeClassifier("gcn", options={"epochs": 3}, random_state=0)
    fitted.fit(planted.features, planted.labels, graph=planted.graph)
    fitted.device = object()  # type: ignore[assignment]
    with pytest.raises(InputError, match=r"params\.device has type object"):
        fitted.save(tmp_path / "model")
