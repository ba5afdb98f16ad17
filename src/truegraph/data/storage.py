"""The one place that reads and writes artefacts: npz without pickle, JSON and text.

Reading never runs code from a file. Writing is atomic: a reader sees the old file or the whole new
one, never a part, and a failure leaves no temporary file behind.
"""

from __future__ import annotations

import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truegraph.errors import InputError

PathLike = str | os.PathLike[str]

_NPZ_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError)


@contextmanager
def atomic_write(path: PathLike) -> Iterator[Path]:
    """Give a temporary path to write to, and put it in place of `path` on success.

    The temporary file lies in the same folder and keeps the suffix of `path`; missing parent
    folders are made. File and folder are flushed to disk before and after the rename.

    Parameters
    ----------
    path : path-like
        The file to write.

    Yields
    ------
    temporary : Path
        Where the caller writes. It is removed when the body raises.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(8)}{target.suffix}")
    try:
        yield temporary
        _flush_to_disk(temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_to_disk(target.parent)


def _flush_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path: PathLike, text: str) -> None:
    """Write `text` as UTF-8, atomically."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: PathLike, document: Any) -> None:
    """Write `document` as indented JSON, atomically; NaN and infinity are refused."""
    write_text(path, json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: PathLike) -> Any:
    """Read a JSON document.

    Raises
    ------
    InputError
        If the file is missing or is not JSON.
    """
    try:
        return json.loads(existing_file(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}: not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}. "
            "Write the file again."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not valid JSON: it is not UTF-8 text.") from error


def write_npz(path: PathLike, arrays: Mapping[str, NDArray[Any]], *, compress: bool = True) -> None:
    """Write named arrays to an npz file, atomically; object arrays (pickles) are refused."""
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            raise InputError(
                f"array {name!r} for {path} has dtype object, which only a pickle can hold. "
                "Convert it to numbers or fixed-width strings first."
            )
    contents: dict[str, Any] = dict(arrays)
    save = np.savez_compressed if compress else np.savez
    with atomic_write(path) as temporary, temporary.open("wb") as stream:
        save(stream, **contents)


def read_npz(path: PathLike) -> dict[str, NDArray[Any]]:
    """Read every array of an npz file; nothing in the file is executed.

    Parameters
    ----------
    path : path-like
        A file written by `write_npz` or `numpy.savez`.

    Returns
    -------
    arrays : dict of str to ndarray

    Raises
    ------
    InputError
        If the file is missing, truncated, holds pickled objects or is not an npz file.
    """
    file = existing_file(path)
    with file.open("rb") as stream:
        start = stream.read(2)
    if start != b"PK":
        raise InputError(f"{path}: not an npz file ({_what_it_is(start)}). {_REMEDY}")
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except _NPZ_DAMAGE as error:
        if "allow_pickle" in str(error):
            raise InputError(
                f"{path}: holds pickled objects, which are never loaded because loading them "
                f"can run code. {_REMEDY}"
            ) from error
        raise InputError(
            f"{path}: damaged or truncated npz file ({error}). Copy or write the file again."
        ) from error


_REMEDY = "Save plain number or string arrays with numpy.savez_compressed."


def _what_it_is(start: bytes) -> str:
    if not start:
        return "it is empty"
    if start[:1] == b"\x80":
        return "it looks like a pickle, which is never loaded because loading it can run code"
    if start == b"\x93N":
        return "it looks like a single .npy array"
    return "its first bytes are not those of a zip archive"


def existing_file(path: PathLike) -> Path:
    """Return `path` as a Path, or raise an InputError if it is not a readable file."""
    file = Path(path)
    if file.is_dir():
        raise InputError(f"{path}: is a folder, not a file. Give the path of the file in it.")
    if not file.is_file():
        raise InputError(f"{path}: no such file. Check the path (working folder: {Path.cwd()}).")
    if not os.access(file, os.R_OK):
        raise InputError(f"{path}: no permission to read the file.")
    return file


def csr_to_arrays(matrix: sparse.csr_array, prefix: str) -> dict[str, NDArray[Any]]:
    """Take a CSR matrix apart into `prefix`_data, _indices, _indptr and _shape, for `write_npz`."""
    return {
        f"{prefix}_data": matrix.data,
        f"{prefix}_indices": matrix.indices,
        f"{prefix}_indptr": matrix.indptr,
        f"{prefix}_shape": np.asarray(matrix.shape, dtype=np.int64),
    }


def csr_from_arrays(arrays: Mapping[str, NDArray[Any]], prefix: str) -> sparse.csr_array:
    """Put a CSR matrix together from the arrays of `csr_to_arrays`, and check it.

    A missing `prefix`_data means that every stored value is 1 (float32), which keeps 0/1 matrices
    small on disk.
    """
    missing = [
        f"{prefix}_{part}"
        for part in ("indices", "indptr", "shape")
        if f"{prefix}_{part}" not in arrays
    ]
    if missing:
        raise InputError(f"arrays {missing} of the sparse matrix {prefix!r} are missing.")
    # SciPy wants index arrays of one signed type; the file may hold a smaller one.
    indices = _signed(arrays[f"{prefix}_indices"])
    indptr = arrays[f"{prefix}_indptr"].astype(indices.dtype)
    data = arrays.get(f"{prefix}_data")
    if data is None:
        data = np.ones(len(indices), dtype=np.float32)
    try:
        rows, columns = (int(size) for size in arrays[f"{prefix}_shape"])
        matrix = sparse.csr_array((data, indices, indptr), shape=(rows, columns))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"the sparse matrix {prefix!r} is damaged: {error}.") from error
    return matrix


def write_safetensors(path: PathLike, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write named arrays to a safetensors file, atomically."""
    from safetensors.numpy import save_file  # needed for trained weights only

    contents = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with atomic_write(path) as temporary:
        save_file(contents, temporary)


def read_safetensors(path: PathLike) -> dict[str, NDArray[Any]]:
    """Read every array of a safetensors file; nothing in the file is executed.

    Raises
    ------
    InputError
        If the file is missing or damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays: dict[str, NDArray[Any]] = load_file(existing_file(path))
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(
            f"{path}: damaged or not a safetensors file ({error}). Copy or write it again."
        ) from error
    return arrays


def _signed(indices: NDArray[Any]) -> NDArray[Any]:
    return indices.astype(np.int64 if indices.dtype.itemsize > 4 else np.int32, copy=False)
