"""Vectors of short text: strings that share groups of letters are near one another.

Groups of two to four letters are counted, weighted by how rare they are (tf-idf), and the counts
are condensed to a few directions (latent semantic analysis). Groups are hashed, so a fitted
vectoriser is two arrays and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

_HASHES = 2**12
_DIRECTIONS = 10
_MOST_TO_FIT = 10_000  # different strings; more hardly change the directions
_AT_ONCE = 100_000


@dataclass(frozen=True, eq=False)
class TextVectors:
    """A fitted vectoriser.

    Attributes
    ----------
    rarity : ndarray of float64, shape (n_hashes,)
        Weight of each group of letters.
    directions : ndarray of float64, shape (n_hashes, width)
    centre : ndarray of float64, shape (width,)
        Mean vector, taken away from all; a missing string has the zero vector.
    """

    rarity: NDArray[np.float64]
    directions: NDArray[np.float64]
    centre: NDArray[np.float64]

    KEYS: ClassVar[tuple[str, ...]] = ("rarity", "directions", "centre")

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.directions.shape[1]

    @classmethod
    def fit(cls, values: NDArray[Any]) -> Self:
        """Fit to strings; None is missing."""
        from sklearn.decomposition import TruncatedSVD
        from threadpoolctl import threadpool_limits

        unique = np.array([value for value in pd.unique(values) if isinstance(value, str)])
        if len(unique) > _MOST_TO_FIT:
            unique = np.random.default_rng(0).choice(unique, _MOST_TO_FIT, replace=False)
        counts = _counts(unique)
        present = np.bincount(counts.indices, minlength=_HASHES)
        rarity = np.log((1.0 + len(unique)) / (1.0 + present)) + 1.0
        width = min(_DIRECTIONS, len(unique) - 1)
        svd = TruncatedSVD(width, n_iter=10, random_state=0)
        with threadpool_limits(1):  # the number of threads must not change the last bits
            vectors = svd.fit_transform(_weighted(counts, rarity))
        # Variances add up to one over all columns, as those of any other column do.
        size = np.sqrt(vectors.var(axis=0).sum()) or 1.0
        return cls(rarity, svd.components_.T / size, vectors.mean(axis=0) / size)

    def transform(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the vectors of strings, shape (n, width); zero where they are missing."""
        codes, unique = pd.factorize(values, use_na_sentinel=True)
        vectors = np.zeros((len(unique) + 1, self.width))
        for start in range(0, len(unique), _AT_ONCE):
            part = unique[start : start + _AT_ONCE]
            weighted = _weighted(_counts(part), self.rarity)
            vectors[start : start + len(part)] = weighted @ self.directions - self.centre
        return vectors[codes]

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return what must be saved."""
        return {key: getattr(self, key) for key in self.KEYS}


def _counts(strings: NDArray[Any]) -> csr_array:
    from sklearn.feature_extraction.text import HashingVectorizer

    vectoriser = HashingVectorizer(
        analyzer="char_wb",
        ngram_range=(2, 4),
        n_features=_HASHES,
        alternate_sign=False,
        norm=None,
    )
    return csr_array(vectoriser.transform(strings))


def _weighted(counts: csr_array, rarity: NDArray[np.float64]) -> csr_array:
    """Return rows of unit length."""
    weighted = csr_array(counts @ diags_array(rarity))
    length = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    return csr_array(diags_array(inverse) @ weighted)
