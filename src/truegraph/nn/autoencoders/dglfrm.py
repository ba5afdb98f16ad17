r"""DGLFRM (Mehta, Duke and Rai, 2019): communities from a stick-breaking prior, real strengths.

With dropout before every layer, three heads of K units and LeakyReLU of slope 0.2,

    H = leaky(\tilde A X W_0),   (mean, log std, pi) = \tilde A H (W_1, W_2, W_3),
    v ~ Kumaraswamy(c, e),  log prior = cumsum_k log v,  posterior logit = pi + logit(prior),
    y = (posterior logit + logistic noise) / temperature,  b = sigmoid(y),
    r = mean + noise * std,  z = b * r,
    g = leaky(z V_1 + a_1) V_2 + a_2,   logits = g g',   features' logits = z V_x + a_x.

Every node breaks a stick of its own. The loss is the reconstruction of A + I without the hidden
pairs, that of the features, and three divergences, each a mean over nodes divided by N again. In
prediction b is rounded and the logits are averaged over draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import torch

from truegraph.nn.autoencoders.base import AutoEncoder, LinkData, drawn_dropout
from truegraph.nn.autoencoders.feature_reconstruction import FeatureLoss
from truegraph.nn.autoencoders.vgae import divergence
from truegraph.nn.dense import add_bias, dropout_values, row_sum
from truegraph.nn.optimiser import Weights
from truegraph.nn.sparse import sparse_product
from truegraph.nn.training.base import glorot_uniform

_SLOPE = 0.2
_LEAST_UNIFORM = 1e-4  # noise is drawn from the uniform distribution without its ends
_LEAST_LOG = -36.0  # of a prior probability
_PREDICTION_SEED = 0  # draws of the prediction are fixed: the same weights, the same scores
_EMBEDDING_DRAWS = 20


@dataclass(frozen=True)
class DGLFRMSettings:
    """Hyperparameters of Mehta et al., for Cora and Citeseer.

    Parameters
    ----------
    hidden : int
        Width of the encoder's first layer.
    communities : int
        Truncation K of the stick.
    decoder_hidden, dimension : int
        Widths of the decoder's two layers.
    concentration : float
        Concentration of the prior: about the number of communities per node.
    temperature, prior_temperature : float
        Of the posterior's and the prior's binary concrete distribution.
    dropout : float
        Share dropped before every layer of the encoder.
    decode_features : bool
        Whether the features are reconstructed too; they must lie in [0, 1].
    samples : int
        Draws over which the logits of a prediction are averaged.
    learning_rate : float
        Step of Adam.
    epochs : int
        Full-batch epochs; there is no early stopping.
    """

    hidden: int = 32
    communities: int = 50
    decoder_hidden: int = 32
    dimension: int = 16
    concentration: float = 10.0
    temperature: float = 1.0
    prior_temperature: float = 0.5
    dropout: float = 0.5
    decode_features: bool = True
    samples: int = 5
    learning_rate: float = 0.01
    epochs: int = 500


class Code(NamedTuple):
    """What the encoder says about every node: each (N, K)."""

    mean: torch.Tensor
    log_std: torch.Tensor
    logit: torch.Tensor


class DGLFRM(AutoEncoder):
    """DGLFRM; parameters as in `AutoEncoder`, with `DGLFRMSettings`.

    Attributes
    ----------
    feature_loss : FeatureLoss or None
        None: features are not reconstructed.
    """

    name = "dglfrm"
    settings_type = DGLFRMSettings
    masks_hidden = True
    feature_loss: FeatureLoss | None = None

    @classmethod
    def on(cls, data: LinkData, settings: Any) -> Self:
        """Return the model of a graph with its features."""
        model = super().on(data, settings)
        if settings.decode_features:
            model.feature_loss = FeatureLoss(data.features)
        return model

    def initial(self, seed: int) -> Weights:
        """Return Glorot uniform weights, zero biases, and sticks that follow the prior."""
        seeds, s = np.array([seed], dtype=np.uint64), self.settings
        features, count = self.inputs.features.shape[1], s.communities
        weights = {
            "first": glorot_uniform(seeds, 0, features, s.hidden),
            "mean": glorot_uniform(seeds, 1, s.hidden, count),
            "log_std": glorot_uniform(seeds, 2, s.hidden, count),
            "logit": glorot_uniform(seeds, 3, s.hidden, count),
            "stick_c": torch.full((1, count), _inverse_softplus(s.concentration)),
            "stick_e": torch.full((1, count), _inverse_softplus(1.0)),
            "decoder_first": glorot_uniform(seeds, 4, count, s.decoder_hidden),
            "decoder_first_bias": torch.zeros((1, s.decoder_hidden)),
            "decoder_last": glorot_uniform(seeds, 5, s.decoder_hidden, s.dimension),
            "decoder_last_bias": torch.zeros((1, s.dimension)),
        }
        if self.feature_loss is not None:
            weights["features"] = glorot_uniform(seeds, 6, count, features)
            weights["features_bias"] = torch.zeros((1, features))
        return weights

    def encode(self, weights: Weights, generator: torch.Generator | None = None) -> Code:
        """Return mean, log standard deviation and logit; dropout only with a generator."""
        features, operator = self.inputs
        rate = self.settings.dropout
        first = sparse_product(features, weights["first"], drawn_dropout(rate, generator))
        hidden = _leaky(sparse_product(operator, first))
        heads = [
            torch.matmul(dropout_values(hidden, drawn_dropout(rate, generator)), weights[name])
            for name in Code._fields
        ]
        spread = sparse_product(operator, torch.cat(heads, dim=2))[0]
        return Code(*spread.split(self.settings.communities, dim=1))

    def decode(self, weights: Weights, z: torch.Tensor) -> torch.Tensor:
        """Return the vectors g (N, dimension) of community strengths z (N, K)."""
        first = torch.matmul(z[None], weights["decoder_first"])
        hidden = _leaky(add_bias(first, weights["decoder_first_bias"]))
        last = torch.matmul(hidden, weights["decoder_last"])
        return add_bias(last, weights["decoder_last_bias"])[0]

    def loss(self, weights: Weights, generator: torch.Generator) -> torch.Tensor:
        """Return the reconstruction losses of one draw, plus the three divergences."""
        code = self.encode(weights, generator)
        prior = self._prior_logit(weights, code, generator)
        posterior = code.logit + prior
        y = (posterior + _logistic_noise(code.mean, generator)) / self.settings.temperature
        std = code.log_std.exp()
        z = torch.sigmoid(y) * (code.mean + _normal_noise(code.mean, generator) * std)
        loss = self.reconstruction(self.decode(weights, z))
        if self.feature_loss is not None:
            loss = loss + self.feature_loss(z, weights["features"][0], weights["features_bias"][0])
        loss = loss + divergence(code.mean, code.log_std, std)
        loss = loss + self._discrete_divergence(posterior, prior, y)
        return loss + self._stick_divergence(weights)

    def _prior_logit(
        self, weights: Weights, code: Code, generator: torch.Generator
    ) -> torch.Tensor:
        """Return the logit of the prior probabilities of one draw of all sticks, (N, K)."""
        noise = _uniform_noise(code.mean, generator)
        c, e = _sticks(weights)
        log_v = torch.log1p(-torch.exp(noise.log() / e)) / c
        log_prior = torch.cumsum(log_v, dim=1).clamp(min=_LEAST_LOG)
        return log_prior - torch.log(-torch.expm1(log_prior).clamp(max=-math.exp(_LEAST_LOG)))

    def _discrete_divergence(
        self, posterior: torch.Tensor, prior: torch.Tensor, y: torch.Tensor
    ) -> torch.Tensor:
        """Return the one-sample estimate log q(y) - log p(y), averaged and divided by N."""
        s = self.settings
        terms = concrete_log_density(y, posterior, s.temperature)
        terms = terms - concrete_log_density(y, prior, s.prior_temperature)
        return row_sum(terms[None]).sum() / len(y) ** 2

    def _stick_divergence(self, weights: Weights) -> torch.Tensor:
        """Return the divergence of the sticks, the same at every node, divided by N."""
        c, e = _sticks(weights)
        total = kumaraswamy_divergence(c, e, self.settings.concentration).sum()
        return total / self.inputs.operator.shape[0]

    def embedding(self, weights: Weights) -> torch.Tensor:
        """Return E_q[z] = mean * E[b], with E[b] averaged over draws of the sticks, (N, K)."""
        code = self.encode(weights)
        generator = torch.Generator().manual_seed(_PREDICTION_SEED)
        total = torch.zeros_like(code.mean)
        for _ in range(_EMBEDDING_DRAWS):
            logit = code.logit + self._prior_logit(weights, code, generator)
            total += torch.sigmoid(logit / self.settings.temperature)
        return code.mean * total / _EMBEDDING_DRAWS

    def vectors(self, weights: Weights) -> torch.Tensor:
        """Return several draws side by side, scaled so that inner products are mean logits."""
        generator = torch.Generator().manual_seed(_PREDICTION_SEED)
        draws = [self.draw(weights, generator) for _ in range(self.settings.samples)]
        return torch.cat(draws, dim=1) / math.sqrt(self.settings.samples)

    def draw(self, weights: Weights, generator: torch.Generator) -> torch.Tensor:
        """Return the vectors of one draw of sticks, communities (rounded) and strengths."""
        code = self.encode(weights)
        logit = code.logit + self._prior_logit(weights, code, generator)
        member = (logit + _logistic_noise(logit, generator) > 0.0).to(logit.dtype)
        strength = code.mean + _normal_noise(logit, generator) * code.log_std.exp()
        return self.decode(weights, member * strength)


def kumaraswamy_divergence(c: torch.Tensor, e: torch.Tensor, concentration: float) -> torch.Tensor:
    """Return KL(Kumaraswamy(c, e) || Beta(concentration, 1)), elementwise.

    The Taylor series of Nalisnick and Smyth (2017) has the factor (second prior parameter - 1) and
    drops out.
    """
    first = (c - concentration) / c * (-np.euler_gamma - torch.digamma(e) - 1.0 / e)
    return first + torch.log(c * e / concentration) - (e - 1.0) / e


def concrete_log_density(
    y: torch.Tensor, location: torch.Tensor, temperature: float
) -> torch.Tensor:
    """Return the log density of y = (location + logistic noise) / temperature, elementwise."""
    shifted = location - temperature * y
    return shifted + math.log(temperature) - 2.0 * torch.nn.functional.softplus(shifted)


def _sticks(weights: Weights) -> tuple[torch.Tensor, torch.Tensor]:
    softplus = torch.nn.functional.softplus
    return softplus(weights["stick_c"]), softplus(weights["stick_e"])


def _inverse_softplus(value: float) -> float:
    return math.log(math.expm1(value))


def _leaky(tensor: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.leaky_relu(tensor, _SLOPE)


def _uniform_noise(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    noise = torch.rand(like.shape, generator=generator)
    return (noise * (1.0 - 2.0 * _LEAST_UNIFORM) + _LEAST_UNIFORM).to(like.device)


def _logistic_noise(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.logit(_uniform_noise(like, generator))


def _normal_noise(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.randn(like.shape, generator=generator).to(like.device)
