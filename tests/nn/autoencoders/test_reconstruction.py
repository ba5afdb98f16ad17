"""The reconstruction loss over all pairs: against the dense formula, on every path."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse

from truegraph.errors import InputError
from truegraph.nn.autoencoders.reconstruction import ReconstructionLoss, torch_blocks


def random_case(n_nodes: int, dimension: int, seed: int = 0, scale: float = 1.0):
    """An embedding, soft targets, and masked pairs in one direction only."""
    rng = np.random.default_rng([seed, n_nodes, dimension])
    z = rng.normal(scale=scale, size=(n_nodes, dimension))
    weights = rng.random((n_nodes, n_nodes))
    target = np.triu(np.where(rng.random((n_nodes, n_nodes)) < 0.1, weights, 0.0))
    masked = (rng.random((n_nodes, n_nodes)) < 0.05).astype(float)
    masked[0, 0] = 0.0
    return torch.from_numpy(z), target + np.triu(target, 1).T, masked


def dense_loss(z, target, *, pos_weight, norm, masked):
    logits = z @ z.T
    counted = torch.from_numpy(1.0 - masked)
    y = torch.from_numpy(target)
    positive = torch.logaddexp(-logits, torch.zeros_like(logits))
    negative = torch.logaddexp(logits, torch.zeros_like(logits))
    terms = pos_weight * y * positive + (1.0 - y) * negative
    return norm * (terms * counted).sum() / counted.sum()


def dense_value_and_gradient(z, target, **weights):
    z = z.clone().requires_grad_()
    loss = dense_loss(z, target, **weights)
    (gradient,) = torch.autograd.grad(loss, z)
    return loss.item(), gradient


@pytest.mark.parametrize("dimension", [1, 4, 6, 16])
@pytest.mark.parametrize("n_nodes", [1, 2, 7, 127, 128, 129, 300])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 3e-6), (torch.float64, 1e-8)])
def test_equals_the_dense_loss_with_soft_targets_and_masked_pairs(
    n_nodes, dimension, dtype, tolerance
):
    z, target, masked = random_case(n_nodes, dimension)
    weights = {"pos_weight": 7.5, "norm": 0.6}
    value, gradient = dense_value_and_gradient(z, target, masked=masked, **weights)
    loss = ReconstructionLoss(sparse.csr_array(target), masked=sparse.csr_array(masked), **weights)
    ours, our_gradient = loss.value_and_gradient(z.to(dtype))
    assert our_gradient.dtype == dtype
    assert ours == pytest.approx(value, rel=tolerance)
    assert (our_gradient - gradient).abs().max() <= tolerance * gradient.abs().max()


@pytest.mark.parametrize("block_rows", [1, 2, 3, 10, 36, 37, 1000])
def test_blocks_of_any_size_give_the_same_sum(block_rows):
    z, _, _ = random_case(37, 5)
    total, half_gradient = torch_blocks(z, block_rows)
    logits = z @ z.T
    assert total == pytest.approx(torch.logaddexp(logits, torch.zeros_like(logits)).sum().item())
    torch.testing.assert_close(half_gradient, torch.sigmoid(logits) @ z)


def test_gradient_agrees_with_finite_differences():
    z, target, masked = random_case(9, 3)
    loss = ReconstructionLoss(
        sparse.csr_array(target), pos_weight=3.0, norm=0.7, masked=sparse.csr_array(masked)
    )
    assert torch.autograd.gradcheck(lambda x: 2.5 * loss(x), z.requires_grad_())


def test_fused_gradient_agrees_with_differences_of_the_fused_loss():
    z, target, _ = random_case(200, 16, scale=0.5)
    loss = ReconstructionLoss(sparse.csr_array(target), pos_weight=3.0)
    z = z.float()
    direction = torch.from_numpy(np.random.default_rng(1).normal(size=z.shape)).float()
    _, gradient = loss.value_and_gradient(z)
    step = 1e-2
    ahead, _ = loss.value_and_gradient(z + step * direction)
    behind, _ = loss.value_and_gradient(z - step * direction)
    slope = (gradient * direction).sum().item()
    assert (ahead - behind) / (2.0 * step) == pytest.approx(slope, rel=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_zero_embedding_has_the_closed_form(dtype):
    # Every logit is 0, so each pair costs log 2 times its weight.
    n_nodes = 150
    graph = sparse.random_array((n_nodes, n_nodes), density=0.03, rng=np.random.default_rng(3))
    graph = sparse.csr_array(((graph + graph.T) > 0).astype(float))
    graph.setdiag(0.0)
    graph.eliminate_zeros()
    total = graph.sum()
    pos_weight = (n_nodes**2 - total) / total
    norm = n_nodes**2 / (2.0 * (n_nodes**2 - total))
    positives = total + n_nodes  # A + I: the diagonal is a positive
    mean = math.log(2.0) * (pos_weight * positives + n_nodes**2 - positives) / n_nodes**2
    z = torch.zeros((n_nodes, 16), dtype=dtype, requires_grad=True)
    loss = ReconstructionLoss.from_graph(graph)(z)
    loss.backward()
    assert loss.item() == pytest.approx(norm * mean, rel=1e-6)
    assert not z.grad.any()


def test_from_graph_ignores_the_diagonal_of_the_graph():
    z = torch.randn((5, 3), generator=torch.Generator().manual_seed(0))
    ring = np.roll(np.eye(5), 1, axis=1) + np.roll(np.eye(5), -1, axis=1)
    plain = ReconstructionLoss.from_graph(sparse.csr_array(ring))(z)
    with_loops = ReconstructionLoss.from_graph(sparse.csr_array(ring + 4.0 * np.eye(5)))(z)
    assert plain == with_loops


def test_a_masked_pair_has_no_influence():
    z, target, _ = random_case(20, 4)
    target[2, 5] = target[5, 2] = 0.9
    changed = target.copy()
    changed[2, 5] = changed[5, 2] = 0.0
    masked = sparse.csr_array(([1.0, 1.0], ([2, 5], [5, 2])), shape=(20, 20))
    before = ReconstructionLoss(sparse.csr_array(target), pos_weight=4.0, masked=masked)
    after = ReconstructionLoss(sparse.csr_array(changed), pos_weight=4.0, masked=masked)
    assert before(z) == after(z)
    unmasked = ReconstructionLoss(sparse.csr_array(changed), pos_weight=4.0)
    assert before(z) != unmasked(z)


def test_extreme_logits_stay_exact():
    z = torch.tensor([[20.0], [-20.0], [1e-3]])  # logits beyond the range of float32 exp
    target = sparse.csr_array(np.eye(3))
    value, gradient = ReconstructionLoss(target).value_and_gradient(z)
    weights = {"pos_weight": 1.0, "norm": 1.0, "masked": np.zeros((3, 3))}
    expected, expected_gradient = dense_value_and_gradient(z.double(), np.eye(3), **weights)
    assert value == pytest.approx(expected, rel=1e-5)
    torch.testing.assert_close(gradient.double(), expected_gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_shows_in_the_loss(bad):
    z = torch.zeros((140, 4))
    z[3, 1] = bad
    loss = ReconstructionLoss(sparse.eye_array(140, format="csr"))
    assert not torch.isfinite(loss(z))


def test_bits_do_not_depend_on_the_number_of_threads():
    z, target, masked = random_case(700, 16)
    loss = ReconstructionLoss(
        sparse.csr_array(target), pos_weight=2.0, masked=sparse.csr_array(masked)
    )
    results = []
    for n_threads in (1, 2, 3):
        loss.n_threads = n_threads
        results.append(loss.value_and_gradient(z.float()))
    for value, gradient in results[1:]:
        assert value == results[0][0]
        assert torch.equal(gradient, results[0][1])


def test_memory_is_linear_in_the_number_of_nodes():
    n_nodes = 6000
    loss = ReconstructionLoss(sparse.eye_array(n_nodes, format="csr"))
    z = torch.zeros((n_nodes, 16))
    loss.value_and_gradient(z)
    tracemalloc.start()
    try:
        loss.value_and_gradient(z)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Sixteen lanes and a few copies of z; one dense matrix would take 144 MB.
    assert peak < 25 * z.numel() * 4


def test_errors_name_the_argument_and_the_remedy():
    eye = sparse.eye_array(4, format="csr")
    with pytest.raises(InputError, match=r"target has values from .* to 3.*\[0, 1\]"):
        ReconstructionLoss(3.0 * eye)
    with pytest.raises(InputError, match="masked has shape"):
        ReconstructionLoss(eye, masked=sparse.eye_array(5, format="csr"))
    with pytest.raises(InputError, match="masked leaves out every pair"):
        ReconstructionLoss(eye, masked=sparse.csr_array(np.ones((4, 4))))
    with pytest.raises(InputError, match="at least one link"):
        ReconstructionLoss.from_graph(eye)
    with pytest.raises(InputError, match="embedding has shape"):
        ReconstructionLoss(eye)(torch.zeros((5, 2)))
    with pytest.raises(InputError, match="square"):
        ReconstructionLoss(sparse.csr_array((3, 4)))


_LOSS_IN_A_PROCESS = """
import numpy as np
from scipy.sparse import random_array
from truegraph.nn.autoencoders.reconstruction_kernel import sum_over_pairs

z = np.random.default_rng(0).normal(size=(300, 16)).astype(np.float32)
links = random_array((300, 300), density=0.02, rng=1, format="csr")
pattern = links.indptr.astype(np.int64), links.indices.astype(np.int64)
total, gradient = sum_over_pairs(z, *pattern, links.data, links.data, 1)
print(total.hex(), gradient.tobytes().hex())
"""


def test_compiling_and_reading_the_cache_give_the_same_bits(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", _LOSS_IN_A_PROCESS]
    compiled, cached = (
        subprocess.run(command, env=environment, capture_output=True, check=True).stdout
        for _ in range(2)
    )
    assert list(tmp_path.rglob("*.nbi"))
    assert compiled == cached
