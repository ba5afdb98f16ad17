"""``truegraph learn``: from a file of points to a certified graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from truegraph.cli import options as cli
from truegraph.cli.learn_partitioned import learned_in_partitions
from truegraph.cli.options import INPUT, LARGE, MODEL, OUTPUT, option
from truegraph.cli.output import GRAPHS, PICTURES, Output, write_table
from truegraph.errors import InputError
from truegraph.suggestions import suggestion
from truegraph.wording import counted

if TYPE_CHECKING:
    from truegraph.data import ColumnPlan
    from truegraph.learning import Certificate, GraphPosterior, LearnedGraph
    from truegraph.report.page import Part

# Parameters of the learner; all else that --option names is one of its options.
_PARAMETERS = {
    **{"degree": "auto", "metric": "sqeuclidean", "graph_model": "scaled"},
    **{"candidates": "auto", "scope": "candidates", "random_state": None},
}
_ENDS = ({"source", "target"}, {"from", "to"}, {"src", "dst"}, {"head", "tail"})
_MOST_EDGE_COLUMNS = 5  # of a list of edges: ends, weight, time and the like
_LEVEL, _CERTAIN = 0.9, 0.95  # of the posterior's intervals; probability of a certain edge


def learn(
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="A row per node: a .npy, .npz, .csv, .parquet or .xlsx file, - for standard "
            "input, or a folder of .parquet.",
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
        ),
    ] = "sqeuclidean",
    columns: cli.Columns = None,
    drop: cli.Drop = None,
    id_column: cli.IdColumn = None,
    degree: Annotated[
        str, option(MODEL, "Average number of edges per node; auto is 8.", metavar="NUMBER|auto")
    ] = "auto",
    scope: Annotated[
        str,
        option(
            MODEL,
            "Optimal among the candidate pairs, or proved to be so among all pairs.",
            metavar="candidates|global",
        ),
    ] = "candidates",
    given: cli.Settings = None,
    posterior: Annotated[
        bool,
        option(
            MODEL,
            "Say how certain the graph is; a .csv file then gets a row for every candidate pair, "
            "with the columns mean, std, inclusion, lower and upper.",
            "--posterior",
        ),
    ] = False,
    seed: cli.Seed = 0,
    out: Annotated[
        list[Path] | None,
        option(
            OUTPUT,
            "Graph: .npz (with its certificate and the plan of the columns), or .csv, .parquet or "
            ".graphml (with the nodes' names); can be repeated, for its picture as a .png, .svg "
            "or .pdf file, and for the page, which else goes beside the graph.",
            metavar="FILE",
        ),
    ] = None,
    as_json: cli.Json = False,
    memory: Annotated[
        str | None,
        option(
            LARGE,
            "Memory of a process, such as 8GB; points that need more are learned in partitions.",
            metavar="SIZE",
            show_default="80 % of this machine's",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        option(LARGE, "Run on the workers of a Dask scheduler.", metavar="ADDRESS"),
    ] = None,
    storage: Annotated[
        Path | None,
        option(
            LARGE,
            "Folder for intermediate results, on a disk that all workers see; with it, a killed "
            "run continues.",
            metavar="FOLDER",
            show_default="beside --out",
        ),
    ] = None,
    jobs: cli.Jobs = None,
    quiet: cli.Quiet = False,
) -> None:
    """Learn the most probable graph of a table of points, and say how good it is."""
    _check_source(source)
    output = Output(out or (), as_json=as_json, quiet=quiet)
    output.say(f"Reading {source} ...")
    settings = _settings(given, metric, degree, scope, seed, jobs)
    large = {"memory": memory, "cluster": cluster, "storage": storage}
    if learned_in_partitions(source, settings, large, posterior, output):
        return
    output.check([Path(source)], (GRAPHS, PICTURES))
    file, drawn = output.file(*GRAPHS), output.file(*PICTURES)
    if posterior and file is not None and file.suffix.lower() != ".csv":
        raise InputError(
            f"--out {file}: the posterior is written to .csv only. Let the name end in .csv; of a "
            "graph in an .npz file, LearnedGraph.load(...).posterior() gives it later."
        )
    checked = _checked(settings)
    points = _read(source, metric, columns, drop, id_column)
    output.say(*points.notes)
    from truegraph.learning import inputs

    inputs.check_input(source, points.matrix, metric, checked)
    output.check_names(points.names, file)
    from truegraph.learning import GraphLearner

    with output.working(None, 15) as heard:
        learner = GraphLearner(**_arguments(settings), progress=not quiet)
        graph = learner.fit(points.matrix).graph_.named(points.names).planned(points.plan)
    found = graph.posterior() if posterior else None
    if file is not None and found is not None:
        write_table(found.to_pandas(_LEVEL), file)
    elif file is not None:
        output.write_graph(graph, file)
    if drawn is not None:
        from truegraph.report.plots import adjacency, save_figure

        title = f"Learned graph ({metric} distance)"
        save_figure(adjacency(graph.adjacency, title=title, by_cluster=True), drawn)
    _finish(graph, found, points, source, metric, output, heard)


def _check_source(source: str) -> None:
    """Raise an InputError unless `source` is a folder, or a kind of file that can be read."""
    if Path(source).is_dir() or Path(source).suffix.lower() in (".npy", ".npz"):
        return
    from truegraph.data.registry import REGISTRY
    from truegraph.data.tables import is_table_file

    name = source.lower()
    if name in REGISTRY:
        raise InputError(
            f"learn takes your own files, not the data set {name!r}; write it to files first: "
            f"truegraph data export {name} --out {name}, then: truegraph learn "
            f"{name}/features.csv"
        )
    if not is_table_file(source):
        raise InputError(
            f"INPUT {source!r} cannot be read; give a .npy, .npz, .csv, .parquet or .xlsx file."
        )


class _Points(NamedTuple):
    """What a file holds: as it stands there, and as numbers."""

    values: Any
    matrix: Any
    names: Any = None
    plan: ColumnPlan | None = None
    notes: Sequence[str] = ()


def _read(
    path: str, metric: str, columns: str | None, drop: str | None, id_column: str | None
) -> _Points:
    """Read the points, or the distances, of a file."""
    if Path(path).suffix.lower() in (".npy", ".npz"):
        from truegraph.data.point_files import read_array  # not pandas, which takes a second

        matrix, names = read_array(path)
        return _Points(None if metric == "precomputed" else matrix, matrix, names)
    from truegraph.data.feature_files import read_distances, read_features

    if metric == "precomputed":
        matrix, names = read_distances(path)
        return _Points(None, matrix, names)
    found = read_features(path, cli.column_plan(columns, drop, id_column))
    _refuse_edges(path, found.values)
    return _Points(found.values, found.matrix(), found.names, found.plan, found.notes)


def _refuse_edges(path: str, table: Any) -> None:
    """Raise an InputError for a list of edges, which is no table of points."""
    columns = [str(name).strip().lower() for name in getattr(table, "columns", ())]
    if len(columns) > _MOST_EDGE_COLUMNS or not any(ends <= set(columns) for ends in _ENDS):
        return
    raise InputError(
        f"{path} is a list of edges ({', '.join(columns)}), but learn takes points, a row per "
        f"node. Give it as edges: truegraph links --edges {path}, or with labels of some nodes: "
        f"truegraph classify --edges {path} --labels FILE"
    )


def _settings(
    given: list[str] | None, metric: str, degree: str, scope: str, seed: int, jobs: int | None
) -> dict[str, Any]:
    """Return parameters and options of the learner by name, those of the command among them."""
    settings = cli.settings(given, metric=metric, scope=scope, random_state=seed, n_jobs=jobs)
    if not {"degree", "theta", "alpha", "beta"} & set(settings):
        try:
            settings["degree"] = float(degree)
        except ValueError:
            settings["degree"] = degree  # "auto", or for the learner to refuse
    if settings["scope"] == "global":  # which can only be proved for distances as they are
        settings.setdefault("graph_model", "paper")
    return settings


def _arguments(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the learner, its options in one mapping."""
    own = {name: value for name, value in settings.items() if name in _PARAMETERS}
    return own | {"options": {name: settings[name] for name in settings if name not in own}}


def _checked(settings: dict[str, Any]) -> Any:
    """Check the settings, without the second that importing the learner takes."""
    from truegraph.learning.settings import OPTIONS, check_settings

    known = {**_PARAMETERS, **OPTIONS}
    for name in settings:
        if name not in known:
            raise InputError(f"the graph learner has no option {name!r}.{suggestion(name, known)}")
    return check_settings(_PARAMETERS | _arguments(settings))


def _finish(
    graph: LearnedGraph,
    posterior: GraphPosterior | None,
    points: _Points,
    source: str,
    metric: str,
    output: Output,
    heard: Sequence[str],
) -> None:
    certificate = graph.certificate
    about = None if posterior is None else _posterior_facts(posterior)
    rows, columns = points.matrix.shape
    document: dict[str, Any] = {
        "files": {"points": source},
        "statistics": {"rows": rows, "columns": columns, "distance": metric},
        **{"nodes": graph.n_nodes, "edges": graph.n_edges},
        **certificate.as_dict(),
        **{"posterior": about, "notes": list(points.notes)},
    }
    stages = document["seconds"]
    document |= {"stages": stages, "seconds": stages.get("total", sum(stages.values()))}
    wanted = certificate.wanted_degree
    asked = "" if wanted is None else f" ({wanted:g} wanted)"
    ended = "converged" if certificate.converged else "NOT converged"
    output.finish(
        document,
        title=f"Graph of {Path(source).name}",
        headline=f"Learned a graph of {graph.n_nodes:,} nodes and "
        f"{counted(graph.n_edges, 'edge')}; mean degree {certificate.degree:.4g}{asked}",
        verdict=verdict(certificate),
        learned={
            "solver": f"{certificate.solver}, {ended} (tolerance {certificate.tolerance:g})",
            "theta": f"{certificate.theta:.6g}",
            **({} if about is None else _posterior_rows(about)),
        },
        parts=lambda: _parts(graph, points),
        plan=points.plan,
        warnings=heard,
    )


def _posterior_facts(posterior: GraphPosterior) -> dict[str, Any]:
    inclusion = posterior.inclusion().data
    is_open = (inclusion >= 1.0 - _CERTAIN) & (inclusion <= _CERTAIN)
    return {
        "method": posterior.method,
        "concentration": posterior.concentration,
        "candidate_pairs": inclusion.size // 2,
        "threshold": posterior.threshold,
        "level": _LEVEL,
        "expected_edges": float(inclusion.sum()) / 2.0,
        "certain_edges": int((inclusion > _CERTAIN).sum()) // 2,
        "open_pairs": int(is_open.sum()) // 2,
        "weight_ratio": float(posterior.mean.sum() / posterior.graph.adjacency.sum()),
    }


def _posterior_rows(about: dict[str, Any]) -> dict[str, str]:
    """Return facts of a posterior: no probability without what it depends on."""
    given = f"concentration {about['concentration']:.4g}, {about['candidate_pairs']:,} candidates"
    edges = (
        f"{about['expected_edges']:,.0f} expected with a weight above {about['threshold']:.3g}; "
        f"{about['certain_edges']:,} certain (probability above {_CERTAIN:g}), "
        f"{about['open_pairs']:,} open"
    )
    return {
        "posterior": f"{about['method']}; {given}; not calibrated to data",
        "edges": edges,
        "mean weights": f"{about['weight_ratio']:.3f} times those of the learned graph in all",
    }


def verdict(certificate: Certificate, candidates: str = "the candidate pairs") -> dict[str, str]:
    """Return how near a graph is to the best one, and what that rests on."""
    is_global = certificate.scope == "global"
    solved = "proved" if certificate.converged else "NOT solved, only proved"
    searched = f"{certificate.search} search, recall {certificate.recall:.3f}"
    found = "as given" if certificate.search == "given" else searched
    todo = "" if is_global else "--scope global proves it among all pairs of plain distances"
    return {
        "expected": f"{solved} within {certificate.relative_gap:.1e} of the best graph among "
        f"{'all pairs' if is_global else candidates}",
        "rests on": "the duality gap; "
        f"{counted(certificate.candidate_pairs, 'candidate pair')}, {found}",
        "to do": todo if certificate.converged else "raise max_iter or tol with --option",
    }


def _parts(graph: LearnedGraph, points: _Points) -> Iterator[Part]:
    from truegraph.report.explorer.page import explorer_part
    from truegraph.report.page import first_rows

    edges = graph.to_pandas().sort_values("weight", ascending=False, kind="stable")
    strongest = first_rows("Strongest edges", "Pairs that should be close neighbours.", edges)
    return chain([strongest], explorer_part(graph, features=points.values))
