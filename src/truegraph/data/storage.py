"""The one place that reads and writes artefacts: npz without pickle, JSON and text.

Reading never runs code from a file. Writing is atomic: a reader sees the old file or the whole new
one, never a part, and a failure leaves no temporary file behind.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truegraph import gate
from truegraph.errors import InputError, TruegraphError, WriteError

PathLike = str | os.PathLike[str]

_NPZ_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError),
    *(NotImplementedError, RuntimeError, TypeError, OverflowError),  # of zipfile: unknown methods
    *(SyntaxError, tokenize.TokenError, RecursionError),  # of NumPy's headers
)


@contextmanager
def atomic_write(path: PathLike) -> Iterator[Path]:
    """Yield a temporary path to write to, and move it to `path` on success.

    The temporary file lies in the same folder and keeps the suffix of `path`; missing parent
    folders are made. File and folder are flushed to disk before and after the rename.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        raise WriteError(f"{target} is no file, and would be replaced. Write to another place.")
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(8)}{target.suffix}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch()
        # What a new file has here, for some writers make it private; or what the old one has.
        mode = (target if target.exists() else temporary).stat().st_mode
        os.chmod(temporary, mode)  # before the content is there
        yield temporary
        os.chmod(temporary, mode)
        _flush_to_disk(temporary)
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, TruegraphError):
            raise _not_written(target, error) from error
        raise
    _flush_to_disk(target.parent)


def _not_written(target: Path, error: OSError) -> WriteError:
    kept = "The previous file is kept." if target.exists() else "Nothing was written."
    return WriteError(
        f"{target}: cannot be written: {error.strerror or error}. {kept} Free some space, or write "
        "elsewhere."
    )


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
    """Read a JSON document."""
    try:
        return json.loads(existing_file(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also of text that is not UTF-8
        raise InputError(f"{path}: not valid JSON ({error}); write the file again.") from error


def write_npz(path: PathLike, arrays: Mapping[str, NDArray[Any]], *, compress: bool = True) -> None:
    """Write named arrays to an npz file, atomically; object arrays (pickles) are refused."""
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            raise InputError(
                f"array {name!r} for {path} has dtype object, which only a pickle can hold; "
                "convert it to numbers or fixed-width strings first."
            )
    contents: dict[str, Any] = dict(arrays)
    save = np.savez_compressed if compress else np.savez
    with atomic_write(path) as temporary, temporary.open("wb") as stream:
        save(stream, **contents)


def read_npz(path: PathLike, *, artefact: bool = False) -> dict[str, NDArray[Any]]:
    """Read every array of an npz file; nothing in the file is executed.

    The sizes of all arrays are read and checked before the first is unpacked.
    """
    file = existing_file(path)
    with file.open("rb") as stream:
        start = stream.read(2)
    if start != b"PK":
        raise InputError(f"{path}: not an npz file ({_what_it_is(start)}). {_REMEDY}")
    try:
        check_npz_sizes(file, _ARTEFACT_RATIO if artefact else _MOST_RATIO)
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{path} holds more than this computer's memory ({error}).") from error
    except _NPZ_DAMAGE as error:
        if "allow_pickle" in str(error):
            raise InputError(
                f"{path} holds pickled objects, which are never loaded because loading them "
                f"can run code. {_REMEDY}"
            ) from error
        raise InputError(
            f"{path}: damaged or truncated npz file ({error}); copy or write the file again."
        ) from error


_MOST_RATIO = 1100  # deflate cannot shrink anything more
_ARTEFACT_RATIO = 100  # learned weights and distances hardly shrink
_SMALL = 100_000_000  # bytes of which the ratio does not matter
_MOST_ARRAYS = 10_000  # a model has some hundreds at most


def check_npz_sizes(path: Path, most_ratio: float) -> None:
    """Raise unless the arrays of an npz file are as large as their headers and the zip claim.

    Only headers are read. An array may be `most_ratio` times as large as its packed form, unless
    all of them together are small.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        names = {member.filename for member in members}
        if len(members) > _MOST_ARRAYS or len(names) < len(members):
            raise InputError(
                f"{path}: damaged npz file: {len(members)} arrays, some with the same name."
            )
        total = sum(member.file_size for member in members)
        for member in members:
            ratio = member.file_size / max(member.compress_size, 1)
            if ratio > (_MOST_RATIO if total <= _SMALL else most_ratio):
                raise InputError(
                    f"{path}: refused: {member.filename} would unpack to {member.file_size} bytes "
                    f"from {member.compress_size}; copy or write the file again."
                )
            if member.filename.endswith(".npy"):
                _check_header(path, archive, member)


def _check_header(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read is None:  # only names of fields beyond Latin-1 need a later version
            raise InputError(f"{path}: {member.filename} has the unknown version {version}.")
        shape, _, dtype = read(stream)
        held = member.file_size - stream.tell()
    wanted = math.prod(shape) * dtype.itemsize
    if not dtype.hasobject and (any(size < 0 for size in shape) or wanted != held):
        raise InputError(
            f"{path}: damaged npz file: {member.filename} claims {wanted} bytes and holds {held}; "
            "copy or write the file again."
        )


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
    if not _is_utf8(str(file)):
        raise InputError(f"{os.fsencode(file)!r}: the name of the file is not UTF-8; rename it.")
    if file.is_dir():
        raise InputError(f"{path} is a folder, not a file; give the path of the file in it.")
    if not file.is_file():
        raise InputError(f"{path}: no such file; check the path (working folder: {Path.cwd()}).")
    if not os.access(file, os.R_OK):
        raise InputError(f"{path}: no permission to read the file.")
    return file


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


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
    indices, indptr = (
        gate.whole_numbers(f"{prefix}_{part}", arrays[f"{prefix}_{part}"], at_least=0)
        for part in ("indices", "indptr")
    )
    # SciPy wants index arrays of one signed type; the file may hold a smaller one.
    largest = max(int(indices.max(initial=0)), int(indptr.max(initial=0)))
    if largest <= np.iinfo(np.int32).max and arrays[f"{prefix}_indices"].dtype.itemsize <= 4:
        indices, indptr = indices.astype(np.int32), indptr.astype(np.int32)
    data = arrays.get(f"{prefix}_data")
    if data is None:
        data = np.ones(len(indices), dtype=np.float32)
    try:
        rows, columns = gate.whole_numbers(f"{prefix}_shape", arrays[f"{prefix}_shape"], length=2)
        matrix = sparse.csr_array((data, indices, indptr), shape=(int(rows), int(columns)))
    except (ValueError, TypeError) as error:
        raise InputError(f"the sparse matrix {prefix!r} is damaged: {error}.") from error
    gate.sparse_matrix(prefix, matrix)
    return matrix
