"""Lists of the nearest so far, as max-heaps of (distance, id): the farthest is at the root.

Of equal distances the smaller id is nearer, so a list does not depend on the order of the offers.
"""

from __future__ import annotations

from typing import Any

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
