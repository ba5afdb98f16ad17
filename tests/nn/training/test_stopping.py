"""Early stopping rules, followed by hand."""

from __future__ import annotations

import numpy as np

from truegraph.nn.training.stopping import EarlyStopping, Patience


def _follow(rule: EarlyStopping, losses: list[float], accuracies: list[float]) -> tuple:
    standing, kept = Patience.start(1), []
    for epoch, (loss, accuracy) in enumerate(zip(losses, accuracies, strict=True)):
        standing, keep = rule.judge(standing, np.array([loss]), np.array([accuracy]))
        if keep[0]:
            kept.append(epoch)
        if rule.exhausted(standing)[0]:
            return kept, epoch
    return kept, None


def test_the_loss_alone_decides() -> None:
    losses = [3.0, 2.0, 2.0, 1.0, 1.5, 1.5, 1.5, 0.1]
    assert _follow(EarlyStopping(3), losses, [0.0] * 8) == ([0, 1, 3], 6)


def test_either_measure_resets_the_patience_but_both_are_needed_to_keep() -> None:
    losses = [3.0, 2.0, 2.5, 2.6, 1.0, 1.1, 1.2]
    accuracies = [0.5, 0.4, 0.6, 0.5, 0.6, 0.5, 0.5]
    # epoch 1: loss only; 2: accuracy only; 4: both; 5 and 6: neither
    rule = EarlyStopping(2, watch_accuracy=True)
    assert _follow(rule, losses, accuracies) == ([0, 4], 6)


def test_ties_count_as_gains_when_accuracy_is_watched() -> None:
    rule = EarlyStopping(1, watch_accuracy=True)
    assert _follow(rule, [1.0, 1.0], [0.5, 0.5]) == ([0, 1], None)


def test_trials_are_judged_apart() -> None:
    rule = EarlyStopping(1)
    standing, _ = rule.judge(Patience.start(2), np.array([1.0, 1.0]), np.zeros(2))
    standing, keep = rule.judge(standing, np.array([0.5, 1.5]), np.zeros(2))
    assert keep.tolist() == [True, False]
    assert rule.exhausted(standing).tolist() == [False, True]
    assert standing.select(np.array([1])).loss.tolist() == [1.0]
