# SPDX-License-Identifier: Apache-2.0
"""Ops that make or move tensors without computing: no OpInfo calls them through a form that programs have."""
import torch

aten = torch.ops.aten
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
EVERY = FLOATS + INTEGERS + [torch.bool]
T, S, I, N = "Tensor", "number", "List[SymInt]", "Optional[int]"
SIZES = [[], [0], [3], [2, 0, 3], [4, 5]]


def constants(emit):
    for dtype in EVERY:
        for sizes in SIZES:
            emit("aten::zeros.out", [(I, sizes)], [torch.zeros(sizes, dtype=dtype)], "constant")
            emit("aten::ones.out", [(I, sizes)], [torch.ones(sizes, dtype=dtype)], "constant")
            emit("aten::empty.out", [(I, sizes), (N, None)], [torch.zeros(sizes, dtype=dtype)], "open")
            like = torch.zeros(sizes, dtype=torch.int32)
            for value in (0, 1, 3, 2.75, True) + ((-7.5, float("nan"), float("inf"), -1e3) if dtype in FLOATS else ()):
                emit("aten::full.out", [(I, sizes), (S, value)], [torch.full(sizes, value, dtype=dtype)], "constant")
                emit("aten::full_like.out", [(T, like), (S, value), (N, None)], [torch.full(sizes, value, dtype=dtype)], "constant")
        for value in (0, 2, 1.5, True):
            emit("aten::scalar_tensor.out", [(S, value)], [torch.scalar_tensor(value, dtype=dtype)], "constant")
        emit("aten::empty_strided.out", [(I, [3, 4]), (I, [4, 1])], [torch.zeros(3, 4, dtype=dtype)], "open")
        emit("dim_order_ops::_empty_dim_order.out", [("List[int]", [2, 3, 4, 5]), ("Optional[List[int]]", [0, 2, 3, 1])],
             [torch.zeros(2, 3, 4, 5, dtype=dtype).contiguous(memory_format=torch.channels_last)], "open")
        for sizes, layout in (([], []), ([3], [0]), ([2, 3, 4], [0, 1, 2]), ([0, 5], [0, 1])):
            emit("aten::empty_permuted.out", [(I, sizes), ("List[int]", layout)], [torch.zeros(sizes, dtype=dtype)], "open")


def windows(emit):
    """PyTorch rounds the positions of 16-bit windows, so these are those of float32. The scale is that of the sum alpha - beta * cos."""
    for dtype in FLOATS:
        made_in = torch.float32 if dtype.itemsize == 2 else dtype
        for length in (0, 1, 2, 7, 24):
            for name in ("hamming", "hann"):
                whole = getattr(aten, name + "_window")
                emit(f"aten::{name}_window.out", [("int", length)], [whole.default(length, dtype=made_in).to(dtype)], "window", 1.0)
                for periodic in (True, False):
                    arguments = [("int", length), ("bool", periodic)]
                    emit(f"aten::{name}_window.periodic_out", arguments, [whole.periodic(length, periodic, dtype=made_in).to(dtype)], "window", 1.0)
                    if name == "hamming":
                        emit("aten::hamming_window.periodic_alpha_out", arguments + [("float", 0.6)],
                             [whole.periodic_alpha(length, periodic, 0.6, dtype=made_in).to(dtype)], "window", 1.1)
                        emit("aten::hamming_window.periodic_alpha_beta_out", arguments + [("float", 0.6), ("float", -0.25)],
                             [whole.periodic_alpha_beta(length, periodic, 0.6, -0.25, dtype=made_in).to(dtype)], "window", 1.0)


def dtype_views(emit):
    """The bytes of one dtype read as another: NaNs are left out, since a tolerance says nothing about them."""
    for source in EVERY:
        for dtype in EVERY:
            if torch.bool in (source, dtype) and source != dtype:
                continue
            x = torch.arange(24).reshape(3, 8).to(source)
            y = x.view(dtype)
            if not y.is_floating_point() or torch.isfinite(y.double()).all():
                emit("aten::view_copy.dtype_out", [(T, x), ("ScalarType", dtype)], [y], "copy")
        empty = torch.zeros(2, 0, dtype=source)
        emit("aten::view_copy.dtype_out", [(T, empty), ("ScalarType", source)], [empty], "copy")


def ranges(emit):
    for dtype in FLOATS + INTEGERS:
        for end in (0, 1, 7, 100):
            emit("aten::arange.out", [(S, end)], [torch.arange(end, dtype=dtype)], "range")
        for start, end, step in ((0, 10, 3), (5, -5, -2), (2, 2, 1), (3, 4, 7)):
            if dtype == torch.uint8 and end < 0:
                continue
            emit("aten::arange.start_out", [(S, start), (S, end), (S, step)], [torch.arange(start, end, step, dtype=dtype)], "range")
        if dtype in FLOATS:
            emit("aten::arange.out", [(S, 4.5)], [torch.arange(4.5, dtype=dtype)], "range")
            emit("aten::arange.start_out", [(S, 0.25), (S, 3.0), (S, 0.5)], [torch.arange(0.25, 3.0, 0.5, dtype=dtype)], "range")


def random_numbers(emit):
    for dtype in FLOATS:
        for sizes in SIZES:
            emit("aten::rand.out", [(I, sizes)], [torch.zeros(sizes, dtype=dtype)], "open")
            emit("aten::randn.out", [(I, sizes)], [torch.zeros(sizes, dtype=dtype)], "open")
    for dtype in (torch.int64, torch.int32, torch.float32):
        for count in (0, 1, 9):
            emit("aten::randperm.out", [("int", count)], [torch.zeros(count, dtype=dtype)], "open")


def every_value(dtype, other):
    """Values of a dtype that another can hold."""
    if dtype == torch.bool or other == torch.bool:
        return torch.tensor([[1, 0, 0], [1, 1, 0]]).to(dtype)
    values = torch.tensor([[0.0, 1.0, 2.0], [100.0, 3.0, 7.0]])
    if dtype in FLOATS:
        values = values + 0.5
    if dtype in FLOATS and other in FLOATS:
        values = torch.tensor([[float("nan"), float("inf"), -0.0], [1e-40, -65519.0, 0.1]])
    return values.to(dtype)


def conversions(emit):
    for source in EVERY:
        for target in EVERY:
            x = every_value(source, target)
            emit("aten::_to_copy.out", [(T, x), ("bool", False), (N, None)], [x.to(target)], "cast")
            emit("dim_order_ops::_to_dim_order_copy.out", [(T, x), ("bool", False), ("Optional[List[int]]", None)], [x.to(target)], "cast")
        for sizes in ([2, 3, 4, 5], [1, 1, 2, 1], [0, 3, 2, 2]):
            x = torch.arange(torch.tensor(sizes).prod().item()).reshape(sizes).remainder(2 if source == torch.bool else 100).to(source)
            turned = x.contiguous(memory_format=torch.channels_last)
            for given, order, wanted in ((x, [0, 2, 3, 1], turned), (turned, [0, 1, 2, 3], x), (x, None, x)):
                tail = [("bool", False), ("Optional[List[int]]", order)]
                emit("dim_order_ops::_to_dim_order_copy.out", [(T, given), *tail], [wanted], "dim order")
                emit("dim_order_ops::_clone_dim_order.out", [(T, given), *tail], [wanted], "dim order")
        for x in (every_value(source, source), every_value(source, source)[0, 0], every_value(source, source)[:0]):
            emit("et_copy::_h2d_copy.out", [(T, x)], [x], "copy")
            emit("et_copy::_d2h_copy.out", [(T, x)], [x], "copy")


def complex_conversions(emit):
    others = [torch.float32, torch.float64, torch.float16, torch.int32, torch.int64, torch.bool]
    x = torch.tensor([[0, 0.5j, 2], [-100, 3 + 1j, 7 - 2j]])
    for dtype in (torch.complex64, torch.complex128):
        for other in [*others, torch.complex64, torch.complex128]:
            for given in (x.to(dtype), x.to(dtype)[1, 2], x.to(dtype)[:0]):
                emit("aten::_to_copy.out", [(T, given), ("bool", False), (N, None)], [given.to(other)], "complex")
        for other in others:
            real = x.real.to(other)
            emit("aten::_to_copy.out", [(T, real), ("bool", False), (N, None)], [real.to(dtype)], "complex")
            emit("dim_order_ops::_to_dim_order_copy.out", [(T, real), ("bool", False), ("Optional[List[int]]", None)], [real.to(dtype)], "complex")


def complex_parts(emit):
    for dtype in (torch.complex32, torch.complex64, torch.complex128):
        for sizes in ([], [0], [3], [2, 3, 4]):
            g = torch.Generator().manual_seed(31)
            x = torch.complex(torch.randn(sizes, generator=g), torch.randn(sizes, generator=g)).to(dtype)
            emit("aten::view_as_real_copy.out", [(T, x)], [torch.view_as_real(x).clone()], "parts")


def resized(emit):
    for dtype in EVERY:
        x = torch.arange(12).remainder(2 if dtype == torch.bool else 100).to(dtype)
        for before, after in (([12], [5]), ([3, 4], [2, 3]), ([3, 4], [0, 4])):
            given = x.reshape(before)
            expected = given.clone().resize_(after)
            emit("aten::resize_", [("in place", (given, expected)), (I, after), (N, None)], [], "smaller")


def add_plain(emit):
    for family in (constants, windows, dtype_views, ranges, random_numbers, conversions, complex_conversions, complex_parts, resized):
        family(emit)


def zero_sizes(emit):
    """Tensors without elements and of rank 0 for every op of one or two tensors."""
    for name in dir(aten):
        packet = getattr(aten, name)
        for overload in packet.overloads() if hasattr(packet, "overloads") else []:
            functional = getattr(packet, overload)
            if functional._schema.is_mutable or any(a.is_out for a in functional._schema.arguments):
                continue
            required = [str(a.type) for a in functional._schema.arguments if not a.has_default_value()]
            for dtype in EVERY:
                if required == ["Tensor"] and name != "_pdist_forward":  # accepts rank 2 only
                    emit(functional, [torch.zeros(2, 0, 3, dtype=dtype)], {}, "zero size")
                    emit(functional, [torch.ones((), dtype=dtype)], {}, "rank 0")
                elif required == ["Tensor", "Tensor"]:
                    emit(functional, [torch.zeros(2, 0, 3, dtype=dtype), torch.ones(1, 1, dtype=dtype)], {}, "zero size")
                    emit(functional, [torch.ones((), dtype=dtype), torch.ones((), dtype=dtype)], {}, "rank 0")


def dropouts(emit):
    for dtype in FLOATS:
        x = torch.randn(3, 5, generator=torch.Generator().manual_seed(32)).to(dtype)
        for p, train in ((0.0, True), (1.0, True), (0.5, False), (0.3, False)):
            emit(aten.native_dropout.default, [x, p, train], {}, "no chance")
        emit(aten.native_dropout.default, [x[:0], 0.5, True], {}, "zero size")


def index_puts(emit):
    for dtype in EVERY:
        x = torch.zeros(4, 3, dtype=dtype)
        rows, columns = torch.tensor([0, 2, 2]), torch.tensor([1, -1, 0])
        values = torch.tensor([1, 0, 1]).to(dtype)
        for accumulate in (False, True):
            emit(aten.index_put_.default, [x.clone(), [rows, columns], values, accumulate], {}, "in place")
            emit(aten.index_put_.default, [x.clone(), [None, torch.tensor([0, 2])], values[:1], accumulate], {}, "in place")
            emit(aten.index_put_.default, [x.clone(), [torch.tensor([True, False, True, False])], values[0], accumulate], {}, "in place, mask")
        emit(aten.index_put_.default, [x.clone(), [torch.zeros(0, dtype=torch.int64)], values[:0, None], False], {}, "zero size")


def shifts(emit):
    for dtype in INTEGERS:
        x = torch.tensor([[0, 1, 5], [100, 7, 3]]).to(dtype)
        by = torch.tensor([0, 1, 6]).to(dtype)
        for op in (aten.__lshift__, aten.__rshift__):
            emit(op.Tensor, [x, by], {}, "shift")
            emit(op.Tensor, [-x, by[:1]], {}, "shift")
            for count in (0, 1, 5, 31, 100, -1):
                emit(op.Scalar, [x, count], {}, "shift")


def add_all(emit):
    for family in (zero_sizes, dropouts, index_puts, shifts):
        family(emit)
