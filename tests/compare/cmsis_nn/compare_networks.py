# SPDX-License-Identifier: Apache-2.0
"""Compares whole int8 networks on the simulated DSP with CMSIS-NN's rules, code by code, and with float layers and XNNPACK.

    python tests/compare/cmsis_nn/compare_networks.py ETBACKEND [FILE.pt2...] [--functions CMSIS_NN] [--full] [--seeds 6]

Each file is a network that PT2E quantised; by default those of tests/fixtures. It is compiled for dsp_stub with the codes between layers as
outputs, and runs with random inputs. Its layers are computed again in integers: the whole network from the codes of the input, by the rules
of docs/dsp_stub.md, and each layer from the device's own codes, by CMSIS-NN's rules. With --functions, CMSIS-NN's own functions compute the
layers, too: a folder with its Include and Source, compiled for this machine. Float layers and XNNPACK run the same network; each of their
layers is compared with the rules from its own input codes. --full adds MobileNetV2 and ResNet-18 at 224 x 224, with random weights and
statistics of random images. Prints tables for docs/dsp_stub.md. Exits with 1 when a code differs that should not, or when a network is not
one region. Needs torch, torchao and executorch.
"""

import argparse
import collections
import json
import logging
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer  # noqa: F401  (registers the ops of archives)
from functions import Functions, build
from integer_network import DeviceRules, ExactRules, Reader, Rules, op_of

ROOT = Path(__file__).resolve().parents[3]
FILES = ["dsp_networks/digits_q8", "ds_cnn/ds_cnn", "dsp_networks/resnet_q8", "dsp_networks/mobilenet_v2_q8"]
CODES = 60  # outputs of a program: a payload has up to 64 inputs and outputs
BY_DESIGN = ("add",)  # layers that the device rounds in another way

HEADS = [["network", "regions", "layers", "bytes of TCM + arena", "cycles"],
         ["network", "rules of this page", "CMSIS-NN: all but additions", "additions", "result of the whole network"],
         ["network", "float: layers", "exact biases", "result", "XNNPACK: layers", "exact biases", "result", "XNNPACK and float: result"]]


def run(etbackend, *args):
    done = subprocess.run([etbackend, *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"etbackend {args[0]}: {done.stderr.strip()}")
    return done.stdout


def expose(program, names):
    """The program with these codes as outputs, after its own."""
    module = program.module()
    output = next(node for node in module.graph.nodes if node.op == "output")
    codes = [node for node in module.graph.nodes if op_of(node) == "quantize_per_tensor"]
    output.args = (tuple(output.args[0]) + tuple(codes[i] for i in names),)
    module.graph.set_codegen(torch.fx.graph.CodeGen())
    module.recompile()
    return torch.export.export(module, program.example_inputs[0])


class Device:
    """A network on one backend."""

    def __init__(self, etbackend, folder, backend, program, count):
        self.etbackend, self.folder, self.files = etbackend, folder / (backend or "float"), []
        self.folder.mkdir()
        for begin in range(0, count, CODES):
            archive, file = (self.folder / f"{begin}.{end}" for end in ("pt2", "pte"))
            torch.export.save(expose(program, range(begin, min(begin + CODES, count))), archive)
            arguments = ["-b", backend, "--report-json", self.folder / f"{begin}.json"] if backend else []
            run(etbackend, "compile", archive, "-o", file, *arguments)
            self.files.append(file)

    def codes(self, x):
        """The codes of all layers."""
        np.save(self.folder / "x.npy", x)
        out = []
        for file in self.files:
            results = self.folder / "out"
            run(self.etbackend, "run", file, "--input", self.folder / "x.npy", "--output-dir", results)
            out += [np.load(results / f"{i + 1}.npy") for i in range(len(list(results.glob("*.npy"))) - 1)]
            for path in results.iterdir():
                path.unlink()
        return out


class Count:
    def __init__(self):
        self.elements = self.different = self.largest = 0

    def add(self, found, expected):
        errors = np.abs(found.astype(np.int32).ravel() - expected.astype(np.int32).ravel())
        self.elements += errors.size
        self.different += int(np.count_nonzero(errors))
        self.largest = max(self.largest, int(errors.max(initial=0)))

    def __str__(self):
        return f"{self.different:,} of {self.elements:,}" + (f" (up to {self.largest})" if self.largest > 1 else "")


def chain(rules, layers, first):
    """The codes of all layers of a network."""
    codes = {layers[0].name: first}
    for layer in layers[1:]:
        codes[layer.name] = rules.compute(layer, [codes[name] for name in layer.inputs])
    return codes


def plan(etbackend, folder, path):
    """Regions, layers and cycles of the network as it is."""
    run(etbackend, "compile", path, "-b", "dsp_stub", "-o", folder / "whole.pte", "--report-json", folder / "whole.json")
    report = json.loads((folder / "whole.json").read_text())
    facts = json.loads(run(etbackend, "run", folder / "whole.pte", "--json"))["facts"][0]["fields"]
    regions = report["regions"]
    is_whole = len(regions) == 1 and report["non_delegated_nodes"] == 2
    cycles = round(sum(region["estimate"]["latency_ns"] for region in regions) * 0.8)
    return is_whole, len(regions), int(facts["layers"]), cycles, int(facts["tcm_bytes"]), int(facts["arena_bytes"])


class Peer:
    """Another implementation: each of its layers beside the device's rules, from its own codes, and its result beside the device's."""

    def __init__(self):
        self.layers, self.exact, self.result = Count(), Count(), Count()
        self.kinds = collections.defaultdict(Count)

    def compare(self, layers, device, own):
        for layer in layers[1:]:
            operands = [own[name] for name in layer.inputs]
            expected = DeviceRules().compute(layer, operands)
            self.layers.add(own[layer.name], expected)
            self.kinds[layer.kind].add(own[layer.name], expected)
            self.exact.add(own[layer.name], ExactRules().compute(layer, operands))
        self.layers.add(own[layers[0].name], device[layers[0].name])
        self.result.add(own[layers[-1].name], device[layers[-1].name])


class Comparison:
    def __init__(self, etbackend, path, functions, folder):
        self.program = torch.export.load(path)
        self.layers = Reader(self.program).layers
        self.functions = functions
        self.plan = plan(etbackend, folder, path)
        self.devices = {backend: Device(etbackend, folder, backend, self.program, len(self.layers)) for backend in ("dsp_stub", "", "xnnpack")}
        self.own, self.result, self.between_peers = Count(), Count(), Count()
        self.kinds, self.by_function = collections.defaultdict(Count), collections.defaultdict(Count)
        self.peers = {"": Peer(), "xnnpack": Peer()}

    def draw(self, seed):
        """Normal numbers that use the range of the input's codes."""
        first = self.layers[0]
        low, high = ((limit - first.result.zero) * first.result.scale for limit in (first.low, first.high))
        random = np.random.default_rng(seed)
        return random.normal((low + high) / 2, (high - low) / 5, first.shape).astype(np.float32)

    def compare(self, seed):
        x = self.draw(seed)
        found = self.codes("dsp_stub", x)
        first, last = found[self.layers[0].name], found[self.layers[-1].name]
        whole = chain(DeviceRules(), self.layers, first)
        for layer in self.layers[1:]:
            self.own.add(found[layer.name], whole[layer.name])
            operands = [found[name] for name in layer.inputs]
            self.kinds[layer.kind].add(found[layer.name], Rules().compute(layer, operands))
            if self.functions:
                self.by_function[layer.kind].add(found[layer.name], self.functions.compute(layer, operands))
        self.result.add(last, chain(self.functions or Rules(), self.layers, first)[self.layers[-1].name])
        results = []
        for backend, peer in self.peers.items():
            codes = self.codes(backend, x)
            peer.compare(self.layers, found, codes)
            results.append(codes[self.layers[-1].name])
        self.between_peers.add(*results)

    def codes(self, backend, x):
        return dict(zip((layer.name for layer in self.layers), self.devices[backend].codes(x)))

    def is_right(self):
        counts = [(kind, count) for table in (self.kinds, self.by_function) for kind, count in table.items()]
        designed = all(count.largest <= 1 if kind in BY_DESIGN else count.different == 0 for kind, count in counts)
        # The functions are what NumPy computes.
        equal = all(count.different == self.kinds[kind].different for kind, count in self.by_function.items())
        near = all(peer.layers.largest <= 1 for peer in self.peers.values())
        return self.plan[0] and self.own.different == 0 and designed and equal and near


def sum_of(table, kinds):
    total = Count()
    for kind in kinds:
        if kind in table:
            total.elements += table[kind].elements
            total.different += table[kind].different
            total.largest = max(total.largest, table[kind].largest)
    return total


def rows_of(name, made):
    """A row of each table."""
    _, regions, layers, cycles, tcm, arena = made.plan
    exact = [kind for kind in made.kinds if kind not in BY_DESIGN]
    table = made.by_function or made.kinds
    counts = [made.own, *(sum_of(table, kinds) for kinds in (exact, ["add"])), made.result]
    peers = [count for peer in made.peers.values() for count in (peer.layers, peer.exact, peer.result)]
    return [[name, regions, layers, f"{tcm:,} + {arena:,}", f"{cycles:,}"], [name, *counts], [name, *peers, made.between_peers]]


def make_full(folder):
    """Networks of real size. The files remain in the folder."""
    sys.path[:0] = [str(ROOT / "tests/fixtures"), str(ROOT / "tests/peer")]
    from make_dsp_networks import quantise
    from make_xnnpack_models import settled
    from make_zoo import load_zoo

    zoo = load_zoo()
    torch.manual_seed(1)
    networks = {"MobileNetV2, 224 x 224": zoo["MobileNetV2"](zoo["MobileNetV2"].FULL, 32, 1280, 1000), "ResNet-18, 224 x 224": zoo["ResNet18"](64, 1000)}
    for name, network in networks.items():
        settled(network, (torch.randn(1, 3, 224, 224),))
        path = folder / f"{name.split(',')[0]}.pt2"
        torch.export.save(quantise(network.eval(), torch.randn(4, 3, 224, 224).split(1)), path)
        yield name, path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etbackend")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--functions", type=Path, metavar="CMSIS_NN")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seeds", type=int, default=6)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    failed = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        functions = Functions(build(options.functions, folder)) if options.functions else None
        files = options.files or [ROOT / f"tests/fixtures/{name}.pt2" for name in FILES]
        networks = [(path.stem, path, options.seeds) for path in files]
        networks += [(name, path, 1) for name, path in make_full(folder)] if options.full else []
        tables, kinds = [[row] for row in HEADS], []
        for i, (name, path, seeds) in enumerate(networks):
            (folder / str(i)).mkdir()
            made = Comparison(options.etbackend, path, functions, folder / str(i))
            for seed in range(1, seeds + 1):
                made.compare(seed)
            for table, row in zip(tables, rows_of(name, made)):
                table.append(row)
            kinds.append(f"{name} " + ", ".join(f"{count.different} {kind}" for kind, count in made.peers["xnnpack"].kinds.items() if count.different))
            if not made.is_right():
                failed.append(name)
    for table in tables:
        print("\n".join("| " + " | ".join(map(str, row)) + " |" for row in [table[0], ["---"] * len(table[0]), *table[1:]]) + "\n")
    print("XNNPACK, different codes by kind of layer: " + "; ".join(kinds) + "\n")
    by = "NumPy and the functions of CMSIS-NN" if functions else "NumPy"
    print(f"{by}, {options.seeds} inputs a network, 1 for those of real size; failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
