"""The networks of recommendation: training, sampling, ranking and graph learning.

    python benchmarks/recommendation_networks.py [--parts training,models,sampler,ranking,graph]

training   seconds per epoch of LightGCN against torch-geometric's, on ML100K and on yelp2018 (a
           stand-in); the same width, layers, batches and triples, Adam, in turns; the best counts
models     seconds per epoch of every model on every data set that is here
           (both from the first batches of an epoch, times the number of batches)
sampler    negatives per second, uniform over the items that a user has not, against a Python loop
ranking    full ranking of 10,000 users x 20,000 items, with its peak memory in a fresh process
graph      learning the graph between users and items of yelp2018, every pair a candidate

Data sets that are not under TRUEGRAPH_DATA are left out.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array

from recommendation import DATASETS, available, timed
from truegraph.data import InteractionSplit
from truegraph.evaluation.ranking import score_rankings
from truegraph.nn.recommenders.negatives import negative_pool
from truegraph.nn.recommenders.registry import RANKING_MODELS
from truegraph.nn.recommenders.training import train_ranking
from truegraph.nn.recommenders.trainings import Trainings
from truegraph.nn.recommenders.triples import Triples, TripleSampler
from truegraph.nn.top_items import rank_items
from truegraph.tasks.recommend.false_negatives import rank_pairs, remove_negatives

PARTS = ("training", "models", "sampler", "ranking", "graph")
USERS, ITEMS = 10_000, 20_000


def best_of(repeats: int, **ways: Callable[[], object]) -> dict[str, tuple[float, float]]:
    """Time ways in turns; return the best time of each."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, work in ways.items():
            found[name].append(timed(work))
    return {name: min(times) for name, times in found.items()}


class FirstBatches(TripleSampler):
    """The first batches of every epoch."""

    count = 10

    def epoch(self, number: int) -> Iterator[Triples]:
        """Give the first batches."""
        return islice(super().epoch(number), self.count)


def sampler_of(split: InteractionSplit, name: str) -> FirstBatches:
    kind = RANKING_MODELS[name]
    settings = kind.settings_type()
    return FirstBatches(
        split.train,
        negative_pool(split.train, "uniform"),
        batch=settings.batch,
        negatives=settings.negatives,
        by=kind.sampling,
        seed=0,
    )


def our_batches(split: InteractionSplit, name: str) -> Callable[[], object]:
    kind = RANKING_MODELS[name]
    model = kind(kind.settings_type(epochs=1), split.train)
    sampler, weights = sampler_of(split, name), model.initial(0)
    return lambda: train_ranking(model, weights, sampler, None)


def batches_per_epoch(split: InteractionSplit, name: str) -> float:
    """Return by what the time of the first batches is multiplied."""
    return sampler_of(split, name).n_batches / FirstBatches.count


def geometric_batches(split: InteractionSplit) -> Callable[[], object]:
    """Return the training of torch-geometric's LightGCN on the same triples."""
    from torch_geometric.nn import LightGCN

    n_users, n_items = split.train.shape
    users, items = (torch.from_numpy(np.asarray(part, np.int64)) for part in split.train.nonzero())
    forth = torch.stack([users, items + n_users])
    edges = torch.cat([forth, forth.flip(0)], dim=1)
    sampler = sampler_of(split, "lightgcn")
    model = LightGCN(n_users + n_items, 64, 3)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3)

    def train() -> None:
        for triples in sampler.epoch(0):
            user = torch.from_numpy(triples.users)
            liked = torch.from_numpy(triples.positives) + n_users
            other = torch.from_numpy(triples.negatives[:, 0]) + n_users
            ends = torch.stack([torch.cat([user, user]), torch.cat([liked, other])])
            scores = model(edges, ends)
            good, bad = scores.chunk(2)
            nodes = torch.cat([user, liked, other])
            loss = model.recommendation_loss(good, bad, nodes, lambda_reg=1e-4)
            adam.zero_grad()
            loss.backward()
            adam.step()

    return train


def training(options: argparse.Namespace) -> dict[str, Any]:
    """Claim: an epoch of LightGCN takes a fraction of torch-geometric's."""
    result = {}
    for name, split in available(("ml100k", "yelp2018")).items():
        ways = {"ours": our_batches(split, "lightgcn"), "torch_geometric": geometric_batches(split)}
        for work in ways.values():
            work()  # compiles, allocates
        found = best_of(options.repeats, **ways)
        whole = batches_per_epoch(split, "lightgcn")
        result[name] = {f"{way}_seconds": whole * times[0] for way, times in found.items()} | {
            f"{way}_processor_seconds": whole * times[1] for way, times in found.items()
        }
        result[name]["times_faster"] = found["torch_geometric"][0] / found["ours"][0]
        result[name]["times_faster_processor"] = found["torch_geometric"][1] / found["ours"][1]
    return result


def models(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds per epoch, without validation, one thread."""
    result: dict[str, Any] = {}
    for name, split in available(DATASETS).items():
        result[name] = {}
        for model in RANKING_MODELS:
            work = our_batches(split, model)
            work()
            wall, busy = min(timed(work) for _ in range(options.repeats))
            whole = batches_per_epoch(split, model)
            result[name][model] = {"seconds": whole * wall, "processor_seconds": whole * busy}
    return result


def sampler(options: argparse.Namespace) -> dict[str, Any]:
    """Claim: at least 20 times faster than a Python loop that draws again until it fits."""
    rng = np.random.default_rng(0)
    n_users, n_items, draws = 2784, 1702, 100_000  # as large as yelp2018
    train = csr_array((rng.random((n_users, n_items)) < 0.02).astype(np.float32))
    removed = csr_array((rng.random((n_users, n_items)) < 0.05).astype(np.float32))
    pool = negative_pool(train, "uniform").without(removed)
    users = rng.integers(n_users, size=draws)
    excluded = [
        set(row.tolist()) for row in np.split(pool.excluded.indices, pool.excluded.indptr[1:-1])
    ]

    def loop() -> None:
        generator = np.random.default_rng(0)
        for user in users[: draws // 10]:
            item = int(generator.integers(n_items))
            while item in excluded[user]:
                item = int(generator.integers(n_items))

    ways = {"ours": lambda: pool.draw(users, 1, np.random.default_rng(0)), "loop": loop}
    ways["ours"]()
    found = best_of(options.repeats, **ways)
    ours, slow = found["ours"][1] / draws, found["loop"][1] / (draws // 10)
    return {"nanoseconds": 1e9 * ours, "loop_nanoseconds": 1e9 * slow, "times_faster": slow / ours}


def ranking(options: argparse.Namespace) -> dict[str, Any]:
    """Claim: the full ranking of 10,000 x 20,000 takes less than 2 GB."""
    done = subprocess.run(
        [sys.executable, __file__, "--rank-once"], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rank_once() -> None:
    rng = np.random.default_rng(0)
    users = rng.normal(size=(USERS, 64)).astype(np.float32)
    items = rng.normal(size=(ITEMS, 64)).astype(np.float32)
    pairs = [np.sort(rng.choice(ITEMS, 60, replace=False)) for _ in range(USERS)]
    columns = np.concatenate(pairs)
    rows = np.repeat(np.arange(USERS), 60)
    is_test = rng.random(len(rows)) < 0.2
    train, test = (
        csr_array((np.ones(chosen.sum()), (rows[chosen], columns[chosen])), shape=(USERS, ITEMS))
        for chosen in (~is_test, is_test)
    )
    rank_items(lambda u: users[u] @ items.T, np.arange(10), train[:10], 100)

    def work() -> None:
        lists, _ = rank_items(lambda u: users[u] @ items.T, np.arange(USERS), train, 100)
        score_rankings(lists, test)

    wall, busy = timed(work)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(json.dumps({"seconds": wall, "processor_seconds": busy, "peak_memory_gb": peak}))


def graph(options: argparse.Namespace) -> dict[str, Any]:
    """Learning the graph of yelp2018's users and items from vectors of a short training."""
    found = available(("yelp2018",))
    if not found:
        return {}
    split = found["yelp2018"]
    trainings = Trainings("lightgcn", {"epochs": 5}, split.train, None, 0)
    vectors = trainings.vectors(trainings.base().weights)
    n_users = split.train.shape[0]
    degree = 2.0 * split.train.nnz / sum(split.train.shape)
    ranked = rank_pairs(vectors, n_users, degree=degree)
    wall, busy = timed(lambda: rank_pairs(vectors, n_users, degree=degree))
    certificate = ranked.graph.certificate
    removal, _ = timed(lambda: remove_negatives(ranked, split.train, 0.2))
    return {
        "pairs": int(np.prod(split.train.shape)),
        "edges": ranked.graph.n_edges,
        "relative_gap": certificate.relative_gap,
        "solve_seconds": certificate.seconds["solve"],
        "seconds_with_ranking": wall,
        "processor_seconds": busy,
        "seconds_to_choose_20_percent": removal,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rank-once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank_once:
        rank_once()
        return
    ways = {"training": training, "models": models, "sampler": sampler}
    ways |= {"ranking": ranking, "graph": graph}
    results: dict[str, Any] = {}
    for part in options.parts.split(","):
        results[part] = ways[part](options)
        if not options.json:
            print(f"{part}\n{json.dumps(results[part], indent=2)}", flush=True)
    if options.json:
        print(json.dumps({"repeats": options.repeats, **results}, indent=2))


if __name__ == "__main__":
    main()
