"""Embeddings computed before, under names that change with every bit they depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from truegraph.data.storage import PathLike, read_npz, write_npz
from truegraph.errors import InputError


def embedding_file(folder: PathLike, name: str, data: list[Any], run: Mapping[str, Any]) -> Path:
    """Return the file of an embedding made from some data by a run with some settings.

    Parameters
    ----------
    folder : path-like
    name : str
        How the file's name begins.
    data : list of csr_array or ndarray
    run : mapping
        Settings and seed, as JSON; the version of truegraph is added.
    """
    key = hashlib.sha256(
        json.dumps([version("truegraph"), dict(run)], sort_keys=True, default=int).encode()
    )
    for item in data:
        for part in _parts(item):
            key.update(part)
    return Path(folder) / f"{name}-{key.hexdigest()}.npz"


def _parts(item: csr_array | NDArray[Any]) -> list[bytes]:
    if not issparse(item):
        return [repr((item.shape, item.dtype.str)).encode(), np.ascontiguousarray(item).tobytes()]
    arrays = (item.data, item.indices.astype(np.int64), item.indptr.astype(np.int64))
    return [repr((item.shape, item.nnz)).encode(), *(array.tobytes() for array in arrays)]


def write_embedding(file: Path, embedding: NDArray[np.float32]) -> None:
    """Write an embedding with its checksum, atomically."""
    write_npz(file, {"embedding": embedding, "digest": np.array(_digest(embedding))})


def read_embedding(file: Path, n_nodes: int) -> NDArray[np.float32] | None:
    """Return a stored embedding (n_nodes, d), or None if there is none or it is damaged."""
    if not file.exists():
        return None
    try:
        arrays = read_npz(file)
        embedding, digest = arrays["embedding"], str(arrays["digest"])
    except (InputError, KeyError):
        return None
    sound = embedding.ndim == 2 and len(embedding) == n_nodes and embedding.dtype == np.float32
    return embedding if sound and _digest(embedding) == digest else None


def _digest(embedding: NDArray[np.float32]) -> str:
    return hashlib.sha256(embedding.tobytes()).hexdigest()
