"""A comparison with made-up trials, for the tests of what is shown of it."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# A shell that starts the tests in the background lets them, and all they start, ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

MODELS = ("gcn", "gat <8 heads>", "auto (ours)")
SKILL = dict(zip(MODELS, (0.70, 0.705, 0.76), strict=True))
TESTED = 203
ERROR = "MemoryError: no room for <attention> & weights"


@pytest.fixture(scope="session")
def made_up_comparison() -> Any:
    """Return a comparison of three models over eight splits, one trial of which failed."""
    from dataclasses import replace

    from truegraph.comparison import Comparison
    from truegraph.data import load_dataset
    from truegraph.runner import Outcome

    trials = [_trial(model, seed) for seed in range(8) for model in MODELS]
    data = replace(load_dataset("cora"), notes=("a stand-in for <the paper's> data",))
    settings = {"per_class": 5, "split": "random", "component": "full"}
    outcome = Outcome(trials, wanted=24, run=24, seconds=36.0)
    name = "Cora & <friends>"
    seeds = tuple(range(8))
    return Comparison("classify", name, data, MODELS, seeds, settings, outcome, {})


def _trial(model: str, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    correct = rng.random(TESTED) < SKILL[model] + rng.normal() * 0.02
    bins = np.sort(rng.integers(4, 15, TESTED))
    counts = np.bincount(bins, minlength=15)
    with np.errstate(invalid="ignore"):
        right = np.bincount(bins, weights=correct, minlength=15) / counts
    curve = {
        "confidence": [None if n == 0 else (b + 0.5) / 15 for b, n in enumerate(counts)],
        "accuracy": [None if n == 0 else float(a) for a, n in zip(right, counts, strict=True)],
        "count": counts.tolist(),
    }
    share = float(correct.mean())
    record = {"model": model, "seed": seed, "options": {}, "seconds": 1.5, "version": "0.1.0"}
    if model == MODELS[1] and seed == 3:
        return record | {"status": "failed", "error": ERROR}
    return record | {
        "status": "done",
        "error": None,
        "metrics": {
            "accuracy": share,
            "brier_score": 1.0 - share,
            "expected_calibration_error": 0.05 + 0.01 * seed,
        },
        "details": {"reliability": curve},
        "notes": [],
    }


@pytest.fixture(scope="session")
def comparison_file(made_up_comparison: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the page of the comparison."""
    from truegraph.data.storage import write_text
    from truegraph.report.comparison import comparison_page

    file = tmp_path_factory.mktemp("page") / "report.html"
    write_text(file, comparison_page(made_up_comparison))
    return file


@pytest.fixture(scope="session")
def edit_saved() -> Callable[..., None]:
    """Change the document and the arrays of a saved model in place, as somebody might."""

    def edit(folder: Path, change: Callable[[dict[str, Any], dict[str, Any]], Any]) -> None:
        with np.load(folder / "model.npz") as archive:
            arrays = dict(archive)
        document = json.loads(arrays.pop("document").tobytes())
        changed = change(document, arrays)
        text = changed if isinstance(changed, bytes) else json.dumps(changed or document).encode()
        np.savez(folder / "model.npz", **arrays, document=np.frombuffer(text, np.uint8))

    return edit
