# SPDX-License-Identifier: Apache-2.0
"""Arguments of a call as bytes of a case file; host/kernels/testing reads them."""
import struct

import torch

CODES = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5, torch.float32: 6,
         torch.float64: 7, torch.complex32: 8, torch.complex64: 9, torch.complex128: 10, torch.bool: 11, torch.bfloat16: 15, torch.uint16: 27, torch.uint32: 28, torch.uint64: 29}


def dim_order_of(tensor):
    """The dim order in which a tensor is dense, or None."""
    if tensor.is_contiguous():
        return list(range(tensor.dim()))
    order = sorted(range(tensor.dim()), key=lambda d: (-tensor.stride(d), d))
    return order if tensor.permute(order).is_contiguous() else None


class Unusable(Exception):
    """The call says something that programs cannot."""


def pack_tensor(tensor):
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise Unusable("layout")
    if tensor.dtype not in CODES:
        raise Unusable(str(tensor.dtype))
    order = dim_order_of(tensor)
    if order is None:
        tensor, order = tensor.contiguous(), list(range(tensor.dim()))
    flat = tensor.permute(order).contiguous().reshape(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat.resolve_conj()).reshape(-1)
    data = bytes(flat.view(torch.uint8).numpy().tobytes()) if flat.numel() else b""
    return struct.pack(f"<bB{tensor.dim()}q{tensor.dim()}B", CODES[tensor.dtype], tensor.dim(), *tensor.shape, *order) + data


def pack_list(kind, fmt, items):
    return struct.pack(f"<BI{len(items)}{fmt}", kind, len(items), *items)


def pack_tensors(kind, items):
    packed = struct.pack("<BI", kind, len(items))
    for item in items:
        packed += b"\0" if item is None else b"\1" + pack_tensor(item)
    return packed


MEMORY_FORMATS = {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2}


def pack_argument(type_text, value):
    optional = type_text.startswith("Optional[")
    inner = type_text[9:-1] if optional else type_text
    if value is None:
        if optional:
            return b"\0"
        raise Unusable("missing argument")
    if isinstance(value, torch.dtype):
        if value not in CODES:
            raise Unusable(str(value))
        return struct.pack("<Bq", 2, CODES[value])
    if isinstance(value, torch.memory_format):
        if value not in MEMORY_FORMATS:
            raise Unusable(str(value))
        return struct.pack("<Bq", 2, MEMORY_FORMATS[value])
    if inner == "Tensor":
        return b"\1" + pack_tensor(value)
    if inner == "List[Tensor]":
        return pack_tensors(9, value)
    if inner == "List[Optional[Tensor]]":
        return pack_tensors(10, value)
    if inner in ("List[int]", "List[SymInt]"):
        return pack_list(6, "q", [int(v) for v in (value if isinstance(value, (list, tuple)) else [value])])
    if inner == "List[float]":
        return pack_list(7, "d", [float(v) for v in value])
    if inner == "List[bool]":
        return pack_list(8, "B", [int(v) for v in value])
    if inner == "float":
        return struct.pack("<Bd", 3, float(value))
    if inner == "bool":
        return struct.pack("<BB", 4, int(value))
    if inner == "str":
        text = value.encode()
        return struct.pack("<BI", 5, len(text)) + text
    if isinstance(value, bool):
        return struct.pack("<BB", 4, int(value))
    if isinstance(value, int):
        if not -2**63 <= value < 2**63:
            raise Unusable("integer beyond 64 bits")
        return struct.pack("<Bq", 2, value)
    if isinstance(value, float):
        return struct.pack("<Bd", 3, value)
    raise Unusable(f"{type_text} {type(value)}")
