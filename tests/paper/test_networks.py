"""The node classifiers: against torch-geometric's layers, by hand, and by their shapes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from truegraph.paper.networks import CLASSIFIERS, network_class
from truegraph.paper.networks.dfnet import DENOMINATOR, NUMERATOR, DFNet
from truegraph.paper.networks.sbm_gcn import SBMGCN
from truegraph.paper.step import stream

GRAPH = np.array([[0, 1, 0, 0], [1, 0, 2, 1], [0, 2, 0, 0], [0, 1, 0, 0]], dtype=float)
FEATURES = np.array([[1, 0, 2], [0, 3, 0], [1, 1, 0], [0, 0, 1]], dtype=float)
LABELS, TRAIN = np.array([1, -1, 0, 1]), np.array([0, 2, 3])
SMALL = {
    "gat": {"heads": 2, "hidden": 5, "output_heads": 3},
    "dfnet-att": {"units": (2, 3), "heads": 2, "dropout": 0.0, "attention_dropout": 0.0},
    "sbm-gcn": {"hidden": 5, "dropout": 0.0},
}


def built(name: str, features: int = 3, classes: int = 2, **options):
    return network_class(name)(features, classes, stream(3, 0), SMALL.get(name, {}) | options)


def logits(network, graph=GRAPH, features=FEATURES, nodes=None) -> np.ndarray:
    with torch.no_grad():
        return network(network.prepare(csr_array(graph), csr_array(features), nodes)).numpy()


def shaken(network):
    """Give biases, moments and the like values behind which nothing hides."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in [*network.parameters(), *network.buffers()]:
            if value.ndim and (value.std() == 0 or value.ndim == 1):
                value.copy_(torch.rand(value.shape, generator=generator) + 0.5)
    network.constrain()
    return network


def edges(graph=GRAPH) -> tuple[torch.Tensor, torch.Tensor]:
    rows, columns = np.nonzero(graph)
    weights = torch.from_numpy(graph[rows, columns]).float()
    return torch.from_numpy(np.stack([rows, columns])), weights


@pytest.fixture(scope="module")
def layers():
    """Return torch-geometric's layers."""
    pytest.importorskip("torch_geometric")
    import torch_geometric.nn

    return torch_geometric.nn


def copied(layer, **weights):
    with torch.no_grad():
        for name, weight in weights.items():
            target = layer.get_parameter(name.replace("__", "."))
            target.copy_(weight.reshape(target.shape))
    return layer


def test_gcn_is_that_of_torch_geometric(layers):
    own = built("gcn")
    first = copied(layers.GCNConv(3, 16, bias=False), lin__weight=own.W1.T)
    second = copied(layers.GCNConv(16, 2, bias=False), lin__weight=own.W2.T)
    links, weights = edges()
    with torch.no_grad():
        hidden = torch.relu(first(torch.from_numpy(FEATURES).float(), links, weights))
        wanted = second(hidden, links, weights)
    np.testing.assert_allclose(logits(own), wanted, atol=1e-6)


def test_appnp_is_that_of_torch_geometric(layers):
    own = built("appnp", steps=7, restart=0.2)
    x, (links, weights) = torch.from_numpy(FEATURES).float(), edges()
    with torch.no_grad():
        wanted = layers.APPNP(7, 0.2)(torch.relu(x @ own.W1) @ own.W2, links, weights)
    np.testing.assert_allclose(logits(own), wanted, atol=1e-6)


def test_chebynet_is_that_of_torch_geometric(layers):
    own = built("chebynet")
    degrees = GRAPH.sum(1)
    walk = GRAPH / np.sqrt(degrees[:, None] * degrees)
    largest = torch.tensor(np.linalg.eigvalsh(np.eye(4) - walk)[-1], dtype=torch.float32)

    def matrices(W):
        return {f"lins__{k}__weight": part.T for k, part in enumerate(W)}

    first = copied(layers.ChebConv(3, 16, 4, bias=False), **matrices(own.W1))
    second = copied(layers.ChebConv(16, 2, 4, bias=False), **matrices(own.W2))
    links, weights = edges()
    with torch.no_grad():
        x = torch.from_numpy(FEATURES).float()
        hidden = torch.relu(first(x, links, weights, lambda_max=largest))
        wanted = second(hidden, links, weights, lambda_max=largest)
    np.testing.assert_allclose(logits(own), wanted, atol=1e-5)


def test_gat_is_that_of_torch_geometric(layers):
    own = shaken(built("gat"))
    x, (links, _) = torch.from_numpy(FEATURES).float(), edges()
    with torch.no_grad():  # the layer has no bias of the scores
        own.c1.zero_(), own.c2.zero_()
    for number, (heads, width, fan_in) in enumerate([(2, 5, 3), (3, 2, 10)], start=1):
        W, a, b = (getattr(own, f"{name}{number}") for name in "Wab")
        layer = layers.GATConv(fan_in, width, heads, concat=number == 1, bias=False)
        weights = {"lin__weight": W.transpose(1, 2), "att_src": a[..., 1], "att_dst": a[..., 0]}
        with torch.no_grad():
            x = copied(layer, **weights)(x, links) + (b.flatten() if number == 1 else b.mean(0))
            x = torch.nn.functional.elu(x) if number == 1 else x
    np.testing.assert_allclose(logits(own), x, atol=1e-5)


def _dfnet_operator() -> np.ndarray:
    def normalised(matrix: np.ndarray) -> np.ndarray:
        root = np.diag(1 / np.sqrt(matrix.sum(1)))
        return root @ matrix @ root

    return -normalised(normalised(GRAPH + np.eye(4)) + np.eye(4))


def _dfnet_layer(layer, x: np.ndarray, batch: bool) -> np.ndarray:
    w = {k: v.detach().numpy().astype(float) for k, v in layer.state_dict().items()}
    mean, variance = (x.mean(0), x.var(0)) if batch else (w["mean"], w["variance"])
    x = w["gamma"] * (x - mean) / np.sqrt(variance + 1e-3) + w["beta"]
    powers = [np.linalg.matrix_power(_dfnet_operator(), p) for p in range(6)]
    ahead = sum(b * p for b, p in zip(NUMERATOR, powers, strict=False))
    back = sum(a * p for a, p in zip(DENOMINATOR, powers[1:], strict=True))
    wide = -back @ x @ w["ar"] + ahead @ FEATURES @ w["ma"] + w["bias"].ravel()
    heads = []
    for head, values in enumerate(np.split(wide, 2, axis=1)):
        left, right = w["scores"][head]
        raw = (values @ left + w["score_bias"][head])[:, None] + (values @ right)[None, :]
        share = np.exp(np.where(raw > 0, raw, np.expm1(raw))) * ((GRAPH + np.eye(4)) > 0)
        heads.append(share / share.sum(1, keepdims=True) @ values)
    return np.maximum(np.hstack(heads), 0)


def _dfnet_logits(network: DFNet, batch: bool) -> np.ndarray:
    x = FEATURES
    for layer in network.layers:
        x = np.hstack([x, _dfnet_layer(layer, x, batch)])
    return x @ network.last.detach().numpy() + network.last_bias.detach().numpy()


def test_dfnet_by_hand_with_running_moments_and_with_those_of_the_batch():
    network = shaken(built("dfnet-att"))
    with torch.no_grad():  # the filter amplifies: the softmax by hand would overflow
        for layer in network.layers:
            layer.ar.mul_(0.02), layer.ma.mul_(0.02), layer.bias.mul_(0.1)
    np.testing.assert_allclose(logits(network), _dfnet_logits(network, False), rtol=2e-3)
    wanted = torch.from_numpy(_dfnet_logits(network, True))[TRAIN]
    labels = torch.from_numpy(LABELS[TRAIN])
    before = network.layers[0].mean.clone()
    network.steps.fill_(5000)
    prepared = network.prepare_loss(csr_array(GRAPH), csr_array(FEATURES), TRAIN, labels)
    loss = network.loss(prepared, None).item()
    assert loss == pytest.approx(torch.nn.functional.cross_entropy(wanted, labels).item(), rel=1e-2)
    moved = 0.99 * before + 0.01 * torch.from_numpy(FEATURES.mean(0))
    torch.testing.assert_close(network.layers[0].mean, moved.float())


def test_filter_coefficients_are_those_of_a_convex_solver():
    cvxpy = pytest.importorskip("cvxpy")
    grid = np.linspace(0, 2, 500)
    step = (grid >= 0.5).astype(float)
    a, b = cvxpy.Variable(5), cvxpy.Variable(4)
    residual = step + np.diag(step) @ (grid[:, None] ** np.arange(1, 6)) @ a
    residual = residual - (grid[:, None] ** np.arange(4)) @ b
    bounded = cvxpy.norm((grid[:, None] ** np.arange(5)) @ a, "inf") <= 0.9
    cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(residual)), [bounded]).solve()
    np.testing.assert_allclose(NUMERATOR, b.value, atol=1e-3)
    np.testing.assert_allclose(DENOMINATOR, a.value, atol=1e-3)
    bound = np.abs(np.polyval(DENOMINATOR[::-1], grid)).max()
    assert bound == pytest.approx(0.9, abs=1e-4)


def _softmax(values: np.ndarray) -> np.ndarray:
    exponent = np.exp(values - values.max(1, keepdims=True))
    return exponent / exponent.sum(1, keepdims=True)


def _sbm_loss(network: SBMGCN, pairs: np.ndarray) -> float:
    w = {name: value.detach().numpy().astype(float) for name, value in network.named_parameters()}
    loops = GRAPH + np.eye(4)
    root = np.diag(1 / np.sqrt(loops.sum(1)))
    A = root @ loops @ root
    q = _softmax(A @ np.maximum(A @ FEATURES @ w["W1"] + w["b1"], 0) @ w["W2"] + w["b2"])
    prior = _softmax(np.maximum(FEATURES @ w["V1"] + w["c1"], 0) @ w["V2"] + w["c2"])
    y = prior.copy()
    y[TRAIN] = np.eye(2)[LABELS[TRAIN]]
    linked = np.argwhere(GRAPH > 0)
    agree = [np.mean([y[i] * y[j] for i, j in chosen]) for chosen in (linked, pairs)]
    edge_term = -agree[0] * np.log(9) - agree[1] * np.log(1 / 9)
    rest = [1]
    prior_term = -np.mean(q[rest] * np.log(prior[rest]))
    entropy_term = -np.mean(q[rest] * np.log(q[rest]))  # the sign of the authors' code
    supervised = [-np.mean(np.log(p[TRAIN, LABELS[TRAIN]])) for p in (prior, q)]
    return edge_term + prior_term + entropy_term + sum(supervised)


def test_loss_of_sbm_gcn_by_hand():
    network = shaken(built("sbm-gcn"))
    labels = torch.from_numpy(LABELS[TRAIN])
    prepared = network.prepare_loss(csr_array(GRAPH), csr_array(FEATURES), TRAIN, labels)
    pairs = torch.randint(4, (2, 6), generator=torch.Generator().manual_seed(1)).T.numpy()
    loss = network.loss(prepared, torch.Generator().manual_seed(1)).item()
    assert loss == pytest.approx(_sbm_loss(network, pairs), rel=1e-5)


def test_sbm_gcn_drops_features_in_the_prior_only():
    network = built("sbm-gcn", dropout=0.5)
    inputs = network.prepare(csr_array(GRAPH), csr_array(FEATURES))
    noise = torch.Generator().manual_seed(0)
    torch.nn.init.zeros_(network.W2)  # behind the hidden layer's dropout
    torch.testing.assert_close(network(inputs, noise), network(inputs))
    prior = network.prior(inputs.features, noise)
    assert not torch.equal(prior, network.prior(inputs.features, None))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_some_nodes_have_the_logits_that_they_have_among_all(name, problem):
    network = shaken(built(name, features=12, classes=3))
    whole = logits(network, problem.graph, problem.features)
    some = logits(network, problem.graph, problem.features, problem.train)
    np.testing.assert_allclose(some, whole[problem.train], atol=2e-5)
