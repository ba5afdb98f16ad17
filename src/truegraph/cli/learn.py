"""``truegraph learn``: from a file of points to a certified graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truegraph.cli import learn_partitioned as large
from truegraph.cli.common import options as cli
from truegraph.cli.common import table_options as tables
from truegraph.cli.common.compilation import announce_compilation
from truegraph.cli.common.inputs import Points, check_source, is_array, read_input
from truegraph.cli.common.options import INPUT, MODEL, OUTPUT, option
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
from truegraph.cli.learn_posterior import (
    infer,
    posterior_document,
    posterior_request,
    posterior_rows,
    write_table,
)
from truegraph.runtime.memory import peak_memory_mb
from truegraph.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from truegraph.learning import Certificate, GraphPosterior, LearnedGraph
    from truegraph.report.page import Page

SEARCH = "Search and solver"


def learn(
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="A .npy, .npz, .csv or .parquet file, or a folder of .parquet; a row per node.",
            rich_help_panel=INPUT,
        ),
    ],
    metric: Annotated[
        str,
        option(
            INPUT,
            "Distance between rows: sqeuclidean, cosine, or precomputed, where INPUT holds a "
            "symmetric matrix of distances; the stored entries of a sparse one are the candidate "
            "pairs.",
            metavar="METRIC",
            show_default=True,
        ),
    ] = "sqeuclidean",
    scale: tables.Scale = "auto",
    id_column: tables.IdColumn = None,
    drop: tables.Drop = None,
    columns: tables.Columns = None,
    degree: Annotated[
        str | None,
        option(MODEL, "Average number of edges per node.", metavar="NUMBER|auto", default="10"),
    ] = None,
    theta: Annotated[
        float | None, option(MODEL, "Sparsity parameter, instead of --degree.")
    ] = None,
    min_degree: Annotated[
        int, option(MODEL, "Smallest number of edges of a node.", least=1, show_default=True)
    ] = 1,
    connected: Annotated[
        bool, option(MODEL, "Join the components by their best pairs.", "--connected")
    ] = False,
    posterior: Annotated[
        bool,
        option(
            MODEL,
            "Say how certain the graph is; a .csv file then gets a row for every candidate pair, "
            "with the columns mean, std, inclusion, lower and upper.",
            "--posterior",
        ),
    ] = False,
    samples: Annotated[
        int | None,
        option(MODEL, "Draw this many graphs, instead of the quick mean field.", least=1),
    ] = None,
    concentration: Annotated[
        float | None,
        option(MODEL, "How narrow the posterior is.", default="2 / squared mean weight"),
    ] = None,
    excess: Annotated[
        float | None,
        option(
            MODEL,
            "Instead of --concentration: by how much the mean weights exceed the learned ones, "
            "e.g. 0.1.",
        ),
    ] = None,
    scope: Annotated[
        str,
        option(
            SEARCH,
            "Optimal among the candidate pairs, or proved to be so among all pairs.",
            metavar="candidates|global",
            show_default=True,
        ),
    ] = "candidates",
    candidates: Annotated[
        str,
        option(
            SEARCH,
            "Engine of the neighbour search.",
            metavar="auto|exact|hnsw|ivf",
            show_default=True,
        ),
    ] = "auto",
    candidate_ratio: Annotated[
        float, option(SEARCH, "Candidate neighbours per wanted edge.", show_default=True)
    ] = 3.0,
    mutual: Annotated[
        bool, option(SEARCH, "Candidates must be neighbours of each other.", "--mutual")
    ] = False,
    local_scaling: Annotated[
        int | None,
        option(SEARCH, "Divide distances by those to the neighbour of this rank.", least=1),
    ] = None,
    solver: Annotated[
        str,
        option(
            SEARCH,
            "primal-dual is the paper's algorithm.",
            metavar="newton|primal-dual",
            show_default=True,
        ),
    ] = "newton",
    tol: Annotated[
        float, option(SEARCH, "Relative duality gap to reach.", show_default=True)
    ] = 1e-6,
    max_iter: Annotated[
        int | None,
        option(SEARCH, "Iterations per solve.", default="newton 500; primal-dual 1000"),
    ] = None,
    seed: Annotated[
        int,
        option(
            SEARCH,
            "Seed of approximate search and of draws.",
            least=0,
            most=2**32 - 1,
            show_default=True,
        ),
    ] = 0,
    out: Annotated[
        Path | None,
        option(
            OUTPUT,
            "Graph: .npz (with its certificate and the plan of the columns), or .csv, .parquet or "
            ".graphml (with the nodes' names).",
            metavar="FILE",
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        option(OUTPUT, "Adjacency matrix as a .png, .svg or .pdf file.", metavar="FILE"),
    ] = None,
    escape_formulas: cli.EscapeFormulas = False,
    report: Annotated[
        Path | None,
        option(
            OUTPUT,
            "Page with the graph and how it came about, an .html file; none: no page.",
            metavar="FILE",
            default="beside --out, else INPUT-graph.html here",
        ),
    ] = None,
    memory: large.Memory = None,
    cluster: large.Cluster = None,
    storage: large.Storage = None,
    as_json: cli.Json = False,
    jobs: cli.Threads = None,
    quiet: cli.Quiet = False,
) -> None:
    """Learn the most probable graph of a table of points, and say how good it is."""
    if not Path(source).is_dir():
        check_source(source)
    if not quiet:
        announce(f"Reading {source} ...")
    from truegraph.learning import inputs

    options: dict[str, Any] = {
        "degree": _number_or_auto(degree),
        "theta": theta,
        **dict.fromkeys(("alpha", "beta", "first_theta")),
        "mutual": mutual,
        "local_scaling": local_scaling,
        "min_degree": min_degree,
        "connected": connected,
        "metric": metric,
        "scope": scope,
        "candidates": candidates,
        "candidate_ratio": candidate_ratio,
        "solver": solver,
        "tol": tol,
        "max_iter": max_iter,
        "random_state": seed,
        "n_jobs": jobs,
    }
    settings = inputs.check_settings(options)
    asked = options | {"posterior": posterior, "picture": picture, "report": report}
    if large.learned_in_partitions(source, memory, cluster, storage, out, asked, as_json, quiet):
        return
    check_target("--out", out, GRAPH_ENDINGS, source)
    check_escape(escape_formulas, out)
    check_target("--picture", picture, PICTURE_ENDINGS, source)
    request = posterior_request(posterior, samples, concentration, excess, out)
    page = report_target(report, out or Path(f"{Path(source).stem}-graph.npz"))
    # a plan takes a second to import, and arrays have none
    plan = None if is_array(source) else tables.column_plan(scale, id_column, drop, columns)
    points = read_input(source, plan, is_distance=metric == "precomputed")
    if not quiet:
        for note in points.notes:
            announce(note)
    inputs.check_input(source, points.matrix, metric, settings)
    _check_names(out, points)
    job = _Job(points, metric, out, escape_formulas, picture, page, quiet)
    with recorded_warnings() as heard:
        graph = _learn(job, options)
    found = None if request is None else infer(graph, request, seed, jobs, not quiet)
    _write(graph, found, job)
    if page is not None:
        write_page(_page(graph, job, heard), page)
    if as_json:
        print_json(_document(graph, found, job))
    elif not quiet:
        _print_summary(graph, found, job)


def _number_or_auto(degree: str | None) -> float | str | None:
    """Return the number that a text stands for, and other texts for the learner to judge."""
    try:
        return None if degree is None else float(degree)
    except ValueError:
        return degree


@dataclass(frozen=True)
class _Job:
    """What the command was asked for, after checking."""

    points: Points
    metric: str
    out: Path | None
    escape_formulas: bool
    picture: Path | None
    page: Path | None
    quiet: bool


def _check_names(out: Path | None, points: Points) -> None:
    """Find names that the format of --out cannot hold before the work, not after it."""
    if out is None or out.suffix.lower() == ".npz" or points.node_names is None:
        return
    from truegraph.data.graphs.graph_files import check_format

    check_format(out, points.node_names)


def _learn(job: _Job, options: dict[str, Any]) -> LearnedGraph:
    if not job.quiet:
        announce_compilation("truegraph.learning", seconds=15)
    from truegraph.learning import GraphLearner

    learner = GraphLearner(**options, progress=not job.quiet).fit(job.points.matrix)
    return replace(learner.graph_.named(job.points.node_names), plan=job.points.plan)


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


def _document(graph: LearnedGraph, posterior: GraphPosterior | None, job: _Job) -> dict[str, Any]:
    certificate = graph.certificate
    return {
        "input": job.points.name,
        "shape": list(job.points.matrix.shape),
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
        "notes": list(job.points.notes),
    }


def _page(graph: LearnedGraph, job: _Job, heard: Sequence[str]) -> Page:
    from truegraph.report.answer_page import answer_page, table_of

    edges = graph.to_pandas().sort_values("weight", ascending=False, kind="stable")
    certificate = graph.certificate
    return answer_page(
        f"Graph of {Path(job.points.name).name}",
        f"{counted(graph.n_nodes, 'node')}, {counted(graph.n_edges, 'edge')}, "
        f"{certificate.degree:.3g} per node.",
        came_in={"file": job.points.name, "points": job.points.matrix.shape, "metric": job.metric},
        learned={
            "edges": graph.n_edges,
            "edges per node": float(certificate.degree),
            "written to": job.out,
        },
        sure=dict(_quality(certificate, job)[1:]),
        look_at=table_of("Strongest edges", "Pairs that are surely neighbours.", edges),
        plan=job.points.plan,
        notes=job.points.notes,
        warnings=heard,
    )


def _print_summary(graph: LearnedGraph, posterior: GraphPosterior | None, job: _Job) -> None:
    reached, wanted = graph.certificate.degree, graph.certificate.wanted_degree
    edges = f"{counted(graph.n_edges, 'edge')}; mean degree {reached:.4g}"
    asked = "" if wanted is None else f" ({wanted:g} wanted)"
    typer.echo(f"Learned a graph of {graph.n_nodes:,} nodes and {edges}{asked}")
    certainty = [] if posterior is None else posterior_rows(posterior)
    print_rows([*_quality(graph.certificate, job), *certainty, *_cost(graph.certificate, job)])


def _quality(certificate: Certificate, job: _Job) -> list[tuple[str, str]]:
    rows, columns = job.points.matrix.shape
    among = "all pairs (proved)" if certificate.scope == "global" else "the candidate pairs"
    ended = "converged" if certificate.converged else "NOT converged"
    recall = f"{certificate.search} search, recall {certificate.recall:.3f}"
    found = "as given" if certificate.search == "given" else recall
    return [
        ("points", f"rows of {job.points.name}, {rows:,} x {columns:,}; {job.metric} distance"),
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
