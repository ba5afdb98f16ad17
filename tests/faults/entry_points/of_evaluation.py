"""Entry points of the metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from faulty_values import (
    CLASSES,
    DENSE,
    LABELS,
    NUMBERS,
    POINTS,
    PROBABILITIES,
    Faulty,
    listed,
    only,
)


def entries() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    """Return how to call each entry point with one value, and the faulty values."""
    from truegraph import evaluation as e

    right = LABELS == 1
    figures = np.arange(6.0)
    found: dict[str, tuple[Callable[[Any], Any], Faulty]] = {
        "mean_std:values": (e.mean_std, listed(figures, only(DENSE, "NaN", "infinity", "nothing"))),
        "paired_wilcoxon:first": (
            lambda v: e.paired_wilcoxon(v, figures + 1.0),
            listed(figures, DENSE, sized=True),
        ),
        "paired_wilcoxon:second": (
            lambda v: e.paired_wilcoxon(figures + 1.0, v),
            listed(figures, DENSE, sized=True),
        ),
        "error_detection_auroc:uncertainty": (
            lambda v: e.error_detection_auroc(v, right),
            listed(POINTS[:, 0], DENSE, sized=True),
        ),
        "error_detection_auroc:correct": (
            lambda v: e.error_detection_auroc(POINTS[:, 0], v),
            listed(LABELS, CLASSES, sized=True),
        ),
        "score_trial:labels": (
            lambda v: e.score_trial(v, PROBABILITIES, POINTS[:, 0]),
            listed(LABELS, NUMBERS, sized=True),
        ),
        "score_trial:probabilities": (
            lambda v: e.score_trial(LABELS, v, POINTS[:, 0]),
            listed(PROBABILITIES, DENSE, sized=True),
        ),
        "score_trial:uncertainty": (
            lambda v: e.score_trial(LABELS, PROBABILITIES, v),
            listed(POINTS[:, 0], DENSE, sized=True),
        ),
    }
    for name in ("accuracy", "macro_f1"):
        score = getattr(e, name)
        found |= {
            f"{name}:labels": (
                lambda v, f=score: f(v, LABELS),
                listed(LABELS, CLASSES, sized=True),
            ),
            f"{name}:predicted": (
                lambda v, f=score: f(LABELS, v),
                listed(LABELS, CLASSES, sized=True),
            ),
        }
    by_probability = ("brier_score", "negative_log_likelihood", "expected_calibration_error")
    for name in (*by_probability, "reliability_curve"):
        score = getattr(e, name)
        found |= {
            f"{name}:labels": (
                lambda v, f=score: f(v, PROBABILITIES),
                listed(LABELS, NUMBERS, sized=True),
            ),
            f"{name}:probabilities": (
                lambda v, f=score: f(LABELS, v),
                listed(PROBABILITIES, DENSE, sized=True),
            ),
        }
    return found
