"""The compiled loops of the block model: gradients over random sets of pairs.

The loops are serial on purpose. One call takes a few milliseconds, where starting threads gains
little on a free machine and loses much on a busy one, and trials run side by side anyway.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_SMALLEST_EVIDENCE = 1e-25  # of Z
_BLOCK = 4096  # pairs drawn before they are used
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

_compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})


@_compiled
def _mix(x: Any) -> Any:
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@_compiled
def _draw(state: Any, bound: int) -> Any:
    """Return the next state and an integer below `bound` (< 2^32)."""
    state = state + _GOLDEN
    return state, np.int64(((_mix(state) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@_compiled
def _choose_non_neighbours(
    a: int, neighbours: Any, wanted: int, state: Any, seen_by: Any, chosen: Any
) -> Any:
    """Fill `chosen` with distinct random non-neighbours of node a; return state and number."""
    n_nodes = seen_by.size
    available = n_nodes - 1 - neighbours.size
    wanted = min(wanted, available)
    seen_by[a] = a
    for b in neighbours:
        seen_by[b] = a
    count = 0
    if 2 * wanted < available:  # rejection: few are drawn twice
        while count < wanted:
            state, b = _draw(state, n_nodes)
            if seen_by[b] != a:
                seen_by[b] = a
                chosen[count] = b
                count += 1
        return state, count
    for b in range(n_nodes):  # selection sampling: one pass, each subset equally likely
        if seen_by[b] != a:
            state, place = _draw(state, available)
            if place < wanted - count:
                chosen[count] = b
                count += 1
            available -= 1
    return state, count


@_compiled
def _add_evidence(
    pi_a: Any, partners: Any, pi: Any, difference: Any, base: float, weight: float, gradient: Any
) -> None:
    """Add weight * sum_b [(base + difference_k pi_bk) / Z_ab - 1] to the gradient of one node."""
    n_communities = difference.size
    inverse_sum = 0.0
    factor = difference * pi_a
    weighted = np.zeros(n_communities)
    for b in partners:
        pi_b = pi[b]
        evidence = base
        for k in range(n_communities):
            evidence += factor[k] * pi_b[k]
        inverse = 1.0 / max(evidence, _SMALLEST_EVIDENCE)
        inverse_sum += inverse
        for k in range(n_communities):
            weighted[k] += inverse * pi_b[k]
    for k in range(n_communities):
        gradient[k] += weight * (base * inverse_sum + difference[k] * weighted[k] - partners.size)


@_compiled
def phi_gradient(
    nodes: Any, links: Any, model: Any, n_partners: int, seed: Any, gradient: Any
) -> None:
    """Fill gradient (n, K) with sum_b d log Z_ab / d phi_a times sum(phi_a), for each node a.

    The sum runs over all links of a and over random non-links that fill up `n_partners`; these
    are weighted to stand for all non-links. A node with more links than that still gets one
    non-link for every two links.
    """
    indptr, indices = links
    pi, beta, across = model
    n_nodes = pi.shape[0]
    difference = beta - across  # B(beta) - B(delta) of a link; of a non-link, its negative
    seen_by = np.full(n_nodes, -1, np.int64)
    chosen = np.empty(n_nodes, np.int64)
    state = seed
    for position in range(nodes.size):
        a = nodes[position]
        neighbours = indices[indptr[a] : indptr[a + 1]]
        row = gradient[position]
        row[:] = 0.0
        _add_evidence(pi[a], neighbours, pi, difference, across, 1.0, row)
        wanted = max(n_partners - neighbours.size, (neighbours.size + 1) // 2)
        state, count = _choose_non_neighbours(a, neighbours, wanted, state, seen_by, chosen)
        if count > 0:
            weight = (n_nodes - 1 - neighbours.size) / count
            _add_evidence(pi[a], chosen[:count], pi, -difference, 1.0 - across, weight, row)


@_compiled
def sum_of_shares(
    sources: Any, targets: Any, pi: Any, probability: Any, base: float, shares: Any
) -> None:
    """Add f_kk / Z = probability_k pi_ak pi_bk / Z_ab of every pair to shares (K,).

    For links `probability` is beta and `base` delta, for non-links 1 - beta and 1 - delta.
    """
    difference = probability - base
    same = np.zeros(probability.size)
    for e in range(sources.size):
        pi_a, pi_b = pi[sources[e]], pi[targets[e]]
        evidence = base
        for k in range(same.size):
            evidence += difference[k] * pi_a[k] * pi_b[k]
        inverse = 1.0 / max(evidence, _SMALLEST_EVIDENCE)
        for k in range(same.size):
            same[k] += pi_a[k] * pi_b[k] * inverse
    shares += probability * same


@_compiled
def _draw_non_link(state: Any, indptr: Any, indices: Any) -> Any:
    """Return the next state and a random pair of nodes without a link."""
    n_nodes = indptr.size - 1
    while True:
        state, a = _draw(state, n_nodes)
        state, b = _draw(state, n_nodes)
        linked = a == b
        for e in range(indptr[a], indptr[a + 1]):
            linked |= indices[e] == b
        if not linked:
            return state, a, b


@_compiled
def shares_in_non_links(links: Any, model: Any, n_drawn: int, seed: Any) -> Any:
    """Return the sum (K,) of f_kk / Z over `n_drawn` non-links, drawn with replacement."""
    indptr, indices = links
    pi, beta, across = model
    shares = np.zeros(beta.size)
    sources = np.empty(_BLOCK, np.int64)
    targets = np.empty(_BLOCK, np.int64)
    state = seed
    for start in range(0, n_drawn, _BLOCK):
        count = min(_BLOCK, n_drawn - start)
        for e in range(count):
            state, sources[e], targets[e] = _draw_non_link(state, indptr, indices)
        sum_of_shares(sources[:count], targets[:count], pi, 1.0 - beta, 1.0 - across, shares)
    return shares
