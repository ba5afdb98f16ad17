"""Memory of the process."""

from __future__ import annotations

import numpy as np

from truegraph.runtime.memory import peak_memory_mb


def test_the_peak_rises_with_what_is_held_and_stays() -> None:
    before = peak_memory_mb()
    assert before is not None
    assert before > 10
    ones = np.ones(int(before * 1e6) // 8 + 4_000_000)  # more than everything held so far
    held = peak_memory_mb()
    assert held is not None
    assert held > before + 20
    del ones
    after = peak_memory_mb()
    assert after is not None
    assert after > held - 1  # the kernel counts pages in batches
