#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lowers archives to XNNPACK with the official exporter and runs the programs here.

usage: check_official_xnnpack.py ETBACKEND ARCHIVE_DIR [NAME ...]

Every NAME.pt2 in ARCHIVE_DIR with NAME.in.I.npy and NAME.out.I.npy (make_zoo.py writes them) must give PyTorch's results, or at least those
of the official runtime, on our runtime and our XNNPACK plugin; the program is kept as NAME.official.pte. What the official exporter cannot lower is named and not counted. Needs numpy, torch and
executorch. Exits with 1 when something differs.
"""
import pathlib
import sys
import tempfile

import torch
from compare_compiled import difference, load_arrays, run_here, run_there, tolerance
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackDynamicallyQuantizedPartitioner, XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower


def lower(archive, program):
    is_dynamic = "dynamic" in archive.stem and "q8" in archive.stem
    partitioners = [XnnpackDynamicallyQuantizedPartitioner()] if is_dynamic else []
    lowered = to_edge_transform_and_lower(
        torch.export.load(archive), partitioner=partitioners + [XnnpackPartitioner()], compile_config=EdgeCompileConfig(_check_ir_validity=False))
    program.write_bytes(lowered.to_executorch().buffer)


def check(etbackend, folder, name, temporary):
    program = folder / f"{name}.official.pte"
    if not program.exists():
        try:
            lower(folder / f"{name}.pt2", program)
        except Exception as error:  # noqa: BLE001  (any error of the official side)
            return None, f"not lowered by the official exporter: {type(error).__name__}"
    calls = program.read_bytes().count(b"XnnpackBackend")
    if calls == 0:
        return None, "nothing for XNNPACK in it"
    out = temporary / name
    out.mkdir()
    try:
        found = run_here([etbackend, "run", str(program)], folder, name, len(load_arrays(folder, name, "in")), out)
    except RuntimeError as error:
        return False, (str(error) or "-").splitlines()[-1]
    fault = difference(found, load_arrays(folder, name, "out"), tolerance(name))
    if fault is None:
        return True, "equal"
    # The exporter itself may have changed the results, e.g. it replaces one GELU by another.
    if difference(found, run_there(program, load_arrays(folder, name, "in"), name), tolerance(name)) is None:
        return True, f"equal to the official runtime, which is not PyTorch's equal: {fault}"
    return False, fault


def main():
    etbackend, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    names = sys.argv[3:] or sorted(p.stem for p in folder.glob("*.pt2") if (folder / f"{p.stem}.out.0.npy").exists())
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in names:
            is_equal, text = check(etbackend, folder, name, pathlib.Path(temporary))
            results.append(is_equal)
            print(f"{name}: {text}", flush=True)
    print(f"{results.count(True)} of {len(results) - results.count(None)} official XNNPACK programs equal to PyTorch here")
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
