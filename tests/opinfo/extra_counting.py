# SPDX-License-Identifier: Apache-2.0
"""Cases of ops that count, choose or scale rows by index: no OpInfo calls them as often as they have ways to run."""
import torch

aten = torch.ops.aten
REALS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def unique_along_dims(emit):
    generator = torch.Generator().manual_seed(3)
    for dtype in [*REALS, torch.int64, torch.uint8, torch.bool]:
        for sizes in [(6,), (5, 2), (2, 3, 2), (4, 1), (0, 3)]:
            x = torch.randint(0, 2, sizes, generator=generator).to(dtype)
            for dim in range(-1, len(sizes)):
                if x.size(dim) == 0 or x.numel() == 0:
                    continue
                emit(aten.unique_dim.default, [x, dim], {}, "unique")
                emit(aten.unique_dim.default, [x, dim, False, True, True], {}, "unique")
                emit(aten.unique_dim_consecutive.default, [x, dim, True, True], {}, "unique")


def renormalised_rows(emit):
    generator = torch.Generator().manual_seed(4)
    for dtype in REALS[:2]:
        table = torch.randn(6, 5, generator=generator, dtype=dtype)
        for indices in (torch.tensor([0, 2, 2]), torch.tensor([[5, 1], [1, 3]]), torch.tensor([], dtype=torch.int64),
                        torch.tensor([4], dtype=torch.int32)):
            for order in (2.0, 1.0, 3.0, 0.5, float("inf")):
                emit(aten.embedding_renorm.default, [table, indices, 1.0, order], {}, "embedding")


def segments(emit):
    generator = torch.Generator().manual_seed(5)
    for dtype in REALS:
        data = torch.randn(5, 3, generator=generator).to(dtype)
        data[1, 1] = float("nan")
        for reduce in ("sum", "mean", "max", "min", "prod"):
            for initial in (None, 0.5):
                emit(aten.segment_reduce.default, [data, reduce], {"lengths": torch.tensor([2, 0, 3]), "initial": initial}, f"segments {reduce}")
                emit(aten.segment_reduce.default, [data, reduce], {"offsets": torch.tensor([0, 2, 2, 5]), "initial": initial}, f"segments {reduce}")
            wide = torch.randn(2, 4, 3, generator=generator).to(dtype)
            emit(aten.segment_reduce.default, [wide, reduce], {"lengths": torch.tensor([[1, 3], [4, 0]]), "axis": 1}, "segments of axis 1")
    long_segments(emit)


def long_segments(emit):
    """The lengths of the conformance suite's cases (conformance/cases/design_segments.cpp): its formulas are compared with the kernel, and
    the kernel with these numbers."""
    generator = torch.Generator().manual_seed(15)
    for dtype in (torch.float32, torch.float64):  # of halves PyTorch rounds each partial sum
        for at, reduce in enumerate(("sum", "mean", "max", "min", "prod")):
            rows = (torch.rand(2, 13, 3, generator=generator) * 3 - 1.5).to(dtype)
            places = {"lengths": torch.tensor([[5, 0, 2, 6]] * 2)} if at % 2 else {"offsets": torch.tensor([[0, 5, 5, 7, 13]] * 2)}
            emit(aten.segment_reduce.default, [rows, reduce], {**places, "axis": 1, "unsafe": True}, f"long segments {reduce}")
            column = (torch.rand(41, generator=generator) * 3 - 1.5).to(dtype)
            emit(aten.segment_reduce.default, [column, reduce], {"lengths": torch.tensor([17, 1, 0, 23]), "initial": 2},
                 f"long segments from 2 {reduce}")


def weighted_counts(emit):
    generator = torch.Generator().manual_seed(6)
    for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        x = torch.randint(0, 9, (17,), generator=generator).to(dtype)
        for weights in (None, torch.rand(17, generator=generator), torch.rand(17, generator=generator, dtype=torch.float64),
                        torch.arange(17)):
            emit(aten.bincount.default, [x, weights], {}, "bincount")
            emit(aten.bincount.default, [x, weights, 12], {}, "bincount")
        emit(aten.bincount.default, [x[:0], None, 4], {}, "zero size")
        emit(aten.repeat_interleave.Tensor, [x.to(torch.int64) % 4], {}, "repeat_interleave")


def given_edges(emit):
    generator = torch.Generator().manual_seed(7)
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(4, 9, generator=generator, dtype=dtype)
        weight = torch.rand(4, 9, generator=generator, dtype=dtype)
        for edges in ([-1.0, 0.0, 0.5], [-3.0, 3.0], [0.0, 0.0, 1.0, 2.5]):
            for density in (False, True):
                emit(aten.histogram.bins_tensor, [x, torch.tensor(edges, dtype=dtype)], {"weight": weight, "density": density}, "edges")
                emit(aten.histogram.bins_tensor, [x, torch.tensor(edges, dtype=dtype)], {"density": density}, "edges")


def fractional_pools(emit):
    generator = torch.Generator().manual_seed(8)
    for dtype in REALS:
        draw = lambda *sizes: torch.rand(*sizes, generator=generator).to(dtype)
        plane = torch.randn(2, 3, 16, 13, generator=generator).to(dtype)
        plane[0, 1, 3, 3] = float("nan")
        emit(aten.fractional_max_pool2d.default, [plane, [2, 3], [8, 5], draw(2, 3, 2)], {}, "windows")
        emit(aten.fractional_max_pool2d.default, [plane[0], [1, 1], [1, 13], draw(1, 3, 2)], {}, "no batch")
        emit(aten.fractional_max_pool2d.default, [plane[:, :0], [2, 3], [8, 5], draw(2, 0, 2)], {}, "zero size")
        emit(aten.fractional_max_pool2d.default, [plane.transpose(2, 3), [2, 2], [4, 4], draw(2, 3, 2)], {}, "other layout")
        solid = torch.randn(1, 2, 6, 10, 9, generator=generator).to(dtype)
        emit(aten.fractional_max_pool3d.default, [solid, [2, 3, 1], [3, 5, 4], draw(1, 2, 3)], {}, "windows")
        emit(aten.fractional_max_pool3d.default, [solid[0], [2, 2, 2], [1, 2, 3], draw(1, 2, 3)], {}, "no batch")


def add_all(emit):
    for family in (fractional_pools, unique_along_dims, renormalised_rows, segments, weighted_counts, given_edges):
        family(emit)
