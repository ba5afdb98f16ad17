"""``truegraph learn``: from a file of points to a certified graph."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truegraph.cli import options as cli
from truegraph.cli.learn_partitioned import learned_in_partitions
from truegraph.cli.output import GRAPHS, PICTURES, Output
from truegraph.errors import InputError
from truegraph.suggestions import suggestion
from truegraph.wording import counted

if TYPE_CHECKING:
    from truegraph.learning import Certificate, GraphPosterior, LearnedGraph

# Parameters of the learner; all else that --option names is one of its options.
_PARAMETERS = {
    **{"degree": "auto", "metric": "sqeuclidean", "graph_model": "scaled"},
    **{"candidates": "auto", "scope": "candidates", "random_state": None},
}
_FEWEST_NAMES = 10  # columns of fewer different words may well be answers: yes, no, maybe
_SHARED_NAMES = 0.5  # of the shorter list of names
_ENDS = ({"source", "target"}, {"from", "to"}, {"src", "dst"}, {"head", "tail"})
_MOST_EDGE_COLUMNS = 5  # of a list of edges: ends, weight, time and the like
_LEVEL = 0.9  # of the posterior's intervals


def learn(
    source: str,
    metric: str = "sqeuclidean",
    columns: str | None = None,
    drop: str | None = None,
    id_column: str | None = None,
    degree: str = "auto",
    scope: str = "candidates",
    given: list[str] | None = None,
    posterior: bool = False,
    seed: int = 0,
    out: list[Path] | None = None,
    as_json: bool = False,
    memory: str | None = None,
    cluster: str | None = None,
    storage: Path | None = None,
    jobs: int | None = None,
    quiet: bool = False,
) -> None:
    """Learn the most probable graph of a table of points, and say how good it is."""
    _check_source(source)
    output = Output(out, as_json=as_json, quiet=quiet)
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
    matrix, names, table = _read(source, metric, columns, drop, id_column)
    notes = [] if table is None else list(table.notes)
    output.say(*notes)
    from truegraph.learning import inputs

    inputs.check_input(source, matrix, metric, checked)
    output.check_names(names, file)
    from truegraph.learning import GraphLearner

    plan = None if table is None else table.plan
    with output.working(None, 15):
        learner = GraphLearner(**_arguments(settings), progress=not quiet)
        graph = learner.fit(matrix).graph_.named(names).planned(plan)
    found = graph.posterior() if posterior else None
    if file is not None and found is not None:
        output.write_table(found.to_pandas(_LEVEL), file)
    else:
        output.write_graph(graph, names, file)
    if drawn is not None:
        from truegraph.report.plots import adjacency, save_figure

        title = f"Learned graph ({metric} distance)"
        save_figure(adjacency(graph.adjacency, title=title, by_cluster=True), drawn)
        output.written.append(drawn)
    about = None if found is None else _posterior_numbers(found)
    document = graph_document(source, metric, graph) | {"posterior": about, "notes": notes}
    document["statistics"] |= {"rows": matrix.shape[0], "columns": matrix.shape[1]}
    shown = None if metric == "precomputed" else matrix if table is None else table.values
    output.finish(
        document,
        f"Learned a graph of {graph.n_nodes:,} nodes and {counted(graph.n_edges, 'edge')}; "
        f"{mean_degree(graph.certificate)}",
        title=f"Graph of {Path(source).name}",
        answer=expected_gap(graph.certificate),
        learned=_solver_facts(graph.certificate, found),
        parts=lambda: _parts(graph, shown),
        plan=plan,
    )


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


def _read(
    path: str, metric: str, columns: str | None, drop: str | None, id_column: str | None
) -> tuple[Any, Any, Any]:
    """Return points or distances as numbers, the nodes' names, and a table as it stands there."""
    if Path(path).suffix.lower() in (".npy", ".npz"):
        from truegraph.data.point_files import read_array  # not pandas, which takes a second

        return *read_array(path), None
    from truegraph.data.feature_files import read_distances, read_features

    if metric == "precomputed":
        return *read_distances(path), None
    found = read_features(path, cli.column_plan(columns, drop, id_column))
    _refuse_edges(path, found.values)
    return found.matrix(), found.names, found


def _refuse_edges(path: str, table: Any) -> None:
    """Raise an InputError for a list of edges, which is no table of points."""
    columns = [str(name).strip().lower() for name in getattr(table, "columns", ())]
    if not 2 <= len(columns) <= _MOST_EDGE_COLUMNS:
        return
    if not any(ends <= set(columns) for ends in _ENDS) and not _share_names(table):
        return
    raise InputError(
        f"{path} is a list of edges ({', '.join(columns)}), but learn takes points, a row per "
        f"node. Give it as edges: truegraph links --edges {path}, or with labels of some nodes: "
        f"truegraph classify --edges {path} --labels FILE"
    )


def _share_names(table: Any) -> bool:
    """Return whether the first two columns hold names of the same things, as ends of edges do."""
    from truegraph.data.column_encoders import different
    from truegraph.data.column_kinds import is_text

    first, second = (table.iloc[:, place] for place in (0, 1))
    if not (is_text(first) and is_text(second)):
        return False
    names, others = different(first), different(second)
    enough = len(names | others) >= _FEWEST_NAMES
    return enough and len(names & others) >= _SHARED_NAMES * min(len(names), len(others))


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


# --- what is told, also of graphs in partitions ---------------------------------------------------


def graph_document(source: str, metric: str, graph: Any) -> dict[str, Any]:
    """Return the beginning of a document: sizes and certificate of a graph."""
    document = {
        "files": {"points": source},
        "statistics": {"distance": metric},
        **{"nodes": graph.n_nodes, "edges": graph.n_edges},
        **graph.certificate.as_dict(),
    }
    stages = document["seconds"]
    return document | {"stages": stages, "seconds": stages.get("total", sum(stages.values()))}


def mean_degree(certificate: Certificate) -> str:
    """Return the mean degree, and the wanted one."""
    wanted = certificate.wanted_degree
    asked = "" if wanted is None else f" ({wanted:g} wanted)"
    return f"mean degree {certificate.degree:.4g}{asked}"


def expected_gap(certificate: Certificate) -> dict[str, str]:
    """Return how near a graph is to the best one, and what that rests on."""
    is_global = certificate.scope == "global"
    solved = "proved" if certificate.converged else "NOT solved, only proved"
    searched = f"{certificate.search} search, recall {certificate.recall:.3f}"
    found = "as given" if certificate.search == "given" else searched
    todo = "" if is_global else "--scope global proves it among all pairs of plain distances"
    return {
        "expected": f"{solved} within {certificate.relative_gap:.1e} of the best graph among "
        f"{'all pairs' if is_global else 'the candidate pairs'}",
        "rests on": "the duality gap; "
        f"{counted(certificate.candidate_pairs, 'candidate pair')}, {found}",
        "to do": todo if certificate.converged else "raise max_iter or tol with --option",
    }


def _solver_facts(certificate: Certificate, posterior: GraphPosterior | None) -> dict[str, Any]:
    """Return facts of solver and posterior: no probability without what it depends on."""
    from truegraph.report.faces import posterior_facts

    ended = "converged" if certificate.converged else "NOT converged"
    return {
        "solver": f"{certificate.solver}, {ended} (tolerance {certificate.tolerance:g})",
        "theta": f"{certificate.theta:.6g}",
        **({} if posterior is None else dict(posterior_facts(posterior))),
    }


def _posterior_numbers(posterior: GraphPosterior) -> dict[str, Any]:
    inclusion = posterior.inclusion().data
    return {
        "method": posterior.method,
        "concentration": posterior.concentration,
        "candidate_pairs": inclusion.size // 2,
        "threshold": posterior.threshold,
        "level": _LEVEL,
        "expected_edges": float(inclusion.sum()) / 2.0,
        "weight_ratio": float(posterior.mean.sum() / posterior.graph.adjacency.sum()),
    }


def _parts(graph: LearnedGraph, values: Any) -> Iterable[Any]:
    from truegraph.report.explorer.page import explorer_part
    from truegraph.report.page import first_rows

    edges = graph.to_pandas().sort_values("weight", ascending=False, kind="stable")
    strongest = first_rows("Strongest edges", "Pairs that should be close neighbours.", edges)
    return chain([strongest], explorer_part(graph, features=values))
