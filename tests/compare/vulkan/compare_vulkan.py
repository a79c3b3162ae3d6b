# SPDX-License-Identifier: Apache-2.0
"""Lowers models with the official Vulkan partitioner and runs the programs on our plugins for GPUs, and on the official run time.

    python tests/compare/vulkan/compare_vulkan.py ETBACKEND DIR [--official PEER LIBRARY] [--plugin vulkan|opencl] [--plugin-path FOLDER]
        [--keep FOLDER] [--rows FILE] [--page docs/vulkan.md] [--only PATTERN]

Each NAME.pt2 of the folder (tests/fixtures/zoo, with NAME.in.N.npy or .txt) becomes a program; --keep stores them and reads those that are there. Columns: regions (delegates) and the nodes in
them, nodes that the official partitioner leaves outside, and the largest error of the results against PyTorch in float64, divided by their largest number; "exact" if integers
and flags are equal and the error is 0. Or why it does not run: the exporter fails, operators that this plugin lacks, or what the host lacks. Each run is a process of its own, so that an abort ends only that one.
--rows stores the results of finished models in a file and does not repeat those that are there.
--official adds the same for the official run time: PEER is the program of the folder peer here, LIBRARY the official run time as a shared library. --page rewrites the table of a page, and
with --official the sentences about it. Needs torch and executorch.
"""
import argparse
import ast
import copy
import fnmatch
import json
import logging
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import warnings

import numpy as np

BEGIN, END = "<!-- official -->\n", "<!-- end of official -->"
# Of the official run time's log and of the peer: a line that says why, and what to leave out of it. The first that fits.
OFFICIAL_MESSAGES = [
    (r"Missing operator|Could not find|Exception|what\(\)", r"^.*?(what\(\): *|\] )"),
    (r"^E ", r"^.*?\] "),
    (r"error 0x", ""),
]


def argument(path):
    return path.read_text().strip() if path.suffix == ".txt" else str(path)


def inputs_of(folder, name):
    return sorted(folder.glob(f"{name}.in.*"), key=lambda path: int(path.name.split(".in.")[1].split(".")[0]))


class TooLong(Exception):
    pass


def stop(*_):
    raise TooLong


def lower(path, seconds):
    """The bytes of the program of an archive or exported program, and (regions, nodes in them, nodes outside)."""
    import torch
    from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
    from executorch.exir.lowered_backend_module import get_lowered_submodules
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    torch.set_grad_enabled(False)
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        exported = torch.export.load(path) if isinstance(path, pathlib.Path) else path
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


def widened(module):
    """A copy of an exported module in float64, also where a node names float32."""
    import torch

    made = copy.deepcopy(module).double()
    for graph in (each.graph for each in made.modules() if isinstance(each, torch.fx.GraphModule)):
        for node in graph.nodes:
            node.args = torch.fx.node.map_aggregate(node.args, lambda each: torch.float64 if each == torch.float32 else each)
            node.kwargs = torch.fx.node.map_aggregate(node.kwargs, lambda each: torch.float64 if each == torch.float32 else each)
    made.recompile()
    return made


def in_float64(path, inputs):
    """PyTorch's results in float64; in the model's own types where it has no such form."""
    import executorch.backends.vulkan.partitioner.vulkan_partitioner  # noqa: F401  registers operators of quantised archives
    import torch

    torch.set_grad_enabled(False)
    values = [torch.from_numpy(np.load(each)) if each.suffix == ".npy" else ast.literal_eval(argument(each).replace("true", "True").replace("false", "False").replace("none", "None")) for each in inputs]
    wide = [value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value for value in values]
    module = torch.export.load(path).module()
    try:
        made = copy.deepcopy(module).double()(*wide)
    except Exception:
        try:
            made = widened(module)(*wide)
        except Exception:
            made = module(*values)
    tensors = [value for value in torch.utils._pytree.tree_flatten(made)[0] if isinstance(value, torch.Tensor)]
    own = [value for value in torch.utils._pytree.tree_flatten(module(*values))[0] if isinstance(value, torch.Tensor)]
    # A view as another type has other sizes in float64.
    if [value.shape for value in tensors] != [value.shape for value in own]:
        tensors = own
    return [value.detach().numpy() for value in tensors]


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


def expected_results(path, inputs):
    """PyTorch's results in float64, or those beside the archive, in float32, where the archive's arguments are no plain list."""
    try:
        return in_float64(path, inputs)
    except Exception:
        stored = sorted(path.parent.glob(f"{path.stem}.out.*.npy"), key=lambda each: int(each.name.split(".out.")[1].split(".")[0]))
        return [np.load(each) for each in stored]


def environment_with(more):
    return {**os.environ, **more}


class Runner:
    """Runs programs in processes of their own."""

    def __init__(self, call, patterns, environment):
        self.call, self.patterns, self.environment = call, patterns, environment_with(environment)

    def run(self, program, inputs, folder, seconds):
        """None, or why there are no results."""
        try:
            done = subprocess.run(self.call(program, inputs, folder), capture_output=True, text=True, errors="replace", timeout=seconds, env=self.environment)
        except subprocess.TimeoutExpired:
            return f"no result within {seconds} s"
        if done.returncode < 0:
            return f"{signal.Signals(-done.returncode).name}: {self.reason(done.stderr)}"
        return self.reason(done.stderr) if done.returncode else None

    def reason(self, text):
        """The last parts of the message that says most."""
        lines = text.strip().splitlines() or [""]
        for start, cut in self.patterns:
            line = next((line for line in lines if re.search(start, line)), None)
            if line:
                return self.shortened(re.sub(cut, "", line))
        return self.shortened(lines[0])

    @staticmethod
    def shortened(line):
        """Without the folders of a build, for a cell of a table."""
        return re.sub(r"\S*/(?=backends/vulkan/)", "", line).replace("|", "/")[:220]


def ours(args, environment={}):
    path = ["--plugin-path", args.plugin_path] if args.plugin_path else []
    pin = ["--backend-pin", f"VulkanBackend={args.plugin}"]

    def call(program, inputs, folder):
        return [args.etbackend, "run", str(program), "--output-dir", str(folder), *path, *pin, *[part for each in inputs for part in ("--input", argument(each))]]

    cut = r"^etbackend run: (method 'forward'[^:]*: )?(delegate \d+ 'VulkanBackend': )?(delegate 'VulkanBackend': )?(payload of VulkanBackend: )?"
    return Runner(call, [(r"^etbackend", cut)], environment)


def official(args, environment={}):
    peer, library = args.official

    def call(program, inputs, folder):
        return [peer, library, str(program), str(folder), "1", *map(argument, inputs)]

    return Runner(call, OFFICIAL_MESSAGES, environment)


def make_program(args, path, keep):
    """The program's path and its counts, or why the exporter has none."""
    program, facts, failed = (keep / f"{path.stem}.{kind}" for kind in ("pte", "facts", "failed"))
    if failed.exists():
        return None, failed.read_text()
    if not program.exists():
        try:
            data, counts = lower(path, args.seconds)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            failed.write_text(f"official exporter: {type(error).__name__}")
            return None, failed.read_text()
        program.write_bytes(data)
        facts.write_text(" ".join(map(str, counts)))
    return program, tuple(map(int, facts.read_text().split()))


def result_of(runner, program, inputs, expected, seconds):
    """The largest error, or a text."""
    with tempfile.TemporaryDirectory() as out:
        reason = runner.run(program, inputs, out, seconds)
        if reason:
            return reason
        errors = [error_of(np.load(pathlib.Path(out) / f"{i}.npy"), each) for i, each in enumerate(expected)]
    wrong = [error for error in errors if isinstance(error, str)]
    return "WRONG: " + "; ".join(wrong) if wrong else max(errors, default=0.0)


def written(result):
    return result if isinstance(result, str) else "exact" if result == 0 else f"{result:.1e}"


def measure(args, path, keep, runners):
    """Counts, and a result for each runner."""
    program, counts = make_program(args, path, keep)
    if program is None:
        return None, [counts] + [""] * (len(runners) - 1)
    if counts[0] == 0:
        return counts, ["no region"] + [""] * (len(runners) - 1)
    inputs = inputs_of(path.parent, path.stem)
    expected = expected_results(path, inputs)
    if not expected:
        return counts, ["no results to compare with"] + [""] * (len(runners) - 1)
    return counts, [result_of(runner, program, inputs, expected, args.run_seconds) for runner in runners]


def summary(rows):
    """Sentences about the results here and on the official run time."""
    pairs = [(name, *results) for name, counts, results in rows if counts and counts[0]]
    runs = [[name for name, *results in pairs if not isinstance(results[side], str)] for side in (0, 1)]
    both = [row for row in pairs if row[0] in runs[0] and row[0] in runs[1]]
    larger = [row for row in both if row[1] > row[2]]

    def names(found):
        return ", ".join(f"`{name}`" for name in found) or "none"

    lines = [
        f"The exporter writes regions for {len(pairs)} models. {len(runs[0])} run here, {len(runs[1])} on the official run time, {len(both)} on both. The error here is no larger than the official one in {len(both) - len(larger)} of these"
        + (": all but " + ", ".join(f"`{name}` ({written(a)} here, {written(b)} there)" for name, a, b in larger) if larger else "") + ".",
        f"Only here: {names([name for name in runs[0] if name not in runs[1]])}. Only on the official run time: {names([name for name in runs[1] if name not in runs[0]])}.",
    ]
    for side, where in ((0, "here"), (1, "on the official run time")):
        ends = [row[0] for row in pairs if isinstance(row[1 + side], str) and row[1 + side].startswith("SIG")]
        lines.append(f"Ends the process {where}: {names(ends)}.")
    return "\n".join(lines) + "\n"


def table_of(rows, runners):
    columns = ["model", "regions", "nodes inside", "outside", "largest error, or why it does not run"] + ["on the official run time"] * (len(runners) - 1)
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for name, counts, results in rows:
        lines.append(f"| {name} | " + " | ".join(map(str, counts or ["-"] * 3)) + " | " + " | ".join(map(written, results)) + " |")
    return "\n".join(lines) + "\n"


def add_options(parser):
    """Adds the options that compare_drivers.py has, too."""
    parser.add_argument("etbackend")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--official", nargs=2, metavar=("PEER", "LIBRARY"))
    parser.add_argument("--plugin-path")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--rows", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--only", default="*")
    parser.add_argument("--seconds", type=int, default=300, help="limit of the official exporter for a model")
    parser.add_argument("--run-seconds", type=int, default=300, help="limit of a run")


def main():
    parser = argparse.ArgumentParser()
    add_options(parser)
    parser.add_argument("--plugin", default="vulkan")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
    runners = [ours(args)] + ([official(args)] if args.official else [])
    rows, finished = [], json.loads(args.rows.read_text()) if args.rows and args.rows.exists() else {}
    with tempfile.TemporaryDirectory() as work:
        for path in sorted(args.folder.glob("*.pt2")):
            if not fnmatch.fnmatch(path.stem, args.only):
                continue
            if path.stem not in finished:
                finished[path.stem] = measure(args, path, args.keep or pathlib.Path(work), runners)
                if args.rows:
                    args.rows.write_text(json.dumps(finished))
            rows.append((path.stem, *finished[path.stem]))
            print(table_of(rows[-1:], runners).splitlines()[-1], flush=True)
    text = (summary(rows) + "\n" if args.official else "") + table_of(rows, runners)
    print(summary(rows) if args.official else f"{sum(not isinstance(results[0], str) for *_, results in rows)} of {len(rows)} run")
    if args.page:
        page = args.page.read_text()
        before, rest = page.split(BEGIN)
        args.page.write_text(before + BEGIN + text + END + rest.split(END, 1)[1])


if __name__ == "__main__":
    main()
