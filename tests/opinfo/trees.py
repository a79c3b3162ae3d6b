# SPDX-License-Identifier: Apache-2.0
"""Tensors inside nested arguments of a call."""
import torch

from pack import dim_order_of


def freeze(value):
    """Copies tensors at the time of the call, dense in some dim order."""
    if isinstance(value, torch.Tensor):
        plain = value.detach().resolve_conj().resolve_neg()
        return plain.clone(memory_format=torch.preserve_format) if dim_order_of(plain) else plain.contiguous().clone()
    if isinstance(value, (list, tuple)):
        return [freeze(v) for v in value]
    if isinstance(value, dict):
        return {k: freeze(v) for k, v in value.items()}
    return value


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def map_tensors(value, f):
    if isinstance(value, torch.Tensor):
        return f(value)
    if isinstance(value, (list, tuple)):
        return [map_tensors(v, f) for v in value]
    if isinstance(value, dict):
        return {k: map_tensors(v, f) for k, v in value.items()}
    return value
