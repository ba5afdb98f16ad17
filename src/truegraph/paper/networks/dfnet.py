"""DFNET-ATT (Wijesinghe and Wang, NeurIPS 2019): feedback-looped filters with attention.

Four layers, each fed with the features and all layers before it. A layer with input x and the
original features X computes, per head, H = -a(L) BN(x) W_ar + b(L) X W_ma + bias, and averages H
over neighbourhoods with attention. The filter's polynomials a and b of the operator L are applied
to the narrow products by Horner's rule, and batch normalisation of the sparse features is folded
into the weights, so that no sparse matrix becomes dense.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from truegraph.data.operators import normalised_adjacency
from truegraph.paper.networks.base import NodeNetwork
from truegraph.paper.networks.gat import attend
from truegraph.paper.networks.sparse import Noise, SparseMatrix, dropped

_MOMENTUM, _EPSILON = 0.99, 1e-3  # of batch normalisation
_TINY = 1e-7
# Standard deviation of a standard normal variable that is cut off at two standard deviations.
_CUT_NORMAL = 0.87962566103423978

# The authors' filter h(mu) = b(mu) / (1 + a(mu)), from b_0 and a_1 on: fitted to a step at 1/2 on
# [0, 2] by least squares on b - (1 + a) step, subject to |a(mu) / mu| <= 0.9, which keeps the
# recursion stable. Their grid is [0, 2], although the operator is the Laplacian minus the identity.
NUMERATOR = (0.015472, -0.619078, 2.485985, -0.752527)
DENOMINATOR = (0.842184, -9.329317, 15.815013, -8.950443, 1.691246)

Moments = tuple[torch.Tensor, torch.Tensor]  # mean and variance of columns
# A batch of this network is the whole graph: L, the features and their moments, the nodes asked for
Whole = tuple[SparseMatrix, SparseMatrix, Moments, torch.Tensor | slice]


class DFNet(NodeNetwork):
    """Dense layers of filtered features, averaged by attention.

    A layer has, with `in` columns coming in and K heads of u units: ``ar`` (in, K u) and ``ma``
    (F, K u) with the heads side by side, ``bias`` (K, u), the vectors ``scores`` (K, 2, u) of
    attention with ``score_bias`` (K, 1), and ``gamma`` and ``beta`` (in,) of batch normalisation
    with running ``mean`` and ``variance`` (in,). `weight_decay` is the coefficient of the sum of
    squares of the kernels, without the usual half.
    """

    name = "dfnet-att"
    layers: Any
    steps: torch.Tensor
    DEFAULTS: ClassVar[dict[str, Any]] = {
        "units": (8, 16, 32, 64),
        "heads": 4,
        "dropout": 0.9,
        "attention_dropout": 0.5,
        "learning_rate": 0.002,
        "weight_decay": 9e-4,
        "epochs": 200,
    }

    def start(self, generator: torch.Generator) -> None:
        """Make Glorot normal weights; gamma and the variances are one, beta and means zero."""
        heads, width = self.options.heads, self.features
        self.layers = torch.nn.ModuleList()
        for u in self.options.units:
            self.layers.append(_Layer(generator, self.features, width, heads, u))
            width += heads * u
        self.last = _glorot_normal(generator, width + self.classes, width, self.classes)
        self.last_bias = _glorot_normal(generator, 2 * self.classes**0.5, self.classes)
        self.register_buffer("steps", torch.zeros((), dtype=torch.float32))

    @staticmethod
    def operator(graph: csr_array) -> csr_array:
        """Return L - I = -D^(-1/2) (A_norm + I) D^(-1/2), A_norm already having self-loops."""
        once = normalised_adjacency(graph)
        middle = csr_array(once + eye_array(once.shape[0], format="csr"))
        root = 1.0 / np.sqrt(middle.sum(axis=1))
        return csr_array(-(middle.multiply(root[:, None]).multiply(root[None, :])))

    def prepare(
        self, graph: csr_array, features: csr_array, nodes: NDArray[np.int64] | None = None
    ) -> Whole:
        table = csr_array(features).astype(np.float64)
        mean = table.sum(axis=0) / table.shape[0]
        variance = table.power(2).sum(axis=0) / table.shape[0] - mean**2
        moments = [torch.from_numpy(m.astype(np.float32)).to(self.device) for m in (mean, variance)]
        chosen = slice(None) if nodes is None else torch.from_numpy(nodes).to(self.device)
        L, X = (SparseMatrix(part, self.device) for part in (self.operator(graph), features))
        return L, X, (moments[0], moments[1]), chosen

    def forward(self, inputs: Whole, noise: Noise = None) -> torch.Tensor:
        return self._logits(inputs, noise, batch=False)

    def loss(self, prepared: Any, noise: Noise) -> torch.Tensor:
        """Return the cross-entropy under the batch's moments, and let the running ones follow."""
        inputs, labels = prepared
        self.steps += 1
        return torch.nn.functional.cross_entropy(self._logits(inputs, noise, batch=True), labels)

    def _logits(self, inputs: Whole, noise: Noise, *, batch: bool) -> torch.Tensor:
        L, X, moments, nodes = inputs
        grown = X.values.new_zeros((L.shape[0], 0))
        for layer in self.layers:
            if batch:
                self._follow(layer, moments)
            used = moments if batch else (layer.mean, layer.variance)
            out = self._attended(layer, L, self._filtered(layer, L, X, grown, used), noise)
            out = dropped(torch.relu(out), self.options.dropout, noise)
            grown = torch.cat([grown, out], dim=1)
            own = out.mean(0), out.var(0, correction=0)
            moments = torch.cat([moments[0], own[0]]), torch.cat([moments[1], own[1]])
        return (_project(X, grown, self.last) + self.last_bias)[nodes]

    @torch.no_grad()
    def _follow(self, layer: Any, moments: Moments) -> None:
        """Move the running moments: an average without the weight of its start, as Keras had it."""
        rate = (1 - _MOMENTUM) / (1 - _MOMENTUM ** float(self.steps))
        layer.mean.lerp_(moments[0], rate)
        layer.variance.lerp_(moments[1], rate)

    def _filtered(
        self, layer: Any, L: SparseMatrix, X: SparseMatrix, grown: torch.Tensor, moments: Moments
    ) -> torch.Tensor:
        """Return H = -a(L) BN(x) W_ar + b(L) X W_ma + bias, (N, K, u)."""
        scale = layer.gamma / torch.sqrt(moments[1] + _EPSILON)
        shift = layer.beta - moments[0] * scale
        back = _project(X, grown, scale[:, None] * layer.ar) + shift @ layer.ar
        ahead, b, a = X.times(layer.ma), NUMERATOR, DENOMINATOR
        H = torch.zeros_like(ahead)
        for power in reversed(range(max(len(b), len(a) + 1))):  # Horner's rule
            if power < len(b):
                H = H + b[power] * ahead
            if power > 0:
                H = L.times(H - a[power - 1] * back if power <= len(a) else H)
        return H.unflatten(1, (self.options.heads, -1)) + layer.bias

    def _attended(self, layer: Any, L: SparseMatrix, H: torch.Tensor, noise: Noise) -> torch.Tensor:
        scores = torch.bmm(H.transpose(0, 1), layer.scores.transpose(1, 2)).transpose(0, 1)
        scores = torch.stack([scores[..., 0] + layer.score_bias[:, 0], scores[..., 1]], dim=2)
        own, rate = torch.arange(len(H), device=H.device), self.options.attention_dropout
        return attend(L, own, H, scores, torch.nn.functional.elu, rate, noise).flatten(1)

    def weight_decay(self) -> dict[str, float]:
        kernels, twice = ("ar", "ma", "scores"), 2 * self.options.weight_decay
        names = [name for name, _ in self.named_parameters() if name.split(".")[-1] in kernels]
        return dict.fromkeys(names, twice) | {"last": 2e-10}

    @torch.no_grad()
    def constrain(self) -> None:
        """Give every kernel column and every bias vector the length one."""
        columns = [self.last, *(w for layer in self.layers for w in (layer.ar, layer.ma))]
        vectors = [self.last_bias]
        for layer in self.layers:
            vectors += [layer.bias, layer.scores.flatten(1), layer.score_bias]
        for kernel in columns:
            kernel.div_(kernel.norm(dim=0, keepdim=True) + _TINY)
        for vector in vectors:
            vector.div_(vector.norm(dim=-1, keepdim=True) + _TINY)


class _Layer(torch.nn.Module):
    """The weights of one layer."""

    mean: torch.Tensor
    variance: torch.Tensor

    def __init__(
        self, generator: torch.Generator, features: int, width: int, heads: int, u: int
    ) -> None:
        super().__init__()
        self.ar = _glorot_normal(generator, width + u, width, heads * u)
        self.ma = _glorot_normal(generator, features + u, features, heads * u)
        self.bias = _glorot_normal(generator, 2 * u**0.5, heads, u)
        self.scores = _glorot_normal(generator, 2 * u + 1, heads, 2, u)
        self.score_bias = _glorot_normal(generator, 2.0, heads, 1)
        self.gamma = torch.nn.Parameter(torch.ones(width, dtype=torch.float32))
        self.beta = torch.nn.Parameter(torch.zeros(width, dtype=torch.float32))
        self.register_buffer("mean", torch.zeros(width, dtype=torch.float32))
        self.register_buffer("variance", torch.ones(width, dtype=torch.float32))


def _project(X: SparseMatrix, grown: torch.Tensor, kernel: torch.Tensor) -> torch.Tensor:
    """Multiply [X, grown] with a kernel (in, width)."""
    width = X.shape[1]
    return X.times(kernel[:width]) + grown @ kernel[width:]


def _glorot_normal(generator: torch.Generator, fans: float, *shape: int) -> torch.nn.Parameter:
    """Return normal weights, cut off at two standard deviations, of variance 2 / fans."""
    values = torch.empty(shape, dtype=torch.float32)
    torch.nn.init.trunc_normal_(values, generator=generator)
    return torch.nn.Parameter(values * ((2.0 / fans) ** 0.5 / _CUT_NORMAL))
