# SPDX-License-Identifier: Apache-2.0
"""Operators by factorisations of matrices: the error that a matrix's condition allows, and results that are not unique."""
import re

import numpy as np
import torch

# By OpInfo's names, and by those of kernels.
BY_FACTORS = re.compile(r"(linalg[._](?!vec|cross|diag|multi|vander|norm$|matrix_norm$)|_linalg_|cholesky|lu(_|$)|qr$|geqrf|ormqr|svd|.*det$|inverse|"
                        r"triangular_solve|pinv|matrix_(exp|power)|norm\.nuc)")

# Vectors of which each may have the other sign. OpInfo has a function that removes that: it returns magnitudes, or the product of the factors.
AMBIGUOUS = {"linalg.eig", "linalg.eigh", "linalg.svd", "svd"}

# Kernels whose vectors are ambiguous, with the position of the argument that asks for them. Tests beside the kernels check vectors.
ASKS_FOR_VECTORS = {"aten::_linalg_eigh.eigenvalues": 2, "aten::_linalg_svd.U": 2}


def is_inexact(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def converted(value, dtype):
    """Tensors of floats in another dtype, complex ones with parts of it, and the dtypes that arguments name."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype.to_complex()) if value.is_complex() else value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, torch.dtype):
        return dtype if value.is_floating_point else value
    if isinstance(value, (list, tuple)):
        return [converted(v, dtype) for v in value]
    if isinstance(value, dict):
        return {k: converted(v, dtype) for k, v in value.items()}
    return value


def floats_in(value):
    if isinstance(value, torch.Tensor):
        if is_inexact(value):
            yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from floats_in(item)


# Eigenvalues without an order, the first result: rounding may exchange two, and the vectors beside them may have any phase.
UNORDERED = re.compile(r"(aten::)?linalg[._]eig(vals)?([.]out)?$")


def distance(found, exact, is_unordered):
    """The largest difference of finite elements; of eigenvalues without an order, to the nearest one."""
    differences = (found.to(exact.dtype) - exact).abs()
    if is_unordered:
        differences = (found.to(exact.dtype).unsqueeze(-1) - exact.unsqueeze(-2)).abs().amin(-1)
    return float(torch.nan_to_num(differences, nan=0, posinf=0, neginf=0).max())


def exponential_error(matrix, result):
    """PyTorch's error of an exponential, whose algorithm depends on the dtype: its distance from the series in 80 bits."""
    wide = np.clongdouble if matrix.is_complex() else np.longdouble
    largest = 0.0
    for a, found in zip(matrix.reshape(-1, *matrix.shape[-2:]).numpy(), result.reshape(-1, *result.shape[-2:]).numpy()):
        norm = np.abs(a).sum(0).max(initial=0)
        if not 0 < norm < 1e4:
            continue
        halvings = max(0, int(np.ceil(np.log2(norm))) + 4)
        scaled = a.astype(wide) / 2**halvings
        exact = term = np.eye(a.shape[0], dtype=wide)
        for k in range(1, 24):  # of a norm of 1/16 at most
            term = term @ scaled / k
            exact = exact + term
        for _ in range(halvings):
            exact = exact @ exact
        largest = max(largest, float(np.abs(np.nan_to_num(found.astype(wide) - exact)).max()))
    return largest


def conditioned_error(name, call, args, kwargs, epsilon):
    """PyTorch's error in a dtype with this epsilon, judged by the distance between its results in float32 and float64: a factorisation
    changes rounding errors by the matrix's condition number, and for float64 there is nothing more exact to compare with."""
    try:
        with torch.no_grad():
            exact = list(floats_in(call(*converted(args, torch.float64), **converted(kwargs, torch.float64))))
            rounded = list(floats_in(call(*converted(args, torch.float32), **converted(kwargs, torch.float32))))
    except Exception:
        return 0.0
    largest, is_unordered = 0.0, UNORDERED.match(name) is not None
    if is_unordered:
        exact, rounded = exact[:1], rounded[:1]
    for e, r in zip(exact, rounded):
        if e.shape == r.shape and e.numel():
            largest = max(largest, distance(r, e, is_unordered))
    largest *= epsilon / 2.0**-23
    if name.endswith(("matrix_exp", "matrix_exp.out")) and args[0].dtype in (torch.float64, torch.complex128):
        largest = max(largest, exponential_error(args[0], call(*args, **kwargs)))
    return largest
