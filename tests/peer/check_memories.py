#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs that are planned for several memories on the official run time.

usage: check_memories.py ETBACKEND ARCHIVE_DIR [NAME ...]

Compiles each NAME.pt2 with NAME.in.I.npy and NAME.out.I.npy in ARCHIVE_DIR with `--memory`, once with memories so small that
tensors are spread over three of them, and compares the results of the official run time with PyTorch's. A model whose
operators that run time lacks is left out. Needs numpy, torch and executorch. Exits with 1 when something is wrong.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from executorch.runtime import Runtime

from compare_compiled import as_tensors, difference, load_arrays, tolerance

OPERATOR_MISSING = "error: 0x:14"
PLANS = ["sram=1G", "sram=128,sdram=2K:64,dram"]


def check(etbackend, folder, name, plan, temporary):
    program = temporary / f"{PLANS.index(plan)}.pte"
    done = subprocess.run([etbackend, "compile", str(folder / f"{name}.pt2"), "-o", str(program), "--memory", plan, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    used = sum(memory["arena_nbytes"] > 0 for memory in json.loads(done.stdout)["methods"][0]["memory"]["memories"])
    inputs, wanted = load_arrays(folder, name, "in"), load_arrays(folder, name, "out")
    results = Runtime.get().load_program(str(program)).load_method("forward").execute(as_tensors(inputs, name))
    fault = difference([value.numpy() for value in results], wanted, tolerance(name))
    if fault:
        raise RuntimeError(f"{plan}: {fault}")
    return used


def main():
    etbackend, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    names = sys.argv[3:] or sorted(p.stem for p in folder.glob("*.pt2") if (folder / f"{p.stem}.out.0.npy").exists())
    failed, several, left_out = 0, 0, 0
    for name in names:
        with tempfile.TemporaryDirectory() as temporary:
            try:
                used = [check(etbackend, folder, name, plan, pathlib.Path(temporary)) for plan in PLANS]
                several += used[-1] > 1
                print(f"{name}: right with {used} memories", flush=True)
            except Exception as error:  # noqa: BLE001  (check the next model after any error)
                if OPERATOR_MISSING in str(error):
                    left_out += 1
                    print(f"{name}: left out, an operator is missing there", flush=True)
                    continue
                failed += 1
                print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", flush=True)
    print(f"{len(names) - failed - left_out} right, {several} with several memories, {failed} wrong, {left_out} left out")
    return 1 if failed or several == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
