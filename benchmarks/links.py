"""Link prediction: cost of every model on Cora or Pubmed, and suggestions on large graphs.

    python benchmarks/links.py models [--data pubmed] [--models auto vgae bvgae]
    python benchmarks/links.py suggestions [--nodes 10000 100000 1000000]

Every run is a process of its own: data and imports first, a small fit that compiles everything,
then the fit that is timed. Memory is the largest resident set of the process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the laboratory beside us

from lab.graphs import planted_groups

from truegraph import LinkPredictor, load_dataset
from truegraph.data.link_splits import split_links
from truegraph.evaluation.link_metrics import link_auc

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "auto": ("auto", {}),
    "auto without a scale": ("auto", {"scale": "off"}),
    "auto with slack": ("auto", {"scale": "slack"}),
    **{
        name: (name, {})
        for base in ("gae", "vgae", "graphite-ae", "graphite-vae", "dglfrm")
        for name in (base, f"b{base}")
    },
}
RANK = 32  # of the vectors of large graphs
SUGGESTED = 100_000


def timed(function: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what a call gives, its seconds and its processor seconds."""
    start, processor = time.perf_counter(), time.process_time()
    found = function()
    return found, time.perf_counter() - start, time.process_time() - processor


def peak_megabytes() -> float:
    """Return the largest resident set so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def run_model(label: str, data: str) -> list[str]:
    """Fit one model; for Bayesian ones all trainings are counted."""
    name, options = MODELS[label]
    dataset = load_dataset(data, component="largest")
    split = split_links(dataset.graph, random_state=0)
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((200, 200)) < 0.05, 1)
    small = csr_array((upper | upper.T).astype(float))
    few = options if name == "auto" else {"epochs": 3}
    LinkPredictor(name, options=few, random_state=0).fit(small, rng.random((200, 30)))
    tested = np.concatenate([split.test_links, split.test_non_links])
    given = (split.validation_links, split.validation_non_links)
    model, seconds, processor = timed(
        lambda: LinkPredictor(name, options=options or None, random_state=0).fit(
            split.train, dataset.features, validation=given, pairs=tested
        )
    )
    parts = (split.test_links, split.test_non_links)
    auc = link_auc(*(model.decision_function(pairs) for pairs in parts))
    cost = [f"{seconds:.1f}", f"{processor:.1f}", f"{peak_megabytes():.0f}"]
    return [label, *cost, f"{100 * auc:.1f}"]


def run_suggestions(nodes: str) -> list[str]:
    """Fit the default to planted groups of mean degree 10, and suggest 100,000 links."""
    LinkPredictor(random_state=0).fit(planted_groups(400)).suggest(10)
    graph = planted_groups(int(nodes))
    model = LinkPredictor(options={"rank": RANK}, random_state=0)
    _, *fit = timed(lambda: model.fit(graph))
    _, *suggest = timed(lambda: model.suggest(SUGGESTED))
    costs = [f"{wall:.0f} ({busy:.0f})" for wall, busy in (fit, suggest)]
    searched = model.searched_.split()[0]
    return [f"{int(nodes):,}", f"{graph.nnz // 2:,}", *costs, searched, f"{peak_megabytes():.0f}"]


HEADINGS = {
    "models": ["model", "seconds", "processor seconds", "peak MB", "test AUC"],
    "suggestions": ["nodes", "links", "fit s (processor)", "suggest s (processor)", "searched",
                    "peak MB"],
}  # fmt: skip


def main() -> None:
    """Print one line of a table per run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=HEADINGS)
    parser.add_argument("--data", default="cora")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--nodes", nargs="+", default=["10000", "100000", "1000000"])
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        is_model = options.what == "models"
        found = run_model(options.one, options.data) if is_model else run_suggestions(options.one)
        print(json.dumps(found))
        return
    heading = HEADINGS[options.what]
    print(f"| {' | '.join(heading)} |\n|{'---|' * len(heading)}")
    for one in options.models if options.what == "models" else options.nodes:
        command = [sys.executable, __file__, options.what, "--data", options.data, "--one", one]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        print(f"| {' | '.join(json.loads(done.stdout.splitlines()[-1]))} |", flush=True)


if __name__ == "__main__":
    main()
