"""Fixed sparse products: values, gradients, dropout, stacks, and bits that stay the same."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

from truegraph.errors import InputError
from truegraph.nn import device
from truegraph.nn.dropout import Noise, survivors_torch
from truegraph.nn.sparse import FixedSparse, sparse_product


def _matrix(rows: int, columns: int, seed: int = 0, density: float = 0.3) -> csr_array:
    return csr_array(random_array((rows, columns), density=density, rng=seed))


def _dense(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def _dropout(batch: int, rate: float = 0.4):
    return Noise(np.arange(batch, dtype=np.uint64), 3).dropout(rate, 0)


@pytest.mark.parametrize("width", [1, 7, 16, 33])
def test_product_is_the_matrix_product(width: int) -> None:
    matrix, dense = _matrix(9, 6), _dense(3, 6, width)
    product = sparse_product(FixedSparse(matrix), dense)
    for trial in range(3):
        np.testing.assert_allclose(product[trial], matrix @ dense[trial].numpy(), atol=1e-5)


def test_each_trial_may_have_its_own_matrix_and_heads_share_it() -> None:
    matrices = [_matrix(5, 5, seed) for seed in range(3)]
    dense = _dense(6, 5, 4)  # three trials with two heads each
    product = sparse_product(FixedSparse(matrices), dense)
    for batch in range(6):
        expected = matrices[batch // 2] @ dense[batch].numpy()
        np.testing.assert_allclose(product[batch], expected, atol=1e-5)


def test_smaller_matrices_are_filled_up_with_empty_rows() -> None:
    stack = FixedSparse([_matrix(2, 3), _matrix(4, 5, seed=1)])
    assert stack.shape == (4, 5)
    product = sparse_product(stack, _dense(2, 5, 3))
    assert (product[0, 2:] == 0).all()
    np.testing.assert_allclose(stack.to_scipy(1).toarray(), _matrix(4, 5, seed=1).toarray())


def test_dropout_drops_stored_values_and_rescales() -> None:
    matrix, dropout = _matrix(8, 6), _dropout(2)
    product = sparse_product(FixedSparse(matrix), torch.eye(6).repeat(2, 1, 1), dropout)
    kept = survivors_torch(torch.arange(matrix.nnz), dropout).numpy()
    for trial in range(2):
        masked = csr_array((matrix.data * kept[trial] / 0.6, matrix.indices, matrix.indptr), (8, 6))
        np.testing.assert_allclose(product[trial], masked.toarray(), rtol=1e-6)


@pytest.mark.parametrize("rate", [0.0, 0.4])
@pytest.mark.parametrize("stacked", [False, True])
def test_gradient_agrees_with_finite_differences(rate: float, stacked: bool) -> None:
    matrices = [_matrix(6, 5, seed) for seed in range(2)] if stacked else _matrix(6, 5)
    fixed = FixedSparse(matrices, dtype=np.float64)
    dense = _dense(2, 5, 3, dtype=torch.float64).requires_grad_()
    dropout = _dropout(2) if rate else None
    assert torch.autograd.gradcheck(lambda d: sparse_product(fixed, d, dropout), (dense,))


def test_gradient_of_selected_rows_agrees_with_finite_differences() -> None:
    fixed = FixedSparse(_matrix(9, 5), dtype=np.float64)
    rows = fixed.select_rows([np.array([7, 2]), np.array([0, 4, 8])])
    dense = _dense(2, 5, 3, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda d: sparse_product(rows, d, _dropout(2)), (dense,))


def test_selected_rows_keep_their_values_and_their_dropout() -> None:
    fixed, dense, dropout = FixedSparse(_matrix(9, 5)), _dense(2, 5, 4), _dropout(2)
    chosen = [np.array([7, 2]), np.array([0, 4, 8])]
    whole = sparse_product(fixed, dense, dropout)
    part = sparse_product(fixed.select_rows(chosen), dense, dropout)
    for trial, rows in enumerate(chosen):
        assert torch.equal(part[trial, : len(rows)], whole[trial, rows])
    assert (part[0, 2] == 0).all()
    taller = sparse_product(fixed.select_rows(chosen, height=6), dense, dropout)
    assert torch.equal(taller[:, :3], part)
    assert taller.shape[1] == 6
    assert (taller[:, 3:] == 0).all()


def test_a_trial_has_the_same_bits_alone_and_among_others() -> None:
    matrices = [_matrix(40, 30, seed) for seed in range(5)]
    stack, dense, dropout = FixedSparse(matrices), _dense(5, 30, 7), _dropout(5)
    together = sparse_product(stack, dense, dropout)
    alone = sparse_product(
        FixedSparse(matrices[3]), dense[3:4], dropout._replace(keys=dropout.keys[3:4])
    )
    assert torch.equal(together[3], alone[0])
    chosen = np.array([3])
    assert torch.equal(
        sparse_product(stack.select(chosen), dense[3:4])[0],
        (sparse_product(FixedSparse(matrices[3]), dense[3:4])[0]),
    )


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_the_torch_operators_agree(monkeypatch: pytest.MonkeyPatch, rate: float) -> None:
    fixed = FixedSparse([_matrix(8, 6, seed) for seed in range(2)])
    dropout = _dropout(4) if rate else None

    def value_and_gradient() -> tuple[torch.Tensor, torch.Tensor]:
        dense = _dense(4, 6, 3).requires_grad_()
        product = sparse_product(fixed, dense, dropout)
        (product**2).sum().backward()
        return product.detach(), dense.grad

    ours = value_and_gradient()
    monkeypatch.setattr(device, "uses_kernels", lambda tensor: False)
    for first, second in zip(ours, value_and_gradient(), strict=True):
        torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-5)


def test_duplicates_are_summed_and_stored_zeros_kept() -> None:
    matrix = csr_array((np.array([1.0, 2.0, 0.0]), np.array([0, 0, 1]), np.array([0, 3])), (1, 2))
    assert FixedSparse(matrix).stored == 2
    assert FixedSparse(matrix).to_scipy().toarray().tolist() == [[3.0, 0.0]]
    assert matrix.nnz == 3  # the caller's matrix is as it was


def test_no_matrix_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="matrices is empty"):
        FixedSparse([])
