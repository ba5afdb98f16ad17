r"""The graph auto-encoder GAE and its variational form VGAE (Kipf and Welling, 2016).

With the normalised adjacency \tilde A, no biases and Glorot uniform weights,

    H = relu(\tilde A X W_0),   z = \tilde A H W_1,   logits = z z',

and the loss is the reconstruction of A + I over all N^2 pairs (`PairLoss`). VGAE has two heads,

    mean = \tilde A H W_1,   log std = \tilde A H W_2,   z = mean + noise * std,

and its loss adds KL(q(z) || N(0, I)) / N averaged over nodes: divided by N twice, as in the
authors' code, it is nearly switched off. An epoch costs O(N^2 d) time and O(N d) memory beside the
features.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
from scipy.sparse import csr_array

from truegraph.data.operators import normalised_adjacency
from truegraph.paper.networks.pair_loss import PairLoss
from truegraph.paper.networks.sparse import Noise, SparseMatrix, dropped, glorot_uniform
from truegraph.paper.step import Adam, check_finite
from truegraph.progress import Progress

_TOLD = 20  # epochs of which one tells its loss


class GAE(torch.nn.Module):
    """GAE of features (N, F) and a graph (N, N): symmetric, weights > 0, no diagonal.

    `options` has the names of `DEFAULTS`, the authors' hyperparameters, and `generator` draws the
    first weights on the CPU. The decoder reconstructs `target` (N, N), by default the graph, but
    for the ordered pairs in `masked` (N, N).
    """

    name: ClassVar[str] = "gae"
    DEFAULTS: ClassVar[dict[str, Any]] = {
        "hidden": 32,
        "dimension": 16,
        "learning_rate": 0.01,
        "epochs": 200,
        "dropout": 0.0,
    }
    has_posterior: ClassVar[bool] = False
    chooses_epoch: ClassVar[bool] = False  # keeps the epoch that is best on validation links
    masks_hidden: ClassVar[bool] = False  # leaves hidden pairs out; else they are non-links

    def __init__(
        self,
        features: csr_array,
        graph: csr_array,
        options: SimpleNamespace,
        generator: torch.Generator,
        *,
        target: csr_array | None = None,
        masked: csr_array | None = None,
        device: str = "cpu",
    ) -> None:
        super().__init__()
        self.options, self.X = options, SparseMatrix(features, device)
        self.A = SparseMatrix(normalised_adjacency(graph), device)
        self.reconstruction = PairLoss(graph if target is None else target, masked, device)
        self.start(generator)
        self.to(device)

    def start(self, generator: torch.Generator) -> None:
        """Make the weights."""
        hidden, dimension = self.options.hidden, self.options.dimension
        self.W_0 = glorot_uniform(generator, self.X.shape[1], hidden)
        self.W_1 = glorot_uniform(generator, hidden, dimension)

    def hidden(self, noise: Noise = None) -> torch.Tensor:
        r"""Return \tilde A H, (N, hidden)."""
        rate = self.options.dropout
        H = torch.relu(self.A.times(self.X.times(self.W_0, rate, noise)))
        return self.A.times(dropped(H, rate, noise))

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        """Return the vectors (N, m) whose inner products are the logits: here z itself."""
        return z

    def loss(self, noise: torch.Generator) -> torch.Tensor:
        """Return the loss of one epoch as a scalar."""
        return self.reconstruction(self.decode(self.hidden(noise) @ self.W_1))

    def embedding(self) -> torch.Tensor:
        """Return the posterior mean E_q[z] of every node, (N, d)."""
        return self.hidden() @ self.W_1

    def vectors(self) -> torch.Tensor:
        """Return what the decoder makes of the posterior mean, (N, m)."""
        return self.decode(self.embedding())

    def draw(self, noise: torch.Generator) -> torch.Tensor:
        """Return what the decoder makes of one draw of z, (N, m): here there is only one."""
        return self.vectors()


class Variational(GAE):
    """An encoder with a posterior over embeddings."""

    has_posterior: ClassVar[bool] = True

    def start(self, generator: torch.Generator) -> None:
        super().start(generator)
        self.W_2 = glorot_uniform(generator, self.options.hidden, self.options.dimension)

    def posterior(self, noise: Noise = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the posterior's mean and log standard deviation, (N, d) each."""
        AH = self.hidden(noise)
        return AH @ self.W_1, AH @ self.W_2

    def loss(self, noise: torch.Generator) -> torch.Tensor:
        mean, log_std = self.posterior(noise)
        z = mean + normal(mean, noise) * log_std.exp()
        return self.reconstruction(self.decode(z)) + divergence(mean, log_std)

    def draw(self, noise: torch.Generator) -> torch.Tensor:
        mean, log_std = self.posterior()
        return self.decode(mean + normal(mean, noise) * log_std.exp())


class VGAE(Variational):
    """VGAE; parameters as in `GAE`."""

    name: ClassVar[str] = "vgae"


def normal(like: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
    """Return standard normal noise of a tensor's shape on its device."""
    drawn = torch.randn(like.shape, generator=noise, dtype=like.dtype, device=noise.device)
    return drawn.to(like.device)


def divergence(mean: torch.Tensor, log_std: torch.Tensor) -> torch.Tensor:
    """Return KL(q(z) || N(0, I)) summed over dimensions, averaged over nodes, divided by N."""
    terms = mean**2 + (2.0 * log_std).exp() - 1.0 - 2.0 * log_std
    return 0.5 * terms.sum() / mean.shape[0] ** 2


def train(
    model: GAE,
    noise: torch.Generator,
    *,
    rating: Callable[[], float] | None = None,
    progress: Progress | None = None,
) -> None:
    """Train an auto-encoder in place, one step of Adam on the whole graph per epoch.

    It ends with the weights that `rating` rates highest, the first of equals; without a rating,
    with the last ones.
    """
    rate, epochs = model.options.learning_rate, model.options.epochs
    adam = Adam(dict(model.named_parameters()), rate)
    best, kept = float("-inf"), None
    for epoch in range(epochs):
        model.reconstruction.has_value = tells = epoch % _TOLD == 0 or epoch + 1 == epochs
        loss = model.loss(noise)
        adam.step(loss)
        if rating is not None and (found := rating()) > best:
            best = found
            kept = {name: weight.clone() for name, weight in model.state_dict().items()}
        if progress is not None:
            progress.update(epoch + 1, epochs, f"loss {loss.item():.4f}" if tells else "")
    check_finite(loss, model.name)
    if kept is not None:
        model.load_state_dict(kept)
