"""One process at a time: a lock that the system lifts when its holder dies, however it dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import FileLock


@contextmanager
def file_lock(path: str | os.PathLike[str]) -> Iterator[None]:
    """Run the block while no other process, and no other thread, is in a block of the same lock.

    Where the system or the file system has no locks the block just runs, so a lock may save work
    but must not be needed for a right result.
    """
    with ExitStack() as held:
        with suppress(NotImplementedError, OSError):  # no locks, or no right to write
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(FileLock(path))
        yield
