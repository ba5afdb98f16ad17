"""``truegraph learn``: from a file or a named data set to a certified graph."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truegraph.cli.compilation import announce_compilation
from truegraph.cli.inputs import Points, read_input
from truegraph.cli.learn_posterior import (
    infer,
    posterior_document,
    posterior_request,
    posterior_rows,
    write_table,
)
from truegraph.cli.outputs import (
    GRAPH_ENDINGS,
    PICTURE_ENDINGS,
    check_target,
    print_json,
    print_rows,
)
from truegraph.memory import peak_memory_mb

if TYPE_CHECKING:
    from truegraph.learning import Certificate, GraphPosterior, LearnedGraph


def learn(
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="A .npy, .npz, .csv or .parquet file with one row per node, or a data set's "
            "name (see: truegraph data list).",
        ),
    ],
    degree: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|auto", help="Wanted average number of edges per node. [default: 10]"
        ),
    ] = None,
    theta: Annotated[
        float | None, typer.Option(help="Sparsity parameter, instead of --degree.")
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            metavar="sqeuclidean|cosine|precomputed",
            help="Distance between rows. With precomputed, INPUT holds a symmetric matrix of "
            "distances; the stored entries of a sparse one are the candidate pairs.",
        ),
    ] = "sqeuclidean",
    scope: Annotated[
        str,
        typer.Option(
            metavar="candidates|global",
            help="Optimal among the candidate pairs, or proved to be so among all pairs.",
        ),
    ] = "candidates",
    candidates: Annotated[
        str, typer.Option(metavar="auto|exact|hnsw|ivf", help="Engine of the neighbour search.")
    ] = "auto",
    candidate_ratio: Annotated[
        float, typer.Option(help="Candidate neighbours per wanted edge.")
    ] = 3.0,
    mutual: Annotated[
        bool, typer.Option("--mutual", help="Candidates must be neighbours of each other.")
    ] = False,
    local_scaling: Annotated[
        int | None,
        typer.Option(min=1, help="Distances relative to that of the neighbour of this number."),
    ] = None,
    min_degree: Annotated[int, typer.Option(min=1, help="Smallest number of edges of a node.")] = 1,
    connected: Annotated[
        bool, typer.Option("--connected", help="Join the components by their best pairs.")
    ] = False,
    solver: Annotated[
        str,
        typer.Option(metavar="newton|primal-dual", help="primal-dual is the paper's algorithm."),
    ] = "newton",
    tol: Annotated[float, typer.Option(help="Relative duality gap to reach.")] = 1e-6,
    max_iter: Annotated[
        int | None,
        typer.Option(help="Iterations per solve. [default: 500 for newton, 1000 for primal-dual]"),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Seed of approximate search and of draws.")
    ] = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Threads, -1 for all cores; never changes the result.")
    ] = None,
    posterior: Annotated[
        bool,
        typer.Option(
            "--posterior",
            help="Say how certain the graph is; a .csv file gets a row for every candidate pair, "
            "with the columns mean, std, inclusion, lower and upper.",
        ),
    ] = False,
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="Draw so many graphs, instead of the quick mean field."),
    ] = None,
    concentration: Annotated[
        float | None,
        typer.Option(help="How narrow the posterior is. [default: 2 / squared mean weight]"),
    ] = None,
    excess: Annotated[
        float | None,
        typer.Option(help="Instead: how much the mean weights exceed the learned ones, as 0.1."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the graph to a .npz file (with its certificate), or to .csv or .graphml "
            "(with the nodes' names).",
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw the adjacency matrix to a .png, .svg or .pdf file."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of a summary.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No progress and no summary; --json still prints.")
    ] = False,
) -> None:
    """Learn the most probable graph of a table of points, and say how good it is."""
    from truegraph.learning import inputs

    options: dict[str, Any] = {
        "degree": _number_or_auto(degree),
        "theta": theta,
        "alpha": None,
        "beta": None,
        "first_theta": None,
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
    check_target("--out", out, GRAPH_ENDINGS, source)
    check_target("--picture", picture, PICTURE_ENDINGS, source)
    request = posterior_request(posterior, samples, concentration, excess, out)
    points = read_input(source)
    inputs.check_input(points.name, points.matrix, metric, settings)
    _check_names(out, points)

    job = _Job(points, metric, out, picture, quiet)
    graph = _learn(job, options)
    found = None if request is None else infer(graph, request, seed, jobs, not quiet)
    _write(graph, found, job)
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
    picture: Path | None
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
    return learner.graph_.named(job.points.node_names)


def _write(graph: LearnedGraph, posterior: GraphPosterior | None, job: _Job) -> None:
    from truegraph.progress import console_progress

    if job.out is None and job.picture is None:
        return
    with console_progress(not job.quiet) as progress:
        if job.out is not None:
            progress.stage("write")
            if posterior is not None:
                write_table(posterior, job.out)
            else:
                _write_graph(graph, job.out)
        if job.picture is not None:
            progress.stage("draw")
            _draw(graph, job, job.picture)


def _write_graph(graph: LearnedGraph, out: Path) -> None:
    from truegraph.data.graphs.graph_files import write_graph

    if out.suffix.lower() == ".npz":
        graph.save(out)
    else:
        write_graph(out, graph.adjacency, graph.names)


def _draw(graph: LearnedGraph, job: _Job, picture: Path) -> None:
    from truegraph.report.plots import adjacency, save_figure, side_by_side

    points = job.points
    about: dict[str, Any] = {"labels": points.labels, "class_names": points.class_names}
    title = f"Learned graph ({job.metric} distance)"
    if points.observed is None:
        figure = adjacency(graph.adjacency, title=title, **about)
    else:
        titles = (f"Observed graph of {points.name}", title)
        figure = side_by_side(points.observed, graph.adjacency, titles=titles, **about)
    save_figure(figure, picture)


def _document(graph: LearnedGraph, posterior: GraphPosterior | None, job: _Job) -> dict[str, Any]:
    certificate = graph.certificate
    return {
        "input": job.points.name,
        "points": job.points.description,
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
    }


def _print_summary(graph: LearnedGraph, posterior: GraphPosterior | None, job: _Job) -> None:
    wanted = graph.certificate.wanted_degree
    typer.echo(
        f"Learned a graph of {graph.n_nodes:,} nodes and {graph.n_edges:,} edges; "
        f"mean degree {graph.certificate.degree:.4g}"
        + ("" if wanted is None else f" ({wanted:g} wanted)")
    )
    certainty = [] if posterior is None else posterior_rows(posterior)
    print_rows([*_quality(graph.certificate, job), *certainty, *_cost(graph.certificate, job)])


def _quality(certificate: Certificate, job: _Job) -> list[tuple[str, str]]:
    rows, columns = job.points.matrix.shape
    among = "all pairs (proved)" if certificate.scope == "global" else "the candidate pairs"
    ended = "converged" if certificate.converged else "NOT converged"
    recall = f"{certificate.search} search, recall {certificate.recall:.3f}"
    found = "as given" if certificate.search == "given" else recall
    return [
        ("points", f"{job.points.description}, {rows:,} x {columns:,}; {job.metric} distance"),
        ("optimality", f"relative gap {certificate.relative_gap:.1e} among {among}"),
        ("solver", f"{certificate.solver}, {ended} (tolerance {certificate.tolerance:g})"),
        ("theta", f"{certificate.theta:.6g}"),
        ("candidates", f"{certificate.candidate_pairs:,} pairs, {found}"),
    ]


def _cost(certificate: Certificate, job: _Job) -> list[tuple[str, str]]:
    memory = peak_memory_mb()
    written = [str(path) for path in (job.out, job.picture) if path is not None]
    return [
        ("seconds", ", ".join(f"{name} {s:.2f}" for name, s in certificate.seconds.items())),
        ("memory", "unknown" if memory is None else f"{memory:,.0f} MB at most"),
        ("written", ", ".join(written) or "nothing"),
    ]
