"""Graphs drawn by several Gibbs chains at once, in threads.

The compiled loops run for a fraction of a second at a time: an interrupt ends the run there, and
what was drawn before is kept.

R-hat compares the spread between halves of chains with the spread within them: 1 when all agree
(Vehtari and others, Bayesian Analysis 2021). The effective sample size divides the number of draws
by the integrated autocorrelation time, cut off where the estimated correlations turn to noise
(Geyer 1992).
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from truegraph import gate
from truegraph.errors import ConvergenceWarning, InputError
from truegraph.faces import Shown
from truegraph.learning import inputs
from truegraph.learning.posterior.chains import Chain, Target
from truegraph.progress import Progress
from truegraph.runtime.threads import thread_count, thread_limit

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


Floats = NDArray[np.float64]

_USUAL_SWEEPS = 200  # per chain: with fewer, R-hat is above 1.05 by chance


def check_draws(
    samples: Any, random_state: Any, chains: Any, burn_in: Any, thin: Any, n_jobs: Any
) -> None:
    """Check what a user asks of Gibbs sampling."""
    least = {"samples": (samples, 1), "chains": (chains, 1), "burn_in": (burn_in, 0)}
    if thin is not None:
        least["thin"] = (thin, 1)
    for name, (value, smallest) in least.items():
        gate.whole_number(name, value, at_least=smallest)
    inputs.check_seed(random_state)
    inputs.check_threads(n_jobs)


class GraphSamples(Shown, Iterator[csr_array]):
    """Graphs drawn from the posterior: symmetric matrices on the candidate pairs.

    An interrupt (Ctrl-C) while graphs are being drawn ends the iteration, with a warning; those
    drawn before are valid. At the end, a warning says if the chains have not mixed.

    Parameters
    ----------
    target : Target
    samples : int
        Graphs to draw, all chains together.
    chains, burn_in : int
        Chains, and sweeps of each before its first draw.
    thin : int, optional
        Sweeps from one draw of a chain to its next; by default as many as make 200 in all.
    seed : int
    n_jobs : int, optional
        Threads.
    progress : Progress
    """

    def __init__(
        self,
        target: Target,
        samples: int,
        random_state: Any,
        *,
        chains: int,
        burn_in: int,
        thin: int | None,
        n_jobs: int | None,
        progress: Progress | None = None,
    ) -> None:
        check_draws(samples, random_state, chains, burn_in, thin, n_jobs)
        self._target, self._samples, self._burn_in = target, samples, burn_in
        self._thin = (
            math.ceil(_USUAL_SWEEPS / math.ceil(samples / chains)) if thin is None else thin
        )
        with thread_limit(n_jobs):
            self._threads = min(chains, thread_count())
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        streams = np.random.SeedSequence(seed).spawn(chains)
        self._chains = [Chain(target, np.random.default_rng(stream)) for stream in streams]
        self._progress = progress or Progress()
        self._drawn, self._seconds, self._interrupted = 0, 0.0, False
        self.weights = self._draws()

    def __repr__(self) -> str:
        return f"GraphSamples({self._drawn} of {self._samples} drawn, chains={len(self._chains)})"

    def __next__(self) -> csr_array:
        return self._target.pairs.symmetric(next(self.weights))

    def _draws(self) -> Iterator[Floats]:
        """Yield draws as weights of the pairs (n_pairs,), from the chains in turn."""
        try:
            with ThreadPoolExecutor(self._threads) as pool:
                self._progress.stage("burn-in")
                self._advance(self._burn_in, pool)
                for chain in self._chains:
                    chain.forget()
                self._progress.stage("draws")
                while self._drawn < self._samples:
                    self._advance(self._thin, pool)
                    for chain in self._chains[: self._samples - self._drawn]:
                        self._drawn += 1
                        yield self._target.scale * self._target.in_order(chain.weights)
                    self._progress.update(self._drawn, self._samples)
        except KeyboardInterrupt:
            if self._drawn == 0:
                raise
            self._interrupted = True
            warnings.warn(
                f"interrupted: {self._drawn} of {self._samples} graphs were drawn",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.diagnostics.warn(stacklevel=3)

    def _advance(self, sweeps: int, pool: Executor) -> None:
        """Advance all chains in threads; an interrupt stops them all before it is passed on."""
        began, stop = time.perf_counter(), Event()
        futures = [pool.submit(chain.advance, sweeps, stop) for chain in self._chains]
        try:
            for future in futures:
                future.result()
        finally:
            stop.set()
            wait(futures)
            self._seconds += time.perf_counter() - began

    @property
    def diagnostics(self) -> Diagnostics:
        """How the run has gone so far; there must have been a draw."""
        if self._drawn == 0:
            raise InputError(
                "diagnostics describe draws, and none has been made yet; go through the samples "
                "first, for instance with list(samples)."
            )
        traces = [chain.trace for chain in self._chains]
        sweeps = min(map(len, traces))
        stacked = np.stack([trace[:sweeps] for trace in traces])
        ess = effective_sample_size(stacked)
        return Diagnostics(
            draws=self._drawn,
            chains=len(self._chains),
            sweeps=sweeps,
            burn_in=self._burn_in,
            r_hat=float(split_r_hat(stacked).max()),
            ess=float(np.median(ess[:-1])),
            ess_min=float(ess.min()),
            followed=self._target.followed.size,
            stuck=sum(chain.stuck for chain in self._chains),
            seconds=self._seconds,
            interrupted=self._interrupted,
        )

    def total_weights(self) -> Floats:
        """Return the total weight after every sweep so far, (chains, sweeps)."""
        traces = [np.asarray(chain.trace) for chain in self._chains]
        sweeps = min(map(len, traces))
        return np.stack([trace[:sweeps, -1] for trace in traces])

    def moments(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Return mean and standard deviation of weights (n_pairs,) and degrees (n_nodes,).

        Over all sweeps so far, not only over the draws.
        """
        target = self._target
        count = sum(len(chain.trace) for chain in self._chains)
        found = []
        for kind, centre in enumerate((target.centre, target.degree)):
            total = np.sum([chain.sums[kind] for chain in self._chains], axis=0)
            shift, square = total / count
            std = np.sqrt(np.maximum(0.0, square - shift * shift))
            found.append((target.scale * (centre + shift), target.scale * std))
        (mean, std), degrees = found
        return (target.in_order(mean), target.in_order(std)), degrees
