#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the cost of a small call from Python: x + y of 8 float32 elements on XNNPACK, here and through
ExecuTorch's Python API, in turns in one process.

usage: compare_latency.py [--rounds N] [--calls N] [--json]

It prints the median of the rounds' microseconds for each way to call, and the fastest round. Rounds are short, so that
on a busy machine many of them are undisturbed. It needs the wheel and torch; executorch 1.5.1 for its row. Exit code 1: the results differ, or nothing could be measured.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any



def ways(torch: Any, official: Any, program: bytes) -> dict[str, Callable[[], Any]]:
    """Calls to compare, by name."""
    import numpy as np

    import etbackend

    runtime = etbackend.Runtime.load(program, threads=1)
    x = np.arange(8, dtype=np.float32)
    y = np.full(8, 10, np.float32)
    method = runtime.method()
    found: dict[str, Callable[[], Any]] = {
        "etbackend, NumPy": lambda: runtime.forward(x, y),
        "etbackend, NumPy, copy=False": lambda: method.run((x, y), copy=False)[0],
    }
    if torch is not None:
        a, b = torch.from_numpy(x), torch.from_numpy(y)
        inputs = (a, b)
        found["etbackend, PyTorch"] = lambda: runtime.forward(a, b)
        found["etbackend, PyTorch, copy=False"] = lambda: method.run(inputs, copy=False)[0]
        if official is not None:
            loaded = official.Runtime.get().load_program(program)
            forward = loaded.load_method("forward")
            found["ExecuTorch, PyTorch"] = lambda: forward.execute(inputs)[0]
            found["ExecuTorch, PyTorch"].__dict__["program"] = loaded  # its methods need it
    return found


def measure(call: Callable[[], Any], calls: int) -> float:
    begin = time.perf_counter_ns()
    for _ in range(calls):
        call()
    return (time.perf_counter_ns() - begin) / calls / 1000


def make_program() -> bytes:
    """x + y of 8 elements, compiled for XNNPACK."""
    import torch

    import etbackend

    class Add(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x + y

    exported = torch.export.export(Add(), (torch.ones(8), torch.ones(8)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "add.pt2"
        torch.export.save(exported, path)
        return etbackend.compile(path, backends=["xnnpack"]).buffer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000, help="rounds; each measures every way (default: 2000)")
    parser.add_argument("--calls", type=int, default=20, help="calls of a way in a round (default: 20)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("compare_latency: torch is not installed, which makes the program", file=sys.stderr)
        return 1
    torch.set_num_threads(1)
    try:
        from executorch import runtime as official
    except ImportError:
        official = None
    calls = ways(torch, official, make_program())
    results = {name: [float(value) for value in call()] for name, call in calls.items()}
    if any(result != [10.0 + i for i in range(8)] for result in results.values()):
        print(f"compare_latency: the results differ: {results}", file=sys.stderr)
        return 1
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(options.rounds):
        for name, call in calls.items():
            times[name].append(measure(call, options.calls))
    rows = {name: {"median_us": statistics.median(row), "min_us": min(row)} for name, row in times.items()}
    if options.json:
        print(json.dumps(rows))
    else:
        for name, row in rows.items():
            print(f"{name:<32} median {row['median_us']:6.2f} us   min {row['min_us']:6.2f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
