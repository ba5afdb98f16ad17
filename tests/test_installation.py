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
    endings = {Path(name).suffix for name in names}
    assert endings <= {
        ".py",
        ".pyi",
        ".typed",
        "",
        ".npz",
        ".json",
        ".html",
        ".css",
        ".js",
        ".md",
        ".toml",
    }
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
    located = _run(python, "-c", "import truegraph; print(truegraph.__file__)").stdout
    assert str(python.parents[1]) in located


def test_labels_are_spread_and_a_posterior_inferred_without_torch(python: Path) -> None:
    code = (
        "import numpy as np, truegraph, sys\n"
        "points = np.random.default_rng(0).normal(size=(20, 2))\n"
        "graph = truegraph.learn_graph(points, degree=4)\n"
        "truegraph.GraphLabelSpreading(graph).fit(None, [0, 1] + [-1] * 18).predict()\n"
        "graph.posterior()\n"
        "assert 'torch' not in sys.modules\n"
    )
    found = _run(python, "-c", code)
    assert found.returncode == 0, found.stderr


def test_models_are_compared_without_torch(python: Path) -> None:
    code = (
        "import numpy as np, sys\n"
        "from truegraph import compare\n"
        "from truegraph.data import NodeDataset, as_adjacency\n"
        "rng, kind = np.random.default_rng(0), np.arange(60) % 2\n"
        "features = 2 * np.eye(2)[kind] + 0.4 * rng.normal(size=(60, 2))\n"
        "links = np.triu(rng.random((60, 60)) < 0.1, 1)\n"
        "graph = as_adjacency((links | links.T).astype(float))\n"
        "found = compare('classify', NodeDataset('own', kind, features, graph), trials=1)\n"
        "assert not found.outcome.failed, found.outcome.failed\n"
        "assert {'auto', 'random-forest', 'gradient-boosting'} < set(found.models)\n"
        "assert 'torch' not in sys.modules\n"
    )
    found = _run(python, "-c", code)
    assert found.returncode == 0, found.stderr


def test_links_are_suggested_without_torch(python: Path) -> None:
    code = (
        "import numpy as np, truegraph, sys\n"
        "A = np.triu(np.random.default_rng(0).random((30, 30)) < 0.2, 1).astype(float)\n"
        "X = np.random.default_rng(1).normal(size=(30, 4))\n"
        "for model in ('auto', 'adamic-adar'):\n"
        "    assert len(truegraph.LinkPredictor(model, random_state=0).fit(A, X).suggest(3)) == 3\n"
        "assert 'torch' not in sys.modules\n"
    )
    found = _run(python, "-c", code)
    assert found.returncode == 0, found.stderr


_POINTS = (
    "import truegraph, numpy as np; X = np.random.default_rng(0).normal(size=(20, 2)); "
    "y = np.array([0, 0, 1, 1] + [-1] * 16)"
)


def test_nodes_are_classified_without_torch(python: Path) -> None:
    code = (
        f"{_POINTS}\n"
        "for one in (truegraph.NodeClassifier(effort='low', random_state=0),\n"
        "            truegraph.NodeClassifier('logistic-regression', random_state=0)):\n"
        "    assert one.fit(X, y).predict_proba().shape == (20, 2)\n"
        "import sys; assert 'torch' not in sys.modules\n"
    )
    found = _run(python, "-c", code)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", f"{_POINTS}; truegraph.NodeClassifier('bgcn').fit(X, y)"],
        ["-c", f"{_POINTS}; truegraph.NodeClassifier('gcn').fit(X, y)"],
        ["-c", "import truegraph, numpy; truegraph.LinkPredictor('vgae').fit(numpy.ones((9, 9)))"],
        ["-c", f"{_POINTS}; truegraph.Recommender('ngcf').fit((list('aabb'), list('xyxy')))"],
        ["-m", "truegraph", "compare", "classify", "cora", "--models", "gcn"],
    ],
)
def test_what_needs_torch_says_what_to_install(python: Path, arguments: list[str]) -> None:
    found = _run(python, *arguments)
    assert found.returncode == 1
    assert "torch is not installed" in found.stderr
    assert "pip install 'torch>=" in found.stderr


def test_other_extras_are_named(python: Path) -> None:
    for module, package in (("truegraph.pyg", "torch-geometric"), ("truegraph.umap", "umap-learn")):
        code = f"import {module} as m, numpy as np, truegraph as t\n"
        code += "X = np.random.default_rng(0).normal(size=(9, 2))\n"
        code += "m.embed(t.learn_graph(X, degree=3), X)"
        assert f"'{package}>=" in _run(python, "-c", code).stderr
