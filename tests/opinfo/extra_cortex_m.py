# SPDX-License-Identifier: Apache-2.0
"""Cases of cortex_m: results of ExecuTorch's own Python implementations of these ops, for random codes and parameters."""
import sys
from unittest.mock import MagicMock

import torch

# ExecuTorch's package imports a serialiser that these ops do not need and that its wheel does not bring.
try:
    import tosa_serializer  # noqa: F401
except ImportError:
    sys.modules["tosa_serializer"] = MagicMock()
import executorch.backends.cortex_m.passes  # noqa: E402,F401  (first, because it and the ops import each other)
import executorch.backends.cortex_m.ops.operators  # noqa: E402,F401  (registers the ops)
from executorch.backends.cortex_m.passes.aten_to_cortex_m_pass import _compute_softmax_params  # noqa: E402

CODES = {torch.int8: 1, torch.float32: 6}
T, F, I, B, L, N = "Tensor", "float", "int", "bool", "List[int]", "Optional[Tensor]"


class Numbers:
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def between(self, low, high):
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def codes(self, *sizes):
        return torch.randint(-128, 128, sizes, generator=self.generator).to(torch.int8)

    def words(self, count, low, high):
        return torch.randint(low, high, (count,), generator=self.generator).to(torch.int32)

    def rescale(self):
        """A multiplier and a shift of a factor below 2."""
        return self.between(1 << 30, (1 << 31) - 1), self.between(-12, 1)

    def range(self):
        low = self.between(-128, 0)
        return [-128, 127] if self.between(0, 1) else [low, self.between(low, 127)]


def spread(weight, dilation):
    """The weights [.., rows, columns, ..] of an undilated convolution with the same result."""
    first, rows, columns, last = weight.shape
    wide = torch.zeros(first, (rows - 1) * dilation[0] + 1, (columns - 1) * dilation[1] + 1, last, dtype=weight.dtype)
    wide[:, :: dilation[0], :: dilation[1]] = weight
    return wide


def emit_call(emit, op, arguments, source, replaced=None):
    """Emits the op's out variant with the result of the op; `replaced` are other values of arguments, by index."""
    values = [(replaced or {}).get(i, value) for i, (_, value) in enumerate(arguments)]
    emit(f"cortex_m::{op}.out", arguments, [getattr(torch.ops.cortex_m, op).default(*values)], source)


def convolutions(emit, n):
    for index in range(24):
        groups, group_in, group_out = n.between(1, 4), n.between(1, 6), n.between(1, 5)
        is_depthwise = index % 2 == 1
        if is_depthwise:
            group_in, group_out = 1, n.between(1, 2)
        kernel, stride, padding, dilation = ([n.between(*ends), n.between(*ends)] for ends in ((1, 3), (1, 2), (0, 2), (1, 2)))
        image = [(kernel[i] - 1) * dilation[i] + 1 + n.between(0, 6) for i in range(2)]
        x = n.codes(n.between(1, 2), groups * group_in, *image)
        if n.between(0, 2):
            x = x.contiguous(memory_format=torch.channels_last)
        outputs = groups * group_out
        weight = n.codes(1, *kernel, outputs) if is_depthwise else n.codes(outputs, *kernel, group_in)
        bias = n.words(outputs, -20000, 20000) if n.between(0, 3) else None
        multipliers, shifts = n.words(outputs, 1 << 30, (1 << 31) - 1), n.words(outputs, -12, 2)
        head = [(T, x), (T, weight), (N, bias), (L, stride), (L, padding), (L, dilation)]
        if is_depthwise:
            head.append((I, group_out))
        low, high = n.range()
        tail = [(I, n.between(-127, 128)), (I, n.between(-128, 127)), (T, multipliers), (T, shifts), (I, low), (I, high),
                (T, torch.empty(0, dtype=torch.uint8))]
        name = "quantized_depthwise_conv2d" if is_depthwise else "quantized_conv2d"
        # PyTorch has no dilated convolution of integers.
        emit_call(emit, name, head + tail, f"convolution {index}", {1: spread(weight, dilation), 5: [1, 1]})


def linear_layers(emit, n):
    for index in range(12):
        sizes, outputs = [[3, 17], [2, 3, 8], [1, 64], [40]][index % 4], n.between(1, 9)
        x, weight = n.codes(*sizes), n.codes(outputs, sizes[-1])
        words = n.words(outputs, -20000, 20000)
        has_sum = index % 3 == 2
        multiplier, shift = n.rescale()
        low, high = n.range()
        # With a sum in place of the bias the implementation expects a row.
        arguments = [(T, x), (T, weight), (N, None if has_sum else words), (N, words.reshape(1, -1) if has_sum else None),
                     (I, n.between(-127, 128)), (I, n.between(-3, 3)), (I, n.between(-128, 127)), (L, [multiplier]), (L, [shift]),
                     (I, high), (I, low)]
        emit_call(emit, "quantized_linear", arguments, f"linear {index}")


def pools_and_sums(emit, n):
    for index in range(12):
        kernel, padding, stride = [n.between(1, 4), n.between(1, 4)], [0, 0], [n.between(1, 3), n.between(1, 3)]
        if index % 2:
            padding = [kernel[0] // 2, kernel[1] // 2]
        x = n.codes(n.between(1, 2), n.between(1, 5), n.between(4, 9), n.between(4, 9))
        x = x.contiguous(memory_format=torch.channels_last) if index % 3 else x
        # Scales that are powers of two, so that the float arithmetic of that implementation is exact in ties.
        arguments = [(T, x), (L, kernel), (L, stride), (L, padding), (B, index % 4 == 3), (I, n.between(-128, 127)),
                     (I, 1 << 30), (I, n.between(-6, 1)), (T, torch.empty(0, dtype=torch.uint8))]
        emit_call(emit, "quantized_avg_pool2d", arguments, f"pool {index}")
        shape = [[2, 3, 4, 5], [7, 11], [33]][index % 3]
        low, high = n.range()
        sides = [[(T, n.codes(*shape)), (I, n.between(-128, 127)), *((I, v) for v in (n.rescale()[0], n.between(-3, 0)))] for _ in range(2)]
        arguments = [*sides[0], *sides[1], (I, n.between(-128, 127)), (I, n.rescale()[0]), (I, n.between(-21, -16)), (I, low), (I, high)]
        emit_call(emit, "quantized_add", arguments, f"sum {index}")


def elements(emit, n):
    for index in range(12):
        kernel, stride, padding = ([n.between(*ends), n.between(*ends)] for ends in ((1, 4), (1, 3), (0, 0)))
        if index % 2:
            padding = [kernel[0] // 2, kernel[1] // 2]
        x = n.codes(n.between(1, 2), n.between(1, 5), n.between(4, 9), n.between(4, 9))
        x = x.contiguous(memory_format=torch.channels_last) if index % 3 else x
        zero, (low, high) = n.between(-128, 127), n.range()
        arguments = [(T, x), (L, kernel), (L, stride), (L, padding), (L, [1, 1]), (B, False), (I, zero), (I, zero), (I, low), (I, high)]
        emit_call(emit, "quantized_max_pool2d", arguments, f"maximum {index}")
        shape = [[2, 3, 4, 5], [7, 11], [33]][index % 3]
        multiplier, shift = n.rescale()
        factor = [(I, n.between(-128, 127)), (I, multiplier), (I, shift - 4)]
        arguments = [(T, n.codes(*shape)), (I, n.between(-128, 127)), (T, n.codes(*shape)), (I, n.between(-128, 127)), *factor]
        emit_call(emit, "quantized_mul", arguments, f"product {index}")
        image = n.codes(1, 3, 4, 5).contiguous(memory_format=torch.channels_last)
        channels = n.codes(1, 3, 1, 1).contiguous(memory_format=torch.channels_last)
        arguments = [(T, image), (I, 7), (T, channels), (I, -9), *factor]
        emit_call(emit, "quantized_mul", arguments, f"product with channels {index}")
        scale, shape = n.between(1, 300) / 1000, [[2, 3, 5], [4, 60], [1, 200]][index % 3]
        multiplier, shift, least = _compute_softmax_params(scale)
        arguments = [(T, n.codes(*shape)), (I, -1), (I, n.between(-128, 127)), (I, -128), (I, multiplier), (I, shift), (I, least)]
        emit_call(emit, "softmax", arguments, f"softmax {index}")


def ends(emit, n):
    for scale, zero in ((0.05, 3), (0.013, -100)):
        x = torch.randn(3, 5, 7, generator=n.generator) * 3
        tail = [(F, scale), (I, zero), (I, -128), (I, 127)]
        q = torch.ops.quantized_decomposed.quantize_per_tensor(x, scale, zero, -128, 127, torch.int8)
        emit("cortex_m::quantize_per_tensor.out", [(T, x), *tail, (I, CODES[torch.int8])], [q], "codes")
        d = torch.ops.quantized_decomposed.dequantize_per_tensor(q, scale, zero, -128, 127, torch.int8)
        emit("cortex_m::dequantize_per_tensor.out", [(T, q), *tail, (I, CODES[torch.int8])], [d], "codes")


def add_plain(emit):
    n = Numbers(22)
    convolutions(emit, n)
    linear_layers(emit, n)
    pools_and_sums(emit, n)
    ends(emit, n)
    elements(emit, Numbers(23))


def add_all(emit):
    del emit
