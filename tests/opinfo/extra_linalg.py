# SPDX-License-Identifier: Apache-2.0
"""Factorisations beyond the blocks that kernels work in, of wide and tall matrices, broadcast batches and without elements."""
import torch

aten = torch.ops.aten
REALS = [torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]


def random_tensor(generator, dtype, *sizes):
    return torch.randn(*sizes, generator=generator, dtype=torch.complex128 if dtype.is_complex else torch.float64).to(dtype)


def symmetric(generator, dtype, size, is_positive):
    """Hermitian if complex."""
    a = random_tensor(generator, torch.complex128 if dtype.is_complex else torch.float64, size, size)
    return (a @ a.mH + size * torch.eye(size, dtype=a.dtype) if is_positive else a + a.mH).to(dtype)


def systems(emit, generator, dtype):
    sizes = ((37, 37, "wide"), (41, 35, "tall"), (5, 40, "wide and low"), (0, 3, "zero size"), (3, 0, "zero size"))
    for rows, columns, source in sizes[3 if dtype.is_complex else 0:]:  # linalg_test.cpp has larger complex ones
        emit(aten.linalg_lu_factor_ex.default, [random_tensor(generator, dtype, rows, columns)], {}, source)
    emit(aten.linalg_lu_factor_ex.default, [torch.ones(3, 3, dtype=dtype)], {}, "singular")
    for batch, other in (([2], [1]), ([], [3]), ([2, 1], [1, 3])):
        lu, pivots, _ = torch.linalg.lu_factor_ex(random_tensor(generator, dtype, *batch, 5, 5))
        for left in (True, False):
            for adjoint in (True, False):
                b = random_tensor(generator, dtype, *other, *((5, 3) if left else (3, 5)))
                kind = ("left" if left else "right") + (" adjoint" if adjoint else "")
                emit(aten.linalg_lu_solve.default, [lu, pivots, b], {"left": left, "adjoint": adjoint}, kind)
                for upper in (True, False):
                    triangle = random_tensor(generator, dtype, *batch, 5, 5) + 3 * torch.eye(5, dtype=dtype)
                    emit(aten.linalg_solve_triangular.default, [triangle, b],
                         {"upper": upper, "left": left, "unitriangular": adjoint}, kind)
    for sizes in ((5, 5), (2, 4, 6), (7, 3), (0, 2)):
        lu, pivots, _ = torch.linalg.lu_factor_ex(random_tensor(generator, dtype, *sizes))
        for data, has_pivots in ((True, True), (False, True), (True, False)):
            emit(aten.lu_unpack.default, [lu, pivots, data, has_pivots], {}, "wide" if sizes == (5, 5) and data and has_pivots else "sizes")
    if dtype.is_complex:
        return
    lu, pivots, _ = torch.linalg.lu_factor_ex(random_tensor(generator, dtype, 37, 37))
    emit(aten.linalg_lu_solve.default, [lu, pivots, random_tensor(generator, dtype, 37, 2)], {}, "wide")


def symmetric_ones(emit, generator, dtype):
    for upper in (True, False):
        emit(aten.linalg_cholesky_ex.default, [symmetric(generator, dtype, 9 if dtype.is_complex else 53, True)], {"upper": upper},
             "wide" if upper else "larger")
        emit(aten.linalg_cholesky_ex.default, [torch.zeros(0, 0, dtype=dtype)], {"upper": upper}, "zero size")
    if dtype.is_complex:
        return
    emit(aten.linalg_ldl_factor_ex.default, [symmetric(generator, dtype, 9, False)], {}, "wide")
    for size, columns in ((9, 2), (6, 4), (1, 1)):
        ld, pivots, _ = torch.linalg.ldl_factor_ex(symmetric(generator, dtype, size, False))
        emit(aten.linalg_ldl_solve.default, [ld, pivots, random_tensor(generator, dtype, 2, size, columns)], {}, "broadcast")


def spectra(emit, generator, dtype):
    emit(aten._linalg_eigh.default, [symmetric(generator, dtype, 40, False), "U"], {}, "wide")
    for size in (0, 1, 2):
        emit(aten._linalg_eigh.default, [symmetric(generator, dtype, size, False)], {}, "small")
    emit(aten._linalg_eigh.default, [torch.zeros(3, 3, dtype=dtype)], {}, "zeros")
    if dtype.is_complex:
        for triangle in ("U", "L"):  # the other triangle and the diagonal's imaginary part are not read
            emit(aten._linalg_eigh.default, [random_tensor(generator, dtype, 5, 5), triangle], {}, "both halves")


def orthogonal_ones(emit, generator, dtype):
    for rows, columns, source in ((41, 36, "wide"), (3, 7, "low"), (0, 2, "zero size"), (1, 1, "one")):
        a = random_tensor(generator, dtype, rows, columns)
        emit(aten.geqrf.default, [a], {}, source)
        q, tau = torch.geqrf(a)
        if rows >= columns:
            emit(aten.linalg_householder_product.default, [q, tau], {}, source)
        emit(aten._linalg_svd.default, [a], {}, source)
        for transpose in (True, False):
            emit(aten.ormqr.default, [q, tau, random_tensor(generator, dtype, rows, 2), True, transpose], {}, source)
            emit(aten.ormqr.default, [q, tau, random_tensor(generator, dtype, 2, rows), False, transpose], {}, source)
    emit(aten._linalg_svd.default, [torch.diag(torch.tensor([3, 0, 0, 1e-3], dtype=dtype))], {}, "zeros on the diagonal")


def general_ones(emit, generator, dtype):
    """Matrices with eigenvalues of any kind: conjugate pairs, equal ones, isolated by zeros, of very different size."""
    cases = [(random_tensor(generator, dtype, size, size), "wide" if size == 16 else f"size {size}") for size in (1, 2, 3, 4, 7, 16, 40)]
    cases += [(torch.zeros(size, size, dtype=dtype), "zeros") for size in (0, 3)]
    cases.append((random_tensor(generator, dtype, 6, 6).triu(), "triangular"))
    cases.append((random_tensor(generator, dtype, 5, 5).tril(), "lower triangular"))
    cases.append((torch.tensor([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=dtype), "permutation"))
    cases.append((torch.tensor([[0, 1], [-1, 0]], dtype=dtype), "rotation"))
    scales = torch.logspace(-3, 3, 6, dtype=torch.float64)
    cases.append(((random_tensor(generator, dtype, 6, 6).to(torch.complex128) * scales[:, None] / scales).to(dtype) if dtype.is_complex else
                  (random_tensor(generator, torch.float64, 6, 6) * scales[:, None] / scales).to(dtype), "badly scaled"))
    for a, source in cases:
        emit(aten.linalg_eig.default, [a], {}, source)
        emit(aten.linalg_eigvals.default, [a], {}, source)


def exponentials(emit, generator, dtype):
    for size, factor in ((1, 1.0), (4, 0.01), (5, 1.0), (6, 8.0), (33, 0.3), (0, 1.0)):
        emit(aten.linalg_matrix_exp.default, [factor * random_tensor(generator, dtype, 2 if size < 9 else 1, size, size)], {}, "norms")


def complex_ones(emit, generator, dtype):
    """What is different for complex numbers: conjugates, and diagonals that are real."""
    dirty = symmetric(generator, dtype, 4, True) + 2j * torch.eye(4, dtype=dtype)
    for upper in (True, False):
        emit(aten.linalg_cholesky_ex.default, [dirty], {"upper": upper}, "imaginary diagonal")
    emit(aten.linalg_cholesky_ex.default, [-dirty], {}, "not positive")
    for hermitian in (True, False):
        kind = "hermitian" if hermitian else "symmetric"
        a = symmetric(generator, dtype, 9, False) if hermitian else random_tensor(generator, dtype, 9, 9)
        a = a if hermitian else a + a.mT
        hollow = a - torch.diag(a.diagonal())  # has blocks of two rows only
        emit(aten.linalg_ldl_factor_ex.default, [torch.zeros(2, 2, dtype=dtype)], {"hermitian": hermitian}, "zeros")
        for matrix, source in ((a, kind), (hollow, kind + " blocks of two")):
            emit(aten.linalg_ldl_factor_ex.default, [matrix], {"hermitian": hermitian}, source)
            ld, pivots, _ = torch.linalg.ldl_factor_ex(matrix, hermitian=hermitian)
            emit(aten.linalg_ldl_solve.default, [ld, pivots, random_tensor(generator, dtype, 2, 9, 3)], {"hermitian": hermitian}, source)
    emit(aten.linalg_lu_factor_ex.default, [torch.full((3, 3), 1 + 1j, dtype=dtype)], {}, "singular")
    # The sum of the magnitudes of the parts chooses the pivot: 3 + 3i, whose own magnitude is less than 4.5.
    emit(aten.linalg_lu_factor_ex.default, [torch.tensor([[4.5, 1], [3 + 3j, 2j]], dtype=dtype)], {}, "pivot")


def add_all(emit):
    generator = torch.Generator().manual_seed(21)
    for dtype in REALS:
        for family in (systems, symmetric_ones, spectra, orthogonal_ones, exponentials):
            family(emit, generator, dtype)
    for dtype in COMPLEX:
        for family in (spectra, orthogonal_ones, systems, symmetric_ones, complex_ones, exponentials):
            family(emit, generator, dtype)
    for dtype in REALS + COMPLEX:
        general_ones(emit, generator, dtype)
