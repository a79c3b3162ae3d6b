# SPDX-License-Identifier: Apache-2.0
"""One small module for each op that the official XNNPACK partitioner takes, at the edges of its constraints, in each precision it has for the op.

A case is (name, module, inputs, dynamic_shapes). `FLOAT` cases run in float32 and float16, `STATIC` also in int8 (PT2E, per tensor and per channel),
`DYNAMIC` with rows quantised at run time; `FOUR_BITS` takes linear layers to torchao's 8da4w.
"""
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F


class Fn(nn.Module):
    def __init__(self, function, *parts):
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(parts)

    def forward(self, *args):
        return self.function(*self.parts, *args)


def x(*sizes):
    return torch.randn(*sizes)


def positive(*sizes):
    return torch.rand(*sizes) + 0.25


IMAGE = (1, 4, 8, 8)


def unary():
    for name, op in {
        "abs": torch.abs, "ceil": torch.ceil, "clone": torch.clone, "cos": torch.cos, "exp": torch.exp, "floor": torch.floor, "gelu": F.gelu,
        "hardswish": F.hardswish, "leaky_relu": lambda t: F.leaky_relu(t, 0.1), "neg": torch.neg, "sigmoid": torch.sigmoid, "sin": torch.sin,
        "tanh": torch.tanh, "pow2": lambda t: torch.pow(t, 2), "square": torch.square, "silu": F.silu, "softmax": lambda t: F.softmax(t, -1),
    }.items():
        yield name, Fn(op), (x(2, 3, 5),)
    yield "gelu_tanh", nn.GELU(approximate="tanh"), (x(2, 3, 5),)
    for name, op in {"log": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt}.items():
        yield name, Fn(op), (positive(2, 3, 5),)
    yield "prelu", nn.PReLU(4), (x(*IMAGE),)
    yield "prelu_one", nn.PReLU(), (x(*IMAGE),)
    yield "div", Fn(torch.div), (x(2, 5), positive(2, 5))
    yield "maximum", Fn(torch.maximum), (x(2, 5), x(2, 5))
    yield "minimum", Fn(torch.minimum), (x(2, 5), x(2, 5))
    yield "bmm", Fn(torch.bmm), (x(2, 3, 4), x(2, 4, 5))
    yield "matmul", Fn(torch.matmul), (x(2, 3, 4), x(2, 4, 5))
    yield "batch_norm", Fn(lambda norm, t: norm(F.relu(t)), nn.BatchNorm2d(4)), (x(*IMAGE),)
    yield "batch_norm1d", nn.BatchNorm1d(4), (x(2, 4),)
    yield "batch_norm1d_rank3", nn.BatchNorm1d(4), (x(2, 4, 6),)
    yield "conv_batch_norm", nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6)), (x(*IMAGE),)
    yield "linear_batch_norm", nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6)), (x(3, 4),)
    yield "conv_transpose_batch_norm", nn.Sequential(nn.ConvTranspose2d(4, 6, 3), nn.BatchNorm2d(6)), (x(*IMAGE),)
    yield "max_dim", Fn(lambda t: torch.max(t, 1, keepdim=True)[0]), (x(*IMAGE),)
    yield "max_dim_rows", Fn(lambda t: torch.max(t, 2, keepdim=True)[0]), (x(*IMAGE),)
    yield "max_dim_columns", Fn(lambda t: torch.max(t, 3, keepdim=True)[0]), (x(*IMAGE),)
    yield "max_dim_indices", Fn(lambda t: tuple(torch.max(t, 3, keepdim=True))), (x(*IMAGE),)
    yield "amax", Fn(lambda t: torch.amax(t, (2, 3), keepdim=True)), (x(*IMAGE),)
    yield "avg_pool2d", nn.AvgPool2d(2), (x(*IMAGE),)
    yield "avg_pool2d_padding", nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False), (x(*IMAGE),)
    yield "avg_pool2d_divisor", nn.AvgPool2d(2, divisor_override=4), (x(*IMAGE),)
    yield "avg_pool2d_rank3", nn.AvgPool2d(2), (x(4, 8, 8),)
    yield "upsample_bilinear2d", Fn(lambda t: F.interpolate(t, size=(10, 12), mode="bilinear")), (x(*IMAGE),)
    yield "upsample_bilinear2d_corners", Fn(lambda t: F.interpolate(t, size=(10, 12), mode="bilinear", align_corners=True)), (x(*IMAGE),)
    yield "upsample_bilinear2d_scale", Fn(lambda t: F.interpolate(t, scale_factor=2, mode="bilinear")), (x(*IMAGE),)
    yield "upsample_bilinear2d_odd_scale", Fn(lambda t: F.interpolate(t, scale_factor=1.5, mode="bilinear")), (x(*IMAGE),)
    yield "upsample_bilinear2d_broken_scale", Fn(lambda t: F.interpolate(t, scale_factor=1.3, mode="bilinear")), (x(*IMAGE),)
    yield "upsample_bilinear2d_smaller", Fn(lambda t: F.interpolate(t, size=(5, 3), mode="bilinear")), (x(*IMAGE),)
    yield "clone_channels_last", Fn(lambda t: t.to(memory_format=torch.channels_last) + 1), (x(*IMAGE),)
    yield "sdpa", Fn(F.scaled_dot_product_attention), (x(1, 2, 5, 8), x(1, 2, 5, 8), x(1, 2, 5, 8))
    yield "add_scalar", Fn(lambda t: t + 2.5), (x(2, 5),)
    yield "mul_scalar", Fn(lambda t: t * 2.5), (x(2, 5),)
    yield "sub_scalar", Fn(lambda t: t - 2), (x(2, 5),)
    yield "div_scalar", Fn(lambda t: t / 3), (x(2, 5),)
    yield "add_constant", Fn(lambda t: t + torch.tensor([1.0, 2.0, 3.0])), (x(2, 3),)
    yield "linear_rank1", nn.Linear(4, 3), (x(4),)
    yield "linear_batch_rank4", nn.Linear(4, 3), (x(2, 1, 3, 4),)


def movers():
    """Float and static int8."""
    yield "relu", nn.ReLU(), (x(2, 3, 5),)
    yield "relu6", nn.ReLU6(), (x(2, 3, 5),)
    yield "hardtanh", nn.Hardtanh(-0.5, 0.75), (x(2, 3, 5),)
    yield "clamp", Fn(lambda t: torch.clamp(t, -0.5, 0.5)), (x(2, 3, 5),)
    yield "clamp_min", Fn(lambda t: torch.clamp(t, min=-0.5)), (x(2, 3, 5),)
    yield "clamp_max", Fn(lambda t: torch.clamp(t, max=0.5)), (x(2, 3, 5),)
    yield "elu", nn.ELU(), (x(2, 3, 5),)
    yield "add", Fn(torch.add), (x(2, 3, 5), x(2, 3, 5))
    yield "add_self", Fn(lambda t: t + t), (x(2, 3, 5),)
    yield "add_broadcast", Fn(torch.add), (x(2, 3, 5), x(3, 1))
    yield "add_scalar_tensor", Fn(torch.add), (x(2, 3, 5), x(1))
    yield "add_rank0", Fn(torch.add), (x(2, 3), torch.tensor(1.5))
    yield "add_relu", Fn(lambda a, b: F.relu(a + b)), (x(2, 5), x(2, 5))
    yield "sub", Fn(torch.sub), (x(2, 3, 5), x(2, 3, 5))
    yield "mul", Fn(torch.mul), (x(2, 3, 5), x(2, 3, 5))
    yield "mul_broadcast", Fn(torch.mul), (x(*IMAGE), x(1, 4, 1, 1))
    for count in (2, 3, 4, 5, 6, 11):
        yield f"cat{count}", Fn(lambda *parts: torch.cat(parts, 1)), tuple(x(2, i + 1) for i in range(count))
    yield "cat_same", Fn(lambda a: torch.cat((a, a), 1)), (x(2, 3),)
    yield "cat_negative_dim", Fn(lambda a, b: torch.cat((a, b), -1)), (x(2, 3), x(2, 4))
    yield "cat_channels", Fn(lambda conv, t: torch.cat((conv(t), t), 1), nn.Conv2d(4, 4, 1)), (x(*IMAGE),)
    yield "permute", Fn(lambda t: t.permute(0, 2, 1)), (x(2, 3, 5),)
    yield "permute_rank4", Fn(lambda t: t.permute(0, 2, 3, 1)), (x(*IMAGE),)
    yield "transpose", Fn(lambda t: t.transpose(0, 1)), (x(3, 5),)
    yield "slice", Fn(lambda t: t[:, 1:3]), (x(2, 5, 3),)
    yield "slice_negative", Fn(lambda t: t[:, -3:-1]), (x(2, 5, 3),)
    yield "slice_open", Fn(lambda t: t[..., 1:]), (x(2, 5, 3),)
    yield "view", Fn(lambda t: t.view(2, 15)), (x(2, 3, 5),)
    yield "view_inferred", Fn(lambda t: t.reshape(-1, 5)), (x(2, 3, 5),)
    yield "flatten", nn.Flatten(), (x(*IMAGE),)
    yield "unsqueeze", Fn(lambda t: t.unsqueeze(-1)), (x(2, 3),)
    yield "max_pool2d", nn.MaxPool2d(3, stride=2, padding=1), (x(*IMAGE),)
    yield "max_pool2d_ceil", nn.MaxPool2d(3, stride=2, ceil_mode=True), (x(*IMAGE),)
    yield "max_pool2d_ceil_padding", nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True), (x(1, 4, 9, 10),)
    yield "max_pool2d_dilation", nn.MaxPool2d(2, stride=1, dilation=2), (x(*IMAGE),)
    yield "max_pool2d_wide", nn.MaxPool2d((2, 3), stride=(1, 2), padding=(0, 1)), (x(*IMAGE),)
    yield "max_pool2d_rank3", nn.MaxPool2d(2), (x(4, 8, 8),)
    yield "mean_dim", Fn(lambda t: t.mean((2, 3), keepdim=True)), (x(*IMAGE),)
    yield "mean_dim_negative", Fn(lambda t: t.mean((-1, -2), keepdim=True)), (x(*IMAGE),)
    yield "adaptive_avg_pool2d", nn.AdaptiveAvgPool2d(1), (x(*IMAGE),)
    yield "pad", Fn(lambda t: F.pad(t, (1, 2))), (x(2, 3, 4),)
    yield "pad_value", Fn(lambda t: F.pad(t, (1, 2, 3, 0), value=0.5)), (x(2, 3, 4),)
    yield "pad_image", nn.ZeroPad2d((1, 2, 1, 0)), (x(*IMAGE),)
    yield "quantize", Fn(lambda t: t), (x(2, 3),)


def products():
    """Float, static int8 and int8 with a dynamic input."""
    yield "linear", nn.Linear(32, 8), (x(3, 32),)
    yield "linear_no_bias", nn.Linear(32, 8, bias=False), (x(3, 32),)
    yield "linear_rank3", nn.Linear(32, 8), (x(2, 3, 32),)
    yield "linear_relu", nn.Sequential(nn.Linear(32, 8), nn.ReLU()), (x(3, 32),)
    yield "linear_relu6", nn.Sequential(nn.Linear(32, 8), nn.ReLU6()), (x(3, 32),)
    yield "addmm", Fn(lambda layer, t: torch.addmm(layer.bias, t, layer.weight.t()), nn.Linear(32, 8)), (x(3, 32),)
    yield "mm", Fn(lambda layer, t: torch.mm(t, layer.weight.t()), nn.Linear(32, 8, bias=False)), (x(3, 32),)
    yield "conv1d", nn.Conv1d(4, 6, 3, padding=1), (x(1, 4, 10),)
    yield "conv1d_stride", nn.Conv1d(4, 6, 3, stride=2, dilation=2), (x(2, 4, 10),)
    yield "conv1d_groups", nn.Conv1d(4, 4, 3, groups=4), (x(2, 4, 10),)
    yield "conv1d_batch_norm_relu", nn.Sequential(nn.Conv1d(4, 6, 3), nn.BatchNorm1d(6), nn.ReLU()), (x(1, 4, 10),)
    yield "conv2d", nn.Conv2d(4, 8, 3, stride=2, padding=1), (x(*IMAGE),)
    yield "conv2d_no_bias", nn.Conv2d(4, 8, 3, bias=False), (x(*IMAGE),)
    yield "conv2d_relu", nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU()), (x(*IMAGE),)
    yield "conv2d_hardtanh", nn.Sequential(nn.Conv2d(4, 8, 3), nn.Hardtanh()), (x(*IMAGE),)
    yield "conv2d_groups", nn.Conv2d(4, 8, 3, groups=2), (x(*IMAGE),)
    yield "conv2d_depthwise", nn.Conv2d(4, 4, 3, padding=1, groups=4), (x(*IMAGE),)
    yield "conv2d_depth_multiplier", nn.Conv2d(4, 8, 3, padding=1, groups=4), (x(*IMAGE),)
    yield "conv2d_dilated", nn.Conv2d(4, 4, 3, dilation=2, padding=(1, 2)), (x(*IMAGE),)
    yield "conv2d_same", nn.Conv2d(4, 4, (2, 4), padding="same"), (x(*IMAGE),)
    yield "conv2d_pad", nn.Sequential(nn.ZeroPad2d((1, 2, 0, 1)), nn.Conv2d(4, 4, 3)), (x(*IMAGE),)
    yield "conv2d_batch_norm_relu", nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), nn.ReLU()), (x(*IMAGE),)
    yield "conv2d_rank3", nn.Conv2d(4, 6, 3), (x(4, 8, 8),)
    yield "conv_transpose1d", nn.ConvTranspose1d(4, 6, 3, stride=2), (x(1, 4, 10),)
    yield "conv_transpose2d", nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1), (x(*IMAGE),)
    yield "conv_transpose2d_groups", nn.ConvTranspose2d(4, 6, 3, groups=2), (x(*IMAGE),)
    yield "conv_transpose2d_dilated", nn.ConvTranspose2d(4, 6, 3, dilation=2), (x(*IMAGE),)
    yield "conv_two", nn.Sequential(nn.Conv2d(4, 6, 3), nn.ReLU(), nn.Conv2d(6, 4, 1)), (x(*IMAGE),)
    yield "linear_two", nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)), (x(3, 32),)
    yield "linear_shared_input", Fn(lambda a, b, t: a(t) + b(t), nn.Linear(32, 8), nn.Linear(32, 8)), (x(3, 32),)


def dynamic():
    """Float32 with sizes known at run time."""
    rows = Dim("rows", min=1, max=16)
    size = Dim("size", min=4, max=32)
    for name, module, inputs, dims in [
        ("add", Fn(torch.add), (x(3, 5), x(3, 5)), [{0: rows}, {0: rows}]),
        ("linear", nn.Linear(5, 4), (x(3, 5),), [{0: rows}]),
        ("relu", nn.ReLU(), (x(3, 5),), [{0: rows}]),
        ("conv2d_batch", nn.Conv2d(3, 4, 3), (x(3, 3, 8, 8),), [{0: rows}]),
        ("conv2d_image", nn.Conv2d(3, 4, 3, padding=1), (x(1, 3, 8, 9),), [{2: size, 3: Dim("width", min=4, max=32)}]),
        ("max_pool2d", nn.MaxPool2d(3, stride=1, padding=1), (x(1, 3, 8, 8),), [{2: size}]),
        ("avg_pool2d", nn.AvgPool2d(3, stride=1), (x(1, 3, 8, 8),), [{2: size}]),
        ("mean_dim", Fn(lambda t: t.mean((2, 3), keepdim=True)), (x(1, 3, 8, 8),), [{2: size}]),
        ("softmax", nn.Softmax(-1), (x(3, 8),), [{1: size}]),
        ("bmm", Fn(torch.bmm), (x(3, 4, 8), x(3, 8, 4)), [{0: rows, 2: size}, {0: rows, 1: size}]),
        ("permute", Fn(lambda t: t.permute(1, 0)), (x(3, 8),), [{0: rows, 1: size}]),
        ("cat", Fn(lambda a, b: torch.cat((a, b), 1)), (x(3, 8), x(3, 4)), [{0: rows}, {0: rows}]),
        ("cat_dynamic_dim", Fn(lambda a, b: torch.cat((a, b), 0)), (x(3, 4), x(8, 4)), [{0: rows}, {0: size}]),
        ("view_rows", Fn(lambda t: t.view(-1, 10)), (x(4, 5, 2),), [{0: rows}]),
        ("slice_static_dim", Fn(lambda t: t[:, 1:3]), (x(4, 5),), [{0: rows}]),
        ("unsqueeze", Fn(lambda t: t.unsqueeze(-1)), (x(4, 5),), [{0: rows}]),
        ("pad", Fn(lambda t: F.pad(t, (1, 2))), (x(4, 5),), [{0: rows}]),
        ("prelu", nn.PReLU(4), (x(3, 4, 6),), [{0: rows}]),
        ("gelu", nn.GELU(), (x(3, 4),), [{0: rows}]),
        ("batch_norm", nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), (x(3, 3, 8, 8),), [{0: rows}]),
        ("conv_transpose2d", nn.ConvTranspose2d(3, 4, 3, stride=2), (x(1, 3, 8, 8),), [{0: rows}]),
        ("clone", Fn(lambda t: t.clone() + 1), (x(4, 5),), [{0: rows}]),
        ("upsample_bilinear2d", Fn(lambda t: F.interpolate(t, size=(10, 12), mode="bilinear")), (x(3, 3, 8, 8),), [{0: rows}]),
        ("sdpa", Fn(F.scaled_dot_product_attention), (x(3, 2, 8, 4), x(3, 2, 8, 4), x(3, 2, 8, 4)), [{2: size}, {2: size}, {2: size}]),
    ]:
        yield name, module, inputs, (tuple(dims),) if isinstance(module, Fn) else dims


FLOAT = lambda: [*unary(), *movers(), *products()]  # noqa: E731
STATIC = lambda: [*unary(), *movers(), *products()]  # noqa: E731
DYNAMIC = lambda: [*products()]  # noqa: E731
FOUR_BITS = lambda: [case for case in products() if case[0].startswith("linear")]  # noqa: E731
