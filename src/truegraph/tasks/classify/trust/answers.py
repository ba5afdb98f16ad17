"""What all node classifiers can say about how far their answers can be trusted."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from truegraph.errors import InputError
from truegraph.tasks.classify.committee.fitted import FittedCommittee
from truegraph.tasks.classify.recipes.ensemble import Prediction
from truegraph.tasks.classify.trust.left_out import LeftOutLabels
from truegraph.tasks.classify.trust.prediction_sets import (
    PredictionSets,
    check_calibration,
    check_coverage,
    check_smoothing,
    sets_from_calibration,
    sets_from_left_out,
)
from truegraph.tasks.classify.trust.temperatures import (
    LEAST_LABELS,
    NodeTemperatures,
    calibrating_temperatures,
    log_degrees,
)
from truegraph.tasks.classify.trust.thresholds import set_scores
from truegraph.wording import counted

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from truegraph.tasks.classify.inputs import NodeInputs


class TrustedAnswers:
    """Prediction sets and calibration of a node classifier, which keeps what they are made of."""

    classes_: NDArray[Any]
    model_: str
    _inputs: NodeInputs
    _train: NDArray[np.int64]
    _probabilities: NDArray[np.float32]
    _expected_entropy: NDArray[np.float32] | None
    _weights: Any
    _left_out: LeftOutLabels | None
    _calibrations: tuple[NodeTemperatures, ...]
    _edge_probability: csr_array | None

    @abstractmethod
    def predict_proba(
        self, nodes: Any = None, *, X: Any = None, edges: Any = None
    ) -> NDArray[np.float32]:
        """Return class probabilities, columns in the order of `classes_`."""

    def predict_set(
        self,
        nodes: Any = None,
        *,
        coverage: float = 0.9,
        calibration: Any = None,
        class_conditional: bool = False,
        smoothing: float = 0.0,
        X: Any = None,
        edges: Any = None,
    ) -> PredictionSets:
        """Return sets of classes that hold the true class with the asked probability.

        Without `calibration`, thresholds come from the training labels, each predicted without
        itself, which the recipe "auto" keeps; with few labels they rest more on the probabilities
        themselves. With it, they come from labels that were set aside (split conformal
        prediction): then the coverage is guaranteed on average, if these nodes were drawn like
        those asked for.

        Parameters
        ----------
        nodes, X, edges
            As in `predict_proba`.
        coverage : float, default=0.9
            Share of the nodes whose true class shall be in their set.
        calibration : pair of array-likes (nodes, labels), optional
            Fitted nodes whose labels were set aside, -1 in the `y` of the fit, and these labels.
        class_conditional : bool, default=False
            Whether the coverage shall hold within every class, not only over all of them.
        smoothing : float, default=0.0
            With `calibration`, how much of a node's scores is the mean over its neighbours in the
            observed graph, as in DAPS. Training labels cannot be used with it: the neighbours'
            predictions know them.

        Returns
        -------
        PredictionSets
            Never empty; `lists()` has the names of the classes.

        References
        ----------
        V. Vovk, "Cross-conformal predictors", 2015; S. Zargarbashi, S. Antonelli, A. Bojchevski,
        "Conformal prediction sets for graph neural networks", ICML 2023.
        """
        check_is_fitted(self, "classes_")
        coverage = check_coverage(coverage)
        smoothing = check_smoothing(smoothing, calibration is not None and X is edges is None)
        probabilities = self.predict_proba(nodes, X=X, edges=edges)
        if calibration is None:
            if self._left_out is None:
                raise InputError(
                    f"the model {self.model_!r} keeps no left-out predictions of its training "
                    "labels; pass calibration=(nodes, labels) set aside, or use "
                    "BayesianNodeClassifier(recipe='auto')."
                )
            is_open = np.ones(len(self._probabilities), dtype=bool)
            is_open[self._train] = False
            given = (probabilities, self._probabilities[is_open], self.classes_, coverage)
            return sets_from_left_out(self._left_out, *given, class_conditional)
        aside, labels = check_calibration(
            calibration, self.classes_, self._train, len(self._probabilities)
        )
        everyone = set_scores(self._probabilities, self._inputs.graph, smoothing)
        asked = set_scores(probabilities)
        if smoothing > 0.0:
            asked = everyone if nodes is None else everyone[np.atleast_1d(np.asarray(nodes))]
        return sets_from_calibration(
            asked, (everyone[aside], labels), self.classes_, coverage, class_conditional
        )

    def calibrate(self, nodes: Any, labels: Any) -> Self:
        """Correct all probabilities by labels that were set aside: a temperature for every node.

        Left-out training labels count as well. From 300 labels on each class gets an offset, too,
        by which a predicted class may change. Without it, "auto" learns such temperatures from 100
        training labels on, see `calibration_`.

        Parameters
        ----------
        nodes : array-like of int, shape (m,)
            Fitted nodes whose labels were set aside, -1 in the `y` of the fit; a hundred or more
            are worth it. They should be drawn at random: if rare classes are drawn more often,
            their offsets say that they are more frequent than they are.
        labels : array-like of shape (m,)
            Their labels.

        Returns
        -------
        self
        """
        check_is_fitted(self, "classes_")
        aside, classes = check_calibration(
            (nodes, labels), self.classes_, self._train, len(self._probabilities)
        )
        degrees = log_degrees(self._inputs.graph)
        seen = LeftOutLabels(aside, classes, self._probabilities[aside].astype(np.float64))
        found = calibrating_temperatures(seen, self._left_out, degrees)
        if self._left_out is not None:
            chances = found.applied(self._left_out.probabilities, degrees[self._left_out.nodes])
            self._left_out = replace(self._left_out, probabilities=chances)
        own = self._expected_entropy
        before = Prediction(self._probabilities, np.zeros(len(degrees), np.float32))
        after = found.calibrated(
            before if own is None else replace(before, expected_entropy=own), degrees
        )
        self._probabilities = after.probabilities
        self._expected_entropy = None if own is None else after.expected_entropy
        self._calibrations += (found,)
        self._edge_probability = None  # it rests on the probabilities
        return self

    @property
    def calibration_(self) -> str:
        """Where the confidence of the probabilities comes from, in words."""
        check_is_fitted(self, "classes_")
        if self._calibrations:
            last = self._calibrations[-1]
            return f"{last.described}, from {counted(last.labels, 'label')} set aside"
        if self._left_out is None:
            return "as the model is trained"
        if isinstance(self._weights, FittedCommittee) and self._weights.temperatures is not None:
            own = self._weights.temperatures
            return f"{own.described}, from {counted(own.labels, 'left-out label')}"
        return (
            "temperatures of the views, from left-out labels; fewer than "
            f"{LEAST_LABELS} are too few for temperatures of the nodes"
        )
