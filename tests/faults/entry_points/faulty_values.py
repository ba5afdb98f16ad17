"""Sound values of every kind, and what can be wrong with each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

RNG = np.random.default_rng(0)
NODES = 24
POINTS = RNG.normal(size=(NODES, 3))
SPARSE_POINTS = sparse.csr_array(
    np.column_stack([np.ones(NODES), np.where(RNG.random((NODES, 4)) < 0.6, 1.0, 0.0)])
)
_UPPER = np.triu(RNG.random((NODES, NODES)) < 0.3, 1).astype(float)
_UPPER[np.arange(NODES - 1), np.arange(1, NODES)] = 1.0
GRAPH = sparse.csr_array(_UPPER + _UPPER.T)
MATRIX = sparse.csr_array((RNG.random((12, 9)) < 0.4).astype(float))
LABELS = np.arange(NODES) % 2
PAIRS = np.array([[0, 5], [3, 9], [2, 20]])
FREE = np.argwhere(np.triu(np.asarray(GRAPH.todense()) == 0, 1))[:4]
PROBABILITIES = np.full((NODES, 2), 0.5)

# Faults: each returns a copy of something sound with one thing wrong.


def _with(matrix: Any, **arrays: Any) -> Any:
    """Replace arrays of a sparse matrix behind the back of its constructor."""
    broken = matrix.copy()
    for name, array in arrays.items():
        setattr(broken, name, array)
    return broken


def _changed(array: Any, value: Any, place: int = 5) -> Any:
    copy = np.array(array, order="C")
    copy.reshape(-1)[min(place, copy.size - 1)] = value
    return copy


def _coo(matrix: Any, value: int) -> Any:
    entries = sparse.coo_array(matrix)
    entries.coords = (_changed(entries.coords[0], value), entries.coords[1])
    return entries


STRUCTURE: dict[str, Callable[[Any], Any]] = {
    "index too large": lambda m: _with(m, indices=_changed(m.indices, 10**6)),
    "index just outside": lambda m: _with(m, indices=_changed(m.indices, m.shape[1])),
    "index negative": lambda m: _with(m, indices=_changed(m.indices, -7)),
    "indices of float": lambda m: _with(m, indices=m.indices + 0.5),
    "indices too few": lambda m: _with(m, indices=m.indices[:-3]),
    "values too few": lambda m: _with(m, data=m.data[:-3]),
    "indptr too far": lambda m: _with(m, indptr=_changed(m.indptr, 10**6, len(m.indptr))),
    "indptr falls": lambda m: _with(m, indptr=_changed(m.indptr, 0)),
    "indptr negative": lambda m: _with(m, indptr=_changed(m.indptr, -5)),
    "indptr starts late": lambda m: _with(m, indptr=_changed(m.indptr, 1, 0)),
    "indptr too short": lambda m: _with(m, indptr=m.indptr[:-2]),
    "indptr too long": lambda m: _with(m, indptr=np.append(m.indptr, m.indptr[-1])),
    "coo index too large": lambda m: _coo(m, 10**6),
    "coo index negative": lambda m: _coo(m, -3),
    "csc index too large": lambda m: _with(c := m.tocsc(), indices=_changed(c.indices, 10**6)),
    "values of two dimensions": lambda m: _with(m, data=np.ones((2, m.nnz))),
}  # fmt: skip
VALUES: dict[str, Callable[[Any], Any]] = {
    "NaN": lambda m: _with(m, data=_changed(m.data.astype(float), np.nan)),
    "infinity": lambda m: _with(m, data=_changed(m.data.astype(float), np.inf)),
    "complex": lambda m: m.astype(complex) * (1 + 2j),
    "uint64 beyond 2**63": lambda m: _with(m, data=_changed(m.data.astype(np.uint64), 2**63 + 9)),
}  # fmt: skip
NEGATIVE: dict[str, Callable[[Any], Any]] = {
    "negative": lambda m: _with(m, data=_changed(m.data, -1.0)),
}
DENSE: dict[str, Callable[[Any], Any]] = {
    "NaN": lambda a: _changed(np.array(a, dtype=float), np.nan),
    "infinity": lambda a: _changed(np.array(a, dtype=float), np.inf),
    "complex": lambda a: np.array(a) * (1 + 2j),
    "text": lambda a: np.array(a).astype(str),
    "nothing": lambda a: _changed(np.array(a).astype(object), None),
    "three dimensions": lambda a: np.array(a)[..., None, None],
    "uint64 beyond 2**63": lambda a: _changed(np.abs(np.array(a)).astype(np.uint64), 2**63 + 9),
    "a number": lambda a: 3.0,
}
WRONG_SIZE: dict[str, Callable[[Any], Any]] = {"a row too few": lambda a: a[:-1]}
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "beyond the end": lambda a: _changed(a, 10**6, 0),
    "negative": lambda a: _changed(a, -1, 0),
    "float": lambda a: np.array(a) + 0.5,
    "NaN": lambda a: _changed(np.array(a, dtype=float), np.nan, 0),
    "complex": lambda a: np.array(a) * (1 + 2j),
    "text": lambda a: np.array(a).astype(str),
    "uint64 beyond 2**63": lambda a: _changed(np.array(a).astype(np.uint64), 2**63 + 1, 0),
    "three dimensions": lambda a: np.array(a)[..., None, None],
}
CLASSES = {k: v for k, v in NUMBERS.items() if k not in ("beyond the end", "negative")}

Faulty = list[tuple[Any, dict[str, Callable[[Any], Any]]]]


def points(value: Any = POINTS, stored: Any = SPARSE_POINTS, *, sized: bool = False) -> Faulty:
    """Tables of real numbers, dense and sparse."""
    size = WRONG_SIZE if sized else {}
    return [(stored, STRUCTURE | VALUES | size), (value, DENSE | size)]


def weights(stored: Any = GRAPH, *, sized: bool = True) -> Faulty:
    """Sparse matrices of values >= 0."""
    return [(stored, STRUCTURE | VALUES | NEGATIVE | (WRONG_SIZE if sized else {}))]


def graph(*, sized: bool = True) -> Faulty:
    """Graphs in all forms that a matrix can have."""
    return [
        *weights(sized=sized),
        (GRAPH.toarray(), only(DENSE, "a number") | (WRONG_SIZE if sized else {})),
    ]


def pairs(value: Any = PAIRS) -> Faulty:
    """Pairs of node numbers."""
    flat: dict[str, Callable[[Any], Any]] = {"one column": lambda a: np.array(a)[:, :1]}
    return [(value, NUMBERS | flat)]


def listed(value: Any, faults: dict[str, Callable[[Any], Any]], *, sized: bool = False) -> Faulty:
    """Lists of numbers."""
    return [(value, faults | (WRONG_SIZE if sized else {}))]


def weights_as_mask() -> Faulty:
    """Masks: what is stored and not zero counts, so that a sign means nothing."""
    mask = sparse.csr_array(np.roll(np.eye(NODES), 5, axis=1))
    return [(mask, STRUCTURE | VALUES | WRONG_SIZE)]


def points_only(stored: Any) -> Faulty:
    """Sparse matrices of real numbers."""
    return [(stored, STRUCTURE | VALUES)]


def only(faults: dict[str, Callable[[Any], Any]], *without: str) -> dict[str, Any]:
    """Return the faults but some."""
    return {name: fault for name, fault in faults.items() if name not in without}
