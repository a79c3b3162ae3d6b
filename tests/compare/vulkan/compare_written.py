# SPDX-License-Identifier: Apache-2.0
"""Compiles models with `etbackend compile -b VulkanBackend` and runs the programs on ExecuTorch's own Vulkan run time, and on ours.

    python tests/compare/vulkan/compare_written.py ETBACKEND DIR PEER LIBRARY [--page docs/vulkan.md] [--only PATTERN]
    python tests/compare/vulkan/compare_written.py ETBACKEND --times [--page docs/vulkan.md]

PEER is a program that runs a .pte with the official run time: `PEER LIBRARY FILE.pte FOLDER RUNS INPUT...` writes 0.npy, 1.npy, ... to the folder. LIBRARY is that run time's VulkanBackend. Each NAME.pt2
of DIR has inputs NAME.in.N.npy or .txt, and PyTorch's results NAME.out.N.npy. Columns: regions, nodes in them and outside, and for both run times the largest error of the results against PyTorch in float64, divided by their largest number.
--times compiles the networks of tests/compare/runtime instead and counts processor seconds: of the official exporter from the loaded archive to the file, imports not counted, and of the whole command
here, the least of five. The two take turns. --page rewrites the table of a page. Needs torch and executorch.
"""
import argparse
import fnmatch
import json
import logging
import pathlib
import resource
import subprocess
import sys
import tempfile
import warnings

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "runtime")]

import compare_vulkan  # noqa: E402


def compile_here(etbackend, archive, program, report=None):
    more = ["--report-json", str(report)] if report else []
    done = subprocess.run([etbackend, "compile", "-b", "VulkanBackend", str(archive), "-o", str(program), *more], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{archive}: {done.stderr.strip()}")


def errors(folder, expected):
    found = [compare_vulkan.error_of(np.load(folder / f"{i}.npy"), each) for i, each in enumerate(expected)]
    wrong = [error for error in found if isinstance(error, str)]
    worst = max((error for error in found if not isinstance(error, str)), default=0.0)
    return "WRONG: " + "; ".join(wrong) if wrong else "exact" if worst == 0 else f"{worst:.1e}"


def on_peer(args, program, inputs, expected):
    with tempfile.TemporaryDirectory() as folder:
        call = [args.peer, args.library, str(program), folder, "1", *map(compare_vulkan.argument, inputs)]
        done = subprocess.run(call, capture_output=True, text=True)
        if done.returncode == 0:
            return errors(pathlib.Path(folder), expected)
        missing = sorted({line.rsplit("] ", 1)[1] for line in done.stderr.splitlines() if "Missing operator" in line and "] " in line})
        if missing:
            return "needs " + ", ".join(missing)
        return "ABORTS" if done.returncode < 0 else "FAILS: " + " ".join(done.stderr.split())[-120:]


def on_ours(args, program, inputs, expected):
    result = compare_vulkan.result_of(compare_vulkan.ours(args), program, inputs, expected, 300)
    return compare_vulkan.written(result)


def measure(args, path, work):
    program, report = work / "model.pte", work / "report.json"
    compile_here(args.etbackend, path, program, report)
    counts = json.loads(report.read_text())
    row = [counts["delegated_subgraphs"], counts["delegated_nodes"], counts["non_delegated_nodes"]]
    if row[0] == 0:
        return None
    inputs = compare_vulkan.inputs_of(path.parent, path.stem)
    expected = compare_vulkan.expected_results(path, inputs)
    return [path.stem, *row, on_peer(args, program, inputs, expected), on_ours(args, program, inputs, expected)]


def processor_seconds(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def official_seconds(archive):
    import torch
    from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

    exported = torch.export.load(archive)
    before = processor_seconds(resource.RUSAGE_SELF)
    edge = to_edge_transform_and_lower(exported, partitioner=[VulkanPartitioner()], compile_config=EdgeCompileConfig(_check_ir_validity=False))
    size = len(edge.to_executorch().buffer)
    return processor_seconds(resource.RUSAGE_SELF) - before, size


def seconds_here(etbackend, archive, program):
    before = processor_seconds(resource.RUSAGE_CHILDREN)
    compile_here(etbackend, archive, program)
    return processor_seconds(resource.RUSAGE_CHILDREN) - before


def times(args, work):
    import models
    import torch

    for name, model, example in models.all_models():
        archive, program = work / f"{name}.pt2", work / f"{name}.pte"
        with torch.no_grad():
            torch.export.save(torch.export.export(model.eval(), (example,)), archive)
        here = [seconds_here(args.etbackend, archive, program) for _ in range(3)]
        official, size = official_seconds(archive)
        here += [seconds_here(args.etbackend, archive, program) for _ in range(2)]
        least = min(here)
        yield [name, f"{official:.1f}", f"{least:.3f}", f"{official / least:.0f}", f"{size / 1e6:.1f}", f"{program.stat().st_size / 1e6:.1f}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("etbackend")
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("peer", nargs="?")
    parser.add_argument("library", nargs="?")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--only", default="*")
    args = parser.parse_args()
    args.plugin, args.plugin_path = "vulkan", None
    if not args.times and args.library is None:
        parser.error("expected DIR, PEER and LIBRARY")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if args.times:
            head, mark = ["network", "CPU s, official", "here", "times", ".pte MB, official", "here"], "written times"
            measured = times(args, work)
        else:
            head, mark = ["model", "regions", "nodes inside", "outside", "official run time", "this plugin"], "written"
            paths = [path for path in sorted(args.folder.glob("*.pt2")) if fnmatch.fnmatch(path.stem, args.only)]
            measured = (measure(args, path, work) for path in paths)
        for row in measured:
            if row:
                rows.append("| " + " | ".join(map(str, row)) + " |")
                print(rows[-1], flush=True)
    table = "| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|\n" + "\n".join(rows) + "\n"
    if args.page:
        text = args.page.read_text()
        begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
        before, rest = text.split(begin)
        args.page.write_text(before + begin + table + end + rest.split(end, 1)[1])


if __name__ == "__main__":
    main()
