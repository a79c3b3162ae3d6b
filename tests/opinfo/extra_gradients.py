# SPDX-License-Identifier: Apache-2.0
"""Backward ops, batch norm with running statistics, embedding bags, resampling by scale, and dtypes that the samples of an op leave out."""
import torch

aten = torch.ops.aten
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
T = "Tensor"


def random_tensor(generator, dtype, *sizes):
    return torch.randn(*sizes, generator=generator).to(dtype)


def convolutions(emit):
    generator = torch.Generator().manual_seed(41)
    # input, weight, stride, padding, dilation, transposed, output padding, groups
    shapes = [
        ([2, 4, 7, 6], [6, 4, 3, 3], [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
        ([1, 6, 8, 7], [9, 2, 3, 2], [2, 1], [0, 1], [1, 2], False, [0, 0], 3),
        ([2, 5, 6, 6], [5, 1, 3, 3], [2, 2], [1, 1], [1, 1], False, [0, 0], 5),
        ([1, 5, 7, 9], [7, 5, 1, 1], [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
        ([3, 4, 13], [6, 2, 3], [2], [1], [1], False, [0], 2),
        ([1, 2, 5, 6, 4], [3, 2, 3, 2, 2], [1, 2, 1], [1, 0, 1], [1, 1, 2], False, [0, 0, 0], 1),
        ([1, 4, 5, 6], [4, 3, 3, 3], [2, 2], [1, 1], [1, 1], True, [1, 1], 1),
        ([2, 4, 4, 5], [4, 2, 3, 2], [1, 3], [0, 1], [2, 1], True, [0, 2], 2),
        ([1, 3, 6], [3, 4, 3], [2], [1], [1], True, [1], 1),
        ([1, 2, 3, 3, 2], [2, 3, 2, 2, 2], [2, 1, 1], [0, 0, 1], [1, 1, 1], True, [1, 0, 0], 1),
        ([0, 3, 5, 5], [4, 3, 3, 3], [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    ]
    for x_sizes, w_sizes, stride, padding, dilation, transposed, output_padding, groups in shapes:
        for dtype in FLOATS:
            x, w = random_tensor(generator, dtype, *x_sizes), random_tensor(generator, dtype, *w_sizes)
            out = aten.convolution.default(x, w, None, stride, padding, dilation, transposed, output_padding, groups)
            grad = random_tensor(generator, dtype, *out.shape)
            tail = [[out.shape[1]], stride, padding, dilation, transposed, output_padding, groups]
            for mask in ([True, True, True], [True, False, False], [False, True, False], [False, False, True]):
                emit(aten.convolution_backward.default, [grad, x, w, *tail, mask], {}, "gradients")


def pools(emit):
    generator = torch.Generator().manual_seed(42)
    for dtype in FLOATS:
        for sizes in ([2, 3, 7, 8], [3, 5, 6], [1, 1, 4, 4]):
            x = random_tensor(generator, dtype, *sizes)
            for kernel, stride, padding, ceil_mode, counts_padding, divisor in (
                    ([2, 2], [2, 2], [0, 0], False, True, None), ([3, 2], [1, 2], [1, 1], False, False, None),
                    ([3, 3], [2, 2], [1, 0], True, True, None), ([2, 3], [], [0, 1], True, False, 5)):
                args = [kernel, stride, padding, ceil_mode, counts_padding, divisor]
                grad = random_tensor(generator, dtype, *aten.avg_pool2d.default(x, *args).shape)
                emit(aten.avg_pool2d_backward.default, [grad, x, *args], {}, "gradients")
            for wanted in ([1, 1], [2, 3], [5, 4]):
                out = aten._adaptive_avg_pool2d.default(x, wanted)
                emit(aten._adaptive_avg_pool2d_backward.default, [random_tensor(generator, dtype, *out.shape), x], {}, "gradients")
            for kernel, stride, padding, dilation, ceil_mode in (([2, 2], [2, 2], [0, 0], [1, 1], False), ([3, 2], [1, 1], [1, 1], [1, 1], True),
                                                                ([2, 2], [1, 2], [0, 0], [2, 1], False)):
                args = [kernel, stride, padding, dilation, ceil_mode]
                out, indices = aten.max_pool2d_with_indices.default(x, *args)
                emit(aten.max_pool2d_with_indices_backward.default, [random_tensor(generator, dtype, *out.shape), x, *args, indices], {}, "gradients")


def embedding_bags(emit):
    generator = torch.Generator().manual_seed(43)
    for dtype in FLOATS:
        weight = random_tensor(generator, dtype, 6, 5)
        for index_dtype in (torch.int64, torch.int32):
            indices = torch.tensor([0, 2, 2, 5, 1, 3], dtype=index_dtype)
            for mode in (0, 1, 2):
                for padding in (-1, 2):
                    for scales in (None, random_tensor(generator, dtype, 6)) if mode == 0 else (None,):
                        for offsets, has_last in (([0, 3, 3, 5], False), ([0, 3, 3, 6], True), ([0], False)):
                            args = [weight, indices, torch.tensor(offsets, dtype=index_dtype), False, mode, False, scales, has_last, padding]
                            emit(aten._embedding_bag.default, args, {}, f"mode {mode}")


def resampling(emit):
    generator = torch.Generator().manual_seed(44)
    for dtype in FLOATS + [torch.uint8]:
        for sizes in ([1, 2, 5, 6], [2, 3, 4, 4]):
            x = random_tensor(generator, dtype, *sizes) if dtype != torch.uint8 else torch.randint(0, 256, sizes, generator=generator).to(dtype)
            for wanted, scales in (([7, 9], None), ([3, 2], None), (None, [2.0, 2.0]), (None, [1.5, 0.6]), ([5, 6], None)):
                emit(aten.upsample_nearest2d.vec, [x, wanted, scales], {}, "resampled")
                for align in (False, True):
                    emit(aten.upsample_bilinear2d.vec, [x, wanted, align, scales], {}, "resampled")
            grid = (torch.rand(sizes[0], 3, 4, 2, generator=generator) * 2.4 - 1.2).to(dtype)
            if dtype == torch.uint8:
                continue
            for mode in (0, 1, 2):
                for padding in (0, 1, 2):
                    emit(aten.grid_sampler_2d.default, [x, grid, mode, padding, bool(mode & 1)], {}, "sampled")
            emit(aten._upsample_bilinear2d_aa.default, [x, [3, 4], False], {}, "resampled")


def orders(emit):
    generator = torch.Generator().manual_seed(45)
    for dtype in FLOATS + INTEGERS:
        x = torch.stack([torch.randperm(9, generator=generator) for _ in range(4)]).to(dtype)
        if dtype in FLOATS:
            x[0, 3], x[1, 2] = float("inf"), float("nan")
        for dim in (0, 1) if dtype == torch.int64 else (1,):
            y = x if dim == 1 else x.t().contiguous()
            for descending in (False, True):
                emit(aten.sort.default, [y, dim, descending], {}, "order")
                emit(aten.sort.stable, [y], {"stable": True, "dim": dim, "descending": descending}, "order")
            emit(aten.topk.default, [y, 3, dim, True, True], {}, "order")
            emit(aten.topk.default, [y, 2, dim, False, True], {}, "order")
            emit(aten.median.dim, [y, dim, False], {}, "order")
        repeated = x.remainder(3) if dtype not in FLOATS else x.nan_to_num(0, 1).remainder(3)
        emit(aten.sort.stable, [repeated], {"stable": True, "dim": 1, "descending": True}, "ties")


def limits(emit):
    generator = torch.Generator().manual_seed(46)
    for dtype in FLOATS + INTEGERS:
        x = (torch.randn(4, 5, generator=generator) * 20).abs().to(dtype)
        for low, high in ((2, 9), (None, 7), (3, None), (9, 2)):
            emit(aten.clamp.default, [x, low, high], {}, "limits")
            bounds = [None if b is None else torch.full((5,), b).to(dtype) for b in (low, high)]
            emit(aten.clamp.Tensor, [x, *bounds], {}, "limits")
        if dtype in FLOATS:
            x[0, 0] = float("nan")
            emit(aten.clamp.default, [x, -0.5, 3.5], {}, "limits")
            emit(aten.clamp.Tensor, [x, torch.tensor(float("nan")).to(dtype), None], {}, "limits")
            emit(aten.leaky_relu.default, [x - 3, 0.1], {}, "limits")
            emit(aten.elu.default, [x - 3, 1.2], {}, "limits")


def parts(emit):
    generator = torch.Generator().manual_seed(47)
    for dtype in FLOATS + INTEGERS + [torch.bool]:
        x = torch.randint(0, 2 if dtype == torch.bool else 100, (4, 6), generator=generator).to(dtype)
        emit(aten.split_with_sizes_copy.default, [x, [1, 0, 5], 1], {}, "parts")
        emit(aten.split_copy.Tensor, [x, 3, -2], {}, "parts")
        emit(aten.slice_scatter.default, [x, x[:, 1:5:2] if dtype == torch.bool else x[:, 1:5:2] + 1, 1, 1, 5, 2], {}, "parts")
        emit(aten.select_scatter.default, [x, x[:, 0], 1, 3], {}, "parts")
        cube = torch.randint(0, 2 if dtype == torch.bool else 100, (3, 4, 5), generator=generator).to(dtype)
        for offset, first, second in ((0, 0, 1), (2, -1, 0), (-1, 1, 2), (9, 0, 2)):
            part = cube.diagonal(offset, first, second)
            emit(aten.diagonal_scatter.default, [cube, torch.ones_like(part), offset, first, second], {}, "parts")
        for size, stride, start in (([2, 3], [6, 2], 1), ([4], [7], None), ([], [], 5), ([0, 2], [1, 1], 0), ([2, 2, 2], [1, 2, 12], 3)):
            part = x.as_strided(size, stride, start)
            emit(aten.as_strided_scatter.default, [x, torch.ones_like(part), size, stride, start], {}, "parts")
        emit(aten.embedding.default, [x, torch.tensor([[0, 3], [2, 2]])], {}, "rows")
        emit(aten.embedding.default, [x, torch.tensor([[0, 3], [2, 2]], dtype=torch.int32)], {}, "rows")
        emit(aten.embedding.default, [x, torch.zeros(0, 2, dtype=torch.int64)], {}, "rows")
        emit(aten.where.self, [x.to(torch.bool), x, x.flip(0)], {}, "chosen")
        emit(aten.masked_fill.Scalar, [x, x.flip(0).to(torch.bool), 1], {}, "chosen")
        emit(aten.detach_copy.default, [x], {}, "copy")
        y = torch.randint(0, 2 if dtype == torch.bool else 100, (2, 3, 3, 4, 5), generator=generator).to(dtype)
        for op in (aten.reflection_pad3d.default, aten.replication_pad3d.default):
            emit(op, [y[0], [1, 2, 0, 1, 2, 1]], {}, "padded")
        for op in (aten.reflection_pad2d.default, aten.replication_pad2d.default):
            emit(op, [y[0], [1, 2, 0, 1]], {}, "padded")
        emit(aten.max_pool3d_with_indices.default, [y, [2, 2, 2], [1, 2, 2]], {}, "pooled")
        emit(aten.avg_pool3d.default, [y, [2, 2, 2], [1, 2, 2]], {}, "pooled")
        emit(aten.scatter_reduce.two, [x, 0, torch.tensor([[0, 1, 1, 3, 2, 0]]), x[1:2], "prod", True], {}, "reduced")
        for kind in ("sum", "prod", "mean", "amax", "amin"):
            emit(aten.scatter_reduce.two, [x, 0, torch.tensor([[0, 1, 1, 3, 2, 0], [0, 0, 1, 2, 2, 2]]), x[1:3], kind], {"include_self": kind != "mean"}, "reduced")


def add_all(emit):
    for family in (convolutions, pools, embedding_bags, resampling, orders, limits, parts):
        family(emit)


def add_plain(emit):
    """Batch norm that updates its running statistics in place."""
    generator = torch.Generator().manual_seed(48)
    for dtype in FLOATS:
        for sizes in ([2, 3, 4, 5], [4, 3], [1, 7, 9]):
            x, channels = random_tensor(generator, dtype, *sizes), sizes[1]
            weight, bias, mean = (random_tensor(generator, dtype, channels) for _ in range(3))
            var = random_tensor(generator, dtype, channels).abs() + 0.5
            for training in (True, False):
                new_mean, new_var = mean.clone(), var.clone()
                results = aten._native_batch_norm_legit.default(x, weight, bias, new_mean, new_var, training, 0.1, 1e-5)
                scale = 64.0 * (128 if dtype == torch.float16 else 1024 if dtype == torch.bfloat16 else 1)
                emit("aten::_native_batch_norm_legit.out",
                     [(T, x), ("Optional[Tensor]", weight), ("Optional[Tensor]", bias), ("in place", (mean, new_mean)), ("in place", (var, new_var)),
                      ("bool", training), ("float", 0.1), ("float", 1e-5)], list(results), "running statistics", scale)
