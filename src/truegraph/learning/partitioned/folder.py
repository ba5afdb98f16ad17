"""The storage of a run: arrays by name, each written whole or not at all, and checked when read.

Every stage leaves its results here and begins by looking for them, so that a run that was killed
goes on where it stopped, and a task that is run twice does no harm. One process at a time works in
a folder: its names are those of the run.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from truegraph.data.storage import atomic_write, read_json, read_npz, write_json, write_npz
from truegraph.errors import InputError

_RUN, _LOCK, _HOLDER = "run.json", ".lock", ".holder.json"
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{16}(\.\w+)?")  # names of `atomic_write`


class Folder:
    """Named arrays in a folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def below(self, name: str) -> Folder:
        """Return a folder inside this one."""
        return Folder(self.path / name)

    def has(self, name: str) -> bool:
        """Whether something by that name is complete."""
        return (self.path / name).exists()

    def write(self, name: str, array: NDArray[Any]) -> None:
        """Write one array as a .npy file."""
        with atomic_write(self.path / f"{name}.npy") as temporary, temporary.open("wb") as stream:
            np.save(stream, array, allow_pickle=False)

    def mapped(
        self,
        name: str,
        kind: str = "iuf",
        shape: tuple[int | None, ...] = (None,),
        mode: Literal["r", "c"] = "r",
    ) -> NDArray[Any]:
        """Return an array as a memory map, after checking its kind of numbers and its shape.

        With mode "c", what is written stays in memory.
        """
        path = self.path / f"{name}.npy"
        try:
            array: NDArray[Any] = np.load(path, mmap_mode=mode, allow_pickle=False)
        except (OSError, EOFError, SyntaxError, ValueError):
            array = self._without_entries(path)  # which cannot be mapped
        fits = len(array.shape) == len(shape) and all(
            want in (None, size) for want, size in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype.kind not in kind or not array.dtype.isnative:
            raise damaged(path, f"it holds {array.dtype} of shape {array.shape}")
        return array

    @staticmethod
    def _without_entries(path: Path) -> NDArray[Any]:
        try:
            array: NDArray[Any] = np.load(path, allow_pickle=False)
        except (OSError, EOFError, SyntaxError, ValueError) as error:
            raise damaged(path, error) from error
        if array.size:
            raise damaged(path, "it cannot be mapped")
        return array

    def shared(self, name: str, kind: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """Return an array whose memory is that of the file, and no process's own.

        To compiled loops it looks like any other, which one that cannot be written would not.
        """
        return np.asarray(self.mapped(name, kind, shape, "c"))

    def indices(
        self, name: str, below: int, shape: tuple[int | None, ...] = (None,), at_least: int = 0
    ) -> NDArray[Any]:
        """Return whole numbers from `at_least` to `below` in memory, after checking them."""
        found = np.array(self.mapped(name, "iu", shape))
        check_range(self.path / f"{name}.npy", found, at_least, below)
        return found

    def starts(self, name: str, length: int, end: int) -> NDArray[np.int64]:
        """Return where so many parts begin, and their end, after checking that they do not fall."""
        path, found = self.path / f"{name}.npy", self.indices(name, end + 1, (length + 1,))
        check_starts(path, found, end)
        return found

    def write_table(self, name: str, **arrays: Any) -> None:
        """Write several small arrays as one .npz file."""
        named = {key: np.asarray(value) for key, value in arrays.items()}
        write_npz(self.path / f"{name}.npz", named, compress=False)

    def read_table(self, name: str, *keys: str) -> dict[str, NDArray[Any]]:
        """Read what `write_table` wrote, all of it finite."""
        path = self.path / f"{name}.npz"
        table = read_npz(path, artefact=True)
        if set(table) != set(keys):
            raise damaged(path, f"it holds {', '.join(table)}, not {', '.join(keys)}")
        for key, array in table.items():
            if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
                raise damaged(path, f"{key} is not finite")
        return table

    def remove(self, pattern: str) -> None:
        """Remove the files that match a pattern."""
        for path in self.path.glob(pattern):
            path.unlink(missing_ok=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep others out while the block runs; raise if one is in the folder already.

        Blocks of one thread may be nested. Without locks in the file system the block just runs.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        lock: Any = FileLock(self.path.absolute() / _LOCK, is_singleton=True)
        holder = self.path / _HOLDER
        is_nested = lock.is_locked
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise InputError(
                f"storage={str(self.path)!r} is in use{_told(holder)}. Wait until that run has "
                "ended, or give another folder."
            ) from error
        except (NotImplementedError, OSError):
            lock = nullcontext()
        try:
            if not is_nested:
                self._remove_temporary()
                write_json(holder, {"process": os.getpid(), "host": socket.gethostname()})
            yield
        finally:
            with suppress(OSError):
                if not is_nested:
                    holder.unlink(missing_ok=True)
            lock.__exit__(None, None, None)

    def _remove_temporary(self) -> None:
        """Remove what writers left behind that were killed; nobody else is writing now."""
        for path in self.path.rglob(".*"):
            if _TEMPORARY.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def claimed(self) -> dict[str, Any] | None:
        """Return the description of the run whose storage this is; None if it is nobody's."""
        path = self.path / _RUN
        return read_json(path) if path.exists() else None

    def claim(self, description: dict[str, Any]) -> None:
        """Make this the storage of a run, or raise if it is that of another."""
        before = self.claimed()
        if before is None:
            others = self.path.iterdir() if self.path.exists() else ()
            if any(not other.name.startswith(".") for other in others):
                raise InputError(
                    f"storage={str(self.path)!r} holds other files. Give a new or empty folder."
                )
            write_json(self.path / _RUN, description)
            return
        changed = [key for key, value in description.items() if before.get(key) != value]
        if changed:
            raise self.foreign(", ".join(changed))

    def foreign(self, what: str) -> InputError:
        """Return the error for a storage that belongs to a run with other data or options."""
        return InputError(
            f"storage={str(self.path)!r} belongs to a run with other {what}. "
            "Remove the folder, or give another."
        )


def damaged(path: Path, reason: object) -> InputError:
    """Return the error for a file of a storage that cannot be used."""
    return InputError(f"{path}: damaged ({reason}). Remove the storage, and learn the graph again.")


def check_range(path: Path, numbers: NDArray[Any], at_least: int, below: int) -> None:
    """Raise unless whole numbers lie within bounds."""
    if numbers.size and not (at_least <= numbers.min() and numbers.max() < below):
        raise damaged(path, f"it has numbers outside {at_least} to {below - 1}")


def check_starts(path: Path, starts: NDArray[Any], end: int) -> None:
    """Raise unless parts begin at 0, never fall, and end at the end."""
    if starts.size == 0 or starts[0] != 0 or starts[-1] != end or (np.diff(starts) < 0).any():
        raise damaged(path, f"its parts do not run from 0 to {end}")


def _told(holder: Path) -> str:
    """Return who holds a folder, as far as it is known."""
    with suppress(InputError, OSError, KeyError, TypeError):
        told = read_json(holder)
        return f" by process {told['process']} on {told['host']}"
    return ""
