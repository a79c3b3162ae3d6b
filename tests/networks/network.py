# SPDX-License-Identifier: Apache-2.0
"""A row of the list of networks, and what several lists of rows share."""
from typing import Callable, NamedTuple

import torch
from torch import nn

GROUPS = ("vision", "language", "audio", "video", "3d", "graph", "recommender", "physics", "generative", "quantized", "training")

# Largest difference, relative to the largest value of the output, of two float32 computations of networks as small as these.
TOLERANCE = 5e-5
# PyTorch computes a quantised graph in floats between its roundings. With integers a sum can round the other way: a few
# steps of int8 after tens of layers. ExecuTorch's own XNNPACK programs differ from PyTorch by up to 0.044 (resnet18_static), and
# PyTorch from itself by 0.022 there when its weights change by 2e-7.
QUANTIZED_TOLERANCE = 5e-2
HALF_TOLERANCE = 1e-2


class Network(NamedTuple):
    group: str
    name: str
    cause: str  # which property of networks the row represents
    make: Callable  # returns (module, inputs) or (module, inputs, dynamic shapes); inputs is a tuple, or a dict of named ones
    tolerance: float = TOLERANCE
    is_training: bool = False  # the module returns its loss; exported with its gradients
    bounds: tuple = ()  # of sizes that depend on the data, for --bound
    remark: str = ""  # why its numbers cannot be compared: only sizes and types are


class Picked(nn.Module):
    """One part of a network's results."""

    def __init__(self, model, pick, **fixed):
        super().__init__()
        self.model, self.pick, self.fixed = model, pick, fixed

    def forward(self, *args, **named):
        return self.pick(self.model(*args, **named, **self.fixed))


class Function(nn.Module):
    """A function of a library as a module; `parts` are modules and constant tensors that it uses."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            if isinstance(part, nn.Module):
                setattr(self, name, part)
            else:
                self.register_buffer(name, part)
        self.names = list(parts)

    def forward(self, *args):
        return self.function(*args, **{name: getattr(self, name) for name in self.names})


class Method(nn.Module):
    """Another method of a module than forward."""

    def __init__(self, model, name):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, *args):
        return getattr(self.model, self.name)(*args)


class Cast(nn.Module):
    """A module in a narrow type between float32 inputs and results, because files of arrays have no bfloat16."""

    def __init__(self, model, dtype):
        super().__init__()
        self.model, self.dtype = model.to(dtype), dtype

    def forward(self, *args):
        args = [x.to(self.dtype) if x.is_floating_point() else x for x in args]
        return torch.utils._pytree.tree_map_only(torch.Tensor, lambda x: x.float(), self.model(*args))


def image(size=64, batch=1, channels=3):
    return (torch.randn(batch, channels, size, size),)


def tokens(length=8, top=90, batch=1):
    return (torch.randint(1, top, (batch, length)),)


def import_torchvision():
    """torchvision declares shape rules for its operators while it is imported, which fails where its library of them does not fit this torch."""
    register, torch.library.register_fake = torch.library.register_fake, lambda *_, **__: lambda function: function
    try:
        import torchvision
    finally:
        torch.library.register_fake = register
    return torchvision


def settle(module):
    """Statistics of norms and weights that begin as zeros would hide errors."""
    for part in module.modules():
        if isinstance(part, nn.modules.batchnorm._NormBase) and part.running_mean is not None:
            part.running_mean.uniform_(-0.1, 0.1)
            part.running_var.uniform_(0.5, 1.5)
    for parameter in module.parameters():
        if parameter.is_floating_point() and not parameter.any():
            parameter.normal_(std=0.02)
