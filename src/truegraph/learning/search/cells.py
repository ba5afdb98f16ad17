"""The compiled loops of the search in cells.

Queries near one another want the same cells. A group of them is searched together, cell by cell,
so that the points of a cell are read from memory once for all queries that want it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from truegraph.runtime.compiled import compiled


@compiled
def offer(distances: Any, ids: Any, distance: float, node: int) -> None:
    """Replace the root of the max-heap (distances, ids) by a nearer candidate."""
    size = distances.size
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            distances[right] > distances[child]
            or (distances[right] == distances[child] and ids[right] > ids[child])
        ):
            child = right
        if distances[child] < distance or (distances[child] == distance and ids[child] < node):
            break
        distances[at] = distances[child]
        ids[at] = ids[child]
        at = child
    distances[at] = distance
    ids[at] = node


@compiled
def sort_list(distances: Any, ids: Any) -> None:
    """Sort a heap by (distance, id) in place."""
    for last in range(distances.size - 1, 0, -1):
        distance, node = distances[last], ids[last]
        distances[last], ids[last] = distances[0], ids[0]
        offer(distances[:last], ids[:last], distance, node)


_LANES = 64  # points of a tile, whose distances to a query are computed side by side
_UNROLLED = 4  # coordinates that are added up before a sum goes back to memory
_GROUP = 128  # queries searched together


def padded(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Append zeros to points (n, d) until the number of coordinates suits the loops."""
    missing = -points.shape[1] % _UNROLLED
    return np.pad(points, ((0, 0), (0, missing))) if missing else points


def cell_tiles(
    points: NDArray[np.float32], cells: NDArray[np.integer[Any]], n_cells: int
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int64]]:
    """Sort padded points (n, d) by cell into tiles, the last of a cell filled up with infinity.

    Returns tiles (n_tiles, d, lanes), the ids there (n_tiles, lanes), and each cell's first tile.
    """
    sizes = np.bincount(cells, minlength=n_cells)
    first_tiles = np.concatenate([[0], np.cumsum(-(-sizes // _LANES))])
    order = np.argsort(cells, kind="stable")
    place_in_cell = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = _LANES * first_tiles[cells[order]] + place_in_cell
    ids = np.full((first_tiles[-1], _LANES), -1, dtype=np.int32)
    ids.ravel()[places] = order
    tiles = np.full((len(ids), points.shape[1], _LANES), np.inf, dtype=np.float32)
    _lay_out(points, order, places, tiles)
    return tiles, ids, first_tiles


@compiled
def _lay_out(points: Any, order: Any, places: Any, tiles: Any) -> None:
    """Write points (n, d), in an order, to their places among the lanes of all tiles."""
    lanes = tiles.shape[2]
    for n in range(order.size):
        for d in range(points.shape[1]):
            tiles[places[n] // lanes, d, places[n] % lanes] = points[order[n], d]


@compiled
def _by_cell(members: Any, wanted: Any, n_cells: int) -> Any:
    """Return the cells that some queries want, and for each the queries that want it.

    Cells come in the order of their best rank, since near points make the lists strict early.
    """
    place_of = np.full(n_cells, -1, np.int64)
    cells = np.empty(members.size * wanted.shape[1], np.int64)
    begins = np.zeros(cells.size + 2, np.int64)  # shifted by two: filling moves them down
    count = 0
    for rank in range(wanted.shape[1]):
        for query in members:
            cell = wanted[query, rank]
            if place_of[cell] < 0:
                place_of[cell] = count
                cells[count] = cell
                count += 1
            begins[place_of[cell] + 2] += 1
    for place in range(count):
        begins[place + 2] += begins[place + 1]
    asking = np.empty(cells.size, np.int64)
    for query in members:
        for rank in range(wanted.shape[1]):
            place = place_of[wanted[query, rank]]
            asking[begins[place + 1]] = query
            begins[place + 1] += 1
    return cells[:count], begins, asking


@compiled
def _measure(queries: Any, q: int, tiles: Any, t: int, scores: Any) -> None:
    """Write the squared distances of query q to the points of tile t to scores (lanes,)."""
    # A length that the compiler does not know: it would write out a short loop lane by lane.
    lanes = tiles.shape[2]
    for lane in range(lanes):
        scores[lane] = 0.0
    for d in range(0, queries.shape[1], _UNROLLED):
        q0, q1, q2, q3 = queries[q, d], queries[q, d + 1], queries[q, d + 2], queries[q, d + 3]
        for lane in range(lanes):
            x0, x1 = q0 - tiles[t, d, lane], q1 - tiles[t, d + 1, lane]
            x2, x3 = q2 - tiles[t, d + 2, lane], q3 - tiles[t, d + 3, lane]
            scores[lane] += (x0 * x0 + x1 * x1) + (x2 * x2 + x3 * x3)


@compiled
def _offer_near(scores: Any, ids: Any, own: int, nearest: Any, found: Any) -> None:
    """Offer the points of a tile that are near enough to the list of a query."""
    for lane in range(scores.size):
        node, worst = ids[lane], nearest[0]
        is_nearer = scores[lane] < worst or (scores[lane] == worst and node < found[0])
        if is_nearer and node >= 0 and node != own:
            offer(nearest, found, scores[lane], node)


@compiled(parallel=True)
def search_cells(
    queries: Any, own: Any, order: Any, wanted: Any, points: Any, nearest: Any, found: Any
) -> None:
    """Fill the lists (n, k) of padded queries (n, d) from the cells (n, width) that they want.

    `own` (n,) is left out, -1 for none; in `order`, near queries stand in a row. `nearest` comes as
    infinity, `found` as a number beyond all ids, which stays where there were too few.
    """
    tiles, ids, first_tiles = points
    n_cells = first_tiles.size - 1
    for group in prange((order.size + _GROUP - 1) // _GROUP):
        members = order[group * _GROUP : (group + 1) * _GROUP]
        cells, begins, asking = _by_cell(members, wanted, n_cells)
        scores = np.empty(_LANES, np.float32)
        for place in range(cells.size):
            for t in range(first_tiles[cells[place]], first_tiles[cells[place] + 1]):
                for a in range(begins[place], begins[place + 1]):
                    q = asking[a]
                    _measure(queries, q, tiles, t, scores)
                    worst, near = nearest[q, 0], 0
                    for lane in range(scores.size):  # seldom any: counted without a branch
                        near += scores[lane] <= worst
                    if near > 0:
                        _offer_near(scores, ids[t], own[q], nearest[q], found[q])
        for q in members:
            sort_list(nearest[q], found[q])
