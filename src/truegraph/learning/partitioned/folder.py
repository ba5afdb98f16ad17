"""The storage of a run: arrays by name, each written whole or not at all.

Every stage leaves its results here and begins by looking for them, so that a run that was killed
goes on where it stopped, and a task that is run twice does no harm.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from truegraph.data.storage import atomic_write, read_json, read_npz, write_json, write_npz
from truegraph.errors import InputError

_RUN = "run.json"


class Folder:
    """Named arrays in a folder."""

    def __init__(self, path: str | Path) -> None:
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

    def mapped(self, name: str, mode: Literal["r", "c"] = "r") -> NDArray[Any]:
        """Return an array as a memory map; with mode "c", what is written stays in memory."""
        path = self.path / f"{name}.npy"
        try:
            array: NDArray[Any] = np.load(path, mmap_mode=mode, allow_pickle=False)
        except ValueError as error:
            # What has no entries cannot be mapped.
            array = np.load(path, allow_pickle=False)
            if array.size:
                raise InputError(f"{path}: damaged ({error}). Remove the storage.") from error
        return array

    def shared(self, name: str) -> NDArray[Any]:
        """Return an array whose memory is that of the file, and no process's own.

        To compiled loops it looks like any other, which one that cannot be written would not.
        """
        return np.asarray(self.mapped(name, "c"))

    def read(self, name: str) -> NDArray[Any]:
        """Return an array in memory."""
        array: NDArray[Any] = np.load(self.path / f"{name}.npy", allow_pickle=False)
        return array

    def write_table(self, name: str, **arrays: Any) -> None:
        """Write several small arrays as one .npz file."""
        named = {key: np.asarray(value) for key, value in arrays.items()}
        write_npz(self.path / f"{name}.npz", named, compress=False)

    def read_table(self, name: str) -> dict[str, NDArray[Any]]:
        """Read what `write_table` wrote."""
        return read_npz(self.path / f"{name}.npz", artefact=True)

    def remove(self, pattern: str) -> None:
        """Remove the files that match a pattern."""
        for path in self.path.glob(pattern):
            path.unlink(missing_ok=True)

    def claim(self, description: dict[str, Any]) -> None:
        """Make this the storage of a run, or raise if it is that of another."""
        path = self.path / _RUN
        if not path.exists():
            if self.path.exists() and any(self.path.iterdir()):
                raise InputError(
                    f"storage={str(self.path)!r} holds other files. Give a new or empty folder."
                )
            write_json(path, description)
            return
        before = read_json(path)
        changed = [key for key, value in description.items() if before.get(key) != value]
        if changed:
            raise InputError(
                f"storage={str(self.path)!r} belongs to a run with other {', '.join(changed)}. "
                "Remove the folder, or give another."
            )
