"""Graphs drawn by several Gibbs chains at once, in threads.

The compiled loops run for a fraction of a second at a time: an interrupt ends the run there, and
what was drawn before is kept.
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
from truegraph.learning.posterior.diagnostics import Diagnostics, effective_sample_size, split_r_hat
from truegraph.progress import Progress
from truegraph.runtime.threads import thread_count, thread_limit

Floats = NDArray[np.float64]

_USUAL_SWEEPS = 200  # per chain: with fewer, R-hat is above 1.05 by chance
_MOST_BYTES = 4e9  # of kept draws


@dataclass(frozen=True)
class GibbsRun:
    """How to draw, see `GraphPosterior.sample`; checked."""

    samples: int
    chains: int
    burn_in: int
    thin: int | None
    random_state: Any
    n_jobs: int | None
    progress: bool = False

    def __post_init__(self) -> None:
        least = {"samples": 1, "chains": 1, "burn_in": 0, "thin": 1}
        for name, smallest in least.items():
            if name != "thin" or self.thin is not None:
                gate.whole_number(name, getattr(self, name), at_least=smallest)
        inputs.check_seed(self.random_state)
        inputs.check_threads(self.n_jobs)

    def check_memory(self, pairs: int) -> None:
        """Raise unless the draws of `pairs` pairs fit into memory."""
        needed = 4.0 * pairs * self.samples
        if needed > _MOST_BYTES:
            raise InputError(
                f"samples={self.samples} draws of {pairs} pairs take {needed / 1e9:.1f} GB; "
                f"ask for at most {int(_MOST_BYTES / (4.0 * pairs))}, or go through "
                "posterior().sample(...) one by one."
            )

    def samples_of(self, target: Target, progress: Progress) -> GraphSamples:
        """Return the iterator over the draws."""
        return GraphSamples(target, self, progress)


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

    def __init__(self, target: Target, run: GibbsRun, progress: Progress) -> None:
        self._target, self._samples, self._burn_in = target, run.samples, run.burn_in
        rounds = math.ceil(run.samples / run.chains)
        self._thin = math.ceil(_USUAL_SWEEPS / rounds) if run.thin is None else run.thin
        with thread_limit(run.n_jobs):
            self._threads = min(run.chains, thread_count())
        seed = int(check_random_state(run.random_state).randint(2**31 - 1))
        streams = np.random.SeedSequence(seed).spawn(run.chains)
        self._chains = [Chain(target, np.random.default_rng(stream)) for stream in streams]
        self._progress = progress
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
