"""What a user meets: estimators, and many trials at once."""

from truegraph.tasks.classification import BayesianNodeClassifier, NodeClassifier

__all__ = ["BayesianNodeClassifier", "NodeClassifier"]
