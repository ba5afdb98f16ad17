from .data.columns.plan import ColumnPlan
from .data.interactions.interactions import Interactions
from .data.nodes.datasets import list_datasets, load_dataset
from .errors import (
    AnswerWarning,
    ConvergenceWarning,
    DataError,
    InputError,
    InputWarning,
    TruegraphError,
)
from .learning.learned import LearnedGraph
from .learning.learner import GraphLearner
from .learning.one_call import learn_bipartite_graph, learn_graph
from .tasks.classify.estimator import BayesianNodeClassifier, NodeClassifier
from .tasks.classify.label_spreading import GraphLabelSpreading
from .tasks.links.estimator import BayesianLinkPredictor, LinkPredictor
from .tasks.recommend.estimator import BayesianRecommender, Recommender

__version__: str

__all__ = [
    "AnswerWarning",
    "BayesianLinkPredictor",
    "BayesianNodeClassifier",
    "BayesianRecommender",
    "ColumnPlan",
    "ConvergenceWarning",
    "DataError",
    "GraphLabelSpreading",
    "GraphLearner",
    "InputError",
    "InputWarning",
    "Interactions",
    "LearnedGraph",
    "LinkPredictor",
    "NodeClassifier",
    "Recommender",
    "TruegraphError",
    "__version__",
    "learn_bipartite_graph",
    "learn_graph",
    "list_datasets",
    "load_dataset",
]
