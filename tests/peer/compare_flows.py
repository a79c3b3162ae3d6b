#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares etbackend's compiler with the official flow on the same archives: portable kernels on both sides, or XNNPACK.

usage: compare_flows.py ETBACKEND ARCHIVE_DIR [--backend=xnnpack] [NAME ...]

For each NAME.pt2 (make_zoo.py --full writes them): CPU seconds, the official ones of one process after its imports, from the
loaded archive to the written file (to_edge or to_edge_transform_and_lower, to_executorch); peak memory of the process; size of the .pte; bytes of the planned
arena. "cp" is the floor: CPU seconds in which `cp` copies our .pte beside it, so nothing that writes the file can take less. Prints a Markdown table. Needs torch and executorch. Each side runs alone, one model after the other.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

OFFICIAL = """
import sys, time, resource
import torch
from executorch.exir import to_edge, to_edge_transform_and_lower
if sys.argv[3] == "xnnpack":
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
program = torch.export.load(sys.argv[1])
start = time.process_time()
if sys.argv[3] == "xnnpack":
    result = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
else:
    result = to_edge(program).to_executorch()
with open(sys.argv[2], "wb") as file:
    result.write_to_file(file)
seconds = time.process_time() - start
arena = sum(result.executorch_program.execution_plan[0].non_const_buffer_sizes)
print("FIGURES", seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, arena)
"""


def measure_official(archive, program, backend):
    run = subprocess.run([sys.executable, "-c", OFFICIAL, archive, program, backend], capture_output=True, text=True)
    figures = re.search(r"FIGURES (\S+) (\S+) (\S+)", run.stdout)
    if figures is None:
        return None, run.stderr.strip().splitlines()[-1][:120]
    return (float(figures[1]), int(figures[2]), os.path.getsize(program), int(figures[3])), None


def run_and_count(command):
    """Exit status, what it printed, CPU seconds, wall seconds and peak memory."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    return status, text, usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss * 1024


def measure_copy(program):
    copy, best = program + ".copy", None
    for _ in range(5):
        seconds = run_and_count(["cp", program, copy])[2]
        os.remove(copy)
        best = seconds if best is None else min(best, seconds)
    return best


def measure_ours(etbackend, archive, program, backend):
    """The best of five for the time: the file is in memory from the second run on, as it is for the official side."""
    best = None
    for _ in range(5):
        if os.path.exists(program):
            os.remove(program)  # otherwise the time to free the old file would count
        more = ["-b", backend] if backend else []
        status, text, seconds, wall, peak = run_and_count([etbackend, "compile", archive, "-o", program, "--json", *more])
        if status != 0:
            return None
        method = json.loads(text)["methods"][0]
        row = (seconds, wall, peak, os.path.getsize(program), method["arena_nbytes"], method["arena_lower_bound_nbytes"])
        best = row if best is None or row[0] < best[0] else best
    return best


def mega(nbytes):
    return f"{nbytes / 1e6:.2f}"


def main():
    etbackend, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    backend = next((x.split("=", 1)[1] for x in sys.argv[3:] if x.startswith("--backend=")), "")
    names = [x for x in sys.argv[3:] if not x.startswith("--")] or sorted(p.stem for p in folder.glob("*.pt2"))
    print("| model | seconds, official | ours | times | cp | wall, ours | peak MB, official | ours | .pte MB, official | ours | arena MB, official | ours | bound |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=os.environ.get("ETB_FAST_DIR")) as temporary:
        for name in names:
            archive, program = str(folder / f"{name}.pt2"), os.path.join(temporary, "model.pte")
            ours = measure_ours(etbackend, archive, program, backend)
            floor = measure_copy(program) if ours else None
            theirs, why = measure_official(archive, program, backend)
            if ours is None or theirs is None:
                print(f"| {name} | {why or ''} | {'failed' if ours is None else 'compiled'} |" + " |" * 10)
                continue
            print(f"| {name} | {theirs[0]:.2f} | {ours[0]:.3f} | {theirs[0] / ours[0]:.0f} | {floor:.3f} | {ours[1]:.3f} | {theirs[1] / 1e6:.0f} | {ours[2] / 1e6:.0f} "
                  f"| {mega(theirs[2])} | {mega(ours[3])} | {mega(theirs[3])} | {mega(ours[4])} | {mega(ours[5])} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
