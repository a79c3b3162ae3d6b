#!/usr/bin/env python3
"""Compiles archives with etbackend and runs the programs here and on the official runtime.

usage: compare_compiled.py ETBACKEND ARCHIVE_DIR [--backend=PLUGIN] [NAME ...]

Every NAME.pt2 in ARCHIVE_DIR with NAME.in.I.npy and NAME.out.I.npy (make_archives.py writes them) is compiled; both runtimes
must give PyTorch's results. With --backend the program is compiled for a plugin that the official runtime knows, too. Needs numpy, torch and executorch. Exits with 1 when something differs.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch

try:
    import executorch.kernels.quantized  # noqa: F401  (registers the kernels of quantised graphs)
    from executorch.runtime import Runtime
except ImportError:
    Runtime = None

TOLERANCE = 1e-5
# PyTorch computes a quantised graph in floats between its roundings; on integers a sum can fall on the other side of a half. One step of int8.
QUANTISED_TOLERANCE = 1e-2
delegated = []  # name and number of calls of plugins


def load_arrays(folder, name, kind):
    arrays = []
    while (folder / f"{name}.{kind}.{len(arrays)}.npy").exists():
        arrays.append(np.load(folder / f"{name}.{kind}.{len(arrays)}.npy"))
    return arrays


def run_here(etbackend, program, folder, name, count, out):
    inputs = [str(folder / f"{name}.in.{i}.npy") for i in range(count)]
    command = [etbackend, "run", str(program), "--output-dir", str(out)]
    for path in inputs:
        command += ["--input", path]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return [np.load(path) for path in sorted(out.glob("*.npy"), key=lambda p: int(p.stem))]


def run_there(program, inputs, name):
    method = Runtime.get().load_program(str(program)).load_method("forward")
    tensors = [torch.from_numpy(x) for x in inputs]
    if "channels_last" in name:  # a .npy file is row-major, and the official runtime copies bytes as they lie
        tensors = [x.contiguous(memory_format=torch.channels_last) for x in tensors]
    return [value.numpy() for value in method.execute(tensors)]


def difference(got, wanted, name=""):
    tolerance = QUANTISED_TOLERANCE if "_q8" in name or "_8da4w" in name else TOLERANCE
    if len(got) != len(wanted):
        return f"{len(got)} outputs, expected {len(wanted)}"
    for i, (a, b) in enumerate(zip(got, wanted)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {i} is {a.dtype}{list(a.shape)}, expected {b.dtype}{list(b.shape)}"
        worst = np.max(np.abs(a.astype(np.float64) - b.astype(np.float64)), initial=0.0)
        scale = max(1.0, np.max(np.abs(b.astype(np.float64)), initial=0.0))
        if not worst <= tolerance * scale:
            return f"output {i} differs by {worst:g}"
    return None


def check(etbackend, folder, name, temporary, more):
    program = temporary / f"{name}.pte"
    compiled = subprocess.run([etbackend, "compile", str(folder / f"{name}.pt2"), "-o", str(program)] + more, capture_output=True, text=True)
    if compiled.returncode != 0:
        return [f"compile: {compiled.stderr.strip()}"]
    if more:
        calls = re.search(r"instructions, (\d+) of them calls of plugins", compiled.stdout)
        delegated.append((name, int(calls.group(1)) if calls else 0))
    inputs, wanted = load_arrays(folder, name, "in"), load_arrays(folder, name, "out")
    faults = []
    out = temporary / name
    out.mkdir()
    try:
        faults.append(("here", difference(run_here(etbackend, program, folder, name, len(inputs), out), wanted, name)))
    except subprocess.CalledProcessError as error:
        faults.append(("here", error.stderr.strip()))
    if Runtime is not None:
        try:
            faults.append(("official", difference(run_there(program, inputs, name), wanted, name)))
        except RuntimeError as error:
            faults.append(("official", str(error)))
    return [f"{where}: {what}" for where, what in faults if what]


def main():
    etbackend, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    more = [argument for option in sys.argv[3:] if option.startswith("--backend=") for argument in ("-b", option.split("=", 1)[1])]
    names = [name for name in sys.argv[3:] if not name.startswith("--")] or sorted(p.stem for p in folder.glob("*.pt2") if (folder / f"{p.stem}.out.0.npy").exists())
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        for name in names:
            faults = check(etbackend, folder, name, pathlib.Path(temporary), more)
            failed += bool(faults)
            print(f"{name}: {'; '.join(faults) or 'equal'}")
    print(f"{len(names) - failed} of {len(names)} equal to PyTorch here{' and on the official runtime' if Runtime else ''}")
    if delegated:
        print(f"{sum(count > 0 for _, count in delegated)} of {len(delegated)} call a plugin, {sum(count for _, count in delegated)} calls in all")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
