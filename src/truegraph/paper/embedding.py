"""Embeddings of nodes: by a trained VGAE, or by an SVD without training; and those kept on disk."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.data.operators import normalise_features, normalised_adjacency, without_diagonal
from truegraph.data.storage import PathLike, read_npz, write_npz
from truegraph.errors import InputError
from truegraph.fit_log import FitLog
from truegraph.options import checked_options
from truegraph.progress import Progress
from truegraph.runtime.locking import file_lock
from truegraph.runtime.threads import one_blas_thread

DIMENSION = 64  # of the SVD
_STEPS = 2  # of averaging over neighbourhoods
_SPARE, _ITERATIONS = 16, 4  # columns beside the wanted ones, and rounds, of the SVD's iteration
_LONGEST = 100.0  # root mean square length of the rows that a VGAE is trained on

Matrix = NDArray[np.float64]


def embed_nodes(task: Any, options: Any, log: FitLog) -> NDArray[Any]:
    """Return an embedding (N, d) of the nodes of a task by their raw features and graph.

    `options` has "embedding" ("vgae", "svd" or an array), "embedding_options" and "embedding_seed".
    Of processes that need the same VGAE, one computes it and the others read it from the cache.
    """
    features, graph, nodes = task.raw, task.graph, task.graph.shape[0]
    if not isinstance(options.embedding, str):
        return gate.table("embedding", options.embedding, shape=(nodes, None))
    with log.stage("embedding"):
        if options.embedding == "svd":
            how = checked_options({"dimension": DIMENSION}, options.embedding_options)
            return svd_embedding(features, graph, dimension=how["dimension"])
        seed = task.seed if options.embedding_seed is None else options.embedding_seed
        where = None if task.cache is None else task.cache / f"embedding-{nodes}-{seed}.lock"
        with nullcontext() if where is None else file_lock(where):
            return vgae_embedding(
                _bounded(features),
                graph,
                seed=seed,
                options=options.embedding_options,
                device=task.device,
                cache=task.cache,
                progress=log.progress,
            )


def _bounded(features: csr_array) -> csr_array:
    """Return features (N, F) whose rows are not longer than training bears, on average.

    Pixels from 0 to 255, for instance, let the first step of the auto-encoder overflow.
    """
    length = float(np.sqrt(features.multiply(features).sum() / max(features.shape[0], 1)))
    return features if length <= _LONGEST else csr_array(features * (_LONGEST / length))


def vgae_embedding(
    features: csr_array,
    graph: csr_array,
    *,
    seed: int,
    options: Mapping[str, Any] | None = None,
    device: str = "cpu",
    cache: PathLike | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """Return the posterior mean (N, dimension) of a VGAE trained on features (N, F) and a graph.

    The encoder uses the weights of the graph (N, N), the decoder learns which pairs are linked. The
    same seed gives the same bits on a CPU. A stored embedding in the folder `cache` is used if it
    was made from the same data, options, seed and version and is undamaged.
    """
    import torch

    from truegraph.paper.networks.gae import VGAE, train
    from truegraph.paper.step import one_thread, stream

    chosen = checked_options(VGAE.DEFAULTS, options)
    rows, links = csr_array(features).astype(np.float32), without_diagonal(graph)
    file = None
    if cache is not None:
        run = {**chosen, "seed": seed, "device": torch.device(device).type}
        file = embedding_file(cache, "vgae", [rows, links], run)
        stored = read_embedding(file, rows.shape[0])
        if stored is not None:
            return stored
    target = links.copy()
    target.data[:] = 1.0
    with one_thread():
        own = SimpleNamespace(**chosen)
        model = VGAE(rows, links, own, stream(seed, 0), target=target, device=device)
        train(model, stream(seed, 1, device), progress=progress)
        with torch.no_grad():
            embedding: NDArray[np.float32] = model.embedding().contiguous().cpu().numpy()
    if file is not None:
        write_npz(file, {"embedding": embedding})
    return embedding


def svd_embedding(
    features: Any, graph: Any, *, dimension: int = DIMENSION, seed: int = 0
) -> Matrix:
    """Return an embedding (N, min(dimension, N, F)) by truncated SVD of spread features.

    The features (N, F) at unit length are averaged twice over neighbourhoods, M = A_n^2 X with A_n
    the normalised adjacency of the graph (N, N), and the nodes get their coordinates in the leading
    right singular vectors of M, at unit length; zero where neither a node nor those around it have
    features. M is never formed: block power iteration (Halko, Martinsson and Tropp, 2011) takes
    products with A_n and X only.
    """
    X = normalise_features(features, by="length").astype(np.float64)
    A, Xt = normalised_adjacency(graph), csr_array(X.T)
    wanted, columns = (min(size, *X.shape) for size in (dimension, dimension + _SPARE))

    def spread(block: Matrix) -> Matrix:
        for _ in range(_STEPS):
            block = A @ block
        return block

    with one_blas_thread():  # sums of several threads would come in another order
        right = np.random.default_rng(seed).normal(size=(X.shape[1], columns))
        for _ in range(_ITERATIONS):
            right = np.linalg.qr(Xt @ spread(spread(X @ right)))[0]
        left = spread(X @ right)
        vectors = np.linalg.eigh(left.T @ left)[1]
        coordinates: Matrix = left @ vectors[:, : -wanted - 1 : -1]
    lengths = np.linalg.norm(coordinates, axis=1, keepdims=True)
    return np.divide(coordinates, lengths, out=np.zeros_like(coordinates), where=lengths > 0.0)


def embedding_file(folder: PathLike, name: str, data: list[Any], run: Mapping[str, Any]) -> Path:
    """Return the file of an embedding: its name changes with every bit that it depends on."""
    parts = [_plain(item) for item in data]
    key = joblib.hash([version("truegraph"), dict(run), parts], hash_name="sha1")
    return Path(folder) / f"{name}-{key}.npz"


def _plain(item: Any) -> Any:
    """Return the arrays of a matrix, whose other attributes are chance; others as they are."""
    if isinstance(item, np.ndarray):
        return item
    rows = csr_array(item)
    return rows.shape, rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)


def read_embedding(file: Path, n_nodes: int) -> NDArray[np.float32] | None:
    """Return a stored embedding (n_nodes, d), or None if there is none or it is damaged."""
    if not file.exists():
        return None
    try:
        embedding = read_npz(file)["embedding"]
    except (InputError, KeyError):
        return None
    sound = embedding.ndim == 2 and len(embedding) == n_nodes and embedding.dtype == np.float32
    return embedding if sound else None
