"""What the wheel asks for, and what runs without torch."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], check=True)
    return next(folder.glob("truegraph-*.whl"))


@pytest.fixture(scope="module")
def requirements(wheel: Path) -> list[Requirement]:
    with zipfile.ZipFile(wheel) as content:
        about = next(name for name in content.namelist() if name.endswith(".dist-info/METADATA"))
        lines = content.read(about).decode().splitlines()
    return [Requirement(line[15:]) for line in lines if line.startswith("Requires-Dist: ")]


@pytest.fixture(scope="module")
def python(wheel: Path, requirements: list[Requirement], tmp_path_factory) -> Path:
    """Return the Python of an environment with the wheel and only what it asks for."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    with zipfile.ZipFile(wheel) as content:
        content.extractall(packages)
    for place in _installed(_without_extras(requirements)):
        if not (packages / place.name).exists():
            (packages / place.name).symlink_to(place)
    return folder / "bin" / "python"


def _without_extras(requirements: list[Requirement]) -> list[str]:
    return [
        wanted.name
        for wanted in requirements
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""})
    ]


def _installed(names: list[str]) -> Iterator[Path]:
    """Yield the top-level files and folders of distributions and of all that they ask for."""
    waiting, seen = list(names), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        found = metadata.distribution(name)
        waiting += _without_extras([Requirement(text) for text in found.requires or []])
        tops = {file.parts[0] for file in found.files or [] if file.parts[0] != ".."}
        yield from (Path(str(found.locate_file(top))) for top in sorted(tops - {"__pycache__"}))


def _run(python: Path, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
    # Few points need no compiled loops, and compiling takes longer than all the rest.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }
    environment["NUMBA_DISABLE_JIT"] = "1"
    return subprocess.run(
        [str(python), *arguments], capture_output=True, text=True, env=environment, **options
    )


def test_torch_comes_with_the_extra_nn_only(requirements: list[Requirement]) -> None:
    assert {"numpy", "numba", "typer"} <= set(_without_extras(requirements))
    assert "torch" not in _without_extras(requirements)
    with_nn = [r.name for r in requirements if r.marker and r.marker.evaluate({"extra": "nn"})]
    assert "torch" in with_nn


def test_the_wheel_holds_the_library_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        names = [name for name in content.namelist() if ".dist-info/" not in name]
    assert {name.split("/")[0] for name in names} == {"truegraph"}
    known = {".py", ".pyi", ".typed", "", ".npz", ".json", ".html", ".css", ".js", ".md", ".toml"}
    assert {Path(name).suffix for name in names} <= known
    assert wheel.stat().st_size < 3e6


def test_a_graph_is_learned_without_torch(python: Path, tmp_path: Path) -> None:
    np.savetxt(
        tmp_path / "points.csv", np.random.default_rng(0).normal(size=(20, 2)), delimiter=","
    )
    command = ["-m", "truegraph", "learn", "points.csv", "--degree", "4", "--out", "graph.csv"]
    found = _run(python, *command, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "20 nodes" in found.stdout
    assert (tmp_path / "graph.csv").read_text().startswith("source,target,weight")


WITHOUT_TORCH = """
import sys
import numpy as np, truegraph as t
from truegraph.data import NodeDataset, as_adjacency
rng = np.random.default_rng(0)
X, y = rng.normal(size=(20, 2)), np.array([0, 0, 1, 1] + [-1] * 16)
graph = t.learn_graph(X, degree=4)
t.GraphLabelSpreading(graph).fit(None, y).predict()
graph.posterior()
A = np.triu(rng.random((30, 30)) < 0.2, 1).astype(float)
for model in ("auto", "adamic-adar"):
    found = t.LinkPredictor(model, random_state=0).fit(A, rng.normal(size=(30, 4))).suggest(3)
    assert len(found) == 3
for one in (t.NodeClassifier(effort="low"), t.NodeClassifier("logistic-regression")):
    assert one.fit(X, y).predict_proba().shape == (20, 2)
kind = np.arange(60) % 2
features = 2 * np.eye(2)[kind] + 0.4 * rng.normal(size=(60, 2))
links = np.triu(rng.random((60, 60)) < 0.1, 1)
own = NodeDataset("own", kind, features, as_adjacency((links | links.T).astype(float)))
found = t.compare("classify", own, trials=1)
assert not found.outcome.failed, found.outcome.failed
assert {"auto", "random-forest", "gradient-boosting"} < set(found.models)
assert "torch" not in sys.modules
print(t.__file__)
"""


def test_every_task_has_models_without_torch(python: Path) -> None:
    found = _run(python, "-c", WITHOUT_TORCH)
    assert found.returncode == 0, found.stderr
    assert str(python.parents[1]) in found.stdout


WITH_TORCH = """
import numpy as np, truegraph as t
X, y = np.random.default_rng(0).normal(size=(20, 2)), np.array([0, 0, 1, 1] + [-1] * 16)
def umap(): import truegraph.umap; truegraph.umap.embed(t.learn_graph(X, degree=3), X)
def pyg(): import truegraph.pyg
for call in (
    lambda: t.NodeClassifier("bgcn").fit(X, y), lambda: t.NodeClassifier("gcn").fit(X, y),
    lambda: t.LinkPredictor("vgae").fit(np.ones((9, 9))),
    lambda: t.Recommender("ngcf").fit((list("aabb"), list("xyxy"))), umap, pyg,
):
    try:
        call()
    except ImportError as error:
        print(error)
"""


def test_a_missing_package_is_named_with_the_command_that_installs_it(python: Path) -> None:
    told = _run(python, "-c", WITH_TORCH).stdout.splitlines()
    assert len(told) == 6
    assert all(
        "torch is not installed; install it with: pip install 'torch>=" in t for t in told[:4]
    )
    assert "'umap-learn>=" in told[4]
    assert "'torch-geometric>=" in told[5]
    found = _run(python, "-m", "truegraph", "compare", "classify", "cora", "--models", "gcn")
    assert (found.returncode, "torch is not installed" in found.stderr) == (1, True)
