"""Runs of experiments with made-up trials, for the tests of what is shown of them."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# A shell that starts the tests in the background lets them, and all they start, ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

MINE: dict[str, Any] = {
    "name": "mine",
    "title": "Three models & <Cora>",
    "task": "classification",
    "datasets": ["cora"],
    "labels": [5, 10],
    "models": [
        {"name": "gcn", "label": "GCN"},
        {"name": "gat", "label": "GAT <8 heads>"},
        {"name": "bgcn", "label": "BGCN (ours)", "embedding_seed": 0},
    ],
    "trials": 8,
    "metrics": ["accuracy", "brier_score"],
}
SKILL = {"gcn": 0.70, "gat": 0.705, "bgcn": 0.76}
TESTED = 203  # nodes; no multiple of eight, so that packed bits have a rest
ERROR = "MemoryError: no room for <attention> & weights"


@pytest.fixture(scope="session")
def made_up_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of node classification with everything that a page can show."""
    from truegraph.experiments import Experiment, TrialStore

    folder = tmp_path_factory.mktemp("run")
    experiment = Experiment.from_dict(MINE)
    with TrialStore.create(folder, experiment) as store:
        store.add(
            trial(cell, seed, folder) for cell in experiment.cells() for seed in experiment.seeds
        )
    return folder


@pytest.fixture(scope="session")
def make_trial() -> Callable[..., Any]:
    """Return the function that makes up a trial of a cell."""
    return trial


def trial(cell: Any, seed: int, folder: Path | None = None, **changes: Any) -> Any:
    """Make up a trial; seed 3 of GAT fails, seed 0 of BGCN keeps its graphs in the folder."""
    from truegraph.experiments import TrialRecord

    failed = cell.model == "gat" and seed == 3
    rng = np.random.default_rng([seed, cell.conditions.get("labels", 0), len(cell.dataset)])
    hardness, high_degree = rng.random(TESTED), rng.random(TESTED) < 0.4
    correct = hardness < SKILL.get(cell.model, 0.7) + rng.normal() * 0.02
    values: dict[str, Any] = {
        "task": cell.task,
        "dataset": cell.dataset,
        "model": cell.model,
        "label": cell.label,
        "settings": cell.settings,
        "conditions": cell.conditions,
        "seed": seed,
        "status": "failed" if failed else "done",
        "metrics": {} if failed else metrics(correct),
        "details": {} if failed else details(cell, correct, high_degree, rng),
        "seconds": 1.5,
        "peak_memory_mb": 512.0,
        "versions": {"truegraph": "0.1.0", "torch": "2.6"},
        "fingerprint": "c0ffee" * 10 + "abcd",
        "source": "embedded",
        "notes": ("a stand-in for <the paper's> data",),
        "commit": "f00d" * 10,
        "error": ERROR if failed else None,
        "finished": f"2024-05-0{1 + seed % 8}T12:00:00.000+00:00",
    }
    if folder is not None and cell.model == "bgcn" and seed == 0:
        values["details"]["graph_file"] = keep_graphs(folder, cell)
    return TrialRecord(**values | changes)


def metrics(correct: np.ndarray) -> dict[str, float]:
    share = float(correct.mean())
    return {"accuracy": share, "brier_score": 1.0 - share}


def details(
    cell: Any, correct: np.ndarray, high_degree: np.ndarray, rng: np.random.Generator
) -> dict[str, Any]:
    from truegraph.experiments.tasks.classification import packed

    if cell.task != "classification":
        return {}
    bins = np.sort(rng.integers(4, 15, TESTED))
    counts = np.bincount(bins, minlength=15)
    with np.errstate(invalid="ignore"):
        right = np.bincount(bins, weights=correct, minlength=15) / counts
    found: dict[str, Any] = {
        "correct": packed(correct),
        "high_degree": packed(high_degree),
        "reliability": {
            "confidence": [None if n == 0 else (b + 0.5) / 15 for b, n in enumerate(counts)],
            "accuracy": [None if n == 0 else float(a) for a, n in zip(right, counts, strict=True)],
            "count": counts.tolist(),
        },
    }
    if cell.model == "bgcn":
        found["learned_graph"] = {
            "edges": 1200,
            "mean_degree": 30.0,
            "homophily": 0.8,
            "observed_kept": None,
            "relative_gap": 1e-9,
            "scope": "global",
            "converged": True,
            "theta": 1.25,
        }
    return found


def keep_graphs(folder: Path, cell: Any) -> str:
    from truegraph.data.graphs.adjacency import adjacency_from_edges
    from truegraph.data.storage import csr_to_arrays, write_npz

    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, 6, 60))
    arrays = {"labels": labels}
    for name, count in (("observed", 80), ("learned", 400)):
        graph = adjacency_from_edges(*rng.integers(0, 60, (2, count)), None, 60)
        arrays |= csr_to_arrays(graph, name)
    file = f"graphs/{cell.dataset}-{cell.key[:8]}.npz"
    write_npz(folder / file, arrays)
    return file
