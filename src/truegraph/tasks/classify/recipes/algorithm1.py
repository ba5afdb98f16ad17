r"""The Bayesian GCN with a non-parametric graph: Algorithm 1 of the paper, one function per step.

1. `embed_nodes`: an embedding z of the nodes           -> D1_ij = |z_i - z_j|^2
2. `base_labels`: labels c predicted on the observed graph, for all nodes
                                                        -> D2_ij, disagreement around i and j
3. `combined_distance`: D = D1 + delta D2, delta = max D1 / max D2
4. `map_graph`: the most probable graph given D (`infer_graphs` can put the mean of the graph's
   posterior, or draws from it, in its place)
5. `sample_weights`: W_1 .. W_S of a GCN trained on that graph
6. and its average: p(Z) = (1/S) sum_s softmax GCN(W_s, G_obs, X)

The paper leaves the number of edges per node and the way to draw weights open; the defaults here
are 100 edges and a fresh GCN with Monte Carlo dropout. The authors' related code continues the
training of the base GCN and averages its last iterates: ``schedule="continue"`` and
``weight_sampling="snapshots"``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.learning.inputs import check_number
from truegraph.learning.learned import LearnedGraph
from truegraph.nn.classifiers.gcn import GCNSettings
from truegraph.nn.dropout import derive_seeds
from truegraph.nn.training.training import Training
from truegraph.tasks.base import Run
from truegraph.tasks.classify.methods import (
    LabelPropagation,
    Method,
    Network,
    stops_early,
    training_of,
)
from truegraph.tasks.classify.problem import Problem
from truegraph.tasks.classify.recipes.base_cache import base_probabilities
from truegraph.tasks.classify.recipes.graph_inference import (
    GRAPH_INFERENCES,
    DrawnGraphs,
    TrainingGraphs,
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
from truegraph.tasks.classify.recipes.weight_samples import (
    MonteCarloAverage,
    Snapshots,
    WeightSamples,
    average_of,
)
from truegraph.tasks.classify.results import TrialResults

_USUAL_SAMPLES = {"mc-dropout": 60, "snapshots": 59}  # 59: Zhang et al. keep epochs 241 to 299
_FRESH = 1  # stream of the seeds of a GCN that is independent of the base classifier
_GRAPH_MEMORY = 768e6
_BYTES_PER_ENTRY = 24  # of a learned graph, and of the operator made of it
_ENTRIES_PER_CANDIDATE = 3.0  # a posterior takes more memory than a graph of the candidate pairs
_CHOICES = {
    "weight_sampling": ("mc-dropout", "snapshots"),
    "schedule": ("fresh", "continue"),
    "predict_on": ("observed", "learned"),
    "graph_inference": GRAPH_INFERENCES,
}


@dataclass(frozen=True, eq=False)
class BGCNOptions(GraphOptions):
    """Options of the Bayesian GCN, beside those of its graph.

    Parameters
    ----------
    base : str
        Classifier that predicts the labels of D2.
    base_settings : Settings or mapping, optional
        Its settings.
    settings : GCNSettings or mapping, optional
        Settings of the GCN whose weights are sampled.
    weight_sampling : {"mc-dropout", "snapshots"}
        Passes with dropout after training, or the last iterates of training without dropout.
    schedule : {"fresh", "continue"}
        Train a new GCN on the learned graph, or first on the observed and then on the learned one.
    continued_epochs : int
        Epochs on the learned graph with schedule "continue".
    predict_on : {"observed", "learned"}
        Graph of the prediction; the paper's is the observed one.
    samples : int, optional
        Weight samples S; default 60 passes or 59 snapshots.
    graph_inference : {"map", "mean", "samples"}
        Train on the most probable graph, on the mean of the graph's posterior, or on a fresh draw
        from it in every epoch.
    concentration : float, optional
        Of that posterior, see `LearnedGraph.posterior`.
    """

    base: str = "gcn"
    base_settings: Any = None
    settings: Any = None
    weight_sampling: str = "mc-dropout"
    schedule: str = "fresh"
    continued_epochs: int = 100
    predict_on: str = "observed"
    samples: int | None = None
    graph_inference: str = "map"
    concentration: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choices(_CHOICES)
        if self.samples is not None and self.samples < 1:
            raise InputError(f"samples={self.samples} must be at least 1.")
        self._check_inference()

    def _check_inference(self) -> None:
        if self.concentration is not None:
            check_number("concentration", self.concentration, above=0.0)
            if self.graph_inference == "map":
                raise InputError(
                    f"concentration={self.concentration} does not change the most probable graph; "
                    "set graph_inference to 'mean' or 'samples'."
                )
        is_drawn = self.graph_inference == "samples" and self.predict_on == "learned"
        if is_drawn and self.weight_sampling != "snapshots":
            raise InputError(
                "predict_on='learned' with graph_inference='samples' leaves no single graph to "
                "predict on; set weight_sampling='snapshots', so that each snapshot predicts on "
                "the graph drawn in its epoch, or graph_inference='mean'."
            )

    @property
    def n_samples(self) -> int:
        """Number S of weight samples."""
        return _USUAL_SAMPLES[self.weight_sampling] if self.samples is None else self.samples

    @property
    def gcn_settings(self) -> GCNSettings:
        """Settings of the GCN whose weights are sampled."""
        settings: GCNSettings = Network("gcn").options(self.settings)
        return settings

    @property
    def graph_epochs(self) -> int:
        """Epochs of training on the learned graph."""
        fresh = self.schedule == "fresh"
        return self.gcn_settings.epochs if fresh else self.continued_epochs


class BGCN(Method):
    """Bayesian GCN on a learned graph."""

    options_type = BGCNOptions

    def stops_early(self, options: BGCNOptions) -> bool:
        """Whether the base classifier does."""
        return options.base != "label-propagation" and stops_early(options.base)

    def limited(self, options: BGCNOptions, epochs: int) -> BGCNOptions:
        """Limit the base classifier if it stops early."""
        if not self.stops_early(options):
            return options
        base = Network(options.base)
        settings = base.limited(base.options(options.base_settings), epochs)
        return replace(options, base_settings=settings)

    def trials_at_once(self, problem: Problem, options: BGCNOptions) -> int:
        """Return how many learned graphs fit into memory together."""
        entries = problem.inputs.n_nodes * wanted_degree(problem, options)
        if options.graph_inference != "map":
            entries *= _ENTRIES_PER_CANDIDATE * options.candidate_ratio
        fitting = int(_GRAPH_MEMORY / (_BYTES_PER_ENTRY * entries))
        return max(1, min(fitting, super().trials_at_once(problem, options)))

    def run(self, problem: Problem, options: BGCNOptions, run: Run) -> TrialResults:
        """Do Algorithm 1 for every trial."""
        embeddings = embed_nodes(problem, options, run)
        labels, pretrained = base_labels(problem, options, run)
        graphs = learn_graphs(problem, embeddings, labels, options, run)
        trained_on = infer_graphs(problem, graphs, options, run)
        certificates = [graph.certificate for graph in graphs]
        kept = graphs if run.keep_graphs else None
        del graphs  # their candidate pairs would take several times the memory of the edges
        average, weights = sample_weights(problem, trained_on, pretrained, options, run)
        return TrialResults(
            average.probabilities, average.expected_entropy, kept, certificates, weights
        )


def base_labels(
    problem: Problem, options: BGCNOptions, run: Run
) -> tuple[NDArray[np.int64], Training | None]:
    """Step 2: return labels (T, N) predicted without dropout, for training nodes as well.

    With schedule "continue" the GCN trained on the observed graph is returned too; it is the base
    classifier itself if nothing else was asked for.
    """
    pretrained = None
    if options.schedule == "continue":
        pretrained = training_of(problem, "gcn", options.gcn_settings, run)
        with run.stage("gcn"):
            trained = pretrained.run(problem.inputs.graph, progress=run.progress)
        if options.base == "gcn" and options.base_settings is None:
            return trained.predict_proba().argmax(axis=2), pretrained
    is_propagation = options.base == "label-propagation"
    method = LabelPropagation() if is_propagation else Network(options.base)
    settings = method.options(options.base_settings)
    probabilities = base_probabilities(options.base, method, settings, problem, run)
    return probabilities.argmax(axis=2), pretrained


def learn_graphs(
    problem: Problem,
    embeddings: list[NDArray[Any]],
    labels: NDArray[np.int64],
    options: BGCNOptions,
    run: Run,
) -> list[LearnedGraph]:
    """Do steps 3 and 4 for each trial."""
    degree = noted_degree(problem, options, run)
    graphs = []
    with run.stage("graph learning"):
        first = embedding_distances(embeddings)
        for trial, (embedded, row) in enumerate(zip(first, labels, strict=True)):
            distance = combined_distance(embedded, row, problem.inputs.graph)
            graph = map_graph(distance, degree, options)
            if not run.keep_graphs and options.graph_inference == "map":
                graph = replace(graph, candidates=csr_array(graph.candidates.shape))
            graphs.append(graph)
            run.progress.update(trial + 1, problem.trials)
    return graphs


def infer_graphs(
    problem: Problem, graphs: list[LearnedGraph], options: BGCNOptions, run: Run
) -> TrainingGraphs:
    """Return the graphs to train on: as learned, or inferred from their posterior."""
    if options.graph_inference == "map":
        return [graph.adjacency for graph in graphs]
    with run.stage("graph posterior"):
        posteriors = [graph.posterior(concentration=options.concentration) for graph in graphs]
        if options.graph_inference == "mean":
            return [posterior.mean for posterior in posteriors]
        return DrawnGraphs(posteriors, problem.seeds, options.graph_epochs).of_epoch


def sample_weights(
    problem: Problem,
    graphs: TrainingGraphs,
    pretrained: Training | None,
    options: BGCNOptions,
    run: Run,
) -> tuple[MonteCarloAverage, list[WeightSamples] | None]:
    """Do steps 5 and 6: train on the learned graphs, draw weights, average what they predict."""
    count, epochs = options.n_samples, options.graph_epochs
    observed = problem.inputs.graph if options.predict_on == "observed" else None
    training = pretrained
    if training is None:
        # Not the seed of the base classifier: its first weights and masks would come again.
        training = training_of(
            problem, "gcn", options.gcn_settings, run, seeds=derive_seeds(problem.seeds, _FRESH)
        )
    if options.weight_sampling == "snapshots":
        if count > epochs:
            raise InputError(
                f"samples={count} exceeds the {epochs} training epochs; lower samples or raise "
                "epochs."
            )
        snapshots = Snapshots(training.epoch + epochs - count, observed, run.keep_weights)
        with run.stage("weight samples"):
            last = training.run(graphs, epochs, run.progress, snapshots)
        return snapshots.average, snapshots.samples(last, problem.inputs.graph)
    with run.stage("weight samples"):
        trained = training.run(graphs, epochs, run.progress)
        average = average_of(trained.sample_proba(count, observed))
    if not run.keep_weights:
        return average, None
    chosen = [trained.select([trial]) for trial in range(problem.trials)]
    return average, [WeightSamples(one, "mc-dropout", count) for one in chosen]
