# SPDX-License-Identifier: Apache-2.0
"""Operators by factorisations of matrices: the error that a matrix's condition allows, and results that are not unique."""
import re

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


def conditioned_error(call, args, kwargs, epsilon):
    """PyTorch's error in a dtype with this epsilon, judged by the distance between its results in float32 and float64: a factorisation
    changes rounding errors by the matrix's condition number, and for float64 there is nothing more exact to compare with."""
    try:
        with torch.no_grad():
            exact = list(floats_in(call(*converted(args, torch.float64), **converted(kwargs, torch.float64))))
            rounded = list(floats_in(call(*converted(args, torch.float32), **converted(kwargs, torch.float32))))
    except Exception:
        return 0.0
    largest = 0.0
    for e, r in zip(exact, rounded):
        if e.shape == r.shape and e.numel():
            largest = max(largest, float(torch.nan_to_num((r.to(e.dtype) - e).abs(), nan=0, posinf=0, neginf=0).max()))
    return largest * epsilon / 2.0**-23
