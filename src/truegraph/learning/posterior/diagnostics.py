"""Whether chains of draws agree, and how many independent draws they are worth.

R-hat compares the spread between halves of chains with the spread within them: 1 when all
agree. The effective sample size divides the number of draws by the integrated autocorrelation
time, cut off where the estimated correlations turn to noise (Geyer 1992).

References
----------
Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and localization: an
improved R-hat for assessing convergence of MCMC", Bayesian Analysis 2021.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truegraph.errors import ConvergenceWarning

Floats = NDArray[np.float64]

LARGEST_R_HAT = 1.05
SMALLEST_ESS_PER_CHAIN = 25.0
_FEWEST_SWEEPS = 4  # to cut a chain into halves that have a spread


@dataclass(frozen=True)
class Diagnostics:
    """How a run of Gibbs sampling went.

    Attributes
    ----------
    draws : int
        Graphs drawn, all chains together.
    chains, sweeps, burn_in : int
        Chains, and sweeps over all pairs per chain after and before the first draw.
    r_hat : float
        Largest R-hat over the pairs that were followed and over the total weight; NaN if there
        were too few sweeps to tell.
    ess, ess_min : float
        Effective sample size of all sweeps together: the median over the followed pairs, and the
        least over them and the total weight.
    followed : int
        How many pairs were followed: all of a small graph; of a large one some at random, and
        those at the nodes of smallest degree, which mix worst.
    stuck : int
        Weights that could not be drawn and were left as they were; always 0 unless numbers
        overflow.
    seconds : float
    interrupted : bool
        Whether the run was stopped before all draws were made.
    """

    draws: int
    chains: int
    sweeps: int
    burn_in: int
    r_hat: float
    ess: float
    ess_min: float
    followed: int
    stuck: int
    seconds: float
    interrupted: bool

    def warn(self, stacklevel: int = 2) -> None:
        """Warn if the draws should not be trusted."""
        problems = []
        if not self.r_hat <= LARGEST_R_HAT:
            problems.append(f"R-hat is {self.r_hat:.3f}, above {LARGEST_R_HAT}")
        if not self.ess_min >= SMALLEST_ESS_PER_CHAIN * self.chains:
            problems.append(
                f"the smallest effective sample size is {self.ess_min:.0f}, below "
                f"{SMALLEST_ESS_PER_CHAIN * self.chains:.0f}"
            )
        if self.stuck:
            problems.append(f"{self.stuck} weights could not be drawn")
        if problems:
            warnings.warn(
                f"the chains have not mixed after {self.sweeps} sweeps: {'; '.join(problems)}. "
                "Raise thin or burn_in, or lower the concentration",
                ConvergenceWarning,
                stacklevel=stacklevel + 1,
            )


def split_r_hat(traces: Floats) -> Floats:
    """Return R-hat of each quantity, from halves of the chains."""
    half = traces.shape[1] // 2
    if traces.shape[1] < _FEWEST_SWEEPS:
        return np.full(traces.shape[2], np.nan)
    halves = np.concatenate([traces[:, :half], traces[:, -half:]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    ratio = np.divide(between, within, out=np.full(within.size, np.inf), where=within > 0.0)
    ratio[(within == 0.0) & (between == 0.0)] = 1.0 / half
    return np.sqrt((half - 1.0) / half + ratio)


def effective_sample_size(traces: Floats) -> Floats:
    """Return the effective sample size of each quantity, all chains together."""
    chains, sweeps, quantities = traces.shape
    if sweeps < _FEWEST_SWEEPS:
        return np.full(quantities, np.nan)
    covariance = _autocovariance(traces).mean(axis=0)
    within = covariance[0] * sweeps / (sweeps - 1.0)
    total = covariance[0].copy()
    if chains > 1:
        total += traces.mean(axis=1).var(axis=0, ddof=1)
    total[total == 0.0] = 1.0
    correlation = 1.0 - (within - covariance) / total
    correlation[0] = 1.0
    # Sums over pairs of lags are positive and fall (Geyer); the first that is not ends the sum.
    pairs = correlation[: sweeps // 2 * 2].reshape(-1, 2, quantities).sum(axis=1)
    is_signal = np.logical_and.accumulate(pairs > 0.0, axis=0)
    falling = np.minimum.accumulate(np.where(is_signal, pairs, 0.0), axis=0)
    time = np.maximum(2.0 * falling.sum(axis=0) - 1.0, 1.0 / np.log10(chains * sweeps))
    return chains * sweeps / time


def _autocovariance(traces: Floats) -> Floats:
    """Return the autocovariance of every chain at all lags, biased, along axis 1."""
    sweeps = traces.shape[1]
    centred = traces - traces.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, n=2 * sweeps, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    return np.fft.irfft(power, n=2 * sweeps, axis=1)[:, :sweeps] / sweeps
