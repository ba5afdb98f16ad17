r"""The variational graph auto-encoder (Kipf and Welling, 2016) and its embedding of the nodes.

With the normalised adjacency \tilde A, no biases and Glorot uniform weights,

    H = relu(\tilde A X W_0),   mean = \tilde A H W_1,   log std = \tilde A H W_2,
    z = mean + noise * std,     logits = z z',

and the loss is the reconstruction of A + I over all N^2 pairs (`ReconstructionLoss`) plus

    KL = (0.5 / N) mean_i sum_d [ mean^2 + std^2 - 1 - 2 log std ],

which is divided by N twice, as in the authors' own code: it is nearly switched off. Every epoch
is one Adam step on the whole graph with one draw of the noise. The embedding is the mean.

Cost per epoch O(N^2 d) time and O(N d) memory beside the features.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from truegraph.data.storage import PathLike, read_npz, write_npz
from truegraph.errors import InputError
from truegraph.nn.dense import row_sum, trial_matmul
from truegraph.nn.graphs import normalise_features, normalised_adjacency, without_diagonal
from truegraph.nn.model import Inputs, glorot_uniform
from truegraph.nn.optimiser import AdamState, Weights, adam_step
from truegraph.nn.reconstruction import ReconstructionLoss
from truegraph.nn.sparse import FixedSparse, sparse_product
from truegraph.nn.training import TrainingError
from truegraph.progress import Progress


@dataclass(frozen=True)
class VGAESettings:
    """Hyperparameters of Kipf and Welling.

    Parameters
    ----------
    hidden : int
        Width of the first layer.
    dimension : int
        Dimension d of the embedding.
    learning_rate : float
        Step of Adam.
    epochs : int
        Full-batch epochs; there is no early stopping.
    """

    hidden: int = 32
    dimension: int = 16
    learning_rate: float = 0.01
    epochs: int = 200


class AutoEncoder(Protocol):
    """What `train_autoencoder` needs to know of a model."""

    name: str

    def initial(self, seed: int) -> Weights:
        """Return the weights before training, each (1, ...)."""

    def loss(self, weights: Weights, generator: torch.Generator) -> torch.Tensor:
        """Return the loss of one epoch as a scalar, with noise from a CPU generator."""


class VGAE:
    """A graph with its features, seen by the variational auto-encoder.

    Parameters
    ----------
    inputs : Inputs
        Features (N, F) and the normalised adjacency (N, N).
    reconstruction : ReconstructionLoss
        The loss of the decoder; its target may differ from the graph of `inputs`.
    settings : VGAESettings
    """

    name = "vgae"

    def __init__(
        self, inputs: Inputs, reconstruction: ReconstructionLoss, settings: VGAESettings
    ) -> None:
        self.inputs = inputs
        self.reconstruction = reconstruction
        self.settings = settings

    def initial(self, seed: int) -> Weights:
        """Return Glorot uniform weights."""
        seeds = np.array([seed], dtype=np.uint64)
        hidden, dimension = self.settings.hidden, self.settings.dimension
        return {
            "first": glorot_uniform(seeds, 0, self.inputs.features.shape[1], hidden),
            "mean": glorot_uniform(seeds, 1, hidden, dimension),
            "log_std": glorot_uniform(seeds, 2, hidden, dimension),
        }

    def encode(self, weights: Weights) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the posterior's mean and log standard deviation, (N, d) each."""
        features, operator = self.inputs
        hidden = torch.relu(sparse_product(operator, sparse_product(features, weights["first"])))
        heads = torch.cat([weights["mean"], weights["log_std"]], dim=2)
        both = trial_matmul(sparse_product(operator, hidden), heads)[0]
        mean, log_std = both.split(self.settings.dimension, dim=1)
        return mean, log_std

    def loss(self, weights: Weights, generator: torch.Generator) -> torch.Tensor:
        """Return the reconstruction loss of one draw of z, plus the divergence."""
        mean, log_std = self.encode(weights)
        std = log_std.exp()
        noise = torch.randn(mean.shape, generator=generator).to(mean.device)
        return self.reconstruction(mean + noise * std) + divergence(mean, log_std, std)


def divergence(mean: torch.Tensor, log_std: torch.Tensor, std: torch.Tensor) -> torch.Tensor:
    """Return KL(q(z) || N(0, I)) summed over dimensions, averaged over nodes, divided by N."""
    terms = mean * mean + std * std - 1.0 - 2.0 * log_std
    return 0.5 * row_sum(terms[None]).sum() / mean.shape[0] ** 2


def train_autoencoder(
    model: AutoEncoder,
    *,
    random_state: int,
    epochs: int,
    learning_rate: float,
    device: str = "cpu",
    progress: Progress | None = None,
) -> tuple[Weights, list[float]]:
    """Train an auto-encoder on its whole graph with Adam.

    Parameters
    ----------
    model : AutoEncoder
    random_state : int
        Seed of the first weights and of the noise.
    epochs : int
    learning_rate : float
    device : str, default="cpu"
        Anything that torch knows.
    progress : Progress or None
        Told after each epoch.

    Returns
    -------
    weights : dict of str to tensor, each (1, ...)
    history : list of float
        The loss of every epoch, before its step.

    Raises
    ------
    TrainingError
        If a loss is not finite; the message names the model and the epoch.
    """
    if random_state < 0:
        raise InputError(f"random_state is {random_state}. Give an integer >= 0.")
    state = AdamState.start({n: w.to(device) for n, w in model.initial(random_state).items()})
    spare = state.select(slice(None))
    generator = torch.Generator().manual_seed(int(random_state))
    history: list[float] = []
    with _one_torch_thread():
        for epoch in range(epochs):
            loss, gradients = _loss_and_gradients(model, state.weights, generator)
            if not np.isfinite(loss):
                raise TrainingError(
                    f"loss of {model.name} is {loss} in epoch {epoch}. "
                    "Lower learning_rate or check the features for huge values."
                )
            history.append(loss)
            state, spare = adam_step(state, gradients, {}, learning_rate, spare), state
            if progress is not None:
                progress.update(epoch + 1, epochs, f"loss {loss:.4f}")
    return state.weights, history


def _loss_and_gradients(
    model: AutoEncoder, weights: Weights, generator: torch.Generator
) -> tuple[float, Weights]:
    leaves = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
    loss = model.loss(leaves, generator)
    gradients = torch.autograd.grad(loss, list(leaves.values()))
    return loss.item(), dict(zip(leaves, gradients, strict=True))


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    """Keep torch's own operations, all of them short here, on one thread.

    Its threads spin while they wait for each other: on a busy machine an epoch would take ten
    times as long. What is worth sharing, the reconstruction loss, has threads of its own.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def embed_vgae(
    features: NDArray[Any] | sparse.csr_array,
    graph: sparse.csr_array,
    *,
    random_state: int,
    epochs: int = 200,
    hidden: int = 32,
    dimension: int = 16,
    normalize_features: bool = False,
    device: str = "cpu",
    progress: Progress | None = None,
    cache: PathLike | None = None,
) -> NDArray[np.float32]:
    """Embed the nodes of a graph: the posterior mean of a trained VGAE.

    Parameters
    ----------
    features : array or sparse matrix, shape (N, F)
    graph : sparse matrix, shape (N, N)
        Symmetric adjacency with weights >= 0; the diagonal is ignored. The encoder uses the
        weights, the decoder learns which pairs are linked.
    random_state : int
        Seed; on the CPU the same seed gives the same bits for any number of threads.
    epochs, hidden, dimension : int
        See `VGAESettings`.
    normalize_features : bool, default=False
        Divide every row of the features by its sum first.
    device : str, default="cpu"
        Anything that torch knows.
    progress : Progress or None
        Told after each epoch.
    cache : path-like or None
        Folder of embeddings computed before. A stored one is used if it was made from the same
        data, settings, seed and version and is undamaged.

    Returns
    -------
    embedding : ndarray of float32, shape (N, dimension)
    """
    settings = VGAESettings(hidden=hidden, dimension=dimension, epochs=epochs)
    rows, links = _checked(features, graph)
    if normalize_features:
        rows = normalise_features(rows)
    file = None
    if cache is not None:
        run = {**asdict(settings), "seed": random_state, "device": torch.device(device).type}
        file = Path(cache) / f"vgae-{_fingerprint(rows, links, run)}.npz"
        stored = _read_embedding(file, (rows.shape[0], dimension))
        if stored is not None:
            return stored
    model = _model(rows, links, settings)
    weights, _ = train_autoencoder(
        model,
        random_state=random_state,
        epochs=epochs,
        learning_rate=settings.learning_rate,
        device=device,
        progress=progress,
    )
    with torch.no_grad():
        embedding: NDArray[np.float32] = model.encode(weights)[0].contiguous().cpu().numpy()
    if file is not None:
        write_npz(file, {"embedding": embedding, "digest": np.array(_digest(embedding))})
    return embedding


def _model(rows: sparse.csr_array, links: sparse.csr_array, settings: VGAESettings) -> VGAE:
    pattern = links.copy()
    pattern.data[:] = 1.0
    inputs = Inputs(FixedSparse(rows), FixedSparse(normalised_adjacency(links)))
    return VGAE(inputs, ReconstructionLoss.from_graph(pattern), settings)


def _checked(features: Any, graph: Any) -> tuple[sparse.csr_array, sparse.csr_array]:
    rows = sparse.csr_array(features, copy=True).astype(np.float32)
    rows.sum_duplicates()
    links = without_diagonal(graph)
    links.sum_duplicates()
    if links.shape != (rows.shape[0], rows.shape[0]):
        raise InputError(
            f"features have shape {rows.shape} and graph {links.shape}. "
            "Give one row of features per node of the graph."
        )
    if not np.isfinite(rows.data).all():
        raise InputError("features hold NaN or infinite values. Fill or drop them first.")
    if not (np.isfinite(links.data) & (links.data > 0.0)).all():
        raise InputError("graph has negative or infinite weights. Give weights >= 0.")
    return rows, links


# --- the cache ---------------------------------------------------------------------------------


def _fingerprint(rows: sparse.csr_array, links: sparse.csr_array, run: dict[str, Any]) -> str:
    """Return a name that changes with every bit of data, setting, seed or version."""
    key = hashlib.sha256(
        json.dumps([version("truegraph"), run], sort_keys=True, default=int).encode()
    )
    for matrix in (rows, links):
        key.update(repr((matrix.shape, matrix.nnz)).encode())
        for part in (matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)):
            key.update(part.tobytes())
    return key.hexdigest()


def _digest(embedding: NDArray[np.float32]) -> str:
    return hashlib.sha256(embedding.tobytes()).hexdigest()


def _read_embedding(file: Path, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    """Return a stored embedding, or None if there is none or it is damaged."""
    if not file.exists():
        return None
    try:
        arrays = read_npz(file)
        embedding, digest = arrays["embedding"], str(arrays["digest"])
    except (InputError, KeyError):
        return None
    sound = embedding.shape == shape and embedding.dtype == np.float32
    return embedding if sound and _digest(embedding) == digest else None
