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
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array

from truegraph.paper.networks.gae import GAE, divergence, normal
from truegraph.paper.networks.pair_loss import FeatureLoss
from truegraph.paper.networks.sparse import Noise, dropped, glorot_uniform, zeros

_TEMPERATURE, _PRIOR_TEMPERATURE = 1.0, 0.5  # of the binary concrete distributions
_LEAST_UNIFORM = 1e-4  # noise is drawn from the uniform distribution without its ends
_LEAST_LOG = -36.0  # of a prior probability
_PREDICTION_SEED = 0  # draws of the prediction are fixed: the same weights, the same scores
_EMBEDDING_DRAWS = 20


class DGLFRM(GAE):
    """DGLFRM; parameters as in `GAE`.

    The defaults are those for Cora and Citeseer: ``communities`` is the truncation K of the stick,
    ``concentration`` that of the prior, about the number of communities per node, ``samples`` the
    draws over which the logits of a prediction are averaged. ``decode_features`` says whether the
    features, in [0, 1], are reconstructed too.
    """

    name: ClassVar[str] = "dglfrm"
    DEFAULTS: ClassVar[dict[str, Any]] = {
        "hidden": 32,
        "communities": 50,
        "decoder_hidden": 32,
        "dimension": 16,
        "concentration": 10.0,
        "dropout": 0.5,
        "decode_features": True,
        "samples": 5,
        "learning_rate": 0.01,
        "epochs": 500,
    }
    has_posterior: ClassVar[bool] = True
    masks_hidden: ClassVar[bool] = True

    def __init__(
        self,
        features: csr_array,
        graph: csr_array,
        options: SimpleNamespace,
        generator: torch.Generator,
        *,
        device: str = "cpu",
        **target: Any,
    ) -> None:
        super().__init__(features, graph, options, generator, device=device, **target)
        self.of_features = FeatureLoss(features, device) if options.decode_features else None

    def start(self, generator: torch.Generator) -> None:
        """Make Glorot uniform weights, zero biases, and sticks that follow the prior."""
        o, features = self.options, self.X.shape[1]
        self.W_0 = glorot_uniform(generator, features, o.hidden)
        self.W_1, self.W_2, self.W_3 = (
            glorot_uniform(generator, o.hidden, o.communities) for _ in range(3)
        )
        self.c, self.e = (_stick(value, o.communities) for value in (o.concentration, 1.0))
        self.V_1 = glorot_uniform(generator, o.communities, o.decoder_hidden)
        self.a_1 = zeros(o.decoder_hidden)
        self.V_2 = glorot_uniform(generator, o.decoder_hidden, o.dimension)
        self.a_2 = zeros(o.dimension)
        if o.decode_features:
            self.V_x = glorot_uniform(generator, o.communities, features)
            self.a_x = zeros(features)

    def encode(self, noise: Noise = None) -> tuple[torch.Tensor, ...]:
        """Return mean, log standard deviation and logit, (N, K); dropout only with noise."""
        rate = self.options.dropout
        H = _leaky(self.A.times(self.X.times(self.W_0, rate, noise)))
        heads = [dropped(H, rate, noise) @ W for W in (self.W_1, self.W_2, self.W_3)]
        return self.A.times(torch.cat(heads, dim=1)).split(self.options.communities, dim=1)

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        """Return the vectors g (N, dimension) of community strengths z (N, K)."""
        return _leaky(z @ self.V_1 + self.a_1) @ self.V_2 + self.a_2

    def loss(self, noise: torch.Generator) -> torch.Tensor:
        """Return the reconstruction losses of one draw, plus the three divergences."""
        o, (mean, log_std, logit) = self.options, self.encode(noise)
        prior = self.prior_logit(logit, noise)
        posterior = logit + prior
        y = (posterior + logistic(posterior, noise)) / _TEMPERATURE
        z = torch.sigmoid(y) * (mean + normal(mean, noise) * log_std.exp())
        loss = self.reconstruction(self.decode(z))
        if self.of_features is not None:
            loss = loss + self.of_features(z, self.V_x, self.a_x)
        discrete = concrete_log_density(y, posterior, _TEMPERATURE)
        discrete = discrete - concrete_log_density(y, prior, _PRIOR_TEMPERATURE)
        sticks = kumaraswamy_divergence(*self.sticks(), o.concentration)
        loss = loss + divergence(mean, log_std)
        return loss + discrete.sum() / len(y) ** 2 + sticks.sum() / len(y)

    def sticks(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the parameters c and e of the sticks, (K,) each."""
        softplus = torch.nn.functional.softplus
        return softplus(self.c), softplus(self.e)

    def prior_logit(self, like: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
        """Return the logit of the prior probabilities of one draw of all sticks, (N, K)."""
        c, e = self.sticks()
        log_v = torch.log1p(-torch.exp(uniform(like, noise).log() / e)) / c
        log_prior = torch.cumsum(log_v, dim=1).clamp(min=_LEAST_LOG)
        return log_prior - torch.log(-torch.expm1(log_prior).clamp(max=-math.exp(_LEAST_LOG)))

    def embedding(self) -> torch.Tensor:
        """Return E_q[z] = mean * E[b], with E[b] averaged over draws of the sticks, (N, K)."""
        (mean, _, logit), noise = self.encode(), torch.Generator().manual_seed(_PREDICTION_SEED)
        total = torch.zeros_like(mean)
        for _ in range(_EMBEDDING_DRAWS):
            total += torch.sigmoid((logit + self.prior_logit(logit, noise)) / _TEMPERATURE)
        return mean * total / _EMBEDDING_DRAWS

    def vectors(self) -> torch.Tensor:
        """Return several draws side by side, scaled so that inner products are mean logits."""
        noise, samples = torch.Generator().manual_seed(_PREDICTION_SEED), self.options.samples
        draws = [self.draw(noise) for _ in range(samples)]
        return torch.cat(draws, dim=1) / math.sqrt(samples)

    def draw(self, noise: torch.Generator) -> torch.Tensor:
        """Return the vectors of one draw of sticks, communities (rounded) and strengths."""
        mean, log_std, logit = self.encode()
        logit = logit + self.prior_logit(logit, noise)
        member = (logit + logistic(logit, noise) > 0.0).to(logit.dtype)
        return self.decode(member * (mean + normal(logit, noise) * log_std.exp()))


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


def uniform(like: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
    """Return uniform noise of a tensor's shape on its device, without the ends 0 and 1."""
    drawn = torch.rand(like.shape, generator=noise, dtype=like.dtype, device=noise.device)
    return (drawn * (1.0 - 2.0 * _LEAST_UNIFORM) + _LEAST_UNIFORM).to(like.device)


def logistic(like: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
    """Return standard logistic noise of a tensor's shape on its device."""
    return torch.logit(uniform(like, noise))


def _stick(value: float, size: int) -> torch.nn.Parameter:
    """Return weights whose softplus is a value."""
    return torch.nn.Parameter(torch.full((size,), math.log(math.expm1(value))))


def _leaky(tensor: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.leaky_relu(tensor, 0.2)
