# SPDX-License-Identifier: Apache-2.0
"""Values of a profile and of its record as NumPy arrays."""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import Any

import numpy as np


def value_of(value: dict[str, Any] | None, buffer: bytes) -> Any:
    """A recorded value: a number, or an array; None for a tensor whose elements are not in the buffer."""
    if value is None:
        return None
    for kind in ("int", "bool", "float"):
        if kind in value:
            return value[kind]
    if "tensors" in value:
        return [_array(tensor, buffer) for tensor in value["tensors"]]
    return _array(value["tensor"], buffer)


def _array(tensor: dict[str, Any] | None, buffer: bytes) -> np.ndarray[Any, Any] | None:
    if tensor is None or tensor["offset"] < 0:
        return None
    name = {"bfloat16": "uint16"}.get(tensor["dtype"], tensor["dtype"])
    try:
        dtype = np.dtype(name)
    except TypeError:
        return None
    sizes, strides = tensor["sizes"], tensor["strides"]
    count = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides)) if 0 not in sizes else 0
    if tensor["offset"] + count * dtype.itemsize > len(buffer):
        return None
    flat = np.frombuffer(buffer, dtype, count, tensor["offset"])
    steps = [stride * dtype.itemsize for stride in strides]
    array = np.lib.stride_tricks.as_strided(flat, sizes, steps).copy() if count else np.zeros(sizes, dtype)
    if tensor["dtype"] == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array


def reference_outputs(record: str | None) -> dict[str, list[list[Any]]]:
    """Outputs by method and test case, as NumPy arrays. None of a record without them, and without PyTorch."""
    if record is None or not zipfile.is_zipfile(record):
        return {}
    with zipfile.ZipFile(record) as file:
        saved = file.read("reference_outputs") if "reference_outputs" in file.namelist() else b""
    if not saved:
        return {}
    try:
        import torch  # noqa: PLC0415  (only it reads these files)
    except ImportError:
        return {}
    try:
        by_method = torch.load(io.BytesIO(saved), weights_only=True)
    except (EOFError, RuntimeError, ValueError, pickle.UnpicklingError):
        return {}  # of an older release
    if not isinstance(by_method, dict):
        return {}

    def to_array(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return (value.float() if value.dtype == torch.bfloat16 else value).detach().numpy()

    return {
        method: [[to_array(value) for value in case] for case in cases]
        for method, cases in by_method.items()
        if isinstance(cases, (list, tuple)) and all(isinstance(case, (list, tuple)) for case in cases)
    }
