"""How many threads a batch may use; it never changes a result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def use_threads(threads: int) -> Iterator[None]:
    """Let torch, the compiled loops and the libraries use so many threads while the block runs."""
    import torch
    from threadpoolctl import threadpool_limits

    from truegraph.learning.threads import thread_limit

    before = torch.get_num_threads()
    with thread_limit(threads), threadpool_limits(threads):
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)
