"""Reliability diagrams show the curve that the metrics compute."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.evaluation import expected_calibration_error, reliability_curve
from truegraph.report.plots import reliability


def predictions(seed: int, sharpness: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(500, 3))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(3, p=row) for row in truth])
    stated = np.exp(sharpness * logits)
    return labels, stated / stated.sum(axis=1, keepdims=True)


def test_bars_are_the_curve() -> None:
    labels, probabilities = predictions(0, 3.0)
    curve = reliability_curve(labels, probabilities, n_bins=10)
    figure = reliability({"gcn": curve})
    filled = curve.count > 0
    right, gap = figure.axes[0].containers
    assert [bar.get_height() for bar in right] == pytest.approx(curve.accuracy[filled])
    tops = [bar.get_y() + bar.get_height() for bar in gap]
    assert tops == pytest.approx(curve.confidence[filled])


def test_one_column_per_model_with_its_error() -> None:
    sharp, true = predictions(0, 3.0), predictions(0, 1.0)
    figure = reliability({"gcn": reliability_curve(*sharp), "bgcn": reliability_curve(*true)})
    titles = [axes.get_title() for axes in figure.axes[:2]]
    errors = [float(title.split()[-1].rstrip("%")) for title in titles]
    assert [title.split()[0] for title in titles] == ["gcn", "bgcn"]
    assert errors[0] == pytest.approx(100 * expected_calibration_error(*sharp), abs=0.051)
    assert errors[0] > 10 > errors[1]  # logits times three are overconfident; times one are true


def test_nothing_is_cut_off() -> None:
    figure = reliability({"one": reliability_curve(*predictions(1, 1.0))})
    figure.draw_without_rendering()
    for axes in figure.axes:
        for text in (axes.title, axes.yaxis.label):
            box = text.get_window_extent()
            assert box.x0 >= 0
            assert box.y1 <= figure.bbox.y1
