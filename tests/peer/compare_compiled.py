#!/usr/bin/env python3
"""Compiles archives with etbackend and runs the programs here and on the official runtime.

usage: compare_compiled.py ETBACKEND ARCHIVE_DIR [--backend=PLUGIN] [--official] [NAME ...]

Every NAME.pt2 in ARCHIVE_DIR with NAME.in.I.npy and NAME.out.I.npy (make_archives.py, make_zoo.py and make_library_models.py write
them) is compiled; both runtimes must give PyTorch's results. With --backend=xnnpack the program is compiled for that plugin, which
the official runtime knows, too. With --official the official flow lowers the same archive (for its XNNPACK partitioner when a
backend is given), its program must give the same here, and the nodes that each side delegates are compared. Needs numpy, torch and
executorch. Exits with 1 when something differs; what the official side cannot do is told and counts for nobody.
"""
import json
import pathlib
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

TOLERANCE = 2e-5
# PyTorch computes a quantised graph in floats between its roundings; on integers a sum can fall on the other side of a half. One step of int8.
QUANTIZED_TOLERANCE = 1e-2


def tolerance(name):
    return QUANTIZED_TOLERANCE if "_q8" in name or "8da4w" in name else TOLERANCE


def load_arrays(folder, name, kind):
    arrays = []
    while (folder / f"{name}.{kind}.{len(arrays)}.npy").exists():
        arrays.append(np.load(folder / f"{name}.{kind}.{len(arrays)}.npy"))
    return arrays


def run_here(command, folder, name, count, out):
    """`command` is `etbackend run PROGRAM`, perhaps with more."""
    command = [*command, "--output-dir", str(out)]
    for i in range(count):
        command += ["--input", str(folder / f"{name}.in.{i}.npy")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return [np.load(path) for path in sorted(out.glob("*.npy"), key=lambda p: int(p.stem))]


def as_tensors(inputs, name):
    tensors = [torch.from_numpy(x) for x in inputs]
    if "channels_last" in name:  # a .npy file is row-major, and the official runtime copies bytes as they lie
        tensors = [x.contiguous(memory_format=torch.channels_last) for x in tensors]
    return tensors


def run_there(program, inputs, name):
    method = Runtime.get().load_program(str(program)).load_method("forward")
    return [value.numpy() for value in method.execute(as_tensors(inputs, name))]


def difference(got, wanted, limit):
    if len(got) != len(wanted):
        return f"{len(got)} outputs, expected {len(wanted)}"
    for i, (a, b) in enumerate(zip(got, wanted)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {i} is {a.dtype}{list(a.shape)}, expected {b.dtype}{list(b.shape)}"
        a, b = a.astype(np.float64), b.astype(np.float64)
        known = np.isfinite(b)
        if not np.array_equal(a[~known], b[~known], equal_nan=True):
            return f"output {i} differs in infinities"
        worst = np.max(np.abs(a - b)[known], initial=0.0)
        if not worst <= limit * max(1.0, np.max(np.abs(b[known]), initial=0.0)):
            return f"output {i} differs by {worst:g}"
    return None


def attempt(run, wanted, limit):
    try:
        return difference(run(), wanted, limit)
    except RuntimeError as error:
        return str(error).splitlines()[0]


def lower_officially(archive, program, backend):
    """Writes the official program; the numbers of delegated and other nodes."""
    from executorch.devtools.backend_debug import get_delegation_info
    from executorch.exir import to_edge_transform_and_lower
    partitioners = []
    if backend:
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        partitioners = [XnnpackPartitioner()]
    lowered = to_edge_transform_and_lower(torch.export.load(str(archive)), partitioner=partitioners)
    info = get_delegation_info(lowered.exported_program().graph_module)
    with open(program, "wb") as file:
        lowered.to_executorch().write_to_file(file)
    return info.num_delegated_nodes, info.num_non_delegated_nodes


class Comparison:
    def __init__(self, etbackend, folder, temporary, backend, compares_official):
        self.etbackend, self.folder, self.temporary = etbackend, folder, temporary
        self.backend, self.compares_official = backend, compares_official
        self.counts = {}  # what went well, by kind

    def count(self, kind, is_good):
        good, all_ = self.counts.get(kind, (0, 0))
        self.counts[kind] = (good + bool(is_good), all_ + 1)

    def note(self, kind, fault):
        self.count(kind, fault is None)
        return [f"{kind}: {fault}"] if fault else []

    def compile(self, archive, program, report):
        more = ["-b", self.backend, "--report-json", str(report)] if self.backend else []
        done = subprocess.run([self.etbackend, "compile", str(archive), "-o", str(program), *more], capture_output=True, text=True)
        return done.stderr.strip() if done.returncode != 0 else None

    def official(self, name, archive, inputs, wanted, ours):
        program = self.temporary / f"{name}.official.pte"
        try:
            delegated, left = lower_officially(archive, program, self.backend)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is theirs)
            return [], f"the official flow fails: {type(error).__name__}: {(str(error).strip() or '-').splitlines()[0][:100]}"
        out = self.temporary / f"{name}.official"
        out.mkdir()
        limit = tolerance(name)
        there = attempt(lambda: run_there(program, inputs, name), wanted, limit)
        here = attempt(lambda: run_here([self.etbackend, "run", str(program)], self.folder, name, len(inputs), out), wanted, limit)
        remark = f"official: {delegated} nodes delegated, {left} not" if self.backend else ""
        if ours:
            remark += f"; ours: {ours[0]} and {ours[1]}"
            # An op that one side has as one node is several on the other, so what is left counts, too.
            self.count("at least as much delegated", ours[0] >= delegated or ours[1] <= left)
        if there is not None:
            return [], f"{remark}; the official program fails on its own runtime: {there}"
        return self.note("the official program here", here), remark

    def check(self, name):
        archive, program = self.folder / f"{name}.pt2", self.temporary / f"{name}.pte"
        report = self.temporary / f"{name}.json"
        inputs, wanted = load_arrays(self.folder, name, "in"), load_arrays(self.folder, name, "out")
        faults = self.note("compiled", self.compile(archive, program, report))
        if faults:
            return faults, ""
        out = self.temporary / name
        out.mkdir()
        limit = tolerance(name)
        faults += self.note("here", attempt(lambda: run_here([self.etbackend, "run", str(program)], self.folder, name, len(inputs), out), wanted, limit))
        if Runtime is not None:
            faults += self.note("on the official runtime", attempt(lambda: run_there(program, inputs, name), wanted, limit))
        ours, remark = None, ""
        if self.backend:
            found = json.loads(report.read_text())
            ours = found["delegated_nodes"], found["non_delegated_nodes"]
            remark = f"ours: {ours[0]} nodes delegated, {ours[1]} not"
        if self.compares_official:
            more, remark = self.official(name, archive, inputs, wanted, ours)
            faults += more
        return faults, remark


def main():
    etbackend, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    options = [x for x in sys.argv[3:] if x.startswith("--")]
    backend = next((x.split("=", 1)[1] for x in options if x.startswith("--backend=")), "")
    names = [x for x in sys.argv[3:] if not x.startswith("--")] or sorted(p.stem for p in folder.glob("*.pt2") if (folder / f"{p.stem}.out.0.npy").exists())
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        comparison = Comparison(etbackend, folder, pathlib.Path(temporary), backend, "--official" in options)
        for name in names:
            faults, remark = comparison.check(name)
            failed += bool(faults)
            print(f"{name}: {'; '.join(faults) or 'equal'}{' (' + remark + ')' if remark else ''}", flush=True)
            for path in pathlib.Path(temporary).glob(f"{name}*.pte"):
                path.unlink()
    for kind, (good, count) in comparison.counts.items():
        print(f"{kind}: {good} of {count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
