"""The Bayesian recommender: Algorithm 3 of the paper, one function per step.

1. `Trainings.base`: train the base model on the observed interactions -> vectors e_u and e_i
2. `learned_pairs`: the most probable graph between users and items given the distances
   D_ui = 1 - cos(e_u, e_i), and the pairs in the order of its weights
3. `remove_negatives`: the pairs with the highest weights leave the pool of negatives
4. `Trainings.continued`: go on from the base model's weights with the pool that is left; steps 3
   and 4 are done for every fraction, and the one with the best validation recall wins

The fair comparison, `continued_base`, goes on from the same weights with the whole pool. All
continuations begin with fresh moments of Adam and draw the same random numbers, so an empty set of
removed pairs gives that baseline, bit for bit. Where no epoch is better than the base model on the
validation interactions, the base model is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.errors import InputError
from truegraph.nn.recommenders.training import TrainedRanking
from truegraph.nn.recommenders.trainings import Trainings
from truegraph.nn.training.trial_threads import run_all, worker_threads
from truegraph.progress import Progress
from truegraph.tasks.recommend.false_negatives import (
    PAPER_FRACTIONS,
    RankedPairs,
    RemovedNegatives,
    pool_without,
    rank_pairs,
    remove_negatives,
)


@dataclass(frozen=True)
class BayesianOptions:
    """How the Bayesian models differ from their base.

    Parameters
    ----------
    fractions : sequence of float
        Fractions to try; the best on the validation interactions is taken.
    fraction_of : {"pairs", "links"}
        Of all user-item pairs, or of the edges of the learned graph.
    exclude_train : bool
        Whether to leave training pairs out before the highest weights are taken, not after.
    degree : float or None
        Mean degree of the learned graph; None: that of the observed graph.
    continued_patience : int
        Epochs without a gain after which the continued trainings stop.
    """

    fractions: Sequence[float] = PAPER_FRACTIONS
    fraction_of: Literal["pairs", "links"] = "pairs"
    exclude_train: bool = False
    degree: float | None = None
    continued_patience: int = 100

    def __post_init__(self) -> None:
        if not len(self.fractions) or not all(0.0 <= f <= 1.0 for f in self.fractions):
            raise InputError(
                f"fractions={self.fractions!r} must be one or more numbers between 0 and 1."
            )
        if self.fraction_of not in ("pairs", "links"):
            raise InputError(f'fraction_of={self.fraction_of!r} must be "pairs" or "links".')
        if self.degree is not None and not self.degree > 0:
            raise InputError(f"degree={self.degree!r} must be above 0.")
        gate.whole_number("continued_patience", self.continued_patience, at_least=1)


@dataclass(frozen=True, eq=False)
class BayesianResult:
    """What the Bayesian training found.

    Attributes
    ----------
    ranked : RankedPairs
    trained : TrainedRanking
        With the best fraction.
    removed : RemovedNegatives
        Of the best fraction.
    recalls : dict of float to float
        Best validation recall with every fraction.
    """

    ranked: RankedPairs
    trained: TrainedRanking
    removed: RemovedNegatives
    recalls: dict[float, float]


def train_bayesian(
    trainings: Trainings, options: BayesianOptions, progress: Progress | None = None
) -> BayesianResult:
    """Do Algorithm 3.

    Parameters
    ----------
    trainings : Trainings
        The base model on its split.
    options : BayesianOptions
    progress : Progress, optional

    Returns
    -------
    found : BayesianResult
        Of equally good fractions the smallest wins.
    """
    if trainings.recall is None:
        raise InputError(
            "validation has no interactions, but the fraction of removed pairs is chosen on "
            "them; give some, or a validation_share above 0."
        )
    progress = progress or Progress()
    fractions = sorted(set(options.fractions))

    base = trainings.base(progress)
    vectors = trainings.vectors(base.weights)

    progress.stage("learn graph")
    ranked = learned_pairs(vectors, trainings.train, options)

    removed = [removed_pairs(ranked, trainings.train, fraction, options) for fraction in fractions]

    progress.stage(f"continue b{trainings.model.name}")
    shown = [progress] + [Progress()] * (len(removed) - 1)

    def go_on(place: int) -> TrainedRanking:
        pool = pool_without(trainings.pool, removed[place])
        return trainings.continued(base, pool, options.continued_patience, shown[place])

    with worker_threads(len(removed)) as threads:
        trained = run_all(threads, go_on, range(len(removed)))

    recalls = [one.best_recall for one in trained]
    best = int(np.argmax(recalls))
    by_fraction = dict(zip(fractions, recalls, strict=True))
    return BayesianResult(ranked, trained[best], removed[best], by_fraction)


def continued_base(
    trainings: Trainings, patience: int, progress: Progress | None = None
) -> TrainedRanking:
    """Go on with the whole pool of negatives: what the Bayesian model is compared with."""
    progress = progress or Progress()
    base = trainings.base(progress)
    progress.stage(f"continue {trainings.model.name}")
    return trainings.continued(base, trainings.pool, patience, progress)


def refit_base(
    trainings: Trainings,
    found: TrainedRanking,
    patience: int,
    everything: csr_array,
    progress: Progress | None = None,
) -> tuple[Trainings, TrainedRanking]:
    """Train the base and its continuation again on all interactions, for the epochs found.

    Parameters
    ----------
    trainings : Trainings
        Those that `found` came from.
    found : TrainedRanking
        What `continued_base` returned.
    patience : int
        That it was called with.
    everything : csr_array of shape (n_users, n_items)
        Training and validation interactions.
    progress : Progress, optional
    """
    progress = progress or Progress()
    again = trainings.refit(everything, trainings.base().best_epoch + 1)
    base = again.base(progress)
    epochs = found.best_epoch + 1
    if epochs == 0:  # going on did not help
        return again, base
    progress.stage(f"continue {again.model.name}")
    longer = trainings.refit(everything, epochs)
    return longer, longer.continued(base, longer.pool, patience, progress)


@dataclass(frozen=True, eq=False)
class RefittedBayesian:
    """Algorithm 3 on all interactions, with everything chosen before.

    Attributes
    ----------
    trainings : Trainings
        On all interactions.
    trained : TrainedRanking
    ranked : RankedPairs
    removed : RemovedNegatives
    """

    trainings: Trainings
    trained: TrainedRanking
    ranked: RankedPairs
    removed: RemovedNegatives


def refit_bayesian(
    trainings: Trainings,
    found: BayesianResult,
    options: BayesianOptions,
    everything: csr_array,
    progress: Progress | None = None,
) -> RefittedBayesian:
    """Do Algorithm 3 again on all interactions, with the fraction and the epochs found.

    Parameters
    ----------
    trainings : Trainings
        Those that `found` came from.
    found : BayesianResult
    options : BayesianOptions
    everything : csr_array of shape (n_users, n_items)
        Training and validation interactions.
    progress : Progress, optional
    """
    progress = progress or Progress()
    again = trainings.refit(everything, trainings.base().best_epoch + 1)
    base = again.base(progress)
    progress.stage("learn graph")
    ranked = learned_pairs(again.vectors(base.weights), everything, options)
    removed = removed_pairs(ranked, everything, found.removed.fraction, options)
    epochs = found.trained.best_epoch + 1
    if epochs == 0:  # going on did not help
        return RefittedBayesian(again, base, ranked, removed)
    progress.stage(f"continue b{again.model.name}")
    longer = trainings.refit(everything, epochs)
    pool = pool_without(longer.pool, removed)
    trained = longer.continued(base, pool, options.continued_patience, progress)
    return RefittedBayesian(longer, trained, ranked, removed)


def learned_pairs(
    vectors: NDArray[np.float32], train: csr_array, options: BayesianOptions
) -> RankedPairs:
    """Do step 2: learn the graph from vectors (n_users + n_items, d), and rank the pairs by it."""
    is_of_pairs = options.fraction_of == "pairs"
    largest = max(options.fractions) if is_of_pairs else max(PAPER_FRACTIONS)
    observed = 2.0 * train.nnz / sum(train.shape)
    degree = observed if options.degree is None else options.degree
    return rank_pairs(vectors, train.shape[0], degree=degree, largest=largest)


def removed_pairs(
    ranked: RankedPairs, train: csr_array, fraction: float, options: BayesianOptions
) -> RemovedNegatives:
    """Do step 3: return the pairs that a fraction takes out of the pool."""
    return remove_negatives(
        ranked,
        train,
        fraction,
        fraction_of=options.fraction_of,
        exclude_train=options.exclude_train,
    )
