# SPDX-License-Identifier: Apache-2.0
"""Values for the record of a compilation, as arguments of `etbackend compile`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._product import text_of
from .errors import Error


def _word(value: Any, path: Path, what: str) -> str:
    """A number as text, or the path of the array."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "none"
    if isinstance(value, (int, float)):  # np.float64 is a float, with a text of its own
        return repr(float(value) if isinstance(value, float) else int(value))
    if hasattr(value, "detach"):  # of PyTorch; NumPy has no bfloat16
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
    array = np.asarray(value)
    if array.dtype == object:
        found = type(value).__name__
        raise Error(f"{what}: a value of type '{found}', expected an array, a tensor or a number", reason="python.argument")
    np.save(path, np.ascontiguousarray(array).reshape(array.shape))
    return str(path)


def _expect_list(values: Any, what: str) -> Sequence[Any]:
    if isinstance(values, (list, tuple)):
        return values
    raise Error(f"{what}: a value of type '{type(values).__name__}', expected a list", reason="python.argument")


def record_words(inputs: Any, outputs: Any, folder: Path) -> list[str]:
    """Options with the inputs, and with the outputs by method; writes arrays to the folder."""
    words = []
    if inputs is not None:
        for index, value in enumerate(_expect_list(inputs, "etrecord_inputs")):
            words += ["--etrecord-input", _word(value, folder / f"record_in{index}.npy", "etrecord_inputs")]
    if outputs is None:
        return words
    by_method = outputs if isinstance(outputs, Mapping) else {"forward": outputs}
    for number, (method, values) in enumerate(by_method.items()):
        for index, value in enumerate(_expect_list(values, "etrecord_outputs")):
            word = _word(value, folder / f"record_out{number}_{index}.npy", "etrecord_outputs")
            words += ["--etrecord-output", f"{text_of(method, 'etrecord_outputs')}={word}"]
    return words


__all__ = ["record_words"]
