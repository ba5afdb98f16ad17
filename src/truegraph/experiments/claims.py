"""Which process runs which trial, where several work on one run.

A claim is a lock on one byte of a file, at the place that the trial's hash names. The system lifts
the locks of a process that dies, however it dies, so there are no stale claims to clear away.
On file systems without locks, work may be done twice, but the store still keeps it once.
"""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

from truegraph.errors import DataError
from truegraph.experiments.tasks.base import Cell

_TAKEN = (errno.EACCES, errno.EAGAIN)


class Claims:
    """The claims of this process on the trials of a run.

    Parameters
    ----------
    path : Path
        The file, made if it is missing.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("ab")
        except OSError as error:
            raise DataError(
                f"{path}: cannot be written ({error.strerror}); "
                "choose a folder that you may write to."
            ) from error

    def take(self, cell: Cell, fingerprint: str, seed: int) -> bool:
        """Claim a trial; return False if another process has it."""
        try:
            import fcntl
        except ModuleNotFoundError:  # Windows
            return True
        place = _place(cell, fingerprint, seed)
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError as error:  # other errors: the file system has no locks
            return error.errno not in _TAKEN
        return True

    def release(self, cell: Cell, fingerprint: str, seed: int) -> None:
        """Give up the claim on a trial."""
        try:
            import fcntl
        except ModuleNotFoundError:
            return
        try:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(cell, fingerprint, seed))
        except OSError:
            return

    def __enter__(self) -> Claims:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


def _place(cell: Cell, fingerprint: str, seed: int) -> int:
    digest = hashlib.sha256(f"{cell.key} {fingerprint} {seed}".encode()).digest()
    return int.from_bytes(digest[:7])
