"""Where points come from that need not fit into memory: read by ranges of rows."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truegraph import gate
from truegraph.errors import InputError
from truegraph.extras import import_extra


class Source:
    """A table of numbers (rows, columns) that is read in parts, in any process."""

    name: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    is_lazy = False  # whether rows must be computed by Dask first

    def rows(self, start: int, stop: int) -> Any:
        """Return some rows, as they are."""
        raise NotImplementedError

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


class ArraySource(Source):
    """Anything with a shape, a dtype and slices; a .npy file is opened in each process."""

    def __init__(self, name: str, array: Any, path: str | None = None) -> None:
        self.name, self.path, self.array = name, path, array
        self.shape, self.dtype = _two(name, array.shape), np.dtype(array.dtype)
        self.is_lazy = hasattr(array, "dask")

    def rows(self, start: int, stop: int) -> Any:
        """Return some rows."""
        if self.array is None:
            self.array = _mapped(str(self.path))
        part = self.array[start:stop]
        return part.compute() if self.is_lazy else part

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "array": self.array if self.path is None else None}


def _mapped(path: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a .npy file of numbers ({error}).") from error
    return array


class ParquetSource(Source):
    """A folder of Parquet files, in the order of their names, or one such file.

    A column of lists holds as many numbers in every row as in the first.
    """

    def __init__(self, path: str, name: str) -> None:
        self.path, self.name = path, name
        self._groups = [(i, g) for i, f in enumerate(self._files) for g in range(f.num_row_groups)]
        sizes = [self._files[i].metadata.row_group(g).num_rows for i, g in self._groups]
        self._starts = np.concatenate([[0], np.cumsum(np.array(sizes, dtype=np.int64))])
        schema = self._files[0].schema_arrow
        self._widths = {
            field.name: np.size(self._column(0, field.name)[0]) if _is_list(field.type) else 1
            for field in schema
        }
        self.shape = int(self._starts[-1]), sum(self._widths.values()) if sizes else len(schema)
        fields = [field for file in self._files for field in file.schema_arrow]
        types = {str(f.type.value_type if _is_list(f.type) else f.type) for f in fields}
        self.dtype = np.dtype(np.float32 if types <= {"float", "halffloat"} else np.float64)

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
        file = self._files[self._groups[group][0]]
        if list(file.schema_arrow.names) != list(self._widths):
            raise InputError(f"{self.path}: its files have different columns.")
        columns = []
        for name, width in self._widths.items():
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
            column = self._files[file].read_row_group(number, columns=[name]).column(0)
            if not _is_list(column.type) or column.null_count:
                return np.asarray(column.to_numpy())[:, None]
            inside = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
            return np.asarray(inside).reshape(len(column), -1)
        except (ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
            raise InputError(f"{self.path}: damaged Parquet: {error}. Write it again.") from error

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_files"}


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
        return ArraySource(name, X, str(X.filename))
    if sparse.issparse(X):
        raise InputError(
            f"{name} is sparse; give a dense table, or use truegraph.learn_graph in one process."
        )
    if all(hasattr(X, part) for part in ("shape", "dtype", "__getitem__")):
        return ArraySource(name, X)
    raise InputError(
        f"{name} has type {type(X).__name__}; give the path of a .npy file, of a Parquet folder or "
        "of a zarr array, a memory map, or a Dask or zarr array."
    )


def _at_path(path: Path) -> Source:
    name = str(path)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder. Check the path.")
    if path.suffix == ".npy":
        where = str(path.resolve())
        return ArraySource(name, _mapped(where), where)
    if path.suffix == ".zarr" or (path / "zarr.json").exists() or (path / ".zarray").exists():
        return ArraySource(name, import_extra("zarr").open_array(str(path), mode="r"))
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
