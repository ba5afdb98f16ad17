"""Checks of what users pass in, with messages that name the argument, the value and the remedy."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from truegraph import gate
from truegraph.errors import InputError
from truegraph.gate import check_finite
from truegraph.learning.automatic import AUTO_DEGREE, chosen_options
from truegraph.wording import counted

METRICS = ("sqeuclidean", "cosine", "precomputed")
ENGINES = ("auto", "exact", "hnsw", "ivf")
SCOPES = ("candidates", "global")
SOLVERS = ("newton", "primal-dual")
_SMALLEST_DISTANCE = 1e-290
_SMALLEST_TOL = 1e-15  # a relative gap below the precision of float64 cannot be seen
_EXTREME = 1e100
DEFAULT_MAX_ITER = {"newton": 500, "primal-dual": 1000}


@dataclass(frozen=True)
class Settings:
    """The learner's options after checking, with defaults filled in."""

    degree: float | None
    is_degree_auto: bool
    theta: float | None
    scale: float
    candidate_ratio: float
    engine: str
    scope: str
    solver: str
    tol: float
    max_iter: int
    first_theta: float | None
    mutual: bool
    local_scaling: int | None
    min_degree: int
    connected: bool


def check_settings(options: dict[str, Any], may_join: bool = True) -> Settings:
    """Check the constructor arguments of `GraphLearner`.

    Parameters
    ----------
    options : dict
    may_join : bool
        Whether components can be joined by pairs that are no candidates, so that
        connected="auto" may mean True.
    """
    options, is_degree_auto = chosen_options(options, may_join)
    check_choice("metric", options["metric"], METRICS)
    check_choice("candidates", options["candidates"], ENGINES)
    check_choice("scope", options["scope"], SCOPES)
    check_choice("solver", options["solver"], SOLVERS)
    if options["scope"] == "global" and options["candidates"] in ("hnsw", "ivf"):
        raise InputError(
            f"scope='global' needs exact search, but candidates={options['candidates']!r} is "
            "approximate; use candidates='exact', or scope='candidates'."
        )
    _check_neighbours(options)
    check_threads(options["n_jobs"])
    check_seed(options["random_state"])
    degree, theta, scale = _density(options)
    max_iter = options["max_iter"]
    return Settings(
        degree=degree,
        is_degree_auto=is_degree_auto,
        theta=theta,
        scale=scale,
        candidate_ratio=check_number("candidate_ratio", options["candidate_ratio"], at_least=1.0),
        engine=options["candidates"],
        scope=options["scope"],
        solver=options["solver"],
        tol=check_number("tol", options["tol"], at_least=_SMALLEST_TOL),
        max_iter=(
            DEFAULT_MAX_ITER[options["solver"]]
            if max_iter is None
            else int(check_number("max_iter", max_iter, at_least=1))
        ),
        first_theta=_first_theta(options["first_theta"], theta),
        mutual=_flag("mutual", options["mutual"], " or False"),
        local_scaling=_count("local_scaling", options["local_scaling"]),
        min_degree=_count("min_degree", options["min_degree"]) or 1,
        connected=_flag("connected", options["connected"], ", False or 'auto'"),
    )


def _check_neighbours(options: dict[str, Any]) -> None:
    """Raise for options of neighbour graphs that do not go with the others."""
    if options["mutual"] and options["metric"] == "precomputed":
        raise InputError(
            "mutual=True needs lists of neighbours, but metric='precomputed' has pairs; store only "
            "the pairs that may have an edge."
        )
    for name in ("mutual", "local_scaling"):
        if options["scope"] == "global" and options[name]:
            raise InputError(
                f"scope='global' proves optimality among all pairs by their plain distances, but "
                f"{name}={options[name]!r} changes those; use scope='candidates'."
            )


def _flag(name: str, value: Any, otherwise: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name}={value!r} must be True{otherwise}.")
    return bool(value)


def _count(name: str, value: Any) -> int | None:
    return None if value is None else gate.whole_number(name, value, at_least=1)


def _first_theta(value: Any, theta: float | None) -> float | None:
    if value is None:
        return None
    if theta is not None:
        raise InputError(
            f"first_theta={value!r} begins the search for a degree, but the density is given "
            "already; leave out first_theta, or give degree in place of theta, alpha and beta."
        )
    return check_number("first_theta", value, above=0.0)


def _density(options: dict[str, Any]) -> tuple[float | None, float | None, float]:
    """Return (degree, theta, scale) from whichever of degree, theta, alpha and beta is given."""
    given = [name for name in ("degree", "theta", "alpha", "beta") if options[name] is not None]
    if set(given) == {"alpha", "beta"}:
        # The solver's compiled loops take a second to import, which no other check needs.
        from truegraph.learning.solve.solver import one_parameter_form

        alpha = check_number("alpha", options["alpha"], above=0.0)
        beta = check_number("beta", options["beta"], above=0.0)
        if not 1.0 / _EXTREME < alpha < _EXTREME or not 1.0 / _EXTREME < beta < _EXTREME:
            raise InputError(
                f"alpha={alpha:g} and beta={beta:g} are too extreme for float64; give numbers "
                f"between {1.0 / _EXTREME:g} and {_EXTREME:g}, or degree."
            )
        theta, scale = one_parameter_form(alpha, beta)
        return None, theta, scale
    if len(given) > 1 or given in (["alpha"], ["beta"]):
        raise InputError(
            f"the density was given by {' and '.join(given)}; "
            "give degree, or theta, or alpha and beta together."
        )
    if given == ["theta"]:
        return None, check_number("theta", options["theta"], above=0.0), 1.0
    if given == ["degree"]:
        return _wanted_degree(options["degree"]), None, 1.0
    return AUTO_DEGREE, None, 1.0


def _wanted_degree(degree: Any) -> float:
    if degree == "auto":
        return AUTO_DEGREE
    if isinstance(degree, str):
        raise InputError(f"degree={degree!r} must be a finite number >= 1, or 'auto'.")
    return check_number("degree", degree, at_least=1.0)


def check_threads(n_jobs: Any) -> None:
    """Check a number of threads."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InputError(
            f"n_jobs={n_jobs!r} must be a number of threads, -1 for all cores, or None."
        )


def check_seed(random_state: Any) -> None:
    """Check a random_state."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return
    if not (isinstance(random_state, Integral) and 0 <= int(random_state) < 2**32):
        raise InputError(
            f"random_state={random_state!r} must be an integer from 0 to 2**32 - 1, a RandomState "
            "or None."
        )


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Check that a value is one of those allowed."""
    if value not in allowed:
        raise InputError(f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}.")


def check_number(
    name: str, value: Any, *, above: float | None = None, at_least: float | None = None
) -> float:
    """Return a number as a float, after checking that it is finite and large enough."""
    wanted = f"> {above:g}" if above is not None else f">= {at_least:g}"
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    low = math.isfinite(number) and (
        number > above if above is not None else number >= (at_least or 0.0)
    )
    if not low:
        raise InputError(f"{name}={value!r} must be a finite number {wanted}.")
    return number


def most_edges(n_nodes: int, n_users: int | None) -> float:
    """Return the largest possible mean degree."""
    if n_users is None:
        return float(n_nodes - 1)
    return 2.0 * n_users * (n_nodes - n_users) / n_nodes


def check_degree(settings: Settings, available: float, what: str) -> Settings:
    """Raise when a mean degree is wanted that the pairs cannot give; "auto" gives way."""
    degree = settings.degree
    if degree is None or degree <= available:
        return settings
    if settings.is_degree_auto:
        return replace(settings, degree=available)
    raise InputError(
        f"degree={degree:g} cannot be reached: {what} allow at most {available:g} "
        f"edges per node; ask for degree <= {available:g}"
    )


def check_points(name: str, points: Any) -> None:
    """Raise unless points is a finite table (n, d) with at least one column."""
    if points.ndim != 2:
        raise InputError(
            f"{name} must be a table of shape (nodes, features), but has shape {points.shape}; "
            "reshape it."
        )
    if points.shape[0] == 0:
        raise InputError(f"{name} is empty (shape {points.shape}); give at least two nodes.")
    if points.shape[1] == 0:
        raise InputError(f"{name} has no columns (shape {points.shape}); give a feature or more.")
    check_finite(name, points)


def check_two_nodes(n_nodes: int) -> None:
    """Raise when there is no pair of nodes at all."""
    if n_nodes < 2:
        raise InputError(
            f"the input has {counted(n_nodes, 'node')}; a graph needs at least two nodes."
        )


def check_input(name: str, X: Any, metric: str, settings: Settings) -> None:
    """Raise for every fault of the input that shows without a search.

    The learner finds them too; this finds them before the compiled code is imported.

    Parameters
    ----------
    name : str
        What messages call the input, for instance the path of a file.
    X : ndarray or csr_array of shape (n_nodes, n_features) or (n_nodes, n_nodes)
    metric : str
        As in `GraphLearner`.
    settings : Settings
    """
    if metric != "precomputed":
        check_points(name, X)
        check_two_nodes(X.shape[0])
        check_degree(settings, X.shape[0] - 1, "that many nodes")
        return
    candidates = check_precomputed(X, name)
    check_two_nodes(candidates.shape[0])
    require_candidates(candidates)
    check_degree(settings, candidates.nnz / candidates.shape[0], "the stored pairs")


def require_candidates(candidates: csr_array) -> None:
    """Raise when a node has no candidate pair at all, for then no graph exists."""
    empty = np.flatnonzero(np.diff(candidates.indptr) == 0)
    if empty.size:
        raise InputError(
            f"node {empty[0]} has no candidate pair ({empty.size} such nodes), but every node "
            "needs at least one; store a distance for it, add one with fixed_pairs, or forbid less."
        )


def check_precomputed(matrix: Any, name: str = "X") -> csr_array:
    """Return a precomputed distance matrix as candidates: symmetric CSR without diagonal.

    Stored entries, zeros included, are the candidate pairs; a dense matrix stores every pair.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"{name} must be square for metric='precomputed', but has shape {matrix.shape}"
        )
    stored = _stored(matrix, name)
    off_diagonal = _row_numbers(stored) != stored.indices
    indptr = np.concatenate([[0], np.cumsum(off_diagonal)])[stored.indptr].astype(
        stored.indptr.dtype
    )
    candidates = csr_array(
        (stored.data[off_diagonal], stored.indices[off_diagonal], indptr), shape=stored.shape
    )
    _check_symmetric(candidates, name)
    return candidates


def check_rectangular(matrix: Any, name: str) -> csr_array:
    """Return precomputed user-item distances as candidates between users and items."""
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError(f"{name} must be a table of users by items, but has shape {matrix.shape}")
    stored = _stored(matrix, name)
    n_users, n_items = stored.shape
    back = csr_array(stored.T)
    back.sort_indices()
    return csr_array(
        (
            np.concatenate([stored.data, back.data]),
            np.concatenate([stored.indices + n_users, back.indices]),
            np.concatenate([stored.indptr, stored.nnz + back.indptr[1:]]),
        ),
        shape=(n_users + n_items, n_users + n_items),
    )


def _stored(matrix: Any, name: str) -> csr_array:
    """Return the stored entries as sorted CSR of float64, after checking their values."""
    if issparse(matrix):
        stored = gate.sparse_matrix(name, matrix, finite=False).copy()
        stored.sum_duplicates()
    else:
        dense = gate.table(name, matrix, finite=False)
        rows, columns = dense.shape
        stored = csr_array(
            (
                dense.ravel().copy(),
                np.tile(np.arange(columns, dtype=np.int32), rows),
                np.arange(0, rows * columns + 1, columns),
            ),
            shape=dense.shape,
        )
    if max(stored.nnz, *stored.shape) <= np.iinfo(np.int32).max:
        stored.indices = stored.indices.astype(np.int32, copy=False)
        stored.indptr = stored.indptr.astype(np.int32, copy=False)
    check_finite(name, stored)
    largest = float(stored.data.max(initial=0.0))
    if 0.0 < largest < _SMALLEST_DISTANCE:
        raise InputError(
            f"{name} has no distance larger than {largest:g}, too small for float64; scale the "
            "distances up."
        )
    if stored.nnz and stored.data.min() < 0.0:
        entry = int(np.flatnonzero(stored.data < 0.0)[0])
        raise InputError(
            f"{name} contains the negative distance {stored.data[entry]:g} in row "
            f"{_row_numbers(stored)[entry]}, column {stored.indices[entry]}; "
            "distances must be >= 0."
        )
    return stored


def _row_numbers(matrix: csr_array) -> NDArray[np.int64]:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _check_symmetric(matrix: csr_array, name: str) -> None:
    mirror = csr_array(matrix.T)
    mirror.sort_indices()
    same_pattern = np.array_equal(matrix.indptr, mirror.indptr) and np.array_equal(
        matrix.indices, mirror.indices
    )
    if same_pattern and np.array_equal(matrix.data, mirror.data):
        return
    row, column = _first_asymmetric(matrix, mirror, same_pattern)
    if same_pattern:
        raise InputError(
            f"{name} is not symmetric: entries ({row}, {column}) and ({column}, {row}) differ; "
            "make it so, for example with (X + X.T) / 2."
        )
    raise InputError(
        f"{name} is not symmetric: entry ({row}, {column}) is stored and ({column}, {row}) is not; "
        "store every pair in both directions."
    )


def _first_asymmetric(matrix: csr_array, mirror: csr_array, same_pattern: bool) -> tuple[int, int]:
    rows = _row_numbers(matrix)
    if same_pattern:
        entry = int(np.flatnonzero(matrix.data != mirror.data)[0])
    else:
        nodes = matrix.shape[0]
        keys = rows * nodes + matrix.indices
        entry = int(
            np.flatnonzero(~np.isin(keys, _row_numbers(mirror) * nodes + mirror.indices))[0]
        )
    return int(rows[entry]), int(matrix.indices[entry])
