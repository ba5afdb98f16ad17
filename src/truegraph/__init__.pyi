from .classify.estimator import NodeClassifier
from .classify.label_spreading import GraphLabelSpreading
from .classify.regressor import NodeRegressor
from .comparison import Comparison, compare
from .data.column_plan import ColumnPlan
from .data.datasets import list_datasets, load_dataset
from .data.interactions import Interactions
from .errors import (
    AnswerWarning,
    ConvergenceWarning,
    DataError,
    InputError,
    InputWarning,
    TruegraphError,
)
from .learning.bipartite import learn_bipartite_graph
from .learning.learned import LearnedGraph
from .learning.learner import GraphLearner, learn_graph
from .links.estimator import LinkPredictor
from .recommend.estimator import Recommender

__version__: str

__all__ = [
    "AnswerWarning",
    "ColumnPlan",
    "Comparison",
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
    "NodeRegressor",
    "Recommender",
    "TruegraphError",
    "__version__",
    "compare",
    "learn_bipartite_graph",
    "learn_graph",
    "list_datasets",
    "load_dataset",
]
