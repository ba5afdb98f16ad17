"""Link prediction: VGAE against torch-geometric's, cost of every model, memory, growth with N.

    python benchmarks/links.py [--repeats 3] [--threads 2] [--json]
                               [--parts vgae,models,pubmed,growth,suggestions]
                               [--models refined,vgae] [--nodes 10000,100000,1000000]

Every run is a process of its own: data and imports first, a small training that compiles
everything, then the training that is timed. Memory is the largest resident set of the process, and
how much the timed training added to it.
Runs of `vgae` alternate, and the best time of each counts; AUC is the mean over the repeats, each
on the same 85/5/10 split of Cora's largest component for all three. Pubmed is searched as
`truegraph.load_dataset` does (TRUEGRAPH_DATA) and left out if it is not there.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse

from truegraph import BayesianLinkPredictor, LinkPredictor, load_dataset
from truegraph.data.graphs.link_splits import LinkSplit, split_links
from truegraph.data.graphs.made_graphs import planted_groups
from truegraph.errors import DataError
from truegraph.evaluation.link_metrics import link_auc
from truegraph.nn.autoencoders.base import LinkData, train_autoencoder
from truegraph.nn.autoencoders.vgae import VGAE, VGAESettings

EPOCHS = 200
MODELS = ("gae", "vgae", "graphite-ae", "graphite-vae", "dglfrm")
REFINED: dict[str, dict[str, Any]] = {
    "refined": {},
    "refined without a graph": {"scale": "off"},
    "refined with k-NN": {"scale": "neighbours"},
    "refined with encoder": {"encoder": True},
}
SIZES = (2500, 5000, 10_000, 20_000)
RANK = 32  # of the vectors of large graphs
SUGGESTED = 100_000
PARTS = ("vgae", "models", "pubmed", "growth", "suggestions")


# --- three ways to train a VGAE -----------------------------------------------------------------


def ours(features: Any, split: LinkSplit, epochs: int, seed: int) -> np.ndarray:
    predictor = LinkPredictor("vgae", options={"epochs": epochs}, samples=0, random_state=seed)
    given = (split.validation_links, split.validation_non_links)
    return predictor.fit(split.train, features, validation=given).embedding_


def geometric(features: Any, split: LinkSplit, epochs: int, seed: int, dense: bool) -> np.ndarray:
    """Train torch-geometric's VGAE: on sampled non-links, as its example, or on all pairs."""
    from torch_geometric import nn as geometric_nn

    class Encoder(torch.nn.Module):
        def __init__(self, inputs: int) -> None:
            super().__init__()
            self.first = geometric_nn.GCNConv(inputs, 32, cached=True)
            self.mean, self.log_std = (
                geometric_nn.GCNConv(32, 16, cached=True),
                geometric_nn.GCNConv(32, 16, cached=True),
            )

        def forward(self, x: torch.Tensor, edges: torch.Tensor) -> tuple[torch.Tensor, ...]:
            hidden = self.first(x, edges).relu()
            return self.mean(hidden, edges), self.log_std(hidden, edges)

    torch.manual_seed(seed)
    x = torch.from_numpy(sparse.csr_array(features).toarray()).float()
    edges = torch.from_numpy(np.stack(split.train.nonzero()).astype(np.int64))
    model = geometric_nn.VGAE(Encoder(x.shape[1]))
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    loss_of = _dense_loss(split) if dense else model.recon_loss
    for _ in range(epochs):
        model.train()
        adam.zero_grad()
        z = model.encode(x, edges)
        (loss_of(z, edges) + model.kl_loss() / len(x)).backward()
        adam.step()
    model.eval()
    with torch.no_grad():
        return model.encode(x, edges).numpy()


def _dense_loss(split: LinkSplit) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    nodes, total = split.train.shape[0], float(split.train.sum())
    target = torch.from_numpy(split.train.toarray() + np.eye(nodes)).float()
    weight = torch.tensor((nodes**2 - total) / total)
    norm = nodes**2 / (2.0 * (nodes**2 - total))

    def loss(z: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        return norm * torch.nn.functional.binary_cross_entropy_with_logits(
            z @ z.T, target, pos_weight=weight
        )

    return loss


WAYS: dict[str, Callable[..., np.ndarray]] = {
    "truegraph": ours,
    "torch-geometric, dense loss": lambda *a: geometric(*a, dense=True),
    "torch-geometric, sampled loss": lambda *a: geometric(*a, dense=False),
}


# --- one run, in a process of its own -----------------------------------------------------------


def small_split() -> tuple[np.ndarray, LinkSplit]:
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((200, 200)) < 0.05, 1)
    graph = sparse.csr_array((upper | upper.T).astype(float))
    return (rng.random((200, 30)) < 0.2).astype(float), split_links(graph, random_state=0)


def timed(function: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    before = largest_resident_megabytes()
    start, processor = time.perf_counter(), time.process_time()
    found = function()
    return found, {
        "seconds": time.perf_counter() - start,
        "processor_seconds": time.process_time() - processor,
        "peak_megabytes": largest_resident_megabytes(),
        "training_megabytes": largest_resident_megabytes() - before,
    }


def largest_resident_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def run_vgae(way: str, seed: int) -> dict[str, float]:
    dataset = load_dataset("cora", component="largest")
    split = split_links(dataset.graph, random_state=seed)
    WAYS[way](*small_split(), 3, 0)
    z, cost = timed(lambda: WAYS[way](dataset.features, split, EPOCHS, seed))
    scores = [(z[p[:, 0]] * z[p[:, 1]]).sum(1) for p in (split.test_links, split.test_non_links)]
    return cost | {"auc": link_auc(*scores)}


def run_model(name: str, data: str) -> dict[str, float]:
    """Train one model, or with a "b" in front its Bayesian version, all trainings counted."""
    dataset = load_dataset(data, component="largest")
    split = split_links(dataset.graph, random_state=0)
    features, small = small_split()
    if name in REFINED:
        predictor: Any = LinkPredictor(options=REFINED[name], random_state=0)
        predictor.fit(small.train, features)
    else:
        kind = LinkPredictor if name in MODELS else BayesianLinkPredictor
        base = name if name in MODELS else name[1:]
        kind(base, options={"epochs": 3}, random_state=0).fit(small.train, features)
        predictor = kind(base, random_state=0)
    tested = np.concatenate([split.test_links, split.test_non_links])
    given = (split.validation_links, split.validation_non_links)
    _, cost = timed(
        lambda: predictor.fit(split.train, dataset.features, validation=given, pairs=tested)
    )
    parts = (split.test_links, split.test_non_links)
    return cost | {"auc": link_auc(*(predictor.decision_function(pairs) for pairs in parts))}


def run_growth(nodes: int) -> dict[str, float]:
    """Time the epochs of a VGAE on a random graph of mean degree 4 with 500 features."""
    rng = np.random.default_rng(nodes)
    ends = rng.integers(nodes, size=(2, 2 * nodes))
    half = sparse.coo_array((np.ones(2 * nodes), tuple(ends)), shape=(nodes, nodes))
    graph = sparse.csr_array(((half + half.T) > 0).astype(float))
    graph.setdiag(0.0)
    graph.eliminate_zeros()
    features = sparse.random_array((nodes, 500), density=0.02, rng=rng, format="csr")
    model = VGAE.on(LinkData(features, graph, graph), VGAESettings())
    train_autoencoder(model, random_state=0, epochs=1, learning_rate=0.01)
    epochs = max(3, 40_000_000 // nodes**2 * 3)
    _, cost = timed(
        lambda: train_autoencoder(model, random_state=0, epochs=epochs, learning_rate=0.01)
    )
    return cost | {
        "seconds_per_epoch": cost["seconds"] / epochs,
        "processor_seconds_per_epoch": cost["processor_seconds"] / epochs,
    }


def run_suggestions(nodes: int) -> dict[str, float]:
    """Fit the refined predictor to planted groups of mean degree 10, and suggest 100,000 links."""
    LinkPredictor(random_state=0).fit(planted_groups(400)).suggest(10)
    graph = planted_groups(nodes)
    predictor = LinkPredictor(options={"rank": RANK}, random_state=0)
    _, fitting = timed(lambda: predictor.fit(graph))
    table, suggesting = timed(lambda: predictor.suggest(SUGGESTED))
    searched = int(predictor.searched_.split()[0].replace(",", ""))
    return {
        "links": graph.nnz // 2,
        "fit_seconds": fitting["seconds"],
        "fit_processor_seconds": fitting["processor_seconds"],
        "suggest_seconds": suggesting["seconds"],
        "suggest_processor_seconds": suggesting["processor_seconds"],
        "searched": searched,
        "suggested": len(table),
        "peak_megabytes": suggesting["peak_megabytes"],
    }


RUNS: dict[str, Callable[..., dict[str, float]]] = {
    "vgae": lambda way, seed: run_vgae(way, int(seed)),
    "models": run_model,
    "growth": lambda nodes: run_growth(int(nodes)),
    "suggestions": lambda nodes: run_suggestions(int(nodes)),
}


def apart(options: argparse.Namespace, *what: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--threads", str(options.threads), "--run", *what]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(what)} failed:\n{done.stderr}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


# --- the parts ----------------------------------------------------------------------------------


def compare_vgae(options: argparse.Namespace) -> dict[str, Any]:
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for seed in range(options.repeats):
        for way in WAYS:
            runs[way].append(apart(options, "vgae", way, str(seed)))
    best = {way: min(found, key=lambda run: run["seconds"]) for way, found in runs.items()}
    for way, found in runs.items():
        best[way]["auc"] = float(np.mean([run["auc"] for run in found]))
    return best


def print_vgae(best: dict[str, Any], options: argparse.Namespace) -> None:
    mine = best["truegraph"]
    print(f"VGAE on Cora, {EPOCHS} epochs, {options.threads} threads, {options.repeats} splits\n")
    print("| | seconds | processor seconds | times ours | MB added | peak MB | test AUC |")
    print("|---|---|---|---|---|---|---|")
    for way, run in best.items():
        print(
            f"| {way} | {run['seconds']:.2f} | {run['processor_seconds']:.2f} | "
            f"{run['processor_seconds'] / mine['processor_seconds']:.1f} | "
            f"{run['training_megabytes']:.0f} | {run['peak_megabytes']:.0f} | "
            f"{100 * run['auc']:.1f} |"
        )
    print()


def cost_of_models(options: argparse.Namespace, data: str) -> dict[str, Any]:
    names = [*REFINED, *(name for base in MODELS for name in (base, f"b{base}"))]
    return {name: apart(options, "models", name, data) for name in names}


def print_costs(found: dict[str, Any], title: str) -> None:
    print(f"{title}\n")
    print("| model | seconds | processor seconds | peak MB | test AUC |")
    print("|---|---|---|---|---|")
    for name, run in found.items():
        print(
            f"| {name} | {run['seconds']:.1f} | {run['processor_seconds']:.1f} | "
            f"{run['peak_megabytes']:.0f} | {100 * run['auc']:.1f} |"
        )
    print()


def growth(options: argparse.Namespace) -> dict[str, Any]:
    return {str(nodes): apart(options, "growth", str(nodes)) for nodes in SIZES}


def print_growth(found: dict[str, Any]) -> None:
    print("One epoch of VGAE, exact over all pairs\n")
    print("| nodes | seconds per epoch | processor seconds | ns per pair | peak MB |")
    print("|---|---|---|---|---|")
    for nodes, run in found.items():
        processor = run["processor_seconds_per_epoch"]
        pair = 2e9 * processor / int(nodes) ** 2
        print(
            f"| {int(nodes):,} | {run['seconds_per_epoch']:.4f} | {processor:.4f} | {pair:.2f} | "
            f"{run['peak_megabytes']:.0f} |"
        )


def print_suggestions(found: dict[str, Any]) -> None:
    print(f"The refined predictor without features, rank {RANK}: fit, and {SUGGESTED:,} links\n")
    print("| nodes | links | fit s (processor) | suggest s (processor) | searched | peak MB |")
    print("|---|---|---|---|---|---|")
    for nodes, run in found.items():
        print(
            f"| {int(nodes):,} | {run['links']:,} | "
            f"{run['fit_seconds']:.0f} ({run['fit_processor_seconds']:.0f}) | "
            f"{run['suggest_seconds']:.0f} ({run['suggest_processor_seconds']:.0f}) | "
            f"{run['searched']:,} | {run['peak_megabytes']:.0f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {','.join(PARTS)}")
    parser.add_argument(
        "--models", default=",".join([*REFINED, "vgae", "bvgae"]), help="models of the part pubmed"
    )
    parser.add_argument(
        "--nodes", default="10000,100000,1000000", help="sizes of the part suggestions"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--run", nargs="+", help="one run in this process")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.run:
        print(json.dumps(RUNS[options.run[0]](*options.run[1:])))
        return
    results: dict[str, Any] = {}
    for part in options.parts.split(","):
        results[part] = _part(part, options)
    if options.json:
        print(json.dumps(results, indent=2))


def _part(part: str, options: argparse.Namespace) -> dict[str, Any]:
    quiet = options.json
    if part == "vgae":
        found = compare_vgae(options)
        if not quiet:
            print_vgae(found, options)
    elif part == "models":
        found = cost_of_models(options, "cora")
        if not quiet:
            print_costs(found, "Every model on Cora, one split, all trainings counted")
    elif part == "pubmed":
        try:
            load_dataset("pubmed")
        except DataError as error:
            print(f"Pubmed is left out: {error}", file=sys.stderr)
            return {}
        found = {
            name: apart(options, "models", name, "pubmed") for name in options.models.split(",")
        }
        if not quiet:
            print_costs(found, "Pubmed, one split, all trainings counted")
    elif part == "suggestions":
        found = {n: apart(options, "suggestions", n) for n in options.nodes.split(",")}
        if not quiet:
            print_suggestions(found)
    else:
        found = growth(options)
        if not quiet:
            print_growth(found)
    return found


if __name__ == "__main__":
    main()
