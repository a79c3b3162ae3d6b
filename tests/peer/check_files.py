#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens what `etbackend compile` writes beside a program with the official tools.

usage: check_files.py ETBACKEND ARCHIVE_DIR [NAME ...]

For each NAME.pt2 with NAME.in.I.npy and NAME.out.I.npy in ARCHIVE_DIR: the official parser reads the record (--etrecord) and finds the
edge program, and the official Inspector joins it with the events of a run on the official runtime; the program with its weights
outside (--external-data) gives PyTorch's results on both runtimes and fails without them when it has any. Needs numpy, torch and
executorch. Exits with 1 when something is wrong.
"""
import pathlib
import subprocess
import sys
import tempfile

from executorch.devtools import Inspector
from executorch.devtools.etrecord import parse_etrecord
from executorch.extension.pybindings.portable_lib import _load_for_executorch
from executorch.runtime import Runtime

from compare_compiled import as_tensors, difference, load_arrays, run_here, tolerance


def compile_(etbackend, archive, program, *more):
    done = subprocess.run([etbackend, "compile", str(archive), "-o", str(program), *map(str, more)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())


def check_record(etbackend, archive, temporary, inputs):
    program, record, dump = temporary / "model.pte", temporary / "model.etrecord", temporary / "model.etdp"
    compile_(etbackend, archive, program, "--etrecord", record)
    parsed = parse_etrecord(str(record))
    if parsed.edge_dialect_program is None:
        raise RuntimeError("no edge program in the record")
    nodes = [node for node in parsed.edge_dialect_program.graph_module.graph.nodes if node.op == "call_function"]
    module = _load_for_executorch(str(program), enable_etdump=True)
    if not module.has_etdump():
        return f"{len(nodes)} nodes, and this wheel records no events", 0
    module.run_method("forward", as_tensors(inputs, archive.stem))
    module.write_etdump_result_to_file(str(dump))
    inspector = Inspector(etdump_path=str(dump), etrecord=parsed)
    calls = [event for block in inspector.event_blocks for event in block.events if event.name == "OPERATOR_CALL"]
    joined = [event for event in calls if event.op_types]
    if not joined:
        raise RuntimeError(f"none of {len(calls)} kernel calls is joined with a node")
    traced = [event for event in joined if event.stack_traces]
    return f"{len(nodes)} nodes, {len(joined)} of {len(calls)} kernel calls joined, {len(traced)} with their Python source", len(joined)


def check_external(etbackend, folder, name, temporary, inputs, wanted, *more):
    temporary = temporary / "-".join(["outside", *more])
    temporary.mkdir()
    program, data = temporary / "model.pte", temporary / "model.ptd"
    compile_(etbackend, folder / f"{name}.pt2", program, "--external-data", data, *more)
    limit = tolerance(name)
    loaded = Runtime.get().load_program(str(program), data_path=str(data))
    there = [value.numpy() for value in loaded.load_method("forward").execute(as_tensors(inputs, name))]
    fault = difference(there, wanted, limit)
    if fault:
        raise RuntimeError(f"official runtime, external data: {fault}")
    out = temporary / "out"
    out.mkdir()
    fault = difference(run_here([etbackend, "run", str(program), "--data", str(data)], folder, name, len(inputs), out), wanted, limit)
    if fault:
        raise RuntimeError(f"here, external data: {fault}")
    return f"{' '.join(more)} {program.stat().st_size} + {data.stat().st_size} bytes outside".strip()


def main():
    etbackend, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    names = sys.argv[3:] or sorted(p.stem for p in folder.glob("*.pt2") if (folder / f"{p.stem}.out.0.npy").exists())
    failed = joined = 0
    for name in names:
        inputs, wanted = load_arrays(folder, name, "in"), load_arrays(folder, name, "out")
        with tempfile.TemporaryDirectory() as temporary:
            try:
                record, count = check_record(etbackend, folder / f"{name}.pt2", pathlib.Path(temporary), inputs)
                joined += count > 0
                external = check_external(etbackend, folder, name, pathlib.Path(temporary), inputs, wanted)
                delegated = check_external(etbackend, folder, name, pathlib.Path(temporary), inputs, wanted, "-b", "xnnpack")
                print(f"{name}: record: {record}; {external}; {delegated}", flush=True)
            except Exception as error:  # noqa: BLE001  (check the next model after any error)
                failed += 1
                print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", flush=True)
    print(f"{len(names) - failed} of {len(names)} right, {joined} records joined with events")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
