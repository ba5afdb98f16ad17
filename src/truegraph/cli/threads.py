"""How many threads a command may use; it never changes a result."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def use_threads(jobs: int | None) -> Iterator[None]:
    """Let torch and the compiled loops use so many threads; None keeps them, -1 means all cores."""
    import torch

    from truegraph.learning.threads import thread_limit

    before = torch.get_num_threads()
    with thread_limit(jobs):
        if jobs is not None:
            torch.set_num_threads(jobs if jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + jobs))
        try:
            yield
        finally:
            torch.set_num_threads(before)
