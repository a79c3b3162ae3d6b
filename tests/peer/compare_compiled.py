#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles archives with etbackend and runs the programs here and on the official runtime.

usage: compare_compiled.py ETBACKEND ARCHIVE_DIR [--backend=PLUGIN] [--official] [--cache=DIR] [--records=FILE] [NAME ...]

Every NAME.pt2 in ARCHIVE_DIR with NAME.in.I.npy (or .txt) and NAME.out.I.npy (make_archives.py, make_zoo.py and make_library_models.py write
them) is compiled; both runtimes must give PyTorch's results. With --backend=xnnpack the program is compiled for that plugin, which
the official runtime knows, too. With --official the official flow lowers the same archive (for its XNNPACK partitioner when a
backend is given), its program must give the same here, and the nodes of the exported program that each side leaves to portable kernels are
compared (source_nodes.py). With --cache=DIR official programs, and what they give on their own runtime, are kept there and used again. With
--records=FILE each model appends a line of JSON, of which model_table.py makes the table of docs/compiling.md. Needs numpy, torch and
executorch. Exits with 1 when something differs; what the official side cannot do is told and counts for nobody.
"""
import ast
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch

import source_nodes
from compare_verdicts import judge

try:
    import executorch.kernels.quantized  # noqa: F401  (registers the kernels of quantised graphs)
    from executorch.runtime import Runtime
except ImportError:
    Runtime = None

TOLERANCE = 2e-5
# PyTorch computes a quantised graph in floats between its roundings. With integers a sum can round the other
# way: one step of int8.
QUANTIZED_TOLERANCE = 1e-2


def tolerance(name):
    return QUANTIZED_TOLERANCE if "_q8" in name or "8da4w" in name else TOLERANCE


def input_file(folder, name, i):
    """The array of an input, or the text of a number, true, false or none."""
    path = folder / f"{name}.in.{i}.npy"
    return path if path.exists() else path.with_suffix(".txt")


def load_arrays(folder, name, kind):
    """Arrays; the inputs that are texts are Python's values."""
    arrays = []
    while True:
        path = input_file(folder, name, len(arrays)) if kind == "in" else folder / f"{name}.{kind}.{len(arrays)}.npy"
        if not path.exists():
            return arrays
        arrays.append(np.load(path) if path.suffix == ".npy" else ast.literal_eval(path.read_text().title()))


def run_here(command, folder, name, count, out):
    """`command` is `etbackend run PROGRAM`, perhaps with more."""
    command = [*command, "--output-dir", str(out)]
    for i in range(count):
        path = input_file(folder, name, i)
        command += ["--input", str(path) if path.suffix == ".npy" else path.read_text()]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return [np.load(path) for path in sorted(out.glob("*.npy"), key=lambda p: int(p.stem))]


def as_tensors(inputs, name):
    tensors = [torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in inputs]
    if "channels_last" in name:  # .npy is row-major; the official runtime copies bytes
        tensors = [x.contiguous(memory_format=torch.channels_last) for x in tensors]
    return tensors


def run_there(program, inputs, name):
    method = Runtime.get().load_program(str(program)).load_method("forward")
    return [value.numpy() for value in method.execute(as_tensors(inputs, name))]


def difference(got, wanted, limit, least=1.0, has_numbers=True):
    """None, or how the results differ: relative to the largest value of each, which counts as `least` at least. Without numbers
    only sizes and types are compared."""
    if len(got) != len(wanted):
        return f"{len(got)} outputs, expected {len(wanted)}"
    for i, (a, b) in enumerate(zip(got, wanted)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {i} is {a.dtype}{list(a.shape)}, expected {b.dtype}{list(b.shape)}"
        if not has_numbers:
            continue
        a, b = (x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in (a, b))
        known = np.isfinite(b)
        if not np.array_equal(a[~known], b[~known], equal_nan=True):
            return f"output {i} differs in infinities or NaN"
        worst, scale = np.max(np.abs(a - b)[known], initial=0.0), max(least, np.max(np.abs(b[known]), initial=0.0))
        if not worst <= limit * scale:
            return f"output {i} differs by {worst:.3g} of {scale:.3g}"
    return None


def attempt(run, wanted, limit):
    try:
        return difference(run(), wanted, limit)
    except RuntimeError as error:
        return str(error).splitlines()[0]


def lower_officially(archive, program, backend):
    """Writes the official program; what a record says of it."""
    from executorch.devtools.backend_debug import get_delegation_info
    from executorch.exir import to_edge_transform_and_lower
    partitioners = []
    if backend:
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        partitioners = [XnnpackPartitioner()]
    exported = torch.export.load(str(archive))
    names = source_nodes.names_by_handle(exported)
    lowered = to_edge_transform_and_lower(exported, partitioner=partitioners)
    graph = lowered.exported_program().graph_module
    info = get_delegation_info(graph)
    left = sorted(source_nodes.left_officially(graph) & set(names)) if names else None
    with open(program, "wb") as file:
        lowered.to_executorch().write_to_file(file)
    return {"compiled": None, "delegated": info.num_delegated_nodes, "left": info.num_non_delegated_nodes, "names": names, "left_names": left}


def first_line(error):
    return (str(error).strip() or "-").splitlines()[0][:200]


class Comparison:
    """One archive on both sides. What went wrong is a text, None what went well; a key is missing where nothing was tried."""

    def __init__(self, etbackend, folder, temporary, backend, compares_official, cache):
        self.etbackend, self.folder, self.temporary, self.cache = etbackend, folder, temporary, cache
        self.backend, self.compares_official = backend, compares_official

    def compile(self, archive, program, report):
        more = ["-b", self.backend, "--report-json", str(report)] if self.backend else []
        done = subprocess.run([self.etbackend, "compile", str(archive), "-o", str(program), *more], capture_output=True, text=True)
        return first_line(done.stderr) if done.returncode != 0 else None

    def run_here(self, name, program, inputs):
        with tempfile.TemporaryDirectory(dir=self.temporary) as out:
            return run_here([self.etbackend, "run", str(program)], self.folder, name, len(inputs), pathlib.Path(out))

    def run_both(self, name, program, inputs, wanted):
        limit, record = tolerance(name), {}
        if Runtime is not None:
            record["there"] = attempt(lambda: run_there(program, inputs, name), wanted, limit)
        record["here"] = attempt(lambda: self.run_here(name, program, inputs), wanted, limit)
        return record

    def official(self, name, archive, inputs, wanted):
        """A record, and the names of the exported nodes by handle."""
        program = self.cache / f"{name}.{self.backend or 'portable'}.pte"
        known = program.with_suffix(".json")
        if known.exists():
            record = json.loads(known.read_text())
        else:
            try:
                record = lower_officially(archive, program, self.backend)
                if Runtime is not None:
                    record["there"] = attempt(lambda: run_there(program, inputs, name), wanted, tolerance(name))
            except Exception as error:  # noqa: BLE001  (any error of the official side)
                record = {"compiled": f"{type(error).__name__}: {first_line(error)}"}
            known.write_text(json.dumps(record))
        names, left = record.pop("names", None), record.pop("left_names", None)
        if record["compiled"] is not None:
            return record, None
        record["here"] = attempt(lambda: self.run_here(name, program, inputs), wanted, tolerance(name))
        if names:
            record |= {"source": len(set(names)), "source_left": len(left)}
        return record, names

    def ours(self, name, archive, inputs, wanted):
        program, report = self.temporary / f"{name}.pte", self.temporary / f"{name}.json"
        record = {"compiled": self.compile(archive, program, report)}
        if record["compiled"] is not None:
            return record
        if self.backend:
            found = json.loads(report.read_text())
            record |= {"delegated": found["delegated_nodes"], "left": found["non_delegated_nodes"]}
        return record | self.run_both(name, program, inputs, wanted)

    def check(self, name):
        archive = self.folder / f"{name}.pt2"
        inputs, wanted = load_arrays(self.folder, name, "in"), load_arrays(self.folder, name, "out")
        record = {"name": name, "backend": self.backend, "ours": self.ours(name, archive, inputs, wanted)}
        if self.compares_official:
            record["official"], names = self.official(name, archive, inputs, wanted)
            report = self.temporary / f"{name}.json"
            if self.backend and names and report.exists():
                left = source_nodes.left_here(json.loads(report.read_text()), names)
                record["ours"]["source_left"] = len(left)
        return record


def remark(record):
    ours, official = record["ours"], record.get("official", {})
    parts = []
    for side, who in ((ours, "ours"), (official, "official")):
        if record["backend"] and "left" in side:
            parts.append(f"{who}: {side['delegated']} nodes delegated, {side['left']} not")
        if record["backend"] and "source_left" in side:
            parts[-1] += f", of the exported nodes {side['source_left']} not"
    if official.get("compiled"):
        parts.append(f"the official flow fails: {official['compiled'][:100]}")
    elif official.get("there"):
        parts.append(f"the official program fails on its own runtime: {official['there'][:100]}")
    return f" ({'; '.join(parts)})" if parts else ""


def main():
    etbackend, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    options = [x for x in sys.argv[3:] if x.startswith("--")]
    chosen = dict(x[2:].split("=", 1) for x in options if "=" in x)
    names = [x for x in sys.argv[3:] if not x.startswith("--")] or sorted(p.stem for p in folder.glob("*.pt2") if (folder / f"{p.stem}.out.0.npy").exists())
    counts, failed = {}, 0
    with tempfile.TemporaryDirectory() as temporary:
        cache = pathlib.Path(chosen.get("cache", temporary))
        comparison = Comparison(etbackend, folder, pathlib.Path(temporary), chosen.get("backend", ""), "--official" in options, cache)
        for name in names:
            record = comparison.check(name)
            if "records" in chosen:
                with open(chosen["records"], "a") as file:
                    file.write(json.dumps(record) + "\n")
            verdicts = judge(record)
            faults = [f"{kind}: {fault}" for kind, fault in verdicts.items() if fault is not None]
            for kind, fault in verdicts.items():
                good, all_ = counts.get(kind, (0, 0))
                counts[kind] = (good + (fault is None), all_ + 1)
            failed += bool(faults)
            print(f"{name}: {'; '.join(faults) or 'equal'}{remark(record)}", flush=True)
            for path in pathlib.Path(temporary).glob(f"{name}.*"):
                path.unlink()
    for kind, (good, count) in counts.items():
        print(f"{kind}: {good} of {count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
