"""Trainings of a recommender: the base, its continuations, and the Bayesian choice among them.

The paper's Algorithm 3 and its fair comparison. A base model is trained with patience 50. From its
weights training goes on with patience 100: with the original pool of negatives, which gives the
baseline, and with the pool that the learned graph has shrunk, once for every fraction. All
continuations begin with fresh moments of Adam and draw the same random numbers, so an empty set of
removed pairs gives the baseline, bit for bit. Where no epoch is better than the base model on the
validation interactions, the base model is kept. The fraction with the best validation recall wins.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.locking import file_lock
from truegraph.errors import InputError
from truegraph.nn.dropout import derive_seeds
from truegraph.nn.optimiser import Weights
from truegraph.nn.recommenders.base import RankingModel
from truegraph.nn.recommenders.negatives import NegativePool, negative_pool
from truegraph.nn.recommenders.registry import RANKING_MODELS, recommender_settings
from truegraph.nn.recommenders.training import TrainedRanking, one_torch_thread, train_ranking
from truegraph.nn.recommenders.triples import TripleSampler
from truegraph.nn.recommenders.validation_recall import HeldOutRecall
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
from truegraph.tasks.recommend.weight_files import read_ranking, write_ranking

_BASE, _CONTINUED = 0, 1  # streams of random numbers
_RECIPE = 2  # of the trainings; base models that were kept under another one are not read


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
        if not isinstance(self.continued_patience, int) or self.continued_patience < 1:
            raise InputError(
                f"continued_patience={self.continued_patience!r} must be a whole number of at "
                "least 1."
            )


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


@dataclass(eq=False)
class RankingRun:
    """One model on one split with one seed; each training is done when it is first asked for.

    Parameters
    ----------
    name : str
        A name of `truegraph.nn.recommenders.registry.RANKING_MODELS`.
    settings : settings of the model, mapping or None
    train : csr_array of shape (n_users, n_items)
    validation : csr_array of shape (n_users, n_items), or None
        None: train for ``settings.epochs`` epochs.
    seed : int
    options : BayesianOptions
    progress : Progress
    watched : HeldOutRecall, optional
        Recorded in the continued trainings, never used.
    cache : Path, optional
        Folder in which trainings are kept, so that they need not be repeated.
    """

    name: str
    settings: Any
    train: csr_array
    validation: csr_array | None
    seed: int
    options: BayesianOptions = field(default_factory=BayesianOptions)
    progress: Progress = field(default_factory=Progress)
    watched: HeldOutRecall | None = None
    cache: Path | None = None

    @cached_property
    def model(self) -> RankingModel:
        """The model with its operators."""
        if self.name not in RANKING_MODELS:
            raise InputError(
                f"model={self.name!r} has no pool of negatives; use one of "
                f"{', '.join(RANKING_MODELS)}."
            )
        return RANKING_MODELS[self.name](recommender_settings(self.name, self.settings), self.train)

    @cached_property
    def pool(self) -> NegativePool:
        """All items but the training items of each user."""
        return negative_pool(self.train, self.model.settings.pool)

    @cached_property
    def recall(self) -> HeldOutRecall | None:
        """Validation recall@20."""
        if self.validation is None or self.validation.nnz == 0:
            return None
        return HeldOutRecall(self.train, self.validation)

    def _sampler(self, pool: NegativePool, stream: int) -> TripleSampler:
        settings = self.model.settings
        return TripleSampler(
            self.train,
            pool,
            batch=settings.batch,
            negatives=settings.negatives,
            by=self.model.sampling,
            seed=int(derive_seeds([self.seed], stream)[0]),
        )

    @cached_property
    def base(self) -> TrainedRanking:
        """The base model, trained with the patience of its settings."""
        self.progress.stage(f"train {self.name}")
        return self._kept("base", self._train_base)

    def _train_base(self) -> TrainedRanking:
        sampler = self._sampler(self.pool, _BASE)
        first = self.model.initial(self.seed)
        return train_ranking(self.model, first, sampler, self.recall, progress=self.progress)

    def _kept(self, what: str, train: Callable[[], TrainedRanking]) -> TrainedRanking:
        """Read a training from the cache, or do it and keep it there."""
        if self.cache is None:
            return train()
        file = self._file(self.cache, what)
        with file_lock(file.with_suffix(".lock")):
            if not file.is_file():
                write_ranking(file, train())
        return read_ranking(file)

    def _file(self, folder: Path, what: str) -> Path:
        return folder / f"{self._fingerprint(what)}.safetensors"

    def _fingerprint(self, what: str) -> str:
        """SHA-256 of everything that decides a training."""
        about = [_RECIPE, what, self.name, self.seed, asdict(self.model.settings)]
        digest = hashlib.sha256(json.dumps(about).encode())
        for matrix in (self.train, self.validation):
            for part in () if matrix is None else (matrix.indptr, matrix.indices):
                digest.update(np.ascontiguousarray(part, dtype=np.int64).data)
            digest.update(b";")
        return digest.hexdigest()

    def continued(self, pool: NegativePool, progress: Progress | None = None) -> TrainedRanking:
        """Go on from the base model's weights with some pool of negatives."""
        patience = self.options.continued_patience
        what = f"continued, patience {patience}, pool {pool.fingerprint}"
        with_record = f"{what}, watched"  # the same weights, and the record of what was watched
        is_there = self.cache is not None and self._file(self.cache, with_record).is_file()
        return self._kept(
            with_record if is_there or self.watched is not None else what,
            lambda: train_ranking(
                self.model,
                self.base.weights,
                self._sampler(pool, _CONTINUED),
                self.recall,
                patience=patience,
                progress=progress,
                watched=self.watched,
                may_keep_start=True,
            ),
        )

    def baseline(self) -> TrainedRanking:
        """Go on with the original pool: what the Bayesian model is compared with."""
        self.base  # noqa: B018 - its stage comes first
        self.progress.stage(f"continue {self.name}")
        return self.continued(self.pool, self.progress)

    @cached_property
    def ranked(self) -> RankedPairs:
        """The learned graph and the pairs in its order."""
        vectors = self.vectors(self.base.weights)
        self.progress.stage("learn graph")
        is_of_pairs = self.options.fraction_of == "pairs"
        largest = max(self.options.fractions) if is_of_pairs else max(PAPER_FRACTIONS)
        observed = 2.0 * self.train.nnz / sum(self.train.shape)
        degree = observed if self.options.degree is None else self.options.degree
        return rank_pairs(vectors, self.model.n_users, degree=degree, largest=largest)

    def removed(self, fraction: float) -> RemovedNegatives:
        """Return the pairs that a fraction takes out of the pool."""
        return remove_negatives(
            self.ranked,
            self.train,
            fraction,
            fraction_of=self.options.fraction_of,
            exclude_train=self.options.exclude_train,
        )

    def bayesian(self) -> BayesianResult:
        """Go on with every fraction and keep the one with the best validation recall.

        Of equally good fractions the smallest wins.
        """
        if self.recall is None:
            raise InputError(
                "validation has no interactions, but the fraction of removed pairs is chosen on "
                "them. Give some, or a validation_share above 0."
            )
        fractions = sorted(set(self.options.fractions))
        chosen = [self.removed(fraction) for fraction in fractions]
        self.progress.stage(f"continue b{self.name}")
        watchers = [self.progress] + [Progress()] * (len(chosen) - 1)

        def go_on(place: int) -> TrainedRanking:
            pool = pool_without(self.pool, chosen[place])
            return self.continued(pool, watchers[place])

        with worker_threads(len(chosen)) as threads:
            trained = run_all(threads, go_on, range(len(chosen)))
        recalls = [found.best_recall for found in trained]
        best = int(np.argmax(recalls))
        by_fraction = dict(zip(fractions, recalls, strict=True))
        return BayesianResult(self.ranked, trained[best], chosen[best], by_fraction)

    def vectors(self, weights: Weights) -> NDArray[np.float32]:
        """Return the vectors (n_users + n_items, d) of weights, nothing dropped."""
        with torch.no_grad(), one_torch_thread():
            vectors: NDArray[np.float32] = self.model.vectors(weights, None).numpy()
        return vectors
