"""Long computations end at an interrupt, and give all of their result without one."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array, kron

from truegraph import learn_graph
from truegraph.learning.solve import kernels
from truegraph.learning.solve.interior import Factored
from truegraph.runtime.interrupts import in_parts, interruptible
from truegraph.runtime.threads import thread_limit


@pytest.fixture
def interrupt() -> Iterator[threading.Timer]:
    """Send an interrupt to this process soon after the timer is started."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    yield timer
    timer.cancel()


@pytest.mark.parametrize(("count", "least"), [(0, 4), (3, 4), (1000, 1), (10**6, 7)])
def test_parts_cover_everything_once(count: int, least: int) -> None:
    parts: list[tuple[int, int]] = []
    in_parts(count, lambda first, last: parts.append((first, last)), least=least)
    ends = [0, *(last for _, last in parts)]
    assert parts == list(itertools.pairwise(ends))
    assert ends[-1] == count
    assert all(last - first >= least for first, last in parts[:-1])


def test_slow_parts_stay_small() -> None:
    sizes: list[int] = []

    def run(first: int, last: int) -> None:
        sizes.append(last - first)
        time.sleep(0.05 * (last - first))

    in_parts(16, run)
    assert max(sizes) <= 8


def test_a_call_gives_its_result_or_its_error() -> None:
    assert interruptible(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        interruptible(divmod, 7, 0)


def test_a_call_that_cannot_be_divided_is_left(interrupt: threading.Timer) -> None:
    began = time.perf_counter()
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(time.sleep, 60.0)
    assert time.perf_counter() - began < 30.0


@pytest.mark.parametrize(
    ("candidates", "shape"),
    [("exact", (150_000, 24)), ("ivf", (300_000, 24)), ("sketch", (60_000, 256))],
)
def test_a_search_hears_an_interrupt(
    interrupt: threading.Timer, candidates: str, shape: tuple[int, int]
) -> None:
    points = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    learn_graph(points[:500], candidates=candidates, options={"n_jobs": 1})  # compiled
    began = time.process_time()
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        learn_graph(points, candidates=candidates, random_state=0, options={"n_jobs": 1})
    assert time.process_time() - began < 2.5


def grid_laplacian(side: int) -> tuple[np.ndarray, ...]:
    """Return the matrix of a grid of nodes, which takes conjugate gradients many steps."""
    line = eye_array(side, k=1) + eye_array(side, k=-1)
    off = csr_array(-kron(eye_array(side), line) - kron(line, eye_array(side)))
    diagonal = np.full(side**2, 4.0)
    return off.indptr, np.diff(off.indptr).astype(np.int64), off.indices, off.data, diagonal


@pytest.mark.parametrize("kind", ["Jacobi", "incomplete Cholesky"])
def test_conjugate_gradients_hear_an_interrupt(interrupt: threading.Timer, kind: str) -> None:
    """A stiff system may take ten times as many steps as there are nodes."""

    def solve(side: int) -> None:
        matrix, out = grid_laplacian(side), np.empty(side**2)
        right = np.random.default_rng(0).normal(size=side**2)
        if kind == "Jacobi":
            kernels.conjugate_gradients(matrix, right, 1e-150, out)
        else:
            Factored(matrix, np.arange(side**2)).solve(right, 1e-150)

    with thread_limit(1):
        solve(4)  # compiled
        began = time.process_time()
        interrupt.start()
        with pytest.raises(KeyboardInterrupt):
            solve(500)
    assert time.process_time() - began < 2.5
