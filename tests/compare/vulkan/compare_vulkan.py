# SPDX-License-Identifier: Apache-2.0
"""Lowers models with the official Vulkan partitioner and runs the programs on our plugins for GPUs.

    python tests/compare/vulkan/compare_vulkan.py ETBACKEND DIR [--plugin vulkan|opencl] [--keep FOLDER] [--page docs/vulkan.md] [--only PATTERN]

Each NAME.pt2 of the folder (tests/fixtures/zoo, with NAME.in.N.npy or .txt) becomes a program; --keep stores them and reads those that are there. Columns: regions (delegates) and the nodes in
them, nodes that the official partitioner leaves outside, and the largest error of the results against PyTorch in float64, divided by their largest number; "exact" if integers
and flags are equal and the error is 0. Or why it does not run: the exporter fails, operators that this plugin lacks, or what the host lacks. --page rewrites the table of a page. Needs torch and executorch.
"""
import argparse
import ast
import collections
import copy
import fnmatch
import logging
import pathlib
import re
import signal
import subprocess
import tempfile
import warnings

import numpy as np

BEGIN, END = "<!-- official -->\n", "<!-- end of official -->"


def argument(path):
    return path.read_text().strip() if path.suffix == ".txt" else str(path)


def inputs_of(folder, name):
    return sorted(folder.glob(f"{name}.in.*"), key=lambda path: int(path.name.split(".in.")[1].split(".")[0]))


class TooLong(Exception):
    pass


def stop(*_):
    raise TooLong


def lower(path, seconds):
    """The bytes of the program, and (regions, nodes in them, nodes outside)."""
    import torch
    from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
    from executorch.exir.lowered_backend_module import get_lowered_submodules
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    torch.set_grad_enabled(False)
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        exported = torch.export.load(path)
        edge = to_edge_transform_and_lower(exported, partitioner=[VulkanPartitioner()], compile_config=EdgeCompileConfig(_check_ir_validity=False))

        def count(graph):
            names = [str(node.target) for node in graph.nodes if node.op == "call_function"]
            return sum("getitem" not in name and "executorch_call_delegate" not in name for name in names)

        regions = get_lowered_submodules(edge.exported_program().graph_module)
        inside = sum(count(module.original_module.graph_module.graph) for _, module, _ in regions)
        outside = count(edge.exported_program().graph)
        # Without the pass and the mark, a file has no initial state.
        signature = edge.exported_program().graph_signature
        mutated = set(signature.buffers_to_mutate.values())
        states = [name for name, buffer in signature.inputs_to_buffers.items() if buffer in mutated]
        for node in edge.exported_program().graph.nodes:
            if node.op == "placeholder" and node.name in states:
                node.meta["et_init_buffer"] = True
        passes = [InitializedMutableBufferPass(states)] if states else []
        return edge.to_executorch(ExecutorchBackendConfig(passes=passes)).buffer, (len(regions), inside, outside)
    finally:
        signal.alarm(0)


def in_float64(path, inputs):
    """PyTorch's results in float64, or in the model's own types where it names one."""
    import torch

    torch.set_grad_enabled(False)
    values = [torch.from_numpy(np.load(each)) if each.suffix == ".npy" else ast.literal_eval(argument(each).replace("true", "True").replace("false", "False").replace("none", "None")) for each in inputs]
    wide = [value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value for value in values]
    module = torch.export.load(path).module()
    try:
        made = copy.deepcopy(module).double()(*wide)
    except Exception:
        made = module(*values)
    flat, _ = torch.utils._pytree.tree_flatten(made)
    return [value.detach().numpy() for value in flat if isinstance(value, torch.Tensor)]


def error_of(found, expected):
    """The largest error of floats divided by the largest number; the number of differences of others."""
    if found.shape != expected.shape:
        return f"sizes {found.shape}, expected {expected.shape}"
    if expected.dtype.kind != "f":
        return 0.0 if np.array_equal(found, expected) else f"{int((found != expected).sum())} of {found.size} differ"
    a, b = found.astype(np.float64), expected.astype(np.float64)
    same = (np.isnan(a) & np.isnan(b)) | (a == b)
    largest = np.abs(np.where(np.isfinite(b), b, 0)).max() if b.size else 0
    return float(np.where(same, 0, np.abs(a - b)).max() / (largest or 1)) if b.size else 0.0


def run(etbackend, plugin, program, inputs, folder):
    call = [etbackend, "run", str(program), "--output-dir", str(folder), "--backend-pin", f"VulkanBackend={plugin}"]
    for path in inputs:
        call += ["--input", argument(path)]
    return subprocess.run(call, capture_output=True, text=True)


def reason(text):
    """The last parts of a message."""
    line = next((line for line in text.splitlines() if line.startswith("etbackend")), text.strip().split("\n")[0])
    line = re.sub(r"^etbackend run: (method 'forward'[^:]*: )?(delegate \d+ 'VulkanBackend': )?(delegate 'VulkanBackend': )?(payload of VulkanBackend: )?", "", line)
    return line[:220]


def measure(args, path, work):
    name = path.stem
    program, facts = (args.keep or work) / f"{name}.pte", (args.keep or work) / f"{name}.facts"
    if not program.exists():
        try:
            data, counts = lower(path, args.seconds)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return None, f"official exporter: {type(error).__name__}"
        program.write_bytes(data)
        facts.write_text(" ".join(map(str, counts)))
    counts = tuple(map(int, facts.read_text().split()))
    if counts[0] == 0:
        return counts, "no region"
    inputs = inputs_of(path.parent, name)
    with tempfile.TemporaryDirectory() as out:
        done = run(args.etbackend, args.plugin, program, inputs, out)
        if done.returncode != 0:
            return counts, reason(done.stderr)
        expected = in_float64(path, inputs)
        errors = [error_of(np.load(pathlib.Path(out) / f"{i}.npy"), each) for i, each in enumerate(expected)]
    wrong = [error for error in errors if isinstance(error, str)]
    if wrong:
        return counts, "WRONG: " + "; ".join(wrong)
    worst = max(errors, default=0.0)
    return counts, "exact" if worst == 0 else f"{worst:.1e}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("etbackend")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--plugin", default="vulkan")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--only", default="*")
    parser.add_argument("--seconds", type=int, default=300, help="limit of the official exporter for a model")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
    rows, totals = [], collections.Counter()
    with tempfile.TemporaryDirectory() as work:
        for path in sorted(args.folder.glob("*.pt2")):
            if not fnmatch.fnmatch(path.stem, args.only):
                continue
            counts, result = measure(args, path, pathlib.Path(work))
            rows.append(f"| {path.stem} | " + (" | ".join(map(str, counts)) if counts else "- | - | -") + f" | {result} |")
            totals["runs" if re.match(r"exact|\d", result) else "not"] += 1
            print(rows[-1], flush=True)
    table = "| model | regions | nodes inside | outside | largest error, or why it does not run |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
    print(f"{totals['runs']} run, {totals['not']} do not")
    if args.page:
        text = args.page.read_text()
        before, rest = text.split(BEGIN)
        args.page.write_text(before + BEGIN + table + END + rest.split(END, 1)[1])


if __name__ == "__main__":
    main()
