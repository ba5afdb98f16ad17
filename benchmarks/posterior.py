r"""How fast the graph's posterior is, and how it compares with a general-purpose sampler.

    python benchmarks/posterior.py                          # everything, about 10 minutes
    python benchmarks/posterior.py --only sweeps,mean-field --largest 100000

Parts: sweeps (nanoseconds per weight and seconds per sweep over the number of candidate pairs, one
chain; processor time of its thread, which other work on the machine hardly changes), mean-field
(its time against that of solving for the most probable graph, and its error against draws), mixing
(effective draws per sweep below and above the default concentration), nuts (effective draws per
second against NumPyro's NUTS on the same posterior, up to the size at which it takes a minute;
needs numpyro).

Machines are noisy: read the ratios; every ratio is of two times from this run, the best of several
repeats.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from threading import Event
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from truegraph import LearnedGraph, learn_graph
from truegraph.errors import ConvergenceWarning
from truegraph.learning.posterior.chains import Chain
from truegraph.learning.posterior.graph_posterior import GraphPosterior, usual_concentration
from truegraph.learning.posterior.samples import effective_sample_size, split_r_hat

DEGREE = 10
Row = dict[str, Any]


def synthetic(count: int) -> NDArray[np.float32]:
    """Return points (count, 16) of intrinsic dimension 8 with a little noise."""
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(count, 8)).astype(np.float32)
    curved = np.tanh(latent @ rng.normal(size=(8, 16)).astype(np.float32))
    return curved + np.float32(0.05) * rng.normal(size=(count, 16)).astype(np.float32)


def graph_with_pairs(pairs: int) -> LearnedGraph:
    """Learn a graph with about so many candidate pairs."""
    return learn_graph(synthetic(round(pairs / 20.0)), DEGREE, graph_model="paper", random_state=0)


def best(
    repeats: int, work: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Any]:
    """Return the shortest time of several runs, and the last result."""
    seconds, result = [], None
    for _ in range(repeats):
        began = clock()
        result = work()
        seconds.append(clock() - began)
    return min(seconds), result


def sweeps(largest: int) -> list[Row]:
    """Time sweeps of one chain."""
    rows = []
    for pairs in (10_000, 100_000, 1_000_000):
        if pairs > largest:
            continue
        graph = graph_with_pairs(pairs)
        chain = Chain(graph.posterior()._target(), np.random.default_rng(0))
        chain.advance(10, Event())
        count = max(1, 1_000_000 // pairs)
        work = partial(chain.advance, count, Event())
        seconds = best(5, work, time.thread_time)[0] / count
        found = graph.candidates.nnz // 2
        rows.append(
            {
                "pairs": found,
                "nodes": graph.n_nodes,
                "ms per sweep": round(1e3 * seconds, 2),
                "ns per weight": round(1e9 * seconds / found, 1),
            }
        )
    return rows


def mean_field(largest: int) -> list[Row]:
    """Time the mean field against the solve of the most probable graph, on the same pairs."""
    rows = []
    for pairs in (100_000, 1_000_000):
        if pairs > largest:
            continue
        graph = graph_with_pairs(pairs)
        theta = graph.certificate.theta
        options = {"theta": theta, "metric": "precomputed", "tol": 1e-6}
        solve = min(
            learn_graph(graph.candidates, **options).certificate.seconds["solve"] for _ in range(3)
        )
        search = min(graph_with_pairs(pairs).certificate.seconds["solve"] for _ in range(2))
        seconds, quick = best(3, graph.posterior)
        rows.append(
            {
                "pairs": graph.candidates.nnz // 2,
                "mean field s": round(seconds, 3),
                "MAP at known theta s": round(solve, 3),
                "ratio": round(seconds / solve, 1),
                "MAP with its density search s": round(search, 3),
                "ratio to that": round(seconds / search, 1),
                **_errors(graph, quick),
            }
        )
    return rows


def _errors(graph: LearnedGraph, quick: GraphPosterior) -> Row:
    """Return how far the mean field is from draws, in percent, and what the draws took."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        began = time.perf_counter()
        exact = graph.posterior("gibbs", samples=80, thin=5, burn_in=30, random_state=0)
        seconds = time.perf_counter() - began
    degrees = np.median(np.abs(quick.degree_mean / exact.degree_mean - 1.0))
    return {
        "total weight error %": round(100 * (quick.mean.sum() / exact.mean.sum() - 1.0), 2),
        "median degree error %": round(100 * float(degrees), 2),
        "median sd error %": round(100 * (np.median(quick.std.data / exact.std.data) - 1.0), 2),
        "Gibbs s": round(seconds, 1),
    }


def mixing(largest: int) -> list[Row]:
    """Measure effective draws per sweep over the concentration."""
    graph = graph_with_pairs(min(largest, 50_000))
    rows = []
    for factor in (0.1, 1.0, 9.0):
        posterior = graph.posterior(concentration=factor * usual_concentration(graph))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            samples = posterior.sample(40, random_state=0, burn_in=100, thin=20)
            for _ in samples:
                pass
        found = samples.diagnostics
        rows.append(
            {
                "concentration / default": factor,
                "weight / MAP": round(posterior.mean.sum() / graph.adjacency.sum(), 3),
                "ESS per sweep, median": round(found.ess / (found.chains * found.sweeps), 2),
                "ESS per sweep, worst": round(found.ess_min / (found.chains * found.sweeps), 3),
                "R-hat": round(found.r_hat, 3),
            }
        )
    return rows


def nuts(largest: int) -> list[Row]:
    """Compare effective draws per second with NUTS, one chain each, after warming up."""
    try:
        import jax
    except ImportError:
        print("nuts: left out; pip install '.[rivals]'")
        return []
    jax.config.update("jax_enable_x64", True)
    rows: list[Row] = []
    for nodes in (15, 60, 240, 960):
        posterior = learn_graph(
            synthetic(nodes), 5, graph_model="paper", random_state=0
        ).posterior()
        ours, seconds, places = _draw_ours(posterior)
        theirs, rival_seconds, warmup = _draw_nuts(posterior)
        theirs = theirs[:, places]
        rate, rival_rate = (
            float(np.median(effective_sample_size(draws[None])) / spent)
            for draws, spent in ((ours, seconds), (theirs, rival_seconds))
        )
        rows.append(
            {
                "pairs": posterior.graph.candidates.nnz // 2,
                "Gibbs ESS per s": round(rate),
                "NUTS ESS per s": round(rival_rate, 1),
                "ratio": round(rate / rival_rate),
                "NUTS s": round(rival_seconds, 1),
                "NUTS compile and warm-up s": round(warmup, 1),
                "means apart, in sd": round(_apart(ours, theirs), 3),
                "R-hat": round(float(split_r_hat(ours[None]).max()), 3),
                "NUTS R-hat": round(float(split_r_hat(theirs[None]).max()), 3),
            }
        )
        if rival_seconds + warmup > 60.0:
            break
    return rows


def _apart(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return the median difference of the means in standard deviations."""
    gap = np.abs(first.mean(axis=0) - second.mean(axis=0)) / first.std(axis=0)
    return float(np.median(gap))


def _draw_ours(posterior: GraphPosterior) -> tuple[NDArray[Any], float, NDArray[Any]]:
    """Return what a chain follows (sweeps, pairs), its time, and which pairs these are."""
    target = posterior._target()
    chain = Chain(target, np.random.default_rng(0))
    chain.advance(200, Event())
    chain.forget()
    seconds, _ = best(1, lambda: chain.advance(2000, Event()))
    return chain.trace[:, :-1], seconds, np.argsort(target.rank)[target.followed]


def _draw_nuts(posterior: GraphPosterior) -> tuple[NDArray[Any], float, float]:
    """Draw log weights by NUTS as it comes; return the weights, and the times of both stages."""
    import jax
    import jax.numpy as jnp
    from numpyro.infer import MCMC, NUTS

    pairs, kappa = posterior._pairs, posterior.concentration
    t = jnp.asarray(posterior.graph.certificate.theta * pairs.matrix.data[pairs.entry])
    first, second = jnp.asarray(pairs.first), jnp.asarray(pairs.second)
    nodes = posterior.graph.n_nodes

    def potential(log_w: Any) -> Any:
        w = jnp.exp(log_w)
        degree = jnp.zeros(nodes).at[first].add(w).at[second].add(w)
        energy = 2.0 * jnp.sum(t * w) + jnp.sum(w**2) - jnp.sum(jnp.log(degree))
        return kappa * energy - jnp.sum(log_w)  # the last term turns w into log w

    sampler = MCMC(
        NUTS(potential_fn=potential), num_warmup=500, num_samples=500, progress_bar=False
    )
    mean = posterior.mean.data[pairs.entry]
    start = jnp.log(jnp.asarray(np.maximum(mean, 1e-6)))
    began = time.perf_counter()
    sampler.warmup(jax.random.PRNGKey(0), init_params=start)
    warmup = time.perf_counter() - began
    began = time.perf_counter()
    sampler.run(jax.random.PRNGKey(1))
    draws = np.exp(np.asarray(sampler.get_samples()))
    spent = time.perf_counter() - began
    return draws, spent, warmup


PARTS = {"sweeps": sweeps, "mean-field": mean_field, "mixing": mixing, "nuts": nuts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--largest", type=int, default=1_000_000, help="most candidate pairs")
    parser.add_argument("--json", help="write the figures to this file, too")
    arguments = parser.parse_args()
    print(f"{numba.get_num_threads()} threads")
    found = {}
    for name in arguments.only.split(","):
        found[name] = PARTS[name](arguments.largest)
        print(f"\n{name}")
        for row in found[name]:
            print("  " + ", ".join(f"{key} {value}" for key, value in row.items()))
    if arguments.json:
        with open(arguments.json, "w") as stream:
            json.dump(found, stream, indent=2)


if __name__ == "__main__":
    main()
