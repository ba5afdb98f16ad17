"""Which graphs a Bayesian GCN is trained on: the most probable one, the mean, or draws.

The paper puts the most probable graph in place of the graph's posterior ("map"). The mean graph
("mean") has the weight of every candidate pair averaged over the posterior; with draws ("samples"),
every epoch of training sees a fresh one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.sparse import csr_array

from truegraph.learning.posterior.graph_posterior import GraphPosterior
from truegraph.learning.posterior.samples import GraphSamples
from truegraph.nn.training.trial_threads import run_all, worker_threads

GRAPH_INFERENCES = ("map", "mean", "samples")
TrainingGraphs = list[csr_array] | Callable[[int], list[csr_array]]

_DRAW = 4  # stream of a trial's seed
_BURN_IN = 50


class DrawnGraphs:
    """A fresh draw for every trial and epoch, each trial's from a chain of its own.

    Parameters
    ----------
    posteriors : sequence of T GraphPosterior
    seeds : sequence of T int
    epochs : int
        How often draws will be asked for.
    """

    def __init__(
        self, posteriors: Sequence[GraphPosterior], seeds: Sequence[int], epochs: int
    ) -> None:
        self._samples = [
            posterior.sample(epochs, _stream(seed), chains=1, burn_in=_BURN_IN, thin=1)
            for posterior, seed in zip(posteriors, seeds, strict=True)
        ]

    def of_epoch(self, epoch: int) -> list[csr_array]:
        """Return one graph per trial; epochs must be asked for in turn."""
        with worker_threads(len(self._samples)) as pool:
            return run_all(pool, _next, self._samples)


def _stream(seed: int) -> int:
    return int(np.random.SeedSequence([seed, _DRAW]).generate_state(1)[0])


def _next(samples: GraphSamples) -> csr_array:
    graph = next(samples, None)
    if graph is None:  # there are as many draws as epochs: only an interrupt ends them before
        raise KeyboardInterrupt
    return graph
