#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports the models of tests/fixtures/zoo_models.py, as users would, with an example each.

usage: make_zoo.py OUT_DIR [--full] [NAME ...]

Writes NAME.pt2, NAME.in.I.npy (.txt for a number, true, false or none) and NAME.out.I.npy, which compare_compiled.py and compare_flows.py read.
"""
import copy
import pathlib
import sys
import traceback

import numpy as np
import torch

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
sys.path.insert(0, str(FIXTURES))
import make_archives  # noqa: E402


def load_zoo():
    """With a file name that does not depend on where this runs: it ends up in the archives."""
    scope = {"__name__": "zoo_models"}
    for name in ("zoo_vision.py", "zoo_models.py", "zoo_quantized.py", "zoo_ops.py", "zoo_gaps.py", "zoo_causes.py", "zoo_complex.py",
                 "zoo_training.py"):
        exec(compile((FIXTURES / name).read_text(), name, "exec"), scope)
    return scope


def write(out, name, entry, is_training=False):
    module, inputs = entry[0], entry[1]
    export = make_archives.export_training if is_training else make_archives.export
    torch.export.save(export((copy.deepcopy(module), *entry[1:])), out / f"{name}.pt2")
    if is_training:
        results = make_archives.training_results(entry)
    else:
        results = module(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
        results = results if isinstance(results, (tuple, list)) else (results,)
    for i, value in enumerate(inputs):
        if isinstance(value, torch.Tensor):
            np.save(out / f"{name}.in.{i}.npy", value.contiguous().numpy())
        else:
            (out / f"{name}.in.{i}.txt").write_text(str(value).lower())
    for i, value in enumerate(results):
        np.save(out / f"{name}.out.{i}.npy", value.detach().contiguous().numpy())


def main():
    arguments = [x for x in sys.argv[1:] if not x.startswith("--")]
    out = pathlib.Path(arguments[0])
    out.mkdir(parents=True, exist_ok=True)
    zoo = load_zoo()
    small = ("tiny", "quantized", "ops", "gaps", "causes", "complex_numbers", "training")
    chosen = ("full", "full_quantized") if "--full" in sys.argv else small
    models = {name: entry for family in chosen for name, entry in zoo[family]().items()}
    failed = 0
    for name, entry in models.items():
        if arguments[1:] and name not in arguments[1:]:
            continue
        try:
            write(out, name, entry, name in zoo["training"]())
        except Exception:  # noqa: BLE001  (one model that torch cannot export must not hide the others)
            failed += 1
            print(f"{name}: cannot be exported\n{traceback.format_exc(limit=3)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
