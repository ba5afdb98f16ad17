"""Pictures of results, and the few lines that a notebook shows of them."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from truegraph.errors import InputError
from truegraph.learning import Certificate, GraphPosterior, LearnedGraph
from truegraph.learning.posterior.samples import GraphSamples
from truegraph.report.page import Picture
from truegraph.report.parts.models import model_parts
from truegraph.report.plots.matrices import adjacency
from truegraph.report.plots.posterior import given, inclusion_histogram
from truegraph.report.plots.style import LIGHT, house_style, one_panel, series_colour
from truegraph.report.run_page import run_page
from truegraph.report.runs import Run
from truegraph.report.tables import Entry, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_DIGITS = 4


def picture(shown: Any, **options: Any) -> Figure:
    """Return the picture of a result; see `truegraph.faces.Shown.plot`."""
    if isinstance(shown, LearnedGraph):
        return adjacency(shown.adjacency, by_cluster=True, **options)
    drawings: dict[type, Callable[..., Figure]] = {
        GraphPosterior: inclusion_histogram,
        Certificate: _seconds,
        GraphSamples: _traces,
        Run: _compared,
    }
    draw = next(draw for kind, draw in drawings.items() if isinstance(shown, kind))
    unknown = next((name for name in options if name != "title"), None)
    if unknown is not None:
        raise InputError(f"{unknown}={options[unknown]!r} is no option of this picture; use title.")
    return draw(shown, **options)


def few_lines(shown: Any) -> str:
    """Return what a notebook shows of a result: a heading and facts, escaped."""
    if isinstance(shown, LearnedGraph):
        return _table("Learned graph", _graph_facts(shown))
    if isinstance(shown, Certificate):
        return _table("Certificate of a learned graph", _certificate_facts(shown))
    if isinstance(shown, GraphPosterior):
        return _table("Posterior of a learned graph", _posterior_facts(shown))
    if isinstance(shown, Run):
        return _run_lines(shown)
    return _table("Graphs drawn from the posterior", _sample_facts(shown))


def _run_lines(run: Run) -> str:
    """Return the first table of a run, under its title and a sentence."""
    page = run_page([run])
    tables = [part for part in page.parts if isinstance(part, Table)]
    text = f"<b>{html.escape(page.title)}</b><p>{html.escape(page.summary)}</p>"
    if not tables:
        return text
    first = tables[0]
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in first.rows[0])
    rows = "".join(
        f"<tr>{''.join(f'<td>{_cell(entry)}</td>' for entry in row)}</tr>" for row in first.cells()
    )
    return f"{text}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(entry: Entry) -> str:
    text = html.escape(entry.text)
    return f"<b>{text}</b>" if entry.bold else text


def _compared(run: Run, *, title: str | None = None) -> Figure:
    """Return the first picture that compares the models of a run."""
    found = next((part for part in model_parts(run) if isinstance(part, Picture)), None)
    if found is None:
        raise InputError(
            "this run has nothing to draw: a picture needs two models with two trials each, or a "
            "condition that varies; run more."
        )
    figure = found.panels[0].figure
    if title is not None:
        figure.axes[0].set_title(title)
    return figure


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
    verdict = "proved within" if found.converged else "NOT converged: only within"
    degree = f"{found.degree:.{_MOST_DIGITS}g}"
    if found.wanted_degree is not None:
        degree += f" ({found.wanted_degree:g} wanted)"
    seconds = ", ".join(f"{name} {value:.2f}" for name, value in found.seconds.items())
    return [
        ("optimality", f"{verdict} {found.relative_gap:.1e} of the best among {among}"),
        ("search", f"{found.search}, {found.recall:.1%} of the true neighbours on a sample"),
        ("edges per node", degree),
        ("solver", f"{found.solver}, {found.iterations} iterations; theta {found.theta:.4g}"),
        ("seconds", seconds),
    ]


def _posterior_facts(posterior: GraphPosterior) -> Facts:
    chance = posterior.inclusion().data
    is_open = (chance >= 0.05) & (chance <= 0.95)
    return [
        ("expected edges", f"{chance.sum() / 2:,.0f} of weight above {posterior.threshold:.3g}"),
        ("uncertain", f"{is_open.sum() // 2:,} pairs with a probability from 0.05 to 0.95"),
        ("given", given(posterior)),
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
        ("R-hat", f"{found.r_hat:.3f} at most (below 1.05 is well)"),
        ("effective draws", f"{found.ess:,.0f} median, {found.ess_min:,.0f} at least"),
        ("seconds", f"{found.seconds:.2f}"),
    ]


def _table(heading: str, facts: Facts) -> str:
    rows = "".join(
        f'<tr><th style="text-align: left">{html.escape(name)}</th>'
        f'<td style="text-align: left">{html.escape(value)}</td></tr>'
        for name, value in facts
    )
    return f"<b>{html.escape(heading)}</b><table>{rows}</table>"


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
def _traces(samples: GraphSamples, *, title: str | None = None) -> Figure:
    """Draw the total weight after every sweep, a line for each chain."""
    _ = samples.diagnostics  # says what to do if nothing was drawn
    figure, axes = one_panel(5.6, 3.2)
    for number, trace in enumerate(samples.total_weights()):
        colour = series_colour(number)
        axes.plot(trace, linewidth=0.8, color=colour, label=f"chain {number + 1}")
    axes.set(xlabel="sweep", ylabel="total weight, one-parameter form")
    axes.set_title(
        title or f"Chains that have mixed overlap; R-hat {samples.diagnostics.r_hat:.3f}"
    )
    axes.legend(ncols=4, loc="upper center")
    return figure
