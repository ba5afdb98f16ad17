"""Trainings of one recommender on one split: the base, and what goes on from its weights.

A base model is trained with the patience of its settings. Continuations start from its weights
with some pool of negatives. Trainings can be kept in a folder, so that they need not be repeated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.storage import PathLike, read_safetensors, write_safetensors
from truegraph.errors import InputError
from truegraph.nn.dropout import derive_seeds
from truegraph.nn.optimiser import Weights
from truegraph.nn.recommenders.base import LEARNING_RATES
from truegraph.nn.recommenders.negatives import NegativePool, negative_pool
from truegraph.nn.recommenders.registry import RANKING_MODELS, recommender_settings
from truegraph.nn.recommenders.training import TrainedRanking, one_torch_thread, train_ranking
from truegraph.nn.recommenders.triples import TripleSampler
from truegraph.nn.recommenders.validation_recall import HeldOutRecall
from truegraph.progress import Progress
from truegraph.runtime.locking import file_lock

_BASE, _CONTINUED = 0, 1  # streams of random numbers
_RECIPE = 2  # of the trainings; base models that were kept under another one are not read
_CURVES = ("losses", "recalls", "watched")
_MARK = "training: "  # before the names of what is not a weight


class Trainings:
    """One model on one split with one seed.

    Parameters
    ----------
    name : str
        A name of `truegraph.nn.recommenders.registry.RANKING_MODELS`.
    settings : settings of the model, mapping or None
    train : csr_array of shape (n_users, n_items)
    validation : csr_array of shape (n_users, n_items), or None
        None: train for ``settings.epochs`` epochs.
    seed : int
    watched : HeldOutRecall, optional
        Recorded in the continued trainings, never used.
    cache : Path, optional
        Folder in which trainings are kept.

    Attributes
    ----------
    model : RankingModel
    pool : NegativePool
        All items but the training items of each user.
    recall : HeldOutRecall or None
        Validation recall@20; None without validation interactions.
    """

    def __init__(
        self,
        name: str,
        settings: Any,
        train: csr_array,
        validation: csr_array | None,
        seed: int,
        *,
        watched: HeldOutRecall | None = None,
        cache: Path | None = None,
    ) -> None:
        self.train, self.validation, self.seed = train, validation, seed
        own = ranking_settings(name, settings)
        self.model = RANKING_MODELS[name](own, train)
        self.pool = negative_pool(train, self.model.settings.pool)
        self.recall: HeldOutRecall | None = None
        if validation is not None and validation.nnz > 0:
            self.recall = HeldOutRecall(train, validation)
        self._watched, self._cache = watched, cache
        self._base: TrainedRanking | None = None

    def base(self, progress: Progress | None = None) -> TrainedRanking:
        """Train the base model with the patience of its settings; only once."""
        progress = progress or Progress()
        progress.stage(f"train {self.model.name}")
        if self._base is None:
            first = self.model.initial(self.seed)
            sampler = self._sampler(self.pool, _BASE)
            self._base = self._kept(
                "base",
                lambda: train_ranking(self.model, first, sampler, self.recall, progress=progress),
            )
        return self._base

    def continued(
        self,
        base: TrainedRanking,
        pool: NegativePool,
        patience: int,
        progress: Progress | None = None,
    ) -> TrainedRanking:
        """Go on from the base model's weights with some pool of negatives."""
        what = f"continued, patience {patience}, pool {pool.fingerprint}"
        with_record = f"{what}, watched"  # the same weights, and the record of what was watched
        is_there = self._cache is not None and self._file(self._cache, with_record).is_file()
        return self._kept(
            with_record if is_there or self._watched is not None else what,
            lambda: train_ranking(
                self.model,
                base.weights,
                self._sampler(pool, _CONTINUED),
                self.recall,
                patience=patience,
                progress=progress,
                watched=self._watched,
                may_keep_start=True,
            ),
        )

    def refit(self, everything: csr_array, epochs: int) -> Trainings:
        """Return the trainings of the same model on other interactions, for `epochs` epochs."""
        settings = replace(self.model.settings, epochs=epochs)
        return Trainings(self.model.name, settings, everything, None, self.seed)

    def vectors(self, weights: Weights) -> NDArray[np.float32]:
        """Return the vectors (n_users + n_items, d) of weights, nothing dropped."""
        with torch.no_grad(), one_torch_thread():
            vectors: NDArray[np.float32] = self.model.vectors(weights, None).numpy()
        return vectors

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

    def _kept(self, what: str, train: Callable[[], TrainedRanking]) -> TrainedRanking:
        """Read a training from the cache, or do it and keep it there."""
        if self._cache is None:
            return train()
        file = self._file(self._cache, what)
        with file_lock(file.with_suffix(".lock")):
            if not file.is_file():
                write_ranking(file, train())
        return read_ranking(file)

    def _file(self, folder: Path, what: str) -> Path:
        return folder / f"{self._fingerprint(what)}.safetensors"

    def _fingerprint(self, what: str) -> str:
        """SHA-256 of everything that decides a training."""
        about = [_RECIPE, what, self.model.name, self.seed, asdict(self.model.settings)]
        digest = hashlib.sha256(json.dumps(about).encode())
        for matrix in (self.train, self.validation):
            for part in () if matrix is None else (matrix.indptr, matrix.indices):
                digest.update(np.ascontiguousarray(part, dtype=np.int64).data)
            digest.update(b";")
        return digest.hexdigest()


def best_rate(
    name: str,
    settings: Any,
    train: csr_array,
    validation: csr_array | None,
    seed: int,
    *,
    watched: HeldOutRecall | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Trainings:
    """Return trainings with the learning rate that is best on the validation interactions.

    A rate that the settings give is taken as it is. None: base models are trained with 0.001 and
    0.01, and the one with the better validation recall stays; without validation it is 0.001.

    Parameters
    ----------
    name, settings, train, validation, seed, watched, cache
        As those of `Trainings`.
    progress : Progress, optional
    """
    own = ranking_settings(name, settings)
    rates = (own.learning_rate,) if own.learning_rate is not None else LEARNING_RATES
    if validation is None or validation.nnz == 0:
        rates = rates[:1]
    tried = [
        Trainings(
            name,
            replace(own, learning_rate=rate),
            train,
            validation,
            seed,
            watched=watched,
            cache=cache,
        )
        for rate in rates
    ]
    if len(tried) == 1:
        return tried[0]
    return max(tried, key=lambda one: one.base(progress).best_recall)


def ranking_settings(name: str, settings: Any) -> Any:
    """Return the settings of a network; an error for models that are not trained on triples."""
    if name not in RANKING_MODELS:
        raise InputError(
            f"model={name!r} has no pool of negatives; use one of {', '.join(RANKING_MODELS)}."
        )
    return recommender_settings(name, settings)


def write_ranking(path: PathLike, trained: TrainedRanking) -> None:
    """Write a trained recommender, atomically."""
    arrays = {name: tensor.numpy() for name, tensor in trained.weights.items()}
    arrays |= {_MARK + name: getattr(trained, name) for name in _CURVES}
    arrays[_MARK + "best"] = np.array([trained.best_epoch, trained.best_recall])
    arrays[_MARK + "start"] = np.array(trained.start)
    write_safetensors(path, arrays)


def read_ranking(path: PathLike) -> TrainedRanking:
    """Read what `write_ranking` wrote."""
    arrays = read_safetensors(path)
    try:
        epoch, recall = arrays.pop(_MARK + "best")
        curves = {name: arrays.pop(_MARK + name) for name in _CURVES}
        start = arrays.pop(_MARK + "start")
    except KeyError as error:
        raise InputError(f"{path}: not a trained recommender: {error} is missing.") from error
    weights = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return TrainedRanking(
        weights,
        int(epoch),
        float(recall),
        start=(float(start[0]), float(start[1])),
        **curves,
    )
