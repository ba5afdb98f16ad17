"""Items that nobody has taken yet, and what the learned graph of items is worth: citeulike-a.

    python benchmarks/new_items.py [--seed 0] [--parts new,warm,citations] [--json]

The articles of users' libraries (205,000 pairs) have tags and cite each other. TRUEGRAPH_DATA names
the folder with citeulike_a/citeulike_a.npz; its licence allows research only.

new        a tenth of the articles is held out: nobody's interactions with them are seen. Lists of
           20 held-out articles, from the tags, against k-NN on the tags (its k is chosen on as many
           further held-out articles), and random lists
warm       a random fifth of each user's interactions is held out: graph-augmented EASE with its
           usual options, with and without tags, and the package implicit's ALS, chosen on a tenth
citations  edges of the learned graph of the items, from interactions and from interactions and
           tags, that are citations; against a k-NN graph of the same similarity and as many edges

One seed takes about five minutes of processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, triu
from sklearn.preprocessing import normalize

from truegraph import Interactions, Recommender
from truegraph.data import split_randomly
from truegraph.data.interactions import pair_matrix
from truegraph.evaluation import ranking_metrics
from truegraph.recommend.ease import item_graph, nearest_items
from truegraph.recommend.features import read_features
from truegraph.recommend.models import rank_items

PARTS = ("new", "warm", "citations")
NEW_SHARE = 0.1
NEIGHBOURS = (5, 10, 20, 50, 100, 200)
DEPTH = 20


def load() -> tuple[csr_array, csr_array, csr_array]:
    """Return interactions (users, articles), tags (articles, tags) and citations, symmetric."""
    path = Path(os.environ["TRUEGRAPH_DATA"]) / "citeulike_a" / "citeulike_a.npz"
    with np.load(path, allow_pickle=False) as arrays:
        n_users, n_items = (int(size) for size in arrays["shape"])
        users, items = arrays["interactions"].astype(np.int64).T
        articles, tags = arrays["item_tags"].astype(np.int64).T
        cited = arrays["item_citations"].astype(np.int64)
    links = pair_matrix(*cited, (n_items, n_items))
    both = csr_array(links.maximum(links.T))
    return (
        pair_matrix(users, items, (n_users, n_items)),
        pair_matrix(articles, tags, (n_items, int(tags.max()) + 1)),
        both,
    )


def weighted(tags: csr_array) -> csr_array:
    """Return rows of length 1 in which rare tags count more."""
    holders = np.maximum(np.bincount(tags.indices, minlength=tags.shape[1]), 1)
    return csr_array(normalize(tags @ diags_array(np.log(tags.shape[0] / holders))))


def scored(lists: NDArray[np.int64], held_out: csr_array) -> dict[str, float]:
    """Return the metrics of users' lists."""
    found = ranking_metrics(lists, held_out, (DEPTH,))
    return {name: found[name] for name in (f"recall@{DEPTH}", f"ndcg@{DEPTH}")}


def parted(matrix: csr_array, is_out: NDArray[np.bool_]) -> tuple[csr_array, csr_array]:
    """Return the interactions with the other items, and those with the held-out ones."""
    return tuple(csr_array(matrix @ diags_array(side.astype(float))) for side in (~is_out, is_out))  # type: ignore[return-value]


def without_zeros(matrix: csr_array) -> csr_array:
    """Return a matrix with no stored zeros."""
    found = csr_array(matrix)
    found.eliminate_zeros()
    return found


def neighbour_lists(
    tags: csr_array, seen: csr_array, is_new: NDArray[np.bool_], count: int
) -> NDArray[np.int64]:
    """Return lists of new items by k-NN: the mean over the known items that are nearest in tags."""
    new = np.flatnonzero(is_new)
    known = csr_array(diags_array((~is_new).astype(float)) @ tags)
    masked: Any = csr_array((len(new), tags.shape[0]))
    near, value = rank_items(lambda rows: (tags[new[rows]] @ known.T).toarray(), masked, count)
    row, place = np.nonzero((near >= 0) & (value > 0.0))
    ends = (near[row, place], new[row])
    weights = csr_array((value[row, place], ends), shape=(tags.shape[0], tags.shape[0]))
    nothing: Any = csr_array(seen.shape)
    scores = csr_array(seen @ weights)
    return rank_items(lambda rows: scores[rows].toarray(), nothing, DEPTH, is_new)[0]


def new(seed: int) -> dict[str, Any]:
    """Compare lists of articles of which no interaction was seen."""
    matrix, tags, _ = load()
    n_items = matrix.shape[1]
    order = np.random.default_rng(seed).permutation(n_items)
    count = round(NEW_SHARE * n_items)
    is_new = np.isin(np.arange(n_items), order[:count])
    is_tuning = np.isin(np.arange(n_items), order[count : 2 * count])
    seen, held_out = (without_zeros(part) for part in parted(matrix, is_new))
    fewer, tuning = (without_zeros(part) for part in parted(seen, is_tuning))
    points = weighted(tags)
    recalls = {
        k: scored(neighbour_lists(points, fewer, is_tuning, k), tuning)[f"recall@{DEPTH}"]
        for k in NEIGHBOURS
    }
    best = max(recalls, key=lambda k: recalls[k])
    found: dict[str, Any] = {
        f"k-NN on tags, k = {best}": scored(neighbour_lists(points, seen, is_new, best), held_out)
    }
    for model in ("graph-ease", "ease"):
        began = time.process_time()
        made = Recommender(model, validation_share=0.0, random_state=seed).fit(seen, items=tags)
        table = made.recommend(range(matrix.shape[0]), DEPTH, only=np.flatnonzero(is_new))
        lists = table["item"].to_numpy().reshape(-1, DEPTH)
        spent = {"seconds": time.process_time() - began}
        found[f"{model}, placed by tags"] = scored(lists, held_out) | spent
    chance = np.random.default_rng(seed).permuted(
        np.tile(np.flatnonzero(is_new), (matrix.shape[0], 1)), axis=1
    )
    found["random lists"] = scored(chance[:, :DEPTH], held_out)
    return found


def warm(seed: int) -> dict[str, Any]:
    """Compare lists of articles that others have taken."""
    matrix, tags, _ = load()
    split = split_randomly(Interactions.from_matrix(matrix), (0.7, 0.1, 0.2), random_state=seed)
    seen = csr_array(split.train + split.validation)
    found = {}
    for label, how in (("graph-ease", {}), ("graph-ease with tags", {"items": tags})):
        began = time.process_time()
        made = Recommender("graph-ease", validation_share=0.0, random_state=seed)
        made.fit(seen, **how)
        lists = made.rank_all(seen, DEPTH)
        found[label] = scored(lists, split.test) | {"seconds": time.process_time() - began}
    return found | {"implicit ALS": implicit_als(split)}


def implicit_als(split: Any) -> dict[str, float]:
    """Return figures of the package implicit, the best on validation refitted to everything."""
    from benchmarks.recommendation import implicit_grid, theirs

    return theirs(split, implicit_grid()["ALS"])


def citations(seed: int) -> dict[str, Any]:
    """Edges of learned graphs that are citations, beside those of k-NN graphs."""
    matrix, tags, links = load()
    taken = np.bincount(matrix.indices, minlength=matrix.shape[1])
    features, _ = read_features(tags, tuple(range(matrix.shape[1])), "items")
    cited = triu(links, k=1).tocsr()
    found: dict[str, Any] = {"citations": int(cited.nnz)}
    for label, own, weight in (("interactions", None, 0.0), ("and tags", features, 0.75)):
        near = nearest_items(matrix, 61, seed=seed, features=own, weight=weight)
        _, learned = item_graph(near, 20.0)
        assert learned is not None
        edges = triu(learned.adjacency, k=1).tocoo()
        found[f"learned, {label}"] = overlap(edges.row, edges.col, edges.data, links)
        rows, places = np.nonzero(near[0] >= 0)
        ends = np.sort(np.stack([rows, near[0][rows, places]]), axis=0)
        pairs, first = np.unique(ends[0] * taken.size + ends[1], return_index=True)
        for name, strength in (
            ("k-NN", -places[first] + near[1][rows, places][first] / 2.0),
            ("strongest pairs", near[1][rows, places][first]),
        ):
            kept = np.argsort(-strength, kind="stable")[: edges.nnz]
            row, column = np.divmod(pairs[kept], taken.size)
            found[f"{name}, {label}"] = overlap(row, column, strength[kept], links)
    return found


def overlap(
    row: NDArray[Any], column: NDArray[Any], strength: NDArray[Any], links: csr_array
) -> dict[str, float]:
    """Return how many edges there are, and which share of them and of the strongest are cited."""
    is_cited = np.asarray(links[row, column]).ravel() > 0
    strongest = np.argsort(-strength, kind="stable")[: len(row) // 10]
    return {
        "edges": len(row),
        "cited %": 100.0 * float(is_cited.mean()),
        "of the strongest tenth %": 100.0 * float(is_cited[strongest].mean()),
        "of all citations %": 100.0 * float(is_cited.sum() / (links.nnz / 2)),
    }


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    ways = {"new": new, "warm": warm, "citations": citations}
    for part in asked.parts.split(","):
        print(f"{part}\n{json.dumps(ways[part](asked.seed), indent=2)}", flush=True)


if __name__ == "__main__":
    main()
