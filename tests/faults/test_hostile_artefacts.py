"""Artefacts that someone tampered with: refused with a message, quickly and in little memory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph import (
    InputError,
    LearnedGraph,
    LinkPredictor,
    NodeClassifier,
    Recommender,
    learn_graph,
)
from truegraph.data.storage import read_npz

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(20, 3))
MATRIX = csr_array((RNG.random((12, 9)) < 0.4).astype(float))
RING = csr_array(np.roll(np.eye(20), 1, axis=1) + np.roll(np.eye(20), -1, axis=1))


def changed_graph(tmp_path: Path, **arrays: Any) -> Path:
    learn_graph(POINTS, 4).named(map(str, range(20))).save(tmp_path / "graph.npz")
    content = read_npz(tmp_path / "graph.npz")
    for name, change in arrays.items():
        own = name if name in content else f"LearnedGraph.{name}"
        content[own] = change(content[own])
    np.savez(tmp_path / "graph.npz", **content)
    return tmp_path / "graph.npz"


def put(array: Any, value: Any, place: int = 3) -> Any:
    copy = array.copy()
    copy[place] = value
    return copy


def text(found: bytes) -> Any:
    return np.frombuffer(found, np.uint8)


def stated(**values: Any) -> Any:
    """Change the state of the graph in the document; what is called like a field of it, there."""

    def change(document: Any) -> Any:
        parts = json.loads(document.tobytes())
        state = parts["content"]["state"]
        certificate = state["certificate"]["state"]
        for name, value in values.items():
            (certificate if name in certificate else state)[name] = value
        return text(json.dumps(parts).encode())

    return change


GRAPHS: dict[str, dict[str, Any]] = {
    "too many multipliers": {"multipliers": lambda m: np.append(m, m)},
    "too few multipliers": {"multipliers": lambda m: m[:-3]},
    "NaN multiplier": {"multipliers": lambda m: put(m, np.nan)},
    "negative multiplier": {"multipliers": lambda m: put(m, -1.0)},
    "infinite distance": {"candidates_data": lambda d: put(d, np.inf)},
    "negative weight": {"data": lambda d: put(d, -1.0)},
    "index outside": {"candidates_indices": lambda i: put(i, 20)},
    "asymmetric": {"candidates_indices": lambda i: put(i, i[3] - 1 or 5, 3)},
    "larger shape": {"shape": lambda _: np.array([10**7, 10**7])},
    "negative shape": {"shape": lambda _: np.array([-20, 20])},
    "no square": {"shape": lambda _: np.array([20, 30])},
    "too many users": {"document": stated(n_users=20)},
    "theta NaN": {"document": stated(theta={"float": "nan"})},
    "theta negative": {"document": stated(theta=-1.0)},
    "theta text": {"document": stated(theta="one")},
    "scale infinite": {"document": stated(scale={"float": "inf"})},
    "another certificate": {"document": stated(certificate=[1, 2])},
    "deep document": {"document": lambda _: text(b"[" * 100_000)},
    "names of another number": {"document": stated(names={"tuple": ["a"]})},
    "names that are alike": {"document": stated(names={"tuple": ["a"] * 20})},
}


@pytest.mark.parametrize("fault", GRAPHS)
def test_learned_graphs(tmp_path: Path, fault: str) -> None:
    path = changed_graph(tmp_path, **GRAPHS[fault])
    with pytest.raises(InputError, match=r"graph\.npz"):
        LearnedGraph.load(path)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    labels = np.arange(20) % 2
    classifier = NodeClassifier("gcn", options={"epochs": 3}, random_state=0)
    classifier.fit(POINTS, labels, graph=RING).save(folder / "classifier")
    Recommender("ease", random_state=0).fit(MATRIX).save(folder / "recommender")
    model = LinkPredictor("vgae", options={"epochs": 3}, random_state=0)
    model.fit(RING).save(folder / "predictor")
    return folder


KINDS: dict[str, Any] = {
    "classifier": NodeClassifier,
    "recommender": Recommender,
    "predictor": LinkPredictor,
}


ANSWERS: dict[str, Any] = {
    "classifier": lambda model: model.predict(),
    "recommender": lambda model: model.rank_all(MATRIX, 3),
    "predictor": lambda model: model.predict_proba([(0, 3)]),
}


def tampered(saved: Path, tmp_path: Path, kind: str) -> Path:
    return Path(shutil.copytree(saved / kind, tmp_path / kind))


FAULTS: dict[str, tuple[str, Any]] = {  # kinds of arrays, and what is done to them
    "longer": ("iuf", lambda a: np.concatenate([a, a[:1]])),
    "shorter": ("iuf", lambda a: a[:-1]),
    "far": ("iu", lambda a: put(a.ravel(), 10**6, 1).reshape(a.shape)),
    "NaN": ("f", lambda a: put(a.ravel(), np.nan, 1).reshape(a.shape)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_array_is_refused_or_harmless(
    saved: Path, tmp_path: Path, edit_saved: Any, kind: str, fault: str
) -> None:
    """Whatever array is spoilt, the model is refused, or it answers as a sound one would."""
    kinds, change = FAULTS[fault]
    sound = read_npz(saved / kind / "model.npz")
    del sound["document"]
    refused = {}
    for name, array in sound.items():
        if array.dtype.kind in kinds and array.size > 2:
            folder = tampered(saved, tmp_path / name, kind)
            edit_saved(folder, lambda _, arrays, name=name: arrays.update(
                {name: change(arrays[name])}))  # fmt: skip
            refused[name] = False
            try:
                ANSWERS[kind](KINDS[kind].load(folder))
            except InputError:
                refused[name] = True
    assert sum(refused.values()) >= 0.5 * len(refused)
    assert fault != "NaN" or all(refused.values())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "text", [b"[" * 200_000, b'{"seed": ' + b"1" * 5000 + b"}", b"\xed\xa0\x80", b"{}"]
)
def test_documents(saved: Path, tmp_path: Path, edit_saved: Any, kind: str, text: bytes) -> None:
    folder = tampered(saved, tmp_path, kind)
    edit_saved(folder, lambda *_: text)
    with pytest.raises(InputError, match=kind):
        KINDS[kind].load(folder)


@pytest.mark.parametrize("name", ["Popen", "system", "LearnedGraph.load", "Path", "Recommender"])
def test_only_marked_classes_are_made(
    saved: Path, tmp_path: Path, edit_saved: Any, name: str
) -> None:
    folder = tampered(saved, tmp_path, "classifier")
    made = {"options": {"object": name, "state": {"args": "ls"}}}
    edit_saved(folder, lambda document, _: document["content"]["state"].update(made))
    with pytest.raises(InputError, match="classifier: damaged"):
        NodeClassifier.load(folder)


def test_numpy_headers_that_claim_more_than_there_is(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", points=POINTS)
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        content = archive.read("points.npy")
    claimed = content.replace(b"(20, 3), ", b"(10**9,3)", 1)
    huge = content.replace(
        b"'shape': (20, 3), }" + b" " * 20, b"'shape': (200000000000000, 3), }" + b" " * 7, 1
    )
    for number, text in enumerate((claimed, huge)):
        path = tmp_path / f"{number}.npz"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("points.npy", text)
        with pytest.raises(InputError, match="damaged"):
            read_npz(path)


BOMB = """
import resource, sys
from truegraph import InputError, LearnedGraph
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    LearnedGraph.load(sys.argv[1])
except InputError as error:
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(grown // 1024, error)
"""


def test_a_zip_bomb_is_refused_within_little_memory(tmp_path: Path) -> None:
    learn_graph(POINTS, 4).save(tmp_path / "graph.npz")
    content = read_npz(tmp_path / "graph.npz")
    content["LearnedGraph.multipliers"] = np.ones(40_000_000)
    np.savez_compressed(tmp_path / "graph.npz", **content)
    assert (tmp_path / "graph.npz").stat().st_size < 2e6
    run = subprocess.run(
        [sys.executable, "-c", BOMB, str(tmp_path / "graph.npz")],
        capture_output=True,
        text=True,
        check=True,
    )
    grown, message = run.stdout.split(" ", 1)
    assert int(grown) < 200
    assert "would unpack to 320000128 bytes" in message
