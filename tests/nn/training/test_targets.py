"""Labelled nodes of several trials, and the loss on them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from truegraph.errors import InputError
from truegraph.nn import device
from truegraph.nn.training.targets import Targets, accuracy, cross_entropy, softmax

LABELS = np.array([[0, 1, 2, -1], [2, 2, 0, 1]])


def _targets() -> Targets:
    return Targets.from_sets(LABELS, [np.array([2, 0]), np.array([1, 2, 3])], "train")


def _logits() -> torch.Tensor:
    return torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_loss_is_the_mean_cross_entropy_of_each_trials_own_set() -> None:
    losses = cross_entropy(_logits(), _targets())
    for trial, nodes in enumerate(([2, 0], [1, 2, 3])):
        expected = torch.nn.functional.cross_entropy(
            _logits()[trial, nodes], torch.from_numpy(LABELS[trial, nodes])
        )
        assert losses[trial].item() == pytest.approx(expected.item(), rel=1e-6)


def test_gradient_agrees_with_finite_differences() -> None:
    logits = _logits().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: cross_entropy(x, _targets()), (logits,))


def test_the_torch_operators_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = cross_entropy(_logits(), _targets())
    monkeypatch.setattr(device, "uses_kernels", lambda tensor: False)
    torch.testing.assert_close(ours, cross_entropy(_logits(), _targets()))


def test_huge_logits_give_a_finite_loss() -> None:
    assert cross_entropy(1e4 * _logits(), _targets()).isfinite().all()


def test_selected_trials_keep_their_nodes() -> None:
    one = _targets().select(np.array([1]))
    assert one.nodes.tolist() == [1, 2, 3]
    assert one.classes.tolist() == [2, 0, 1]
    assert torch.equal(cross_entropy(_logits()[1:], one), cross_entropy(_logits(), _targets())[1:])


def test_one_hot_labels_and_membership() -> None:
    one_hot, member = _targets().indicator(4, 3)
    assert one_hot[0].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert member.tolist() == [[True, False, True, False], [False, True, True, True]]


def test_accuracy_and_softmax() -> None:
    logits = torch.zeros(2, 4, 3)
    logits[0, 2, 2] = logits[0, 0, 1] = logits[1, 1, 2] = 5.0  # right, wrong, right
    logits[1, 2, 1] = logits[1, 3, 0] = 5.0  # wrong, wrong
    np.testing.assert_allclose(accuracy(logits, _targets()), [1 / 2, 1 / 3])
    np.testing.assert_allclose(softmax(logits), torch.softmax(logits, 2), atol=1e-7)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ([], "trial 0 is empty"),
        ([1, 3], "node 3, whose label is unknown"),
        ([1, 4], "node 4; nodes are 0 to 3"),
        ([-1, 1], "node -1; nodes are 0 to 3"),
    ],
)
def test_sets_that_cannot_be_used_are_named(chosen: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Targets.from_sets(LABELS[:1], [np.array(chosen, dtype=int)], "train")
