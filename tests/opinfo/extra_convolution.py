# SPDX-License-Identifier: Apache-2.0
"""Transposed convolutions whose stride, dilation and kernel leave some outputs without a tap, or share factors."""
import torch

aten = torch.ops.aten


def add_all(emit):
    generator = torch.Generator().manual_seed(61)
    # input, weight, stride, padding, dilation, output padding, groups
    shapes = [
        ([2, 4, 5, 6], [4, 3, 4, 4], [2, 2], [1, 1], [1, 1], [0, 0], 1),
        ([1, 4, 3, 4], [4, 2, 2, 2], [3, 4], [0, 0], [1, 1], [1, 3], 1),
        ([1, 6, 4, 3], [6, 2, 3, 2], [4, 6], [1, 2], [2, 3], [3, 1], 2),
        ([2, 3, 2, 1], [3, 1, 3, 4], [5, 5], [2, 3], [2, 1], [0, 2], 3),
        ([1, 2, 7], [2, 2, 5], [3], [4], [2], [2], 1),
        ([1, 2, 1], [2, 2, 3], [5], [3], [2], [0], 1),
        ([2, 4, 3, 2, 4], [4, 2, 2, 3, 1], [2, 1, 3], [0, 1, 0], [2, 1, 1], [1, 0, 2], 2),
        ([1, 2, 300], [2, 1, 3], [2], [1], [1], [1], 1),
    ]
    for x_sizes, w_sizes, stride, padding, dilation, output_padding, groups in shapes:
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            x, w = (torch.randn(*sizes, generator=generator).to(dtype) for sizes in (x_sizes, w_sizes))
            bias = torch.randn(w.shape[1] * groups, generator=generator).to(dtype)
            for chosen in (None, bias):
                emit(aten.convolution.default, [x, w, chosen, stride, padding, dilation, True, output_padding, groups], {}, "transposed")
            if x.dim() == 4:
                emit(aten.convolution.default, [x.to(memory_format=torch.channels_last), w, bias, stride, padding, dilation, True, output_padding, groups], {}, "transposed")
