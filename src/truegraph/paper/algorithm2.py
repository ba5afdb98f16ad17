r"""Algorithm 2 of the paper: the Bayesian auto-encoder, beside its base model.

1. Train the auto-encoder on the observed graph: E_q[z].
2. Take the distances D_ij = |E_q[z_i] - E_q[z_j]|^2.
3. Learn the most probable graph given D.
4. Form J: the observed links, and learned weights where nothing was observed,

       J_ij = 1             if i and j are linked,
              w_ij / max(w) if the pair counts as unobserved and the learned graph has it,
              0             otherwise.

5. Train the auto-encoder on J, from the start and with the same seed.

The paper leaves open which entries count as unobserved and what the decoder should reconstruct;
`CHOICES` has an option for each.

Pal et al., "Non-Parametric Graph Learning for Bayesian Graph Neural Networks", UAI 2020.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.data.link_splits import Pairs
from truegraph.data.storage import PathLike
from truegraph.errors import AnswerWarning, InputError, warn
from truegraph.fit_log import FitLog
from truegraph.learning.core import learn
from truegraph.learning.inputs import check_choice, check_number
from truegraph.learning.learned import LearnedGraph
from truegraph.learning.search.distances import EmbeddingDistance
from truegraph.learning.settings import Settings
from truegraph.paper.autoencoders import LinkTask, Trained
from truegraph.paper.embedding import read_embedding

#: Options beside those of the base model, explained by `LinkPredictor`.
CHOICES: dict[str, Any] = {
    "degree": None,
    "target": "combined",  # lab/choose/bayesian_links.py
    "unobserved": "non-edges",
    "embedding": None,
}
_CANDIDATES = 5.0  # candidate neighbours per wanted edge, as in the authors' related code
_LEAST_DEGREE = 2.0  # every node has an edge, so a mean degree of 1 would take a perfect matching
_LEAK = (
    "unobserved='pairs' fills only the pairs that will be asked about. Half of a test set's pairs "
    "are links, and nearly all learned edges among them are: scores on these pairs must not be "
    "reported as ordinary link prediction. Use unobserved='non-edges' for that."
)


class Algorithm2(NamedTuple):
    """What Algorithm 2 found: J (N, N), its graph, and the points (N, d) that was learned from."""

    trained: Trained
    points: NDArray[Any]
    learned: LearnedGraph
    combined: csr_array


def algorithm2(
    task: LinkTask, log: FitLog, *, asked: Pairs | None = None, cache: PathLike | None = None
) -> Algorithm2:
    """Train a Bayesian auto-encoder; `asked` (m, 2) are the pairs that predictions are for."""
    o = task.options
    points = _checked(task, asked)
    # 1. The base auto-encoder's embedding.
    if points is None:
        file = task.cached_file(cache)
        points = None if file is None else read_embedding(file, task.graph.shape[0])
        points = task.base_model(log, cache).embedding if points is None else points
    # 2 and 3. The most probable graph given its squared distances.
    with log.stage("graph learning"):
        settings = Settings(degree=_degree(o.degree, task.graph), candidate_ratio=_CANDIDATES)
        learned = learn(EmbeddingDistance(points.astype(np.float64)), settings)
    # 4. Observed and learned links together.
    pairs = asked if o.unobserved == "pairs" else None
    combined, filling = combined_graph(task.graph, learned.adjacency, pairs)
    log.note(f"unobserved are {o.unobserved}, the target is {o.target}: {filling}")
    # 5. The auto-encoder on both.
    with log.stage(f"{task.name} on the combined graph"):
        target = combined if o.target == "combined" else task.graph
        trained = task.train_on(log, combined, target)
    return Algorithm2(trained, points, learned, combined)


def combined_graph(
    observed: csr_array, learned: csr_array, pairs: Pairs | None = None
) -> tuple[csr_array, str]:
    """Return J (N, N) of links 0/1 and learned weights (N, N), and in words what it adds.

    Learned weights fill all entries that are not linked, or only those of some pairs (m, 2).
    """
    scaled = csr_array(learned / learned.data.max(initial=np.finfo(np.float64).tiny))
    overlap = csr_array(scaled.multiply(observed))
    fill = csr_array(scaled - overlap)
    if pairs is not None:
        both = np.concatenate([pairs, pairs[:, ::-1]])
        allowed = csr_array((np.ones(len(both)), tuple(both.T)), shape=observed.shape)
        fill = csr_array(fill.multiply(allowed.astype(bool)))
    fill.eliminate_zeros()
    graph = csr_array(observed + fill)
    graph.sort_indices()
    share = overlap.nnz / max(learned.nnz, 1)
    filling = (
        f"{learned.nnz // 2} learned edges, {share:.0%} of them observed; "
        f"{fill.nnz // 2} unobserved pairs get a weight"
    )
    return graph, filling + (f", {fill.data.mean():.2f} on average" if fill.nnz else "")


def _degree(wanted: float | None, graph: csr_array) -> float:
    """Return the mean degree of the learned graph: by default that of the training graph."""
    nodes = graph.shape[0]
    usual = max(_LEAST_DEGREE, float(round(graph.nnz / nodes)))
    return min(nodes - 1.0, usual if wanted is None else float(wanted))


def _checked(task: LinkTask, asked: Pairs | None) -> Any:
    """Check the options against the data; return the embedding that was given."""
    o = task.options
    check_choice("target", o.target, ("combined", "observed"))
    check_choice("unobserved", o.unobserved, ("non-edges", "pairs"))
    if o.degree is not None:
        check_number("degree", o.degree, at_least=1.0)
    if o.unobserved == "pairs":
        if asked is None:
            raise InputError(
                "unobserved='pairs' needs the pairs that will be asked about; give them to fit as "
                "pairs, or use unobserved='non-edges'."
            )
        warn(_LEAK, AnswerWarning)
    if o.embedding is None:
        return None
    return gate.table("embedding", o.embedding, shape=(task.graph.shape[0], None))
