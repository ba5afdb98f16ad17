"""Recommendation: training, sampling, ranking and graph learning, each against what one would use.

    python benchmarks/recommendation.py [--parts rivals,zipf,training,sampler,ranking,graph,models]

rivals     time to fit and recall@20 on the same split: ours against the package implicit (ALS, BPR,
           item-item), all in one run; choices on validation for both, then a fit to everything
zipf       100,000 users x 50,000 items, made up: fit and lists of 1,000 users, with its peak memory
           in a fresh process

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
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from truegraph.data import InteractionSplit, load_interactions, split_randomly
from truegraph.data.interactions.interactions import pair_matrix
from truegraph.errors import DataError
from truegraph.evaluation.ranking import score_rankings
from truegraph.nn.recommenders.negatives import negative_pool
from truegraph.nn.recommenders.registry import RANKING_MODELS
from truegraph.nn.recommenders.training import train_ranking
from truegraph.nn.recommenders.trainings import Trainings
from truegraph.nn.recommenders.triples import Triples, TripleSampler
from truegraph.nn.top_items import rank_items
from truegraph.tasks.recommend.false_negatives import rank_pairs, remove_negatives

PARTS = ("rivals", "zipf", "training", "models", "sampler", "ranking", "graph")
DATASETS = ("ml100k", "amazon_cds", "amazon_books", "yelp2018")
USERS, ITEMS = 10_000, 20_000
ZIPF_USERS, ZIPF_ITEMS = 100_000, 50_000


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return seconds of wall clock and of processor time."""
    wall, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - busy


def best_of(repeats: int, **ways: Callable[[], object]) -> dict[str, tuple[float, float]]:
    """Time ways in turns; return the best time of each."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, work in ways.items():
            found[name].append(timed(work))
    return {name: min(times) for name, times in found.items()}


def available(names: tuple[str, ...]) -> dict[str, InteractionSplit]:
    splits = {}
    for name in names:
        try:
            splits[name] = split_randomly(load_interactions(name), random_state=0)
        except DataError as error:
            print(f"left out: {error}", file=sys.stderr)
    return splits


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


def recall_of(lists: NDArray[np.int64], split: InteractionSplit) -> dict[str, float]:
    found = score_rankings(lists, split.test, (20,)).means()
    return {name: found[name] for name in ("recall@20", "ndcg@20")}


def ours(split: InteractionSplit, model: str) -> dict[str, Any]:
    """Fit one of our models: choices on validation, then a fit to everything."""
    from truegraph import Recommender

    recommender = Recommender(model, random_state=0)
    wall, busy = timed(lambda: recommender.fit(split.train, validation=split.validation))
    seen = csr_array(split.train + split.validation)
    scores = recall_of(recommender.rank_all(seen, 20), split)
    return {"seconds": wall, "processor_seconds": busy, **scores}


def implicit_grid() -> dict[str, list[Callable[[], Any]]]:
    """Return makers of the models of the package implicit; the best on validation counts."""
    from implicit.als import AlternatingLeastSquares
    from implicit.bpr import BayesianPersonalizedRanking
    from implicit.nearest_neighbours import CosineRecommender

    def als(penalty: float, alpha: float) -> Callable[[], Any]:
        return lambda: AlternatingLeastSquares(
            factors=64, regularization=penalty, alpha=alpha, iterations=10, random_state=0
        )

    return {
        "ALS": [als(penalty, alpha) for penalty in (3.0, 10.0, 30.0) for alpha in (5.0, 16.0)],
        "BPR": [
            lambda rate=rate: BayesianPersonalizedRanking(  # type: ignore[misc]
                factors=64, learning_rate=rate, iterations=100, random_state=0
            )
            for rate in (0.01, 0.05)
        ],
        "item-item": [lambda k=k: CosineRecommender(K=k) for k in (20, 50, 100, 200)],  # type: ignore[misc]
    }


def implicit_lists(model: Any, histories: csr_array) -> NDArray[np.int64]:
    users = np.arange(histories.shape[0])
    matrix = csr_matrix(histories)
    found = model.recommend(users, matrix, N=20, filter_already_liked_items=True)[0]
    return np.asarray(found, dtype=np.int64)


def theirs(split: InteractionSplit, makers: list[Callable[[], Any]]) -> dict[str, Any]:
    """Fit models of implicit: the best on validation is fitted to everything."""
    everything = csr_array(split.train + split.validation)
    fitted: list[Any] = []

    def fit() -> None:
        recalls = []
        for make in makers:
            model = make()
            model.fit(csr_matrix(split.train), show_progress=False)
            lists = implicit_lists(model, split.train)
            recalls.append(score_rankings(lists, split.validation, (20,)).means()["recall@20"])
        best = makers[int(np.argmax(recalls))]()
        best.fit(csr_matrix(everything), show_progress=False)
        fitted.append(best)

    wall, busy = timed(fit)
    scores = recall_of(implicit_lists(fitted[0], everything), split)
    return {"seconds": wall, "processor_seconds": busy, **scores}


def rivals(options: argparse.Namespace) -> dict[str, Any]:
    """Claim: refined finds more than any model of implicit on the same split."""
    result: dict[str, Any] = {}
    for name, split in available(tuple(options.datasets.split(","))).items():
        result[name] = {f"implicit {kind}": theirs(split, m) for kind, m in implicit_grid().items()}
        for model in ("ials", "itemknn", "ease", "refined"):
            result[name][model] = ours(split, model)
    return result


def zipf(options: argparse.Namespace) -> dict[str, Any]:
    """Claim: fitted and served within 8 GB."""
    done = subprocess.run(
        [sys.executable, __file__, "--zipf-once"], stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def zipf_interactions(rng: np.random.Generator) -> csr_array:
    """Return users of 500 tastes; items of a taste are taken by Zipf's law."""
    tastes, per_user = 500, 20
    taste = rng.integers(tastes, size=ZIPF_USERS).repeat(per_user)
    own = np.minimum(rng.zipf(1.3, size=len(taste)) - 1, ZIPF_ITEMS // tastes - 1)
    items = taste + tastes * own
    popular = np.minimum(rng.zipf(1.2, size=len(taste)) - 1, ZIPF_ITEMS - 1)
    items = np.where(rng.random(len(taste)) < 0.2, popular, items)
    users = np.arange(ZIPF_USERS).repeat(per_user)
    return pair_matrix(users, items, (ZIPF_USERS, ZIPF_ITEMS))


def zipf_once() -> None:
    from truegraph import Recommender

    matrix = zipf_interactions(np.random.default_rng(0))
    settings = {"degree": 10, "strength": 0.5, "user_power": 0.5, "penalty": 20.0}
    recommender = Recommender("refined", options=settings, validation_share=0.0, random_state=0)
    wall, busy = timed(lambda: recommender.fit(matrix))
    serving, _ = timed(lambda: recommender.recommend(range(1000), k=10))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    certificate = recommender.learned_graph_.certificate
    print(
        json.dumps(
            {
                "interactions": int(matrix.nnz),
                "fit_seconds": wall,
                "fit_processor_seconds": busy,
                "seconds_for_1000_users": serving,
                "peak_memory_gb": peak,
                "graph_edges": recommender.learned_graph_.n_edges,
                "relative_gap": certificate.relative_gap,
            }
        )
    )


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
    parser.add_argument("--zipf-once", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--datasets", default=",".join(DATASETS), help="of the part rivals")
    options = parser.parse_args()
    if options.zipf_once:
        zipf_once()
        return
    if options.rank_once:
        rank_once()
        return
    ways = {"training": training, "models": models, "sampler": sampler, "ranking": ranking}
    ways |= {"graph": graph, "rivals": rivals, "zipf": zipf}
    results: dict[str, Any] = {}
    for part in options.parts.split(","):
        results[part] = ways[part](options)
        if not options.json:
            print(f"{part}\n{json.dumps(results[part], indent=2)}", flush=True)
    if options.json:
        print(json.dumps({"repeats": options.repeats, **results}, indent=2))


if __name__ == "__main__":
    main()
