"""Where points come from that need not fit into memory: read by ranges of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truegraph import gate
from truegraph.errors import InputError
from truegraph.extras import import_extra


class Source(ABC):
    """A table of numbers (rows, columns) that is read in parts, in any process."""

    name: str

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""

    @abstractmethod
    def rows(self, start: int, stop: int) -> Any:
        """Return some rows, as they are."""

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return checked rows (stop - start, columns), of float32 where that is exact."""
        return checked_rows(self.name, np.asarray(self.rows(start, stop)), start)

    def description(self) -> dict[str, Any]:
        """Return what is known of the data before they are read."""
        return {"shape": list(self.shape), "dtype": str(self.dtype)}


def is_single(dtype: np.dtype[Any]) -> bool:
    """Whether float32 holds all numbers of a type: it does those of 16 bits and fewer."""
    return dtype.kind in "iuf" and (dtype.itemsize <= 2 or dtype == np.float32)


def checked_rows(name: str, rows: NDArray[Any], start: int) -> NDArray[Any]:
    """Check rows that begin at row `start` of a table: finite numbers of float32 or float64."""
    where = f"{name} from row {start} on"
    rows = rows.astype(np.float32) if is_single(rows.dtype) else gate.as_floats(where, rows)
    gate.check_finite(where, rows)
    return np.ascontiguousarray(rows)


@dataclass
class NumpySource(Source):
    """A .npy file, opened in each process that reads it."""

    path: str
    name: str

    @cached_property
    def _array(self) -> NDArray[Any]:
        try:
            array: NDArray[Any] = np.load(self.path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path}: not a .npy file of numbers ({error}).") from error
        return array

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return _two(self.name, self._array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self._array.dtype

    def rows(self, start: int, stop: int) -> Any:
        """Return some rows."""
        return self._array[start:stop]

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "name": self.name}


@dataclass
class HeldSource(Source):
    """Anything with a shape, a dtype and slices: an array in memory, zarr or Dask's."""

    array: Any
    name: str

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return _two(self.name, self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return np.dtype(self.array.dtype)

    def rows(self, start: int, stop: int) -> Any:
        """Return some rows."""
        part = self.array[start:stop]
        return part.compute() if self.is_lazy else part

    @property
    def is_lazy(self) -> bool:
        """Whether rows must be computed by Dask first."""
        return hasattr(self.array, "dask")


@dataclass
class ParquetSource(Source):
    """A folder of Parquet files, in the order of their names, or one such file."""

    path: str
    name: str

    @cached_property
    def _files(self) -> list[Any]:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

        folder = Path(self.path)
        paths = sorted(folder.glob("*.parquet")) if folder.is_dir() else [folder]
        if not paths:
            raise InputError(f"{self.path}: the folder holds no .parquet file.")
        try:
            return [ParquetFile(path) for path in paths]
        except (ArrowException, OSError, ValueError) as error:
            raise InputError(f"{self.path}: not Parquet: {error}. Write it again.") from error

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Return the first row of every row group, and the end."""
        sizes = [
            file.metadata.row_group(group).num_rows
            for file in self._files
            for group in range(file.num_row_groups)
        ]
        return np.concatenate([[0], np.cumsum(np.array(sizes, dtype=np.int64))])

    @cached_property
    def _groups(self) -> list[tuple[Any, int]]:
        return [(file, group) for file in self._files for group in range(file.num_row_groups)]

    @cached_property
    def _widths(self) -> list[int]:
        """Return how many numbers a column holds in a row: several where it is one of lists."""
        widths = []
        for name, field in zip(self._names, self._files[0].schema_arrow, strict=True):
            first = self._column(0, name)[0] if _is_list(field.type) else 1.0
            widths.append(np.size(first))
        return widths

    @property
    def _names(self) -> list[str]:
        return list(self._files[0].schema_arrow.names)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self._starts[-1]), sum(self._widths) if self._starts[-1] else len(self._names)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers: float32 if all columns are."""
        fields = [field for file in self._files for field in file.schema_arrow]
        types = {str(f.type.value_type if _is_list(f.type) else f.type) for f in fields}
        return np.dtype(np.float32 if types <= {"float", "halffloat"} else np.float64)

    def rows(self, start: int, stop: int) -> Any:
        """Return some rows of the row groups that hold them."""
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        parts = []
        for group in range(first, len(self._groups)):
            begin, end = int(self._starts[group]), int(self._starts[group + 1])
            if begin >= stop:
                break
            parts.append(self._table(group)[max(0, start - begin) : min(end, stop) - begin])
        return np.concatenate(parts)

    def _table(self, group: int) -> NDArray[Any]:
        file, _ = self._groups[group]
        if list(file.schema_arrow.names) != self._names:
            raise InputError(f"{self.path}: its files have different columns.")
        columns = []
        for name, width in zip(self._names, self._widths, strict=True):
            values = self._column(group, name)
            if values.dtype.kind not in "biuf" or values.shape[1] != width:
                raise InputError(
                    f"{self.path}: column {name!r} holds no numbers, or lists of different "
                    "lengths. Drop it, or turn it into numbers first."
                )
            columns.append(values.astype(self.dtype, copy=False))
        return np.concatenate(columns, axis=1)

    def _column(self, group: int, name: str) -> NDArray[Any]:
        """Return a column of a row group (rows, width); rows of lists make a block of numbers."""
        from pyarrow import ArrowException

        file, number = self._groups[group]
        try:
            column = file.read_row_group(number, columns=[name]).column(0)
            if not _is_list(column.type) or column.null_count:
                return np.asarray(column.to_numpy())[:, None]
            inside = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
            return np.asarray(inside).reshape(len(column), -1)
        except (ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
            raise InputError(f"{self.path}: damaged Parquet: {error}. Write it again.") from error

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "name": self.name}


def _is_list(kind: Any) -> bool:
    """Whether a type of Arrow is one of lists, of fixed length or not."""
    return str(kind).startswith(("list<", "large_list<", "fixed_size_list<"))


def as_source(name: str, X: Any) -> Source:
    """Return the source that X stands for."""
    if isinstance(X, Source):
        return X
    if isinstance(X, str | Path):
        return _at_path(Path(X))
    if isinstance(X, np.memmap) and _is_whole_file(X):
        return NumpySource(str(X.filename), name)
    if sparse.issparse(X):
        raise InputError(
            f"{name} is sparse; give a dense table, or use truegraph.learn_graph in one process."
        )
    if all(hasattr(X, part) for part in ("shape", "dtype", "__getitem__")):
        source = HeldSource(X, name)
        _two(name, source.shape)
        return source
    raise InputError(
        f"{name} has type {type(X).__name__}; give the path of a .npy file, of a Parquet folder or "
        "of a zarr array, a memory map, or a Dask or zarr array."
    )


def _at_path(path: Path) -> Source:
    name = str(path)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder. Check the path.")
    if path.suffix == ".npy":
        return NumpySource(str(path.resolve()), name)
    if path.suffix == ".zarr" or (path / "zarr.json").exists() or (path / ".zarray").exists():
        return HeldSource(import_extra("zarr").open_array(str(path), mode="r"), name)
    if path.is_dir() or path.suffix == ".parquet":
        return ParquetSource(str(path.resolve()), name)
    raise InputError(
        f"{path}: only .npy, Parquet and zarr can be read in parts. Convert it, for example with "
        "numpy.save."
    )


def _is_whole_file(array: np.memmap[Any, Any]) -> bool:
    """Whether a memory map is all of a .npy file, not a view of a part."""
    if array.filename is None or not str(array.filename).endswith(".npy"):
        return False
    whole = np.load(str(array.filename), mmap_mode="r")
    return bool(
        whole.shape == array.shape
        and whole.dtype == array.dtype
        and whole.strides == array.strides
        and whole.offset == array.offset
    )


def _two(name: str, shape: Any) -> tuple[int, int]:
    if len(shape) != 2 or shape[0] < 2 or shape[1] < 1:
        raise InputError(
            f"{name} has shape {tuple(shape)}; give a table of at least two rows and one column."
        )
    return int(shape[0]), int(shape[1])
