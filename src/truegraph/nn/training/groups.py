"""Some trials that advance together, and what they leave behind after every epoch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from truegraph.errors import TruegraphError
from truegraph.nn.dropout import Noise
from truegraph.nn.optimiser import AdamState, Weights, adam_step, select_trials
from truegraph.nn.training.base import Classifier, Inputs
from truegraph.nn.training.stopping import Patience
from truegraph.nn.training.targets import Targets, accuracy, cross_entropy
from truegraph.nn.training.trained import TrainedClassifier

DIVERGED = (
    "The likely cause is features of very different or huge size: scale the columns, for example "
    "by giving them as a table (DataFrame, .csv or .parquet), which is scaled; or lower the "
    "learning_rate in the model's options."
)


class TrainingError(TruegraphError):
    """Training failed; ``classifier`` has the last good weights."""

    classifier: TrainedClassifier


class Moment(NamedTuple):
    """What a group of trials has after an epoch."""

    state: AdamState
    standing: Patience
    best: Weights | None


@dataclass(eq=False)
class TrialGroup:
    """Some trials that advance together; at most one thread works on a group at a time."""

    model: Classifier
    trials: np.ndarray
    seeds: np.ndarray
    targets: Targets
    validation: Targets | None
    moments: tuple[Moment, Moment]  # (latest, the one before): the older one's memory is next

    def __post_init__(self) -> None:
        self.losses = np.full(len(self.trials), np.nan)
        self.decay = self.model.decay()

    def set_inputs(self, inputs: Inputs) -> None:
        """Take features and graph for the epochs to come."""
        self.inputs = inputs
        self.prepared = self.model.prepare(inputs, self.targets)

    def advance(self) -> None:
        """Do one epoch; an interrupt anywhere leaves the latest moment as it was."""
        now, before = self.moments
        gradients, updates = self._gradients(now.state)
        spare = before.state
        self.moments = (now, before._replace(state=replace(spare, steps=-1)))
        state = adam_step(
            now.state, gradients, self.decay, self.model.settings.learning_rate, spare
        )
        for name, value in updates.items():
            state.weights[name].copy_(value)
        self.model.constrain(state.weights)
        self.moments = (self._judged(now, state), now)

    def _gradients(self, state: AdamState) -> tuple[Weights, Weights]:
        leaves = {name: w.detach().requires_grad_() for name, w in state.weights.items()}
        noise = Noise(self.seeds, state.steps)
        losses, updates = self.model.loss(leaves, self.inputs, self.prepared, noise)
        self.losses = losses.detach().cpu().numpy().astype(np.float64)
        if not np.isfinite(self.losses).all():
            self._fall_back()
            trial = self.trials[~np.isfinite(self.losses)][0]
            raise TrainingError(
                f"loss of {self.model.name} is not finite in epoch {state.steps} of trial {trial}. "
                f"{DIVERGED}"
            )
        trained = [name for name in leaves if name not in updates]
        # Of the sum and not of each loss: torch would load sympy to compare two shapes.
        found = torch.autograd.grad(losses.sum(), [leaves[name] for name in trained])
        return dict(zip(trained, found, strict=True)), updates

    def _fall_back(self) -> None:
        now, before = self.moments
        if before.state.steps == now.state.steps - 1:
            self.moments = (before, now)

    def roll_back(self, steps: int) -> None:
        """Undo the last epoch if it goes beyond ``steps``, so that all groups stand together."""
        now, before = self.moments
        if now.state.steps > steps:
            self.moments = (before, now._replace(state=replace(now.state, steps=-1)))

    def _judged(self, before: Moment, state: AdamState) -> Moment:
        rule = self.model.stopping
        if rule is None or self.validation is None:
            return Moment(state, before.standing, None)
        with torch.no_grad():
            logits = self.model.forward(state.weights, self.inputs, None)
            loss = cross_entropy(logits, self.validation).cpu().numpy().astype(np.float64)
        standing, keep = rule.judge(before.standing, loss, accuracy(logits, self.validation))
        best = before.best
        if best is None or keep.all():
            best = select_trials(state.weights, slice(None))
        elif keep.any():
            best = {name: tensor.clone() for name, tensor in best.items()}
            for name, tensor in state.weights.items():
                best[name][keep] = tensor.detach()[keep]
        return Moment(state, standing, best)

    def weights(self) -> Weights:
        """Return the best weights where training stops early, the latest otherwise."""
        latest = self.moments[0]
        return latest.state.weights if latest.best is None else latest.best

    def exhausted(self) -> np.ndarray:
        """Return which trials have run out of patience."""
        rule = self.model.stopping
        if rule is None:
            return np.zeros(len(self.trials), dtype=bool)
        return rule.exhausted(self.moments[0].standing)

    def select(self, chosen: np.ndarray) -> TrialGroup:
        """Return a group of some of the trials, with copies of their weights."""
        latest = self.moments[0]
        state = latest.state.select(chosen)
        best = None if latest.best is None else select_trials(latest.best, chosen)
        moment = Moment(state, latest.standing.select(chosen), best)
        group = TrialGroup(
            self.model,
            self.trials[chosen],
            self.seeds[chosen],
            self.targets.select(chosen),
            None if self.validation is None else self.validation.select(chosen),
            with_spare(moment),
        )
        group.set_inputs(Inputs(self.inputs.features, self.inputs.operator.select(chosen)))
        return group


def with_spare(moment: Moment) -> tuple[Moment, Moment]:
    """Return the moment together with memory for the one to come."""
    spare = replace(moment.state.select(slice(None)), steps=-1)
    return moment, moment._replace(state=spare)
