#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports networks of public packages, in small configurations with random weights, for survey_networks.py.

usage: export_networks.py OUT_DIR [--group NAME]... [--only REGEX] [--again] [--list]

The rows are in from_PACKAGE.py; a package that is not installed is skipped and named. Writes of each network NAME.pt2, NAME.in.I.npy
(.txt for a number, true, false or none), NAME.out.I.npy and NAME.json (group, cause, tolerance). NAME.failed holds what PyTorch cannot
export, with the message. Goes on where an earlier call stopped; --again repeats the chosen ones. Nothing is downloaded.
"""
import argparse
import copy
import importlib
import json
import pathlib
import re
import signal
import sys
import warnings

import numpy as np
import torch
from torch import nn
from torch.utils import _pytree as pytree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fixtures"))
import make_archives  # noqa: E402
from network import GROUPS, import_torchvision, settle  # noqa: E402

SECONDS = 240


class Tensors(nn.Module):
    """The network with flat results: every tensor that it returns. Named inputs become positional ones."""

    def __init__(self, network, names=()):
        super().__init__()
        self.network, self.names = network, names

    def forward(self, *args):
        results = self.network(**dict(zip(self.names, args))) if self.names else self.network(*args)
        return [x for x in leaves(results) if isinstance(x, torch.Tensor)]


def leaves(value):
    if hasattr(value, "to_tuple"):  # a result of transformers or diffusers
        value = value.to_tuple()
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    return pytree.tree_leaves(value)


def copied(inputs):
    return pytree.tree_map_only(torch.Tensor, torch.clone, inputs)


def check_variety(results):
    """Equal numbers would be right for a wrong reason."""
    if not any(x.numel() == 1 or (x.isfinite().any() and (x != x.flatten()[0]).any()) for x in results):
        raise ValueError("the network's results are constant or not finite")


def write_arrays(out, network, inputs, results):
    check_variety(results)
    for i, value in enumerate(pytree.tree_leaves(inputs)):
        if isinstance(value, torch.Tensor):
            np.save(out / f"{network.name}.in.{i}.npy", value.detach().contiguous().resolve_conj().numpy())
        else:
            (out / f"{network.name}.in.{i}.txt").write_text(str(value).lower())
    for i, value in enumerate(results):
        np.save(out / f"{network.name}.out.{i}.npy", value.detach().contiguous().resolve_conj().numpy())


def export(module, inputs, shapes):
    """Strict where the plain way fails: it follows Python's values through more code."""
    try:
        return torch.export.export(copy.deepcopy(module), copied(inputs), dynamic_shapes=shapes, strict=False)
    except Exception as error:  # noqa: BLE001
        try:
            return torch.export.export(copy.deepcopy(module), copied(inputs), dynamic_shapes=shapes, strict=True)
        except Exception:  # noqa: BLE001
            raise error


def write_inference(out, network):
    with torch.no_grad():
        module, inputs, *dynamic = network.make()
        if not isinstance(module, torch.fx.GraphModule):  # a quantised graph is in evaluation mode and rejects eval()
            settle(module.eval())
        names = tuple(inputs) if isinstance(inputs, dict) else ()
        inputs = tuple(inputs.values()) if names else inputs
        module = Tensors(module, names)
        shapes = (tuple(dynamic[0]),) if dynamic else None  # of the one parameter *args
        program = export(module, inputs, shapes)
        write_arrays(out, network, inputs, module(*copied(inputs)))
    make_archives.scrub(program.graph_module)
    return program


def write_training(out, network):
    module, inputs = network.make()
    program = make_archives.export_training((copy.deepcopy(module), copied(inputs)))
    write_arrays(out, network, inputs, make_archives.training_results((module, copied(inputs))))
    return program


def fail_late(*_):
    raise TimeoutError(f"export took longer than {SECONDS} seconds")


def write(out, network):
    signal.alarm(SECONDS)
    for path in out.glob(f"{network.name}.*"):
        path.unlink()
    torch.manual_seed(5)
    program = (write_training if network.is_training else write_inference)(out, network)
    torch.export.save(program, out / f"{network.name}.pt2")
    row = {key: getattr(network, key) for key in ("group", "cause", "tolerance", "bounds", "remark")}
    (out / f"{network.name}.json").write_text(json.dumps(row))


def rows():
    """All rows of the packages that can be imported."""
    try:
        import_torchvision()
    except ImportError:
        pass
    found = []
    for path in sorted(HERE.glob("from_*.py")):
        for name, make_rows in vars(importlib.import_module(path.stem)).items():
            if not name.startswith("rows_of_"):
                continue
            try:
                found += make_rows()
            except (ImportError, OSError) as error:
                print(f"skipped: {name.removeprefix('rows_of_')} cannot be imported ({error})", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--group", action="append", choices=GROUPS)
    parser.add_argument("--only", default="")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--list", action="store_true", help="prints the rows and writes nothing")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, fail_late)
    options.out.mkdir(parents=True, exist_ok=True)
    networks = [x for x in rows() if (not options.group or x.group in options.group) and re.search(options.only, x.name)]
    twice = {x.name for x in networks if sum(y.name == x.name for y in networks) > 1}
    if twice:
        sys.exit(f"names of two rows: {sorted(twice)}")
    for network in networks:
        if options.list:
            print(f"{network.group}\t{network.name}\t{network.cause}")
            continue
        failure = options.out / f"{network.name}.failed"
        if not options.again and (failure.exists() or (options.out / f"{network.name}.json").exists()):
            continue
        try:
            write(options.out, network)
            print(f"{network.name}: written", flush=True)
        except Exception as error:  # noqa: BLE001  (one network that torch cannot export must not hide the others)
            text = (str(error).strip() or "-").splitlines()[0][:300]
            failure.write_text(json.dumps({"group": network.group, "cause": network.cause, "error": f"{type(error).__name__}: {text}"}))
            print(f"{network.name}: cannot be exported: {type(error).__name__}: {text}", flush=True)
        finally:
            signal.alarm(0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
