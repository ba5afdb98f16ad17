"""Thread limits: set inside the block, restored after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

import truegraph
from truegraph.errors import InputError
from truegraph.runtime.threads import one_blas_thread, thread_limit, use_threads


@pytest.fixture(autouse=True)
def _two_torch_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_one_thread_everywhere_while_the_block_runs() -> None:
    numba_before = numba.get_num_threads()
    with use_threads(1):
        assert (torch.get_num_threads(), numba.get_num_threads()) == (1, 1)
    assert (torch.get_num_threads(), numba.get_num_threads()) == (2, numba_before)


def test_an_error_in_the_block_restores_the_numbers() -> None:
    with pytest.raises(KeyError), use_threads(1):
        raise KeyError
    assert torch.get_num_threads() == 2


def test_none_keeps_the_numbers() -> None:
    with use_threads(None), thread_limit(None):
        assert torch.get_num_threads() == 2


def test_negative_counts_from_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    with use_threads(-1):
        assert torch.get_num_threads() == 4
        assert numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS
    with use_threads(-9):
        assert torch.get_num_threads() == 1


def test_limits_only_the_compiled_loops() -> None:
    with thread_limit(1):
        assert (torch.get_num_threads(), numba.get_num_threads()) == (2, 1)


@pytest.mark.parametrize("limit", [thread_limit, use_threads])
def test_zero_threads_are_refused(limit) -> None:
    with pytest.raises(InputError, match="n_jobs=0"), limit(0):
        pass


def test_blas_has_its_threads_again_after_blocks_that_overlap() -> None:
    before = _blas()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(_blas()) == {1}
    second.__exit__(None, None, None)
    assert _blas() == before


def _blas() -> list[int]:
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_concurrent_fits_leave_blas_its_threads(n_jobs: int | None) -> None:
    """Eight fits in four threads: whoever ends last restores the number."""
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(60, 5)), np.arange(60) % 3

    def fit(seed: int) -> None:
        with use_threads(n_jobs):
            truegraph.NodeClassifier("logistic-regression", random_state=seed).fit(points, labels)
            with one_blas_thread():
                np.linalg.svd(rng.normal(size=(50, 50)))

    fit(0)  # loads what has threads of its own
    before = _blas()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fit, range(8)))
    assert _blas() == before


def test_a_block_with_more_threads_does_not_lift_the_limit_of_another() -> None:
    with one_blas_thread(), use_threads(2):
        assert set(_blas()) == {1}


def test_only_runtime_limits_the_threads_of_blas() -> None:
    """Limits of threadpoolctl in two threads at once restore what the other one has set."""
    sources = Path(truegraph.__file__).parent.rglob("*.py")
    found = [path.name for path in sources if "threadpoolctl import" in path.read_text()]
    assert found == ["threads.py"]
