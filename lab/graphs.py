"""Graphs that are made up, for tests of link prediction where nothing but links is known.

They are stand-ins: each has one of the patterns of real graphs, and no more than that.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from truegraph.data.adjacency import adjacency_from_edges
from truegraph.errors import InputError


def planted_groups(
    n_nodes: int = 3000, group: int = 50, inside: float = 0.15, across: float = 3.0, seed: int = 0
) -> csr_array:
    """Return a graph of groups whose members are linked more often than others, (N, N).

    Parameters
    ----------
    n_nodes, group : int
        Nodes in all and in each group.
    inside : float
        Chance of a link between two members.
    across : float
        Mean number of links of a node to anyone.
    seed : int
    """
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(group, 1)
    starts = np.arange(0, n_nodes - group + 1, group)
    ends = (starts[:, None, None] + np.column_stack([first, second])).reshape(-1, 2)
    ends = ends[rng.random(len(ends)) < inside]
    anyone = rng.integers(n_nodes, size=(int(n_nodes * across / 2), 2))
    pairs = np.concatenate([ends, anyone])
    return adjacency_from_edges(pairs[:, 0], pairs[:, 1], None, n_nodes)


def preferential_attachment(n_nodes: int = 5000, links: int = 4, seed: int = 0) -> csr_array:
    """Return a graph that grows: each node links to some, chosen by how many links they have.

    Parameters
    ----------
    n_nodes : int
    links : int
        Of a new node.
    seed : int
    """
    if n_nodes <= links:
        raise InputError(f"n_nodes={n_nodes} must exceed links={links}.")
    rng = np.random.default_rng(seed)
    new = np.repeat(np.arange(links, n_nodes), links)
    chosen = np.empty(len(new), dtype=np.int64)
    for place in range(len(new)):
        # One end of a random earlier link is a node chosen by its number of links.
        past = 2 * (place - place % links)
        at = int(rng.integers(past + links))
        if at >= past:
            chosen[place] = at - past
        else:
            chosen[place] = chosen[at // 2] if at % 2 else new[at // 2]
    return adjacency_from_edges(new, chosen, None, n_nodes)


def teams(n_nodes: int = 4000, count: int = 3000, circle: int = 40, seed: int = 0) -> csr_array:
    """Return who worked with whom: all members of a team are linked, as in collaborations.

    Parameters
    ----------
    n_nodes, count : int
        People and teams.
    circle : int
        A team of three to six is drawn from this many people with neighbouring numbers.
    seed : int
    """
    rng = np.random.default_rng(seed)
    sources, targets = [], []
    for _ in range(count):
        start = int(rng.integers(n_nodes - circle))
        members = start + rng.choice(circle, size=int(rng.integers(3, 7)), replace=False)
        first, second = np.triu_indices(len(members), 1)
        sources.append(members[first])
        targets.append(members[second])
    return adjacency_from_edges(np.concatenate(sources), np.concatenate(targets), None, n_nodes)


MADE_GRAPHS: dict[str, Callable[[], csr_array]] = {
    "planted-groups": planted_groups,
    "preferential-attachment": preferential_attachment,
    "teams": teams,
}
