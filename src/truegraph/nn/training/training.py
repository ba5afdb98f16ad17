"""Train many trials of a classifier at once.

This trains T independent copies of a model, each with its own seed, labelled nodes, dropout
masks and, if wanted, graph; every trial gets the weights, bit by bit, that it would get alone::

    training = Training(
        "gcn", normalise_features(X), labels, train=[split.train for split in splits],
        seeds=range(len(splits)),
    )
    trained = training.run(adjacency)
    probabilities = trained.predict_proba()                    # (T, N, C), dropout off
    for sample in trained.sample_proba(60, graphs=observed):   # (T, N, C) each, dropout on
        ...

``run`` may be called again, on another graph, and goes on with the same weights, the same Adam
moments and the next masks; ``classifier`` is what there is so far. A graph that changes from epoch
to epoch is given as a function of the epoch::

    training = Training("gcn", features, labels, train, seeds=seeds)
    training.run(observed, epochs=200)
    training.run(learned, epochs=100, on_epoch=collect)        # collect(epoch, classifier)

Training stops with :class:`TrainingError` when a loss is not finite; the last good weights are
in its ``classifier``. After an interrupt (Ctrl-C) ``Training.classifier`` is that of the last
epoch that all trials completed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from truegraph.errors import InputError
from truegraph.nn.classifiers.registry import find_classifier
from truegraph.nn.optimiser import AdamState, Weights, select_trials
from truegraph.nn.training.base import Classifier, Inputs, Settings
from truegraph.nn.training.groups import Moment, TrainingError, TrialGroup, with_spare
from truegraph.nn.training.stopping import Patience
from truegraph.nn.training.targets import Targets
from truegraph.nn.training.trained import (
    Features,
    Graphs,
    TrainedClassifier,
    check_inputs,
    prepare_features,
    prepare_graphs,
)
from truegraph.nn.training.trial_threads import run_all, trial_groups, worker_threads
from truegraph.progress import Progress

__all__ = ["Training", "TrainingError"]

OnEpoch = Callable[[int, TrainedClassifier], object]
NodeSets = Sequence[int] | Sequence[Sequence[int]] | np.ndarray | Sequence[np.ndarray]


class Training:
    """T trials of one model in training.

    Parameters
    ----------
    name : str
        A name of :data:`truegraph.nn.classifiers.registry.CLASSIFIERS`.
    features : array or sparse matrix of shape (N, F)
        Used as given; see :func:`truegraph.nn.graph_operators.normalise_features`.
    labels : ndarray of shape (N,) or (T, N), int
        Classes from 0, -1 where unknown. Only those of ``train`` and ``validation`` are read.
    train : array of node indices, or sequence of T of them
        The labelled nodes of each trial; the sizes may differ.
    validation : array of node indices, or sequence of T of them, optional
        Needed by models that stop early.
    seeds : sequence of T ints >= 0
        Each decides its trial's first weights and dropout masks.
    classes : int, optional
        Number of classes; by default one more than the largest label of ``train``.
    settings : Settings, optional
        Hyperparameters; by default those of the model's authors.
    device : str
        A torch device, e.g. "cuda".
    """

    def __init__(
        self,
        name: str,
        features: Features,
        labels: np.ndarray,
        train: NodeSets,
        *,
        validation: NodeSets | None = None,
        seeds: Sequence[int] = (0,),
        classes: int | None = None,
        settings: Settings | None = None,
        device: str = "cpu",
    ) -> None:
        kind = find_classifier(name)
        self.seeds = _checked_seeds(seeds)
        self.device = torch.device(device)
        self.features = prepare_features(features)
        rows = _label_rows(labels, len(self.seeds), self.features.shape[0])
        targets = Targets.from_sets(rows, _node_sets(train, len(self.seeds), "train"), "train")
        classes = int(targets.classes.max()) + 1 if classes is None else classes
        chosen = _checked_settings(kind, settings)
        self.model = kind(chosen, self.features.shape[1], classes)
        held_out = self._validation_targets(rows, validation)
        for name, part in (("train", targets), ("validation", held_out)):
            if part is not None and part.classes.max() >= classes:
                raise InputError(
                    f"classes={classes}, but a {name} node has the label {part.classes.max()}; "
                    "number the classes from 0 and give classes their number."
                )
        self.history: list[np.ndarray] = []
        self._inputs: Inputs | None = None
        self._finished: dict[int, Weights] = {}
        self._groups = [
            self._group(trials, targets, held_out)
            for trials in trial_groups(len(self.seeds), kind.group_size, self.device)
        ]

    def _validation_targets(self, rows: np.ndarray, sets: NodeSets | None) -> Targets | None:
        if self.model.stopping is None:
            return None
        if sets is None:
            raise InputError(
                f"{self.model.name} stops early, but validation is None; give validation nodes."
            )
        return Targets.from_sets(rows, _node_sets(sets, len(rows), "validation"), "validation")

    def _group(self, trials: np.ndarray, targets: Targets, held_out: Targets | None) -> TrialGroup:
        seeds = self.seeds[trials]
        weights = {n: w.to(self.device) for n, w in self.model.initial(seeds).items()}
        state = AdamState.start(weights)
        moment = Moment(state, Patience.start(len(trials)), None)
        return TrialGroup(
            self.model,
            trials,
            seeds,
            targets.select(trials),
            None if held_out is None else held_out.select(trials),
            with_spare(moment),
        )

    @property
    def epoch(self) -> int:
        """Number of epochs that all trials still in training have completed."""
        return len(self.history)

    def run(
        self,
        graphs: Graphs | Callable[[int], Graphs],
        epochs: int | None = None,
        progress: Progress | None = None,
        on_epoch: OnEpoch | None = None,
    ) -> TrainedClassifier:
        """Train for some epochs on a graph.

        Parameters
        ----------
        graphs : sparse adjacency (N, N), sequence of T of them, or function of the epoch
            A function is called before each epoch and returns one or T graphs.
        epochs : int, optional
            How many more epochs; ``settings.epochs`` by default.
        progress : Progress, optional
            Updated after each epoch with the number done in this run.
        on_epoch : callable(epoch, classifier), optional
            Called after each epoch with the epoch's number since the start, from 0, and the
            classifier as it is; its weights are overwritten by later epochs.

        Returns
        -------
        TrainedClassifier
            With copies of the weights; a trial that stopped early has its best ones.
        """
        epochs = self.model.settings.epochs if epochs is None else epochs
        if not callable(graphs):
            self._set_graphs(graphs)
        with worker_threads(len(self._groups)) as pool:
            for done in range(epochs):
                if not self._groups:
                    break
                if callable(graphs):
                    self._set_graphs(graphs(self.epoch))
                self._one_epoch(pool)
                if on_epoch is not None:
                    on_epoch(self.epoch - 1, self._view())
                if progress is not None:
                    progress.update(done + 1, epochs)
        return self.classifier

    def _set_graphs(self, graphs: Graphs) -> None:
        operator = prepare_graphs(self.model, graphs)
        inputs = Inputs(self.features, operator)
        check_inputs(inputs, len(self.seeds), self.model.features)
        self._inputs = inputs
        for group in self._groups:
            group.set_inputs(Inputs(self.features, operator.select(group.trials)))

    def _one_epoch(self, pool: Any) -> None:
        groups = self._groups
        try:
            run_all(pool, TrialGroup.advance, groups)
        except TrainingError as error:
            error.classifier = self.classifier
            raise
        except BaseException:
            steps = min(group.moments[0].state.steps for group in groups)
            for group in groups:
                group.roll_back(steps)
            raise
        losses = np.full(len(self.seeds), np.nan)
        for group in groups:
            losses[group.trials] = group.losses
        self.history = [*self.history, losses]
        self._retire(groups)

    def _retire(self, groups: list[TrialGroup]) -> None:
        """Take out the trials that have run out of patience, keeping their best weights."""
        if not any(group.exhausted().any() for group in groups):
            return
        remaining = []
        finished = dict(self._finished)
        for group in groups:
            over = group.exhausted()
            for place in np.flatnonzero(over):
                finished[int(group.trials[place])] = select_trials(
                    group.weights(), np.array([place])
                )
            if not over.all():
                remaining.append(group.select(np.flatnonzero(~over)) if over.any() else group)
        self._finished = finished
        self._groups = remaining

    @property
    def classifier(self) -> TrainedClassifier:
        """The classifier as it is now, with copies of the weights."""
        view = self._view()
        return replace(view, weights=select_trials(view.weights, slice(None)))

    def _view(self) -> TrainedClassifier:
        if self._inputs is None:
            raise InputError("there is no classifier before the first run: call run(graphs)")
        parts = [(np.array([trial]), weights) for trial, weights in self._finished.items()]
        parts += [(group.trials, group.weights()) for group in self._groups]
        order = np.argsort(np.concatenate([trials for trials, _ in parts]))
        names = parts[0][1]
        weights = {
            name: torch.cat([part[name].detach() for _, part in parts])[torch.from_numpy(order)]
            for name in names
        }
        return TrainedClassifier(self.model, weights, self.seeds, self._inputs)


def _checked_settings(kind: type[Classifier], settings: Settings | None) -> Settings:
    if settings is None:
        return kind.settings_type()
    if not isinstance(settings, kind.settings_type):
        raise InputError(
            f"settings has type {type(settings).__name__}; {kind.name} needs "
            f"{kind.settings_type.__name__}."
        )
    return settings


def _checked_seeds(seeds: Sequence[int]) -> np.ndarray:
    values = [int(seed) for seed in seeds]
    if not values or min(values) < 0:
        raise InputError(f"seeds={values} must be one integer >= 0 per trial.")
    return np.array(values, dtype=np.uint64)


def _label_rows(labels: np.ndarray, trials: int, nodes: int) -> np.ndarray:
    rows = np.asarray(labels)
    if rows.shape not in ((nodes,), (trials, nodes)):
        raise InputError(
            f"labels has shape {rows.shape}; it must be ({nodes},) or ({trials}, {nodes})."
        )
    if rows.dtype.kind not in "iu":
        raise InputError(f"labels has type {rows.dtype}; give integers, -1 where unknown.")
    return np.broadcast_to(rows, (trials, nodes))


def _node_sets(sets: NodeSets, trials: int, name: str) -> list[np.ndarray]:
    listed = list(sets)
    if listed and np.ndim(listed[0]) == 0:
        return [np.asarray(listed)] * trials
    if len(listed) != trials:
        raise InputError(
            f"{name} has {len(listed)} node sets; give one, or {trials}: one per seed."
        )
    return [np.asarray(chosen) for chosen in listed]
