"""``truegraph learn``: from a file of points to a certified graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truegraph.cli.common import options as cli
from truegraph.cli.common.compilation import announce_compilation
from truegraph.cli.common.inputs import Points, check_source, is_array, read_input
from truegraph.cli.common.options import INPUT, MODEL, OUTPUT, SEARCH, flag, option
from truegraph.cli.common.outputs import (
    GRAPH_ENDINGS,
    PICTURE_ENDINGS,
    announce,
    check_escape,
    check_target,
    print_json,
    print_rows,
    recorded_warnings,
    report_target,
    write_learned,
    write_page,
)
from truegraph.cli.common.table_options import TableOptions
from truegraph.cli.learn_partitioned import LargeOptions, learned_in_partitions
from truegraph.cli.learn_posterior import (
    check_posterior,
    infer,
    posterior_document,
    posterior_rows,
    write_table,
)
from truegraph.runtime.memory import peak_memory_mb
from truegraph.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from truegraph.learning import Certificate, GraphPosterior, LearnedGraph
    from truegraph.report.page import Page

_LEARNER = (  # options that the learner takes as they are
    *("theta", "min_degree", "metric", "scope", "candidates", "candidate_ratio"),
    *("mutual", "solver", "tol", "max_iter"),
)


@dataclass(frozen=True, kw_only=True)
class _Job(LargeOptions, TableOptions):
    """What the command was asked for."""

    source: str = typer.Argument(
        ...,
        metavar="INPUT",
        help="A .npy, .npz, .csv or .parquet file, or a folder of .parquet; a row per node.",
        rich_help_panel=INPUT,
    )
    metric: str = option(
        INPUT,
        "Distance between rows: sqeuclidean, cosine, or precomputed, where INPUT holds a symmetric "
        "matrix of distances; the stored entries of a sparse one are the candidate pairs.",
        metavar="METRIC",
        value="sqeuclidean",
    )
    degree: str | None = option(
        MODEL,
        "Average number of edges per node; auto is 8, locally scaled and connected.",
        metavar="NUMBER|auto",
        default="auto",
    )
    theta: float | None = option(MODEL, "Sparsity parameter, instead of --degree.")
    min_degree: int = option(MODEL, "Smallest number of edges of a node.", value=1, least=1)
    connected: bool | None = option(
        MODEL,
        "Join the components by their best pairs, or not.",
        "--connected/--not-connected",
        default="with --degree auto",
    )
    posterior: bool = flag(
        MODEL,
        "Say how certain the graph is; a .csv file then gets a row for every candidate pair, "
        "with the columns mean, std, inclusion, lower and upper.",
        "--posterior",
    )
    samples: int | None = option(
        MODEL, "Draw this many graphs, instead of the quick mean field.", least=1
    )
    concentration: float | None = option(
        MODEL, "How narrow the posterior is.", default="2 / squared mean weight"
    )
    excess: float | None = option(
        MODEL,
        "Instead of --concentration: by how much the mean weights exceed the learned ones, "
        "e.g. 0.1.",
    )
    scope: str = option(
        SEARCH,
        "Optimal among the candidate pairs, or proved to be so among all pairs.",
        metavar="candidates|global",
        value="candidates",
    )
    candidates: str = option(
        SEARCH, "Engine of the neighbour search.", metavar="auto|exact|hnsw|ivf", value="auto"
    )
    candidate_ratio: float = option(SEARCH, "Candidate neighbours per wanted edge.", value=3.0)
    mutual: bool = flag(SEARCH, "Candidates must be neighbours of each other.", "--mutual")
    local_scaling: str | None = option(
        SEARCH,
        "Divide distances by those to the neighbour of this rank.",
        metavar="N|none",
        default="7 with --degree auto",
    )
    solver: str = option(
        SEARCH,
        "primal-dual is the paper's algorithm.",
        metavar="newton|primal-dual",
        value="newton",
    )
    tol: float = option(SEARCH, "Relative duality gap to reach.", value=1e-6)
    max_iter: int | None = option(
        SEARCH, "Iterations per solve.", default="newton 500; primal-dual 1000"
    )
    seed: int = cli.seed_option("Seed of approximate search and of draws.", SEARCH, 2**32 - 1)
    out: Path | None = option(
        OUTPUT,
        "Graph: .npz (with its certificate and the plan of the columns), or .csv, .parquet or "
        ".graphml (with the nodes' names).",
        metavar="FILE",
    )
    picture: Path | None = option(
        OUTPUT, "Adjacency matrix as a .png, .svg or .pdf file.", metavar="FILE"
    )
    escape_formulas: bool = cli.ESCAPE_FORMULAS
    report: Path | None = option(
        OUTPUT,
        "Page with the graph and how it came about, an .html file; none: no page.",
        metavar="FILE",
        default="beside --out, else INPUT-graph.html here",
    )
    as_json: bool = cli.JSON
    jobs: int | None = cli.THREADS
    quiet: bool = cli.QUIET

    def options(self) -> dict[str, Any]:
        """Return the options of the learner."""
        return {
            **{name: getattr(self, name) for name in _LEARNER},
            **dict.fromkeys(("alpha", "beta", "first_theta")),
            "degree": None if self.degree is None else _number_or_text(float, self.degree),
            "local_scaling": _rank(self.local_scaling),
            "connected": "auto" if self.connected is None else self.connected,
            "random_state": self.seed,
            "n_jobs": self.jobs,
        }

    @property
    def page(self) -> Path | None:
        """The file of the page, if there is to be one."""
        return report_target(self.report, self.out or Path(f"{Path(self.source).stem}-graph.npz"))


@cli.takes(_Job)
def learn(job: _Job) -> None:
    """Learn the most probable graph of a table of points, and say how good it is."""
    if not Path(job.source).is_dir():
        check_source(job.source)
    if not job.quiet:
        announce(f"Reading {job.source} ...")
    from truegraph.learning import inputs

    options = job.options()
    settings = inputs.check_settings(options)
    if learned_in_partitions(job.source, job, job.out, vars(job) | options):
        return
    check_target("--out", job.out, GRAPH_ENDINGS, job.source)
    check_escape(job.escape_formulas, job.out)
    check_target("--picture", job.picture, PICTURE_ENDINGS, job.source)
    spread = {name: getattr(job, name) for name in ("samples", "concentration", "excess")}
    check_posterior(job.posterior, spread, job.out)
    page = job.page
    # a plan takes a second to import, and arrays have none
    plan = None if is_array(job.source) else job.plan()
    points = read_input(job.source, plan, is_distance=job.metric == "precomputed")
    if not job.quiet:
        for note in points.notes:
            announce(note)
    inputs.check_input(job.source, points.matrix, job.metric, settings)
    _check_names(job.out, points)
    with recorded_warnings() as heard:
        graph = _learn(points, options, job)
    how = {"random_state": job.seed, "n_jobs": job.jobs, "progress": not job.quiet}
    found = infer(graph, spread, **how) if job.posterior else None
    _write(graph, found, job)
    if page is not None:
        write_page(_page(graph, points, job, heard), page)
    if job.as_json:
        print_json(_document(graph, found, points, job))
    elif not job.quiet:
        _print_summary(graph, found, points, job)


def _number_or_text(kind: type[int] | type[float], text: str) -> float | str:
    """Return the number that a text stands for, and other texts for the learner to judge."""
    try:
        return kind(text)
    except ValueError:
        return text


def _rank(text: str | None) -> float | str | None:
    """Return the rank of the neighbour that scales distances; None where that is not wanted."""
    if text is None:
        return "auto"
    return None if text == "none" else _number_or_text(int, text)


def _check_names(out: Path | None, points: Points) -> None:
    """Find names that the format of --out cannot hold before the work, not after it."""
    if out is None or out.suffix.lower() == ".npz" or points.node_names is None:
        return
    from truegraph.data.graphs.graph_files import check_format

    check_format(out, points.node_names)


def _learn(points: Points, options: dict[str, Any], job: _Job) -> LearnedGraph:
    if not job.quiet:
        announce_compilation("truegraph.learning", seconds=15)
    from truegraph.learning import GraphLearner

    learner = GraphLearner(**options, progress=not job.quiet).fit(points.matrix)
    return replace(learner.graph_.named(points.node_names), plan=points.plan)


def _write(graph: LearnedGraph, posterior: GraphPosterior | None, job: _Job) -> None:
    from truegraph.progress import console_progress

    if job.out is None and job.picture is None:
        return
    with console_progress(not job.quiet) as progress:
        if job.out is not None:
            progress.stage("write")
            if posterior is not None:
                write_table(posterior, job.out, escape=job.escape_formulas)
            else:
                write_learned(graph, graph.names, job.out, escape=job.escape_formulas)
        if job.picture is not None:
            progress.stage("draw")
            _draw(graph, job, job.picture)


def _draw(graph: LearnedGraph, job: _Job, picture: Path) -> None:
    from truegraph.report.plots import adjacency, save_figure

    title = f"Learned graph ({job.metric} distance)"
    save_figure(adjacency(graph.adjacency, title=title, by_cluster=True), picture)


def _document(
    graph: LearnedGraph, posterior: GraphPosterior | None, points: Points, job: _Job
) -> dict[str, Any]:
    certificate = graph.certificate
    return {
        "input": points.name,
        "shape": list(points.matrix.shape),
        "metric": job.metric,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "mean_degree": certificate.degree,
        "wanted_degree": certificate.wanted_degree,
        "relative_gap": certificate.relative_gap,
        "tolerance": certificate.tolerance,
        "scope": certificate.scope,
        "converged": certificate.converged,
        "theta": certificate.theta,
        "search": {
            "engine": certificate.search,
            "recall": certificate.recall,
            "low_recall": certificate.low_recall,
            "missed_objective": certificate.missed_objective,
            "candidate_pairs": certificate.candidate_pairs,
        },
        "solver": certificate.solver,
        "iterations": certificate.iterations,
        "seconds": certificate.seconds,
        "posterior": None if posterior is None else posterior_document(posterior),
        "peak_memory_mb": peak_memory_mb(),
        "out": None if job.out is None else str(job.out),
        "picture": None if job.picture is None else str(job.picture),
        "report": None if job.page is None else str(job.page),
        "notes": list(points.notes),
    }


def _page(graph: LearnedGraph, points: Points, job: _Job, heard: Sequence[str]) -> Page:
    from truegraph.report.answer_page import answer_page, table_of
    from truegraph.report.explorer.embedded import explorer_part

    edges = graph.to_pandas().sort_values("weight", ascending=False, kind="stable")
    certificate, degree = graph.certificate, float(graph.certificate.degree)
    return answer_page(
        f"Graph of {Path(points.name).name}",
        f"{counted(graph.n_nodes, 'node')}, {counted(graph.n_edges, 'edge')}, "
        f"{degree:.3g} per node: {_proof(certificate)}.",
        came_in={"file": points.name, "points": points.matrix.shape, "metric": job.metric},
        learned={"edges": graph.n_edges, "edges per node": degree, "written to": job.out},
        sure=dict(_quality(certificate, points, job)[1:]),
        look_at=table_of("Strongest edges", "Pairs that are surely neighbours.", edges),
        more=explorer_part(graph, features=points.columns(job.metric)),
        plan=points.plan,
        notes=points.notes,
        warnings=heard,
    )


def _print_summary(
    graph: LearnedGraph, posterior: GraphPosterior | None, points: Points, job: _Job
) -> None:
    reached, wanted = graph.certificate.degree, graph.certificate.wanted_degree
    edges = f"{counted(graph.n_edges, 'edge')}; mean degree {reached:.4g}"
    asked = "" if wanted is None else f" ({wanted:g} wanted)"
    typer.echo(f"Learned a graph of {graph.n_nodes:,} nodes and {edges}{asked}")
    certainty = [] if posterior is None else posterior_rows(posterior)
    quality, cost = _quality(graph.certificate, points, job), _cost(graph.certificate, job)
    print_rows([*quality, *certainty, *cost])


def _proof(certificate: Certificate) -> str:
    among = "of all pairs" if certificate.scope == "global" else "of the candidate pairs"
    proved = "proved" if certificate.converged else "NOT solved, only proved"
    return f"{proved} within {certificate.relative_gap:.1e} of the best graph {among}"


def _quality(certificate: Certificate, points: Points, job: _Job) -> list[tuple[str, str]]:
    rows, columns = points.matrix.shape
    among = "all pairs (proved)" if certificate.scope == "global" else "the candidate pairs"
    ended = "converged" if certificate.converged else "NOT converged"
    recall = f"{certificate.search} search, recall {certificate.recall:.3f}"
    found = "as given" if certificate.search == "given" else recall
    return [
        ("points", f"rows of {points.name}, {rows:,} x {columns:,}; {job.metric} distance"),
        ("optimality", f"relative gap {certificate.relative_gap:.1e} among {among}"),
        ("solver", f"{certificate.solver}, {ended} (tolerance {certificate.tolerance:g})"),
        ("theta", f"{certificate.theta:.6g}"),
        ("candidates", f"{counted(certificate.candidate_pairs, 'pair')}, {found}"),
    ]


def _cost(certificate: Certificate, job: _Job) -> list[tuple[str, str]]:
    memory = peak_memory_mb()
    written = [str(path) for path in (job.out, job.picture, job.page) if path is not None]
    return [
        ("seconds", ", ".join(f"{name} {s:.2f}" for name, s in certificate.seconds.items())),
        ("memory", "unknown" if memory is None else f"{memory:,.0f} MB at most"),
        ("written", ", ".join(written) or "nothing"),
    ]
