"""Recommenders against what one would use instead: time, recall and memory.

    python benchmarks/recommendation.py [--parts rivals,chances,zipf,files] [--datasets ml100k,...]

rivals     time to fit and recall@20 on the same split: ours against the package implicit (ALS, BPR,
           item-item), all in one run; choices on validation for both, then a fit to everything
chances    stated probabilities of being taken against the share that is, on a tenth of the
           interactions that neither model nor calibration has seen
zipf       100,000 users x 50,000 items, made up: fit and lists of 1,000 users, with its peak memory
           in a fresh process
files      reading 10,000,000 interactions from CSV and from Parquet, each in a fresh process

networks   time to fit and recall@20 of the paper's networks and their Bayesian versions

Data sets that are not under TRUEGRAPH_DATA are left out.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from truegraph.data import (
    Interactions,
    InteractionSplit,
    load_interactions,
    read_interactions,
    split_by_time,
    split_randomly,
)
from truegraph.data.interactions import pair_matrix
from truegraph.errors import DataError
from truegraph.evaluation import ranking_metrics

PARTS = ("rivals", "chances", "zipf", "files")  # networks take long
DATASETS = ("ml100k", "amazon_cds", "amazon_books", "yelp2018")
ZIPF_USERS, ZIPF_ITEMS = 100_000, 50_000
FILE_ROWS, FILE_USERS, FILE_ITEMS = 10_000_000, 200_000, 50_000


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return seconds of wall clock and of processor time."""
    wall, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - busy


def available(names: tuple[str, ...]) -> dict[str, InteractionSplit]:
    splits = {}
    for name in names:
        try:
            splits[name] = split_randomly(load_interactions(name), random_state=0)
        except DataError as error:
            print(f"left out: {error}", file=sys.stderr)
    return splits


def recall_of(lists: NDArray[np.int64], split: InteractionSplit) -> dict[str, float]:
    found = ranking_metrics(lists, split.test, (20,))
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
            recalls.append(ranking_metrics(lists, split.validation, (20,))["recall@20"])
        best = makers[int(np.argmax(recalls))]()
        best.fit(csr_matrix(everything), show_progress=False)
        fitted.append(best)

    wall, busy = timed(fit)
    scores = recall_of(implicit_lists(fitted[0], everything), split)
    return {"seconds": wall, "processor_seconds": busy, **scores}


def rivals(options: argparse.Namespace) -> dict[str, Any]:
    """Claim: auto finds more than any model of implicit on the same split."""
    result: dict[str, Any] = {}
    for name, split in available(tuple(options.datasets.split(","))).items():
        result[name] = {f"implicit {kind}": theirs(split, m) for kind, m in implicit_grid().items()}
        for model in ("ials", "item-knn", "ease", "auto"):
            result[name][model] = ours(split, model)
    return result


def chances(options: argparse.Namespace) -> dict[str, Any]:
    """Claim: probabilities hold for a further tenth, as large as the one they come from."""
    tenths = (0.8, 0.1, 0.1)
    result: dict[str, Any] = {}
    for name in available(tuple(options.datasets.split(","))):
        data = load_interactions(name)
        splits = [split_randomly(data, tenths, random_state=seed) for seed in range(options.trials)]
        result[f"{name}, at random"] = [stated_and_taken(split, options.model) for split in splits]
        if data.times is not None:
            result[f"{name}, by time"] = [
                stated_and_taken(split_by_time(data, tenths), options.model)
            ]
    return result


def stated_and_taken(split: InteractionSplit, model: str) -> dict[str, Any]:
    """Compare probabilities with the test part: all lists, ten bins of equal count, the highest."""
    from truegraph import Recommender

    recommender = Recommender(model, random_state=0)
    recommender.fit(split.train, validation=split.validation)
    users = np.flatnonzero(np.diff(split.test.indptr))
    table = recommender.recommend(users.tolist(), k=20)
    stated = table["probability"].to_numpy()
    pairs = (table["user"].to_numpy(), table["item"].to_numpy())
    taken = np.asarray(split.test[pairs]).ravel() > 0
    bins = np.array_split(np.argsort(stated, kind="stable"), 10)
    rows = [(float(stated[part].mean()), float(taken[part].mean())) for part in bins]
    highest = bins[-1][-max(1, len(stated) // 100) :]
    return {
        "stated": float(stated.mean()),
        "taken": float(taken.mean()),
        "calibration_error": float(np.mean([abs(said - true) for said, true in rows])),
        "bins": [[round(100.0 * share, 1) for share in row] for row in rows],
        "highest_hundredth": (float(stated[highest].mean()), float(taken[highest].mean())),
        "largest_stated": float(stated.max()),
    }


def networks(options: argparse.Namespace) -> dict[str, Any]:
    """Cost of the networks."""
    return {
        name: {model: ours(split, model) for model in ("ngcf", "bngcf", "mgccf", "bmgccf")}
        for name, split in available(tuple(options.datasets.split(","))).items()
    }


def zipf(options: argparse.Namespace) -> dict[str, Any]:
    """Claim: fitted and served within 8 GB."""
    return in_new_process("--zipf-once")


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


def zipf_once() -> dict[str, Any]:
    """Fit to made-up interactions, and serve 1,000 users."""
    from truegraph import Recommender

    matrix = zipf_interactions(np.random.default_rng(0))
    settings = {"degree": 10, "strength": 0.5, "user_power": 0.5, "penalty": 20.0}
    recommender = Recommender(options=settings, validation_share=0.0, random_state=0)
    wall, busy = timed(lambda: recommender.fit(matrix))
    serving, _ = timed(lambda: recommender.recommend(range(1000), k=10))
    return {
        "interactions": int(matrix.nnz),
        "fit_seconds": wall,
        "fit_processor_seconds": busy,
        "seconds_for_1000_users": serving,
        "peak_memory_gb": peak_memory_gb(),
        "graph_edges": recommender.learned_graph_.n_edges,
        "relative_gap": recommender.learned_graph_.certificate.relative_gap,
    }


def files(options: argparse.Namespace) -> dict[str, Any]:
    """Claim: 10,000,000 rows are read within 4 GB."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "user_id": rng.integers(FILE_USERS, size=FILE_ROWS),
            "item_id": np.minimum(rng.zipf(1.2, size=FILE_ROWS), FILE_ITEMS),
            "rating": rng.integers(1, 6, size=FILE_ROWS),
            "timestamp": rng.integers(10**9, size=FILE_ROWS),
        }
    )
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, write in (("csv", table.to_csv), ("parquet", table.to_parquet)):
            path = Path(folder) / f"rows.{kind}"
            write(path, index=False)
            result[kind] = in_new_process("--read-once", str(path))
    return result


def read_once(path: str) -> dict[str, Any]:
    """Read a file of interactions."""
    found: list[Interactions] = []
    wall, busy = timed(
        lambda: found.append(read_interactions(path, rating="rating", time="timestamp"))
    )
    return {
        "rows": FILE_ROWS,
        "interactions": len(found[0]),
        "file_mb": Path(path).stat().st_size / 1e6,
        "seconds": wall,
        "processor_seconds": busy,
        "peak_memory_gb": peak_memory_gb(),
        "fingerprint": found[0].fingerprint,
    }


def in_new_process(*arguments: str) -> dict[str, Any]:
    """Run this script with some arguments; return the JSON that it prints."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def peak_memory_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--datasets", default=",".join(DATASETS), help="of rivals and chances")
    parser.add_argument("--trials", type=int, default=3, help="splits, of chances")
    parser.add_argument("--model", default="auto", help="of chances")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--zipf-once", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--read-once", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.zipf_once or options.read_once:
        print(json.dumps(zipf_once() if options.zipf_once else read_once(options.read_once)))
        return
    ways = {"rivals": rivals, "chances": chances, "zipf": zipf, "files": files}
    ways["networks"] = networks
    results: dict[str, Any] = {}
    for part in options.parts.split(","):
        results[part] = ways[part](options)
        if not options.json:
            print(f"{part}\n{json.dumps(results[part], indent=2)}", flush=True)
    if options.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
