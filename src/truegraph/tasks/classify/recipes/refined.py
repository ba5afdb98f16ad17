r"""The refined recipe: the paper's graph learning around a stronger classifier, in rounds.

1. `classify`: APPNP on the observed graph, once on features whose rows have sum one and once on
   rows of length one; both are sampled by Monte Carlo dropout, tempered to the same mean
   confidence and averaged.
2. `round_graphs`, then `classify` again: the labels of the current prediction (training nodes keep
   theirs) give D2, an embedding gives D1, D = D1 + delta D2 the most probable graph; new
   classifiers are trained on it and scored on the observed graph. That is the new prediction, and
   a new round can begin.
3. `step_shares`: a round counts by how much more confident it is, on average over the nodes, than
   the first prediction; what the rounds do not earn, the first prediction keeps. Both are scored
   on the observed graph: classifiers that find it no clearer than before were trained on a graph
   that does not fit. No label is needed for that. The mean by these shares is the prediction.
4. `temperatures`, `result_temperatures`: labelled nodes, left out of training in turn, say how
   confident the first prediction should be; the result, meant to be at least as good, is made
   no less confident than that.

The recipe "fast" is the same with an embedding that needs no training, one feature scaling, the
probabilities themselves in D2, and one round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.nn.classifiers.appnp import APPNP, APPNPSettings
from truegraph.nn.dropout import derive_seeds
from truegraph.nn.graph_operators import normalise_features
from truegraph.nn.training.trained import Graphs, TrainedClassifier, prepare_graphs
from truegraph.nn.training.training import Training
from truegraph.tasks.classify.inputs import distance_graph
from truegraph.tasks.classify.methods import Method, Outcome, Run, options_from
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.cross_fitting import balanced_folds, pooled_temperatures
from truegraph.tasks.classify.recipes.ensemble import (
    Ensemble,
    Member,
    Prediction,
    confidence_temperature,
    mean_of,
    tempered,
    tempered_average,
)
from truegraph.tasks.classify.recipes.node_graphs import (
    GraphOptions,
    combined_distance,
    embed_nodes,
    embedding_distances,
    map_graph,
    noted_degree,
    wanted_degree,
)
from truegraph.tasks.classify.recipes.weight_samples import WeightSamples

SCALINGS = ("sum", "length")
_CHOICES = {
    "label_distance": ("hard", "soft"),
    "average": ("rounds", "last"),
    "graph": ("learned", "nearest"),
    "calibration": ("cross-fit", "none"),
}
_COVERAGE = 0.95  # of the propagated weight that training keeps; it saves a third of the time
_REACH = 20_000  # nodes that training keeps at most
_STREAM = 16  # of a trial's seed: the first of those that its classifiers take
_FOLD_STREAM = 8
_MEMORY = 1e9
_BYTES_PER_ENTRY = 24  # of a learned graph, and of the operator made of it
_EDGES = 600_000.0  # more nodes than these allow 100 edges each get fewer, but not below:
_LEAST_DEGREE = 10.0
_MANY_NODES = 50_000
_FEW_DIMENSIONS = {"dimension": 16}


@dataclass(frozen=True, eq=False)
class RefinedOptions(GraphOptions):
    """Options of the refined recipe, beside those of its graph.

    Parameters
    ----------
    rounds : int
        How often a graph is learned from the current prediction; 0: only the observed graph.
    scalings : sequence of {"sum", "length"}
        How rows of features are normalised, one classifier for each.
    temper : bool
        Whether all scalings' predictions get the mean confidence of the last one's.
    label_distance : {"hard", "soft"}
        Whether predicted classes or their probabilities make D2.
    average : {"rounds", "last"}
        Predict the mean over the rounds, or the last one.
    graph : {"learned", "nearest"}
        The most probable graph, or as many nearest neighbours by the same distance.
    safeguard : (float, float), optional
        Rounds count by the mean confidence that they gain over the first prediction: not at all up
        to the first number, in full from the second one on, in between in proportion. The first
        prediction has the rest. None: rounds always count in full.
    calibration : {"cross-fit", "none"}
        Whether the prediction is tempered.
    samples : int
        Passes with dropout of each classifier.
    settings : APPNPSettings or mapping, optional
        Of the classifiers.
    """

    rounds: int = 2
    scalings: Sequence[str] = SCALINGS
    temper: bool = True
    label_distance: str = "hard"
    average: str = "rounds"
    graph: str = "learned"
    safeguard: tuple[float, float] | None = (0.01, 0.05)
    calibration: str = "cross-fit"
    samples: int = 20
    settings: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choices(_CHOICES)
        if self.rounds < 0:
            raise InputError(f"rounds is {self.rounds}. Use 0 or more.")
        if self.samples < 1:
            raise InputError(f"samples is {self.samples}. Draw at least one sample.")
        if self.safeguard is not None:
            _check_gains(self.safeguard)
        unknown = [scaling for scaling in self.scalings if scaling not in SCALINGS]
        if isinstance(self.scalings, str) or unknown or not self.scalings:
            raise InputError(
                f"scalings is {self.scalings!r}. Give one or both of {', '.join(SCALINGS)}."
            )

    @property
    def classifier_settings(self) -> APPNPSettings:
        """Settings of the classifiers; a mapping changes only what it names."""
        given = {} if self.settings is None else self.settings
        if isinstance(given, Mapping):
            given = {"coverage": _COVERAGE, "reach": _REACH, **given}
        settings: APPNPSettings = options_from(given, APPNPSettings)
        return settings


def _check_gains(gains: Any) -> None:
    try:
        none, full = (float(gain) for gain in gains)
    except (TypeError, ValueError):
        none, full = 0.0, 0.0
    if not -1.0 <= none < full <= 1.0:
        raise InputError(
            f"safeguard is {gains!r}. Give two gains of confidence, the smaller one first, such as "
            "(0.01, 0.05), or None to let all rounds count."
        )


@dataclass(frozen=True, eq=False)
class FastOptions(RefinedOptions):
    """Options of the fast recipe: the same, with other defaults."""

    embedding: Any = "svd"
    rounds: int = 1
    scalings: Sequence[str] = ("length",)
    label_distance: str = "soft"
    safeguard: tuple[float, float] | None = (-0.01, 0.01)  # soft labels do not confirm themselves


@dataclass(frozen=True, eq=False)
class Classified:
    """What the classifiers of one step say in T trials.

    Attributes
    ----------
    prediction : Prediction
        Of shape (T, N, C).
    members : list of T tuples of Member, or None
        None if no weights are kept.
    """

    prediction: Prediction
    members: list[tuple[Member, ...]] | None


class Refined(Method):
    """The refined recipe and, with other options, its controls."""

    options_type = RefinedOptions

    def trials_at_once(self, problem: Problem, options: RefinedOptions) -> int:
        """Return how many learned graphs and sets of samples fit into memory together."""
        nodes = problem.inputs.n_nodes
        graph = _BYTES_PER_ENTRY * (_degree(problem, options) if options.rounds else 0.0)
        labelled = max(len(train) for train in problem.train)
        samples = 4 * problem.classes * options.samples * len(options.scalings)
        fitting = int(_MEMORY / (nodes * (graph + samples + 12 * labelled)))
        return max(1, min(fitting, super().trials_at_once(problem, options)))

    def run(self, problem: Problem, options: RefinedOptions, run: Run) -> Outcome:
        """Do all steps for every trial."""
        options = _fitting(problem, options, run)
        steps = [classify(problem, problem.inputs.graph, 0, options, run)]
        graphs: list[LearnedGraph] | None = None
        if options.rounds:
            distances = embedding_distances(embed_nodes(problem, options, run))
            for number in range(1, options.rounds + 1):
                graphs, trained_on = round_graphs(
                    problem, distances, steps[-1].prediction, graphs, options, run
                )
                steps.append(classify(problem, trained_on, number, options, run))
        shares = step_shares(steps, options, run)
        results = means(steps, shares)
        wanted = temperatures(problem, options, run)
        heat = result_temperatures(steps[0].prediction, results, wanted)
        tempered_results = [one.at(degrees) for one, degrees in zip(results, heat, strict=True)]
        ensembles = _ensembles(steps, shares, heat) if run.keep_weights else None
        return Outcome(
            np.stack([one.probabilities for one in tempered_results]),
            np.stack([one.expected_entropy for one in tempered_results]),
            graphs if run.keep_graphs else None,
            None if graphs is None else [graph.certificate for graph in graphs],
            ensembles,
        )


class Fast(Refined):
    """The fast recipe."""

    options_type = FastOptions


def _fitting(problem: Problem, options: RefinedOptions, run: Run) -> RefinedOptions:
    """Leave out what the data do not allow, and write down the degree that will be used."""
    if problem.inputs.normalised_by == "length" and "sum" in options.scalings:
        options = replace(options, scalings=("length",))
        run.note("features have negative values: only rows of length one are used")
    if options.rounds == 0:
        return options
    if options.embedding == "svd" and problem.inputs.n_nodes > _MANY_NODES:
        # The search for neighbours among many nodes costs ever more with the dimension.
        options = replace(
            options, embedding_options=_FEW_DIMENSIONS | dict(options.embedding_options)
        )
        run.note(f"embedding: {options.embedding_options['dimension']} dimensions on so many nodes")
    degree = noted_degree(problem, options, run)
    large = _degree(problem, options)
    if large < degree:
        run.note(f"learned graphs: {large:g} edges per node, not {degree:g}, on so many nodes")
    return replace(options, degree=large)


def _degree(problem: Problem, options: RefinedOptions) -> float:
    """Return the edges per node; unless they are given, fewer beyond 6,000 nodes."""
    degree = wanted_degree(problem, options)
    if options.degree is not None:
        return degree
    return min(degree, max(_LEAST_DEGREE, round(_EDGES / problem.inputs.n_nodes)))


def classify(
    problem: Problem,
    graphs: csr_array | list[csr_array],
    step: int,
    options: RefinedOptions,
    run: Run,
) -> Classified:
    """Train one classifier per scaling on one graph, or on one graph per trial; score and average.

    Parameters
    ----------
    problem : Problem
    graphs : csr_array of shape (N, N), or list of T of them
        To train on; scored is on the observed graph.
    step : int
        0 for the observed graph, then the number of the round.
    options : RefinedOptions
    run : Run
    """
    operator = prepare_graphs(APPNP, graphs)
    trained, samples = [], []
    for scaling in options.scalings:
        stream = _STREAM + len(SCALINGS) * step + SCALINGS.index(scaling)
        with run.stage(f"classifiers, round {step}" if step else "classifiers"):
            seeds = derive_seeds(problem.seeds, stream)
            one = _trained(problem, operator, seeds, scaling, options, run)
            samples.append(list(one.sample_proba(options.samples, problem.inputs.graph)))
        trained.append(one)
    heat = scaling_temperatures(samples, options.temper)
    averages = [tempered_average(*pair) for pair in zip(samples, heat, strict=True)]
    members = _members(trained, heat, options) if run.keep_weights else None
    return Classified(mean_of(averages), members)


def _trained(
    problem: Problem,
    graphs: Graphs,
    seeds: NDArray[np.uint64],
    scaling: str,
    options: RefinedOptions,
    run: Run,
) -> TrainedClassifier:
    training = Training(
        APPNP.name,
        normalise_features(problem.inputs.features, by=scaling),
        problem.labels,
        problem.train,
        seeds=[int(seed) for seed in seeds],
        classes=problem.classes,
        settings=options.classifier_settings,
        device=run.device,
    )
    return training.run(graphs, progress=run.progress)


def scaling_temperatures(
    samples: list[list[NDArray[np.float32]]], temper: bool
) -> list[NDArray[np.float64]]:
    """Return for each scaling the temperature of each trial, (T,).

    The last scaling stays as it is; the others get the temperature at which their mean confidence
    equals its own.
    """
    averages = [np.mean(passes, axis=0) for passes in samples]
    wanted = _confidence(averages[-1])
    found = []
    for mean in averages:
        heat = np.ones(len(wanted))
        if temper and mean is not averages[-1]:
            pairs = zip(mean, wanted, strict=True)
            heat = np.array([confidence_temperature(one, level) for one, level in pairs])
        found.append(heat)
    return found


def _members(
    trained: list[TrainedClassifier], heat: list[NDArray[np.float64]], options: RefinedOptions
) -> list[tuple[Member, ...]]:
    return [
        tuple(
            Member(
                WeightSamples(one.select([trial]), "mc-dropout", options.samples),
                scaling,
                float(degrees[trial]),
            )
            for one, scaling, degrees in zip(trained, options.scalings, heat, strict=True)
        )
        for trial in range(trained[0].trials)
    ]


def round_graphs(
    problem: Problem,
    distances: list[EmbeddingDistance],
    prediction: Prediction,
    before: list[LearnedGraph] | None,
    options: RefinedOptions,
    run: Run,
) -> tuple[list[LearnedGraph] | None, list[csr_array]]:
    """Return the learned graphs of a round, if any, and the graphs to train on.

    The search for theta begins where it ended for the graphs of the round before.
    """
    labels = round_labels(problem, prediction, options.label_distance)
    degree = _degree(problem, options)
    learned: list[LearnedGraph] = []
    graphs: list[csr_array] = []
    with run.stage("graph learning"):
        for trial, (embedded, row) in enumerate(zip(distances, labels, strict=True)):
            distance = combined_distance(embedded, row, problem.inputs.graph)
            if options.graph == "learned":
                theta = None if before is None else before[trial].certificate.theta
                learned.append(_lean(map_graph(distance, degree, options, theta), run))
                graphs.append(learned[-1].adjacency)
            else:
                graphs.append(distance_graph(distance, round(degree)))
            run.progress.update(trial + 1, problem.trials)
    return learned or None, graphs


def _lean(graph: LearnedGraph, run: Run) -> LearnedGraph:
    """Drop the candidate pairs, which take several times the memory of the edges."""
    return (
        graph if run.keep_graphs else replace(graph, candidates=csr_array(graph.candidates.shape))
    )


def round_labels(
    problem: Problem, prediction: Prediction, label_distance: str
) -> NDArray[np.float64]:
    """Return class probabilities (T, N, C) for D2; training nodes have their own class."""
    chances = prediction.probabilities.astype(np.float64)
    pure = np.eye(problem.classes)
    if label_distance == "hard":
        chances = pure[chances.argmax(axis=2)]
    chances /= chances.sum(axis=2, keepdims=True)
    for row, labels, train in zip(chances, problem.labels, problem.train, strict=True):
        row[train] = pure[labels[train]]
    return chances


def temperatures(problem: Problem, options: RefinedOptions, run: Run) -> NDArray[np.float64]:
    """Return the temperature (T,) that each trial's first prediction should have.

    Classifiers on the observed graph are trained without a part of the labelled nodes, which are
    then predicted; the temperature at which these predictions fit best is that of the trial.
    """
    if options.calibration == "none":
        return np.ones(problem.trials)
    owners, parts = [], []
    for trial, (seed, train) in enumerate(zip(problem.seeds, problem.train, strict=True)):
        for part in balanced_folds(problem.labels[trial], train, seed):
            owners.append(trial)
            parts.append(part)
    if not parts:  # no class has two labelled nodes
        return np.ones(problem.trials)
    folds = problem.select(owners)
    kept = [np.setdiff1d(train, part) for train, part in zip(folds.train, parts, strict=True)]
    with run.stage("calibration"):
        found = _trained(
            replace(folds, train=kept),
            problem.inputs.graph,
            derive_seeds(folds.seeds, _FOLD_STREAM),
            options.scalings[-1],
            options,
            run,
        )
        chances = found.predict_proba()
    return pooled_temperatures(owners, parts, chances, problem.labels)


def step_shares(steps: list[Classified], options: RefinedOptions, run: Run) -> NDArray[np.float64]:
    """Return the shares (T, S) of each trial's steps in its prediction; they sum to one.

    Step 0 is the observed graph; it has what the rounds do not earn.
    """
    own = [_confidence(step.prediction.probabilities) for step in steps]
    confidence = np.array(own, dtype=np.float64).T
    if len(steps) == 1:
        return np.ones_like(confidence)
    gains = confidence[:, 1:] - confidence[:, :1]
    if options.safeguard is None:
        earned = np.ones_like(gains)
    else:
        none, full = options.safeguard
        earned = np.clip((gains - none) / (full - none), 0.0, 1.0)
    averaged = earned.shape[1] if options.average == "rounds" else 1
    earned[:, :-averaged] = 0.0
    learned = earned.sum(axis=1) / averaged
    if np.any(learned < 1.0):
        run.note(
            "learned graphs made predictions little or no more confident: their share of the "
            f"result is {100 * learned.mean():.0f} %"
        )
    return np.column_stack([1.0 - learned, earned / averaged])


def means(steps: list[Classified], shares: NDArray[np.float64]) -> list[Prediction]:
    """Return for each trial the mean over its steps by their shares (T, S), each (N, C)."""
    predictions = [step.prediction for step in steps]
    return [
        mean_of(
            (Prediction(p.probabilities[trial], p.expected_entropy[trial]) for p in predictions),
            own,
        )
        for trial, own in enumerate(shares)
    ]


def result_temperatures(
    first: Prediction, results: list[Prediction], wanted: NDArray[np.float64]
) -> list[float]:
    """Return the temperature of each trial's result.

    Training on learned graphs has made the result more confident than the first prediction, often
    enough already; the temperature of the first would overshoot. So it only sets a level: the mean
    confidence that it gives the first prediction. A result below that level is raised to it.

    Parameters
    ----------
    first : Prediction
        Of shape (T, N, C).
    results : list of T Predictions
        Each of shape (N, C).
    wanted : ndarray of shape (T,)
        Temperatures that the first prediction should have.
    """
    found = []
    for before, result, degrees in zip(first.probabilities, results, wanted, strict=True):
        level = _confidence(tempered(before, float(degrees)))
        below = degrees < 1.0 and _confidence(result.probabilities) < level
        found.append(confidence_temperature(result.probabilities, level) if below else 1.0)
    return found


def _confidence(probabilities: NDArray[Any]) -> Any:
    """Return the mean over the nodes of the largest probability: (..., N, C) to (...)."""
    return probabilities.max(axis=-1).mean(axis=-1)


def _ensembles(
    steps: list[Classified], shares: NDArray[np.float64], heat: list[float]
) -> list[Ensemble]:
    """Return the classifiers of each trial's steps that count, to predict further nodes with."""
    found = []
    for trial, own in enumerate(shares):
        members = tuple(
            replace(one, share=float(share))
            for step, share in zip(steps, own, strict=True)
            if share > 0.0 and step.members is not None
            for one in step.members[trial]
        )
        found.append(Ensemble(members, heat[trial]))
    return found
