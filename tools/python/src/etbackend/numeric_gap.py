# SPDX-License-Identifier: Apache-2.0
"""Distances between recorded values and those of the model: `etbackend diff`, in the shape of ExecuTorch's devtools."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._product import program_path
from .compiler import error_of
from .errors import Error

# Distances of `etbackend diff --json`, by their name here.
METRICS = {"MSE": "mse", "L1": "l1", "SNR": "snr", "COSINE": "cosine", "MAX_ABS": "max_abs", "MAX_REL": "max_rel"}

GapMapping = dict[tuple[tuple[int, ...], Any], tuple[tuple[int, ...], Any]]


class NumericalComparatorBase:
    """A distance of yours for calculate_numeric_gap. Values are NumPy arrays.

    inspector: set before preprocessing.
    """

    inspector: Any = None

    def preprocessing(self, mapping: GapMapping) -> GapMapping:
        """May change values before they are compared: {(aot handles, aot value): (runtime handles, runtime value)}."""
        return mapping

    def element_compare(self, a: Any, b: Any) -> float:
        raise NotImplementedError("element_compare of a NumericalComparatorBase")


class _Key(np.ndarray):
    """An array that is a part of a key, by identity."""

    __hash__ = object.__hash__  # type: ignore[assignment]


def _row(block: Mapping[str, Any], result: Mapping[str, Any], folder: str, index: int) -> dict[str, Any]:
    nodes = block["nodes"]
    handles = tuple(sorted({node["debug_handle"] for node in nodes}))
    ops = [node["name"] for node in nodes]
    values = [os.path.join(folder, f"{index}.{side}.npy") for side in "ab"]
    a, b = (np.load(path) if os.path.exists(path) else None for path in values)
    sources = {node["name"]: node["source"] for node in nodes}
    return {
        "aot_debug_handle": handles,
        "aot_ops": ops,
        "aot_intermediate_output": a,
        "runtime_ops": [result["event"]] if result["event"] else ops,
        "runtime_debug_handle": handles,
        "runtime_intermediate_output": b,
        "gap": [],
        "stacktraces": {
            name: None if at is None else f"{at['file']}:{at['line']} in {at['function']}" for name, at in sources.items()
        },
        "metrics": result["metrics"],
    }


def _compared_rows(rows: list[dict[str, Any]], comparator: Any, inspector: Any) -> list[dict[str, Any]]:
    """Rows whose gap is the comparator's. Preprocessing may remove rows and change values."""
    if hasattr(comparator, "inspector"):
        comparator.inspector = inspector
    by_key: dict[tuple[Any, Any], dict[str, Any]] = {}
    for row in rows:
        row.pop("metrics")
        value = row["aot_intermediate_output"]
        if value is not None:
            by_key[row["aot_debug_handle"], value.view(_Key)] = row
    mapping = {key: (row["runtime_debug_handle"], row["runtime_intermediate_output"]) for key, row in by_key.items()}
    if callable(getattr(comparator, "preprocessing", None)):
        mapping = comparator.preprocessing(mapping)
    kept = {key: by_key.pop(key) for key in mapping if key in by_key}
    replaced = list(by_key.values())  # of keys with another value
    out = []
    for key, (runtime_handles, found) in mapping.items():
        handles, expected = key
        row = kept.get(key) or next((row for row in replaced if row["aot_debug_handle"] == handles), {})
        replaced = [other for other in replaced if other is not row]
        expected, found = np.asarray(expected), np.asarray(found)
        values = {"aot_intermediate_output": expected, "runtime_intermediate_output": found}
        gap = [comparator.element_compare(expected, found)]
        out.append({**row, **values, "runtime_debug_handle": runtime_handles, "gap": gap})
    return out


def gap_rows(distance: Any, diff: Sequence[str], inputs: Sequence[Any] | None, inspector: Any) -> list[dict[str, Any]]:
    """The rows of a comparison, with the gap that `distance` measures. diff: arguments of `etbackend diff`."""
    name = METRICS.get(distance.upper()) if isinstance(distance, str) else None
    if name is None and not callable(getattr(distance, "element_compare", None)):
        raise Error(
            f"distance: {distance!r}, expected one of {', '.join(METRICS)}, or an object with element_compare",
            reason="python.argument",
        )
    with tempfile.TemporaryDirectory() as folder:
        rows = _compare(diff, inputs, folder)
    if name is None:
        return _compared_rows(rows, distance, inspector)
    for row in rows:
        gap = row.pop("metrics").get(name)
        row["gap"] = [float("inf") if gap is None else gap]  # JSON has no infinity
    return rows


def _compare(diff: Sequence[str], inputs: Sequence[Any] | None, folder: str) -> list[dict[str, Any]]:
    words = [str(program_path()), "--no-config", "diff", *diff, "--json", f"--save-values={folder}"]
    for index, value in enumerate(inputs or []):
        path = os.path.join(folder, f"input{index}.npy")
        np.save(path, np.asarray(value))
        words.append(f"--input={path}")
    if inputs is None:
        words.append("--representative-inputs")
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode not in (0, 1):  # 1: a divergence
        raise error_of(done, "diff")
    blocks = json.loads(done.stdout)["blocks"]
    results = [(block, result) for block in blocks for result in block["results"]]
    return [_row(block, result, folder, index) for index, (block, result) in enumerate(results)]


__all__ = ["GapMapping", "METRICS", "NumericalComparatorBase", "gap_rows"]
