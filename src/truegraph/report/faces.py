"""Pictures of results, and the few lines that a notebook shows of them."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from truegraph.errors import InputError
from truegraph.learning import Certificate, GraphPosterior, LearnedGraph
from truegraph.learning.posterior.samples import GraphSamples
from truegraph.report.plots.matrices import adjacency
from truegraph.report.plots.style import LIGHT, house_style, one_panel, series_look
from truegraph.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(shown: Any, **options: Any) -> Figure:
    """Return the picture of a result; see `truegraph.faces.Shown.plot`."""
    if isinstance(shown, LearnedGraph):
        return adjacency(shown.adjacency, by_cluster=True, **options)
    unknown = next((name for name in options if name != "title"), None)
    if unknown is not None:
        raise InputError(f"{unknown}={options[unknown]!r} is no option of this picture; use title.")
    if isinstance(shown, Certificate):
        return _seconds(shown, **options)
    posterior = isinstance(shown, GraphPosterior)
    return _histogram(shown, **options) if posterior else _traces(shown, **options)


def few_lines(shown: Any) -> str:
    """Return what a notebook shows of a result: a heading and facts, escaped."""
    kinds: dict[type, tuple[str, Any]] = {
        LearnedGraph: ("Learned graph", _graph_facts),
        Certificate: ("Certificate of a learned graph", _certificate_facts),
        GraphPosterior: ("Posterior of a learned graph", posterior_facts),
        GraphSamples: ("Graphs drawn from the posterior", _sample_facts),
    }
    heading, facts = next(found for kind, found in kinds.items() if isinstance(shown, kind))
    rows = "".join(
        f'<tr><th style="text-align: left">{html.escape(name)}</th>'
        f'<td style="text-align: left">{html.escape(value)}</td></tr>'
        for name, value in facts(shown)
    )
    return f"<b>{heading}</b><table>{rows}</table>"


Facts = Sequence[tuple[str, str]]


def _graph_facts(graph: LearnedGraph) -> Facts:
    nodes = f"{graph.n_nodes:,}"
    if graph.n_users is not None:
        nodes += f" ({graph.n_users:,} users, {graph.n_nodes - graph.n_users:,} items)"
    names = "numbers" if graph.names is None else f"{graph.names[0]!r}, ..."
    return [
        ("nodes", nodes),
        ("edges", f"{graph.n_edges:,}, {graph.certificate.degree:.4g} per node"),
        ("names", names),
        *_certificate_facts(graph.certificate)[:2],
        ("look at it", "graph.explore(labels, features=...), graph.plot()"),
    ]


def _certificate_facts(found: Certificate) -> Facts:
    among = "all pairs" if found.scope == "global" else f"{found.candidate_pairs:,} candidate pairs"
    proof = "proved within" if found.converged else "NOT converged: only within"
    degree = f"{found.degree:.4g}"
    if found.wanted_degree is not None:
        degree += f" ({found.wanted_degree:g} wanted)"
    seconds = ", ".join(f"{name} {value:.2f}" for name, value in found.seconds.items())
    return [
        ("optimality", f"{proof} {found.relative_gap:.1e} of the best among {among}"),
        ("search", f"{found.search}, {found.recall:.1%} of the true neighbours found on a sample"),
        ("edges per node", degree),
        ("solver", f"{found.solver}, {found.iterations} iterations; theta {found.theta:.4g}"),
        ("seconds", seconds),
    ]


def posterior_facts(posterior: GraphPosterior) -> Facts:
    """Return what is uncertain, and what that depends on."""
    chance = posterior.inclusion().data
    is_open = (chance >= 0.05) & (chance <= 0.95)
    return [
        ("expected edges", f"{chance.sum() / 2:,.0f} of weight above {posterior.threshold:.3g}"),
        ("uncertain", f"{is_open.sum() // 2:,} pairs with a probability from 0.05 to 0.95"),
        ("given", _given(posterior)),
        ("note", "the concentration is not calibrated to data"),
    ]


def _sample_facts(samples: GraphSamples) -> Facts:
    facts = [("drawn", repr(samples).partition("(")[2].rstrip(")"))]
    try:
        found = samples.diagnostics
    except InputError as error:
        return [*facts, ("diagnostics", str(error))]
    return [
        *facts,
        ("R-hat", f"{found.r_hat:.3f} at most (good below 1.05)"),
        ("effective draws", f"{found.ess:,.0f} median, {found.ess_min:,.0f} at least"),
        ("seconds", f"{found.seconds:.2f}"),
    ]


@house_style()
def _seconds(certificate: Certificate, *, title: str | None = None) -> Figure:
    """Draw how long each stage of learning took."""
    stages = {name: value for name, value in certificate.seconds.items() if name != "total"}
    figure, axes = one_panel(5.0, 0.9 + 0.35 * max(len(stages), 1))
    axes.barh(list(stages), list(stages.values()), color=LIGHT["blue"])
    axes.invert_yaxis()
    axes.set_xlabel("seconds")
    ended = "converged" if certificate.converged else "NOT converged"
    axes.set_title(title or f"{ended}: relative gap {certificate.relative_gap:.1e}")
    return figure


@house_style()
def _histogram(posterior: GraphPosterior, *, title: str | None = None) -> Figure:
    """Draw how many candidate pairs have which probability of an edge, on a logarithmic scale."""
    table = posterior.to_pandas()
    is_edge = table["weight"].to_numpy() > 0.0
    probability = table["inclusion"].to_numpy()
    figure, axes = one_panel(5.2, 3.6)
    axes.hist(
        [probability[is_edge], probability[~is_edge]],
        bins=np.linspace(0.0, 1.0, 21).tolist(),
        color=[LIGHT["blue"], LIGHT["grey"]],
        label=["edges of the learned graph", "other candidate pairs"],
    )
    axes.set_yscale("log")
    above = f"probability of a weight above {posterior.threshold:.3g}"
    axes.set(xlim=(0.0, 1.0), xlabel=above, ylabel="pairs")
    axes.legend(loc="upper center")
    axes.set_title(title or f"{probability.sum():,.0f} edges expected")
    figure.supxlabel(_given(posterior), fontsize=8, color=LIGHT["faint"])
    return figure


def _given(posterior: GraphPosterior) -> str:
    """Return what the probabilities of a posterior depend on."""
    pairs = posterior.graph.candidates.nnz // 2
    method = posterior.method.replace("mean-field", "mean field").replace("gibbs", "Gibbs sampling")
    return (
        f"{method}, concentration {posterior.concentration:.4g}, {counted(pairs, 'candidate pair')}"
    )


@house_style()
def _traces(samples: GraphSamples, *, title: str | None = None) -> Figure:
    """Draw the total weight after every sweep, a line for each chain."""
    _ = samples.diagnostics  # says what to do if nothing was drawn
    figure, axes = one_panel(5.6, 3.2)
    for number, trace in enumerate(samples.total_weights()):
        colour = series_look(number)["color"]
        axes.plot(trace, linewidth=0.8, color=colour, label=f"chain {number + 1}")
    axes.set(xlabel="sweep", ylabel="total weight, one-parameter form")
    axes.set_title(
        title or f"Chains that have mixed overlap; R-hat {samples.diagnostics.r_hat:.3f}"
    )
    axes.legend(ncols=4, loc="upper center")
    return figure
