"""Saved classifiers: equal bit for bit when loaded, and refused when damaged or foreign."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truegraph import InputError, NodeClassifier, NodeRegressor

EMBEDDED = {"gcn_options": {"epochs": 20}, "samples": 4}
MODELS: dict[str, dict[str, Any]] = {
    "auto": {"samples": 3},
    "bgcn": EMBEDDED | {"embedding_options": {"epochs": 10}, "degree": 8},
    "bgcn-refined": {"embedding": np.eye(120)[:, :5], "samples": 3, "degree": 8},
    "bgcn-fast": {"samples": 3, "degree": 8},
    "gcn": {"epochs": 20},
    "dfnet-att": {"epochs": 3},
    "label-propagation": {},
    "learned-spreading": {},
    "logistic-regression": {},
}


def _fit(planted: Any, model: str) -> NodeClassifier:
    names = np.array(["ant", "bee", "cat"])[planted.labels].astype(object)
    names[planted.splits[0].test] = None
    classifier = NodeClassifier(model, options=MODELS[model], random_state=0)
    return classifier.fit(planted.features, names, graph=planted.graph)


@pytest.mark.parametrize("model", MODELS)
def test_a_loaded_classifier_is_the_same(planted: Any, tmp_path: Path, model: str) -> None:
    fitted = _fit(planted, model)
    fitted.save(tmp_path / "model")
    loaded = NodeClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(), fitted.predict_proba())
    assert np.array_equal(loaded.predict(), fitted.predict())
    new = {"X": planted.features[:2], "edges": [(120, 3), (121, 120)]}
    assert np.array_equal(loaded.predict_proba(**new), fitted.predict_proba(**new))
    assert loaded.notes_ == fitted.notes_
    assert loaded.classes_.tolist() == ["ant", "bee", "cat"]
    if fitted.learned_graph_ is None:
        assert loaded.learned_graph_ is None
    else:
        assert (loaded.learned_graph_.adjacency != fitted.learned_graph_.adjacency).nnz == 0
    if fitted.mutual_information_ is not None:
        assert np.array_equal(loaded.mutual_information_, fitted.mutual_information_)
    loaded.save(tmp_path / "again")  # and once more from the loaded one
    again = NodeClassifier.load(tmp_path / "again")
    assert np.array_equal(again.predict_proba(**new), fitted.predict_proba(**new))


@pytest.fixture(scope="module")
def saved(planted: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "classifier"
    _fit(planted, "auto").save(folder)
    return folder


def test_another_process_reads_it_without_importing_first(planted: Any, saved: Path) -> None:
    code = (
        "import sys, truegraph; c = truegraph.NodeClassifier.load(sys.argv[1]); "
        "print(c.predict()[:5].tolist())"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(saved)], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == str(NodeClassifier.load(saved).predict()[:5].tolist())


def test_files_are_not_pickles(saved: Path) -> None:
    assert [path.name for path in saved.iterdir()] == ["model.npz"]
    np.load(saved / "model.npz", allow_pickle=False).close()


def test_damage_is_noticed(saved: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(saved, tmp_path / "copy")
    contents = bytearray((folder / "model.npz").read_bytes())
    contents[len(contents) // 2] ^= 1
    (folder / "model.npz").write_bytes(contents)
    with pytest.raises(InputError, match=r"model\.npz: damaged"):
        NodeClassifier.load(folder)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["_fitted", "state", "temperature"], "hot"),
        (["_fitted", "state", "view_weights"], {"dict": {}}),
        (["_fitted", "state", "labels", "state", "classes"], 2),
        (["_fitted", "state", "member", "state", "samples"], 10**9),
        (["_inputs", "state", "graph_from"], 3),
        (["_probabilities"], None),
    ],
)
def test_a_changed_document_is_refused(
    saved: Path, tmp_path: Path, edit_saved: Any, path: list[str], value: Any
) -> None:
    folder = shutil.copytree(saved, tmp_path / "copy")

    def change(document: dict[str, Any], _: Any) -> None:
        part = document["content"]["state"]
        for name in path[:-1]:
            part = part[name]
        assert path[-1] in part
        part[path[-1]] = value

    edit_saved(folder, change)
    with pytest.raises(InputError):
        NodeClassifier.load(folder)


def test_foreign_folders_are_refused(saved: Path, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match="not a saved model"):
            NodeClassifier.load(folder)
    with pytest.raises(InputError, match=r"use NodeClassifier\.load"):
        NodeRegressor.load(saved)
