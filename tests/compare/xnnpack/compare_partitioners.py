# SPDX-License-Identifier: Apache-2.0
"""Compares what the official XNNPACK partitioner takes with what our plugin takes, op by op and precision by precision.

    python tests/compare/xnnpack/compare_partitioners.py ETBACKEND [--only PATTERN] [--verbose]

For every case of partitioner_cases.py: the nodes that each side leaves to portable kernels, and what our program gives on our runtime and on the official
one, as the largest difference from PyTorch's result. Exits with 1 when the official side takes a whole case and ours does not, or leaves fewer nodes
than ours, or when a program of ours gives other numbers. Needs torch, torchao and executorch.
"""
import argparse
import collections
import contextlib
import fnmatch
import io
import json
import logging
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch.export import export

import partitioner_cases as cases

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS / "fixtures"))

PRECISIONS = {
    "float32": cases.FLOAT, "float16": cases.FLOAT, "int8": cases.STATIC, "int8 per channel": cases.STATIC, "dynamic int8": cases.DYNAMIC,
    "4 bits": cases.FOUR_BITS, "float32, dynamic sizes": cases.dynamic,
}
# Allowance beside rounding: half of the largest int8 step of these tensors, once for each quantisation of a
# chain.
TOLERANCES = {"float32": 1e-5, "float32, dynamic sizes": 1e-5, "float16": 4e-3}


def quantised(module, inputs, precision):
    if precision == "4 bits":
        from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
        from torchao.quantization.granularity import PerGroup
        from torchao.utils import unwrap_tensor_subclass

        module = torch.nn.Sequential(module)  # a layer is replaced in its parent
        quantize_(module, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)))
        return unwrap_tensor_subclass(module)
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    config = get_symmetric_quantization_config(is_per_channel=precision == "int8 per channel" or precision == "dynamic int8", is_dynamic=precision == "dynamic int8")
    prepared = prepare_pt2e(export(module, inputs).module(), XNNPACKQuantizer().set_global(config))
    prepared(*inputs)
    return convert_pt2e(prepared)


def prepare(case, precision):
    """The exported program, its inputs and its results; None when the case has nothing to do with the precision."""
    name, module, inputs, *rest = case
    module = module.eval()
    if precision == "float16":
        module, inputs = module.half(), tuple(t.half() for t in inputs)
    elif not precision.startswith("float32"):
        module = quantised(module, inputs, precision)
    program = export(module, inputs, dynamic_shapes=rest[0] if rest else None)
    if not precision.startswith("float"):
        ops = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
        if not any("quant" in op for op in ops):
            return None
    result = program.module()(*inputs)
    return program, inputs, list(result) if isinstance(result, (tuple, list)) else [result]


def lower_officially(archive, precision, program):
    """Writes the program; what is left outside delegates, and the error when there is one."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackDynamicallyQuantizedPartitioner, XnnpackPartitioner
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

    partitioners = [XnnpackPartitioner()]
    if precision in ("dynamic int8", "4 bits"):
        partitioners.insert(0, XnnpackDynamicallyQuantizedPartitioner())
    try:
        edge = to_edge_transform_and_lower(torch.export.load(archive), partitioner=partitioners, compile_config=EdgeCompileConfig(_check_ir_validity=False))
        calls = [str(node.target) for node in edge.exported_program().graph.nodes if node.op == "call_function"]
        left = [op for op in calls if not any(word in op for word in ("executorch_call_delegate", "getitem", "sym_size", "_operator."))]
        program.write_bytes(edge.to_executorch().buffer)
    except Exception as error:  # noqa: BLE001  (any error of the official side)
        return None, f"{type(error).__name__}: {(str(error).strip() or '-').splitlines()[0][:80]}"
    return left, None


def short(op):
    return op.replace("<EdgeOpOverload: ", "").split(">")[0]


def worst(got, wanted):
    largest = 0.0
    for a, b in zip(got, wanted, strict=True):
        a, b = np.asarray(a, np.float64), b.detach().double().numpy()
        if a.shape != b.shape:
            return float("inf")
        largest = max(largest, float(np.max(np.abs(a - b) / np.maximum(1, np.abs(b)), initial=0)))
    return largest


class Comparison:
    def __init__(self, etbackend, temporary):
        self.etbackend, self.temporary = etbackend, temporary

    def call(self, *arguments):
        done = subprocess.run([self.etbackend, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError((done.stderr.strip() or "-").splitlines()[-1])

    def ours(self, archive, inputs, wanted):
        program, report = self.temporary / "ours.pte", self.temporary / "report.json"
        self.call("compile", archive, "-b", "xnnpack", "-o", program, "--allow-missing-kernels", "--report-json", report)
        graphs = json.loads(report.read_text())["graphs"]
        nodes = [node for graph in graphs for node in graph["nodes"]]
        left = [node for node in nodes if node["region"] is None or node["region"] < 0]
        reasons = [f"{node['op']}: {refusal.get('reason', '')} {refusal.get('text', '')}" for node in left for refusal in node["refusals"]]
        arguments = []
        for i, value in enumerate(inputs):
            np.save(self.temporary / f"in.{i}.npy", value.contiguous().numpy())
            arguments += ["--input", self.temporary / f"in.{i}.npy"]
        out = self.temporary / "out"
        out.mkdir(exist_ok=True)
        for path in out.glob("*"):
            path.unlink()
        self.call("run", program, "--output-dir", out, *arguments)
        here = worst([np.load(path) for path in sorted(out.glob("*.npy"), key=lambda p: int(p.stem))], wanted)
        return [node["op"] for node in left], reasons, here, self.there(program, inputs, wanted)

    def there(self, program, inputs, wanted):
        from executorch.runtime import Runtime

        try:
            method = Runtime.get().load_program(str(program)).load_method("forward")
            return worst([value.numpy() for value in method.execute(list(inputs))], wanted)
        except Exception as error:  # noqa: BLE001
            return str(error).splitlines()[0][:60]

    def check(self, case, precision):
        prepared = prepare(case, precision)
        if prepared is None:
            return None
        program, inputs, wanted = prepared
        archive = self.temporary / "model.pt2"
        with contextlib.redirect_stderr(io.StringIO()):
            torch.export.save(program, archive)
            official = self.temporary / "official.pte"
            theirs, fault = lower_officially(archive, precision, official)
            if theirs is not None:
                there = self.there(official, inputs, wanted)
                if not isinstance(there, float) or there > TOLERANCES.get(precision, 0.1):  # delegated but not computed
                    theirs, fault = None, f"other numbers: {there if not isinstance(there, float) else format(there, '.2g')}"
        try:
            left, reasons, here, there = self.ours(archive, inputs, wanted)
        except RuntimeError as error:
            return {"faults": [str(error)], "theirs": theirs, "their_fault": fault, "left": [], "reasons": [], "here": 0, "there": 0}
        faults = []
        if theirs is not None and len(left) > len(theirs):
            faults.append(f"leaves {', '.join(left)}, the official one {', '.join(map(short, theirs)) or 'nothing'}")
        if here > TOLERANCES.get(precision, 0.1):
            faults.append(f"differs by {here:.3g}")
        if isinstance(there, float) and abs(there - here) > TOLERANCES.get(precision, 0.1):
            faults.append(f"differs by {there:.3g} on the official runtime")
        return {"faults": faults, "theirs": theirs, "their_fault": fault, "left": left, "reasons": reasons, "here": here, "there": there}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etbackend")
    parser.add_argument("--only", default="*")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    failed = 0
    counts = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as temporary:
        comparison = Comparison(options.etbackend, pathlib.Path(temporary))
        for precision, make in PRECISIONS.items():
            torch.manual_seed(31)
            for case in make():
                name = f"{precision}/{case[0]}"
                if not fnmatch.fnmatch(name, options.only):
                    continue
                try:
                    found = comparison.check(case, precision)
                except Exception as error:  # noqa: BLE001  (torch cannot export or quantise it)
                    counts[precision]["not exported"] += 1
                    print(f"{name}: not exported: {type(error).__name__}: {str(error).splitlines()[0][:100]}", flush=True)
                    continue
                if found is None:
                    continue
                count = counts[precision]
                count["cases"] += 1
                count["official whole"] += found["theirs"] == []
                count["official fails"] += found["theirs"] is None
                count["ours whole"] += found["left"] == [] and not (found["faults"] and not found["here"])
                count["official runtime"] += isinstance(found["there"], float)
                count["faults"] += bool(found["faults"])
                failed += bool(found["faults"])
                theirs = found["their_fault"] or ", ".join(map(short, found["theirs"])) or "all"
                if found["faults"] or options.verbose:
                    print(f"{name}: official {theirs}; ours {', '.join(found['left']) or 'all'}; {found['here']:.2g} here, {found['there']} there; "
                          f"{'; '.join(found['faults']) or 'good'} {found['reasons'] if found['faults'] else ''}", flush=True)
    table = "| precision | cases | official partitioner takes all of | official flow fails or gives other numbers | ours takes all of | ours runs on the official runtime | behind |\n|---|---|---|---|---|---|---|\n"
    for precision, count in counts.items():
        table += f"| {precision} | {count['cases']} | {count['official whole']} | {count['official fails']} | {count['ours whole']} | {count['official runtime']} | {count['faults']} |\n"
    print(table)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
