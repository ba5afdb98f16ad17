"""Groups of trials, and the threads that work on them."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from truegraph.nn.training.trial_threads import run_all, trial_groups, worker_threads


@pytest.fixture(autouse=True)
def _two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("trials", "largest", "sizes"), [(5, 8, [3, 2]), (20, 8, [8, 8, 4])])
def test_groups_hold_every_trial_once(trials: int, largest: int, sizes: list[int]) -> None:
    groups = trial_groups(trials, largest, torch.device("cpu"))
    assert [len(group) for group in groups] == sizes
    np.testing.assert_array_equal(np.concatenate(groups), np.arange(trials))


def test_other_devices_take_all_trials_at_once() -> None:
    assert len(trial_groups(20, 8, torch.device("meta"))) == 1


def test_results_keep_their_order_and_threads_share_the_work() -> None:
    met = threading.Barrier(2, timeout=30)  # passes only if two calls run at the same time

    def work(item: int) -> int:
        met.wait()
        return 10 * item

    with worker_threads(4) as pool:
        assert run_all(pool, work, range(4)) == [0, 10, 20, 30]


def test_one_group_needs_no_thread() -> None:
    with worker_threads(1) as pool:
        assert pool is None
        assert run_all(pool, lambda item: item + 1, [1]) == [2]


def test_an_error_waits_for_the_other_calls() -> None:
    finished = []

    def work(item: int) -> None:
        if item == 0:
            raise ValueError("first")
        finished.append(item)

    with worker_threads(3) as pool, pytest.raises(ValueError, match="first"):
        run_all(pool, work, range(3))
    assert sorted(finished) == [1, 2]


def test_torch_has_its_threads_back_afterwards() -> None:
    with worker_threads(4) as pool:
        assert run_all(pool, lambda _: torch.get_num_threads(), range(4)) == [1] * 4
    assert torch.get_num_threads() == 2
    seen: list[int] = []
    later = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert seen == [2]
