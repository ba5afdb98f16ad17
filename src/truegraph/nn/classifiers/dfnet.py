"""DFNET-ATT (Wijesinghe & Wang, NeurIPS 2019): feedback-looped filters with attention.

Four layers, each fed with the features and all layers before it. A layer with input x and the
original features X computes, per head, H = -a(L) BN(x) W_ar + b(L) X W_ma + bias, and averages H
over neighbourhoods with attention. L is the operator, a and b the filter's polynomials: they are
applied to the narrow products, by Horner's rule with one sparse product per degree, and batch
normalisation of the sparse features is folded into the weights, so nothing is ever dense that
was not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array, eye_array

from truegraph.nn.attention import Neighbourhoods, attend
from truegraph.nn.classifiers.feedback_filter import filter_coefficients, rational_filter
from truegraph.nn.dense import add_bias, relu_dropout, row_sum, trial_matmul
from truegraph.nn.dropout import Noise, dropout_of
from truegraph.nn.graph_operators import normalised_adjacency
from truegraph.nn.optimiser import Weights
from truegraph.nn.sparse import FixedSparse, sparse_product
from truegraph.nn.training.base import Classifier, Inputs, Settings, drawn
from truegraph.nn.training.targets import Targets, cross_entropy

_MOMENTUM, _EPSILON = 0.99, 1e-3  # of batch normalisation
_TINY = 1e-7
# Standard deviation of a standard normal variable that is cut off at two standard deviations.
_CUT_NORMAL = 0.87962566103423978


@dataclass(frozen=True)
class DFNetSettings(Settings):
    """Hyperparameters that the authors publish for Cora.

    Parameters
    ----------
    weight_decay : float
        Coefficient of the sum of squares of the kernels, without the usual half.
    units : tuple of int
        Width of each layer's heads.
    heads : int
    dropout, attention_dropout : float
        On each layer's output, and on the attention coefficients.
    legacy_class_weights : bool
        Weight the classes as the authors' code does, where a slip gives every class the weight
        of the one before it and the first class next to none.
    """

    learning_rate: float = 0.002
    weight_decay: float = 9e-4
    units: tuple[int, ...] = (8, 16, 32, 64)
    heads: int = 4
    dropout: float = 0.9
    attention_dropout: float = 0.5
    legacy_class_weights: bool = False


class Moments(NamedTuple):
    """Mean and variance of the columns of a layer's input, each (T or 1, width)."""

    mean: torch.Tensor
    variance: torch.Tensor


class DFNet(Classifier):
    """Weights of layer k, with in columns coming in and K heads of u units.

    ``ar`` (T, in, K u) and ``ma`` (T, F, K u) with the heads side by side, ``bias`` (T, K u),
    ``scores`` (T, K, 2 u), ``score_bias`` (T, K), ``gamma`` and ``beta`` (T, in), and the running
    ``mean`` and ``variance`` (T, in), which no gradient trains.
    """

    name = "dfnet-att"
    settings_type = DFNetSettings
    group_size = 2

    @staticmethod
    def operator(adjacency: Any) -> csr_array:
        """Return L - I = -D^(-1/2) (A_norm + I) D^(-1/2), A_norm already having self-loops."""
        once = normalised_adjacency(adjacency)
        middle = csr_array(once + eye_array(once.shape[0], format="csr"))
        root = 1.0 / np.sqrt(middle.sum(axis=1))
        return csr_array(-(middle.multiply(root[:, None]).multiply(root[None, :])))

    def initial(self, seeds: np.ndarray) -> Weights:
        """Return Glorot normal weights; gamma and the variances start at one, the rest at zero."""
        weights: Weights = {}
        width = self.features
        for k, units in enumerate(self.settings.units):
            weights |= {f"{n}_{k}": w for n, w in self._layer(seeds, 8 * k, width, units).items()}
            width += self.settings.heads * units
        tag, classes = 8 * len(self.settings.units), self.classes
        weights["last"] = _glorot_normal(seeds, tag, (width, classes), width + classes)
        weights["last_bias"] = _glorot_normal(seeds, tag + 1, (classes,), 2 * classes**0.5)
        return weights

    def _layer(self, seeds: np.ndarray, tag: int, width: int, units: int) -> Weights:
        trials, heads = len(seeds), self.settings.heads
        shapes: dict[str, tuple[tuple[int, ...], float]] = {
            "ar": ((width, heads * units), width + units),
            "ma": ((self.features, heads * units), self.features + units),
            "bias": ((heads * units,), 2 * units**0.5),
            "scores": ((heads, 2 * units), 2 * units + 1),
            "score_bias": ((heads,), 2.0),
        }
        return {
            **{n: _glorot_normal(seeds, tag + j, *shapes[n]) for j, n in enumerate(shapes)},
            "gamma": torch.ones(trials, width),
            "beta": torch.zeros(trials, width),
            "mean": torch.zeros(trials, width),
            "variance": torch.ones(trials, width),
        }

    def decay(self) -> dict[str, float]:
        """Return twice the coefficient on every kernel: Keras has no half in its L2."""
        layers = range(len(self.settings.units))
        kernels = [f"{name}_{k}" for k in layers for name in ("ar", "ma", "scores")]
        return {**dict.fromkeys(kernels, 2 * self.settings.weight_decay), "last": 2e-10}

    def constrain(self, weights: Weights) -> None:
        """Give every kernel column and every bias vector the length one."""
        vectors = [weights["last_bias"]]
        columns = [weights["last"]]
        for k in range(len(self.settings.units)):
            columns += [weights[f"ar_{k}"], weights[f"ma_{k}"]]
            per_head = [weights[f"{name}_{k}"] for name in ("bias", "scores", "score_bias")]
            vectors += [v.view(len(v) * self.settings.heads, -1) for v in per_head]
        for tensor in (*columns, *(vector[:, :, None] for vector in vectors)):
            length = row_sum(tensor * tensor).sqrt()[:, None, :]
            tensor.div_(length + _TINY)

    def forward(self, weights: Weights, inputs: Inputs, noise: Noise | None) -> torch.Tensor:
        """Return the logits (T, N, C), normalised with the running moments."""
        layers = range(len(self.settings.units))
        moments = [Moments(weights[f"mean_{k}"], weights[f"variance_{k}"]) for k in layers]
        return self._network(weights, inputs, noise, moments)

    def prepare(self, inputs: Inputs, targets: Targets) -> tuple[Moments, Targets]:
        """Return the moments of the features, and the targets with their class weights."""
        matrix = inputs.features.to_scipy().astype(np.float64)
        mean = matrix.sum(axis=0) / matrix.shape[0]
        square = matrix.power(2).sum(axis=0) / matrix.shape[0]
        pair = [torch.from_numpy(x[None].astype(np.float32)) for x in (mean, square - mean**2)]
        if self.settings.legacy_class_weights:
            targets = _with_shifted_weights(targets, matrix.shape[0], self.classes)
        return Moments(*pair), targets

    def loss(
        self, weights: Weights, inputs: Inputs, prepared: tuple[Moments, Targets], noise: Noise
    ) -> tuple[torch.Tensor, Weights]:
        """Return the cross-entropy (T,) under batch moments, and the running moments after."""
        of_features, targets = prepared
        place = weights["last"].device
        start = Moments(*(m.to(place).expand(len(weights["last"]), -1) for m in of_features))
        moments = [start]
        losses = cross_entropy(self._network(weights, inputs, noise, moments), targets)
        # a running average without the weight of its start, as Keras computed it then
        rate = (1 - _MOMENTUM) / (1 - _MOMENTUM ** (noise.step + 1))
        updates: Weights = {}
        for k in range(len(self.settings.units)):
            for name, batch in zip(("mean", "variance"), moments[k], strict=True):
                old = weights[f"{name}_{k}"].detach()
                updates[f"{name}_{k}"] = old + rate * (batch.detach() - old)
        return losses, updates

    def _network(
        self, weights: Weights, inputs: Inputs, noise: Noise | None, moments: list[Moments]
    ) -> torch.Tensor:
        """Run the layers; where ``moments`` ends, append those of the batch as they come."""
        near = _neighbourhoods(inputs.operator)
        grown: torch.Tensor | None = None
        for k in range(len(self.settings.units)):
            own = {n[: n.rindex("_")]: w for n, w in weights.items() if n.endswith(f"_{k}")}
            out = self._dense_layer(own, inputs, grown, moments[k], near, noise, k)
            grown = out if grown is None else torch.cat([grown, out], dim=2)
            if k + 1 == len(moments):
                moments.append(_joined(moments[k], _batch_moments(out)))
        logits = _project(inputs.features, grown, weights["last"])
        return add_bias(logits, weights["last_bias"])

    def _dense_layer(
        self,
        own: Weights,
        inputs: Inputs,
        grown: torch.Tensor | None,
        moments: Moments,
        near: Neighbourhoods,
        noise: Noise | None,
        k: int,
    ) -> torch.Tensor:
        scale = own["gamma"] / torch.sqrt(moments.variance + _EPSILON)
        shift = own["beta"] - moments.mean * scale
        fed_back = _project(inputs.features, grown, scale[:, :, None] * own["ar"])
        fed_back = add_bias(fed_back, trial_matmul(shift[:, None, :], own["ar"])[:, 0])
        fed_forward = sparse_product(inputs.features, own["ma"])
        filtered = rational_filter(inputs.operator, fed_forward, fed_back, filter_coefficients())
        heads = self._attention(own, add_bias(filtered, own["bias"]), near, noise, k)
        return relu_dropout(heads, dropout_of(noise, self.settings.dropout, 2 * k))

    def _attention(
        self, own: Weights, wide: torch.Tensor, near: Neighbourhoods, noise: Noise | None, k: int
    ) -> torch.Tensor:
        trials, nodes, heads = len(wide), wide.shape[1], self.settings.heads
        values = wide.view(trials, nodes, heads, -1).transpose(1, 2).flatten(0, 1)
        vectors = own["scores"].view(trials * heads, 2, -1).transpose(1, 2)
        bias = own["score_bias"].reshape(-1, 1)
        scores = add_bias(
            trial_matmul(values, vectors), torch.cat([bias, torch.zeros_like(bias)], dim=1)
        )
        dropout = dropout_of(noise, self.settings.attention_dropout, 2 * k + 1, heads)
        averaged = attend(near, values, scores, None, dropout)
        return averaged.unflatten(0, (trials, heads)).transpose(1, 2).flatten(2)


def _neighbourhoods(operator: FixedSparse) -> Neighbourhoods:
    return Neighbourhoods(operator, np.tile(np.arange(operator.shape[0]), (operator.count, 1)))


def _project(
    features: FixedSparse, grown: torch.Tensor | None, kernel: torch.Tensor
) -> torch.Tensor:
    """Multiply [features, grown] with a kernel (T, in, width)."""
    width = features.shape[1]
    projected = sparse_product(features, kernel[:, :width])
    return projected if grown is None else projected + trial_matmul(grown, kernel[:, width:])


def _batch_moments(tensor: torch.Tensor) -> Moments:
    count = tensor.shape[1]
    mean = row_sum(tensor) / count
    return Moments(mean, row_sum((tensor - mean[:, None]) ** 2) / count)


def _joined(first: Moments, second: Moments) -> Moments:
    return Moments(*(torch.cat(pair, dim=1) for pair in zip(first, second, strict=True)))


def _glorot_normal(
    seeds: np.ndarray, layer: int, shape: tuple[int, ...], fans: float
) -> torch.Tensor:
    """Return normal weights, cut off at two standard deviations, of variance 2 / fans."""
    deviation = np.sqrt(2.0 / fans) / _CUT_NORMAL

    def draw(generator: np.random.Generator) -> np.ndarray:
        values = generator.normal(size=shape)
        while (far := np.abs(values) > 2.0).any():
            values[far] = generator.normal(size=int(far.sum()))
        return deviation * values

    return drawn(seeds, layer, draw)


def _with_shifted_weights(targets: Targets, nodes: int, classes: int) -> Targets:
    """Return the targets with "balanced" weights that are off by one class."""
    trial = np.repeat(np.arange(targets.trials), np.diff(targets.offsets))
    counts = np.zeros((targets.trials, classes + 1))
    np.add.at(counts, (trial, targets.classes + 1), 1)
    counts[:, 0] = nodes - counts.sum(axis=1)  # the unlabelled nodes are class zero there
    balanced = nodes / ((classes + 1) * np.maximum(counts, 1))
    weights = targets.weights * balanced[trial, targets.classes]
    return replace(targets, weights=weights.astype(np.float32))
