"""Adam against torch's own, and the thread that training keeps to."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from truegraph.paper.step import Adam, TrainingError, check_finite, one_thread


def test_steps_are_those_of_torch() -> None:
    torch.manual_seed(0)
    ours, theirs = (torch.nn.Linear(4, 3) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    adam = Adam(dict(ours.named_parameters()), 0.02, {"weight": 0.3})
    groups = [{"params": [theirs.weight], "weight_decay": 0.3}, {"params": [theirs.bias]}]
    rival = torch.optim.Adam(groups, lr=0.02)
    for _ in range(30):
        x = torch.randn(8, 4)
        adam.step((ours(x) ** 2).mean())
        rival.zero_grad()
        (theirs(x) ** 2).mean().backward()
        rival.step()
    torch.testing.assert_close(ours.weight, theirs.weight)
    torch.testing.assert_close(ours.bias, theirs.bias)


def test_a_loss_that_is_not_finite_is_named() -> None:
    check_finite(torch.tensor(1.0), "gcn")
    with pytest.raises(TrainingError, match="loss of gcn is nan"):
        check_finite(torch.tensor(float("nan")), "gcn")


def test_threads_are_as_before_after_the_block() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread():
            with one_thread():
                assert torch.get_num_threads() == 1
            assert torch.get_num_threads() == 1
            with ThreadPoolExecutor(1) as pool:  # a thread that begins inside
                assert pool.submit(torch.get_num_threads).result() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
