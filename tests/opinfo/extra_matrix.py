# SPDX-License-Identifier: Apache-2.0
"""Convolutions, products and norms that PyTorch's samples lack: grouped, depthwise, strided, dilated, wide enough for whole tiles."""
import torch

aten = torch.ops.aten
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def random_tensor(generator, dtype, *sizes):
    return torch.randn(*sizes, generator=generator).to(dtype)


def convolutions(emit):
    generator = torch.Generator().manual_seed(11)
    # input, weight, stride, padding, dilation, transposed, output padding, groups
    shapes = [
        ([2, 6, 9, 7], [6, 1, 3, 3], [1, 1], [1, 1], [1, 1], False, [0, 0], 6),      # depthwise
        ([1, 5, 12, 11], [5, 1, 3, 3], [2, 2], [1, 1], [1, 1], False, [0, 0], 5),    # depthwise, stride 2
        ([1, 4, 10, 9], [8, 1, 3, 5], [2, 1], [1, 2], [1, 2], False, [0, 0], 4),     # two outputs a channel, dilated
        ([1, 6, 8, 8], [9, 2, 3, 3], [1, 1], [1, 1], [1, 1], False, [0, 0], 3),      # grouped
        ([1, 5, 6, 7], [13, 5, 1, 1], [1, 1], [0, 0], [1, 1], False, [0, 0], 1),     # 1x1
        ([1, 5, 7, 9], [13, 5, 1, 1], [2, 2], [0, 0], [1, 1], False, [0, 0], 1),     # 1x1, stride 2
        ([1, 3, 17, 19], [14, 3, 7, 7], [2, 2], [3, 3], [1, 1], False, [0, 0], 1),   # a stem
        ([1, 3, 9, 11], [4, 3, 2, 3], [3, 2], [0, 1], [2, 3], False, [0, 0], 1),     # stride and dilation mixed
        ([2, 4, 13], [6, 2, 3], [2], [1], [1], False, [0], 2),                       # 1-d
        ([1, 2, 5, 6, 7], [3, 2, 3, 2, 3], [1, 2, 1], [1, 0, 1], [1, 1, 2], False, [0, 0, 0], 1),  # 3-d
        ([1, 4, 5, 6], [4, 3, 3, 3], [2, 2], [1, 1], [1, 1], True, [1, 1], 1),       # transposed
        ([1, 4, 5, 6], [4, 2, 3, 2], [1, 3], [0, 1], [2, 1], True, [0, 2], 2),       # transposed, grouped, dilated
        ([1, 3, 4, 3, 3], [3, 2, 2, 2, 2], [2, 1, 1], [0, 0, 1], [1, 1, 1], True, [1, 0, 0], 1),   # transposed 3-d
    ]
    for x, w, *rest in shapes:
        for dtype in FLOATS:
            transposed, groups = rest[3], rest[5]
            outputs = w[1] * groups if transposed else w[0]
            bias = random_tensor(generator, dtype, outputs)
            args = [random_tensor(generator, dtype, *x), random_tensor(generator, dtype, *w)]
            emit(aten.convolution.default, args + [bias, *rest], {}, "geometry")
            emit(aten.convolution.default, args + [None, *rest], {}, "geometry without bias")


def products(emit):
    generator = torch.Generator().manual_seed(12)
    for dtype in FLOATS:
        for m, k, n in ((1, 33, 70), (13, 7, 65), (25, 40, 33), (5, 1, 1), (3, 0, 4)):
            a, b = random_tensor(generator, dtype, m, k), random_tensor(generator, dtype, k, n)
            emit(aten.mm.default, [a, b], {}, "tiles")
            emit(aten.addmm.default, [random_tensor(generator, dtype, n), a, b], {}, "tiles")
            emit(aten.addmm.default, [random_tensor(generator, dtype, m, n), a, b], {"beta": 0.5, "alpha": 2}, "tiles")


def batch_norms(emit):
    generator = torch.Generator().manual_seed(13)
    for dtype in FLOATS:
        for sizes in ([2, 3, 4, 5], [4, 3], [1, 7, 9]):
            c = sizes[1]
            x = random_tensor(generator, dtype, *sizes)
            weight, bias, mean = (random_tensor(generator, dtype, c) for _ in range(3))
            var = random_tensor(generator, dtype, c).abs() + 0.5
            no_training = aten._native_batch_norm_legit_no_training.default
            emit(no_training, [x, weight, bias, mean, var, 0.1, 1e-5], {}, "eval")
            emit(no_training, [x, None, None, mean, var, 0.1, 1e-3], {}, "eval")
            emit(aten._native_batch_norm_legit.no_stats, [x, weight, bias, True, 0.1, 1e-5], {}, "train")


def scalar_powers(emit):
    for dtype in FLOATS + [torch.int64, torch.int32, torch.uint8, torch.bool]:
        exponents = torch.tensor([0, 1, 2, 3]).to(dtype)
        for base in (2, 0.5, -3, 1, 0):
            emit(aten.pow.Scalar, [base, exponents], {}, "scalar base")
            emit(aten.rsub.Scalar, [exponents, base, 2], {}, "scaled")


def reductions(emit):
    generator = torch.Generator().manual_seed(14)
    for dtype in FLOATS:
        x = random_tensor(generator, dtype, 2, 3, 4, 5)
        for dims, unbiased, keepdim in (([1, 3], True, False), ([0], False, True), (None, True, False)):
            emit(aten.var.dim, [x, dims, unbiased, keepdim], {}, "unbiased")
        long = random_tensor(generator, dtype, 2, 4500)
        for op in (aten.sum.dim_IntList, aten.mean.dim, aten.amax.default, aten.amin.default):
            emit(op, [long, [1]], {}, "long row")


def add_all(emit):
    for family in (convolutions, products, batch_norms, scalar_powers, reductions):
        family(emit)
