# SPDX-License-Identifier: Apache-2.0
"""Compares ETDumps of our run time with those of the official one: the same programs, both files in the official Inspector.

    python tests/peer/check_etdump.py ETBACKEND PROGRAM.pte ... [--plugin-path DIR] [--runs 3] [--tolerance 1e-4]

Needs the executorch wheel. Each program runs on both sides with inputs of ones, and both record what operators and delegates compute.
The official Inspector opens both files with their debug buffers, and `etbackend inspect` opens both, too. Compares

    rows    block, event name, chain, instruction, and the number of runs of each event; every event of the run time counts
    values  of each event and of the program: number, dtype, sizes and elements (NaN equals NaN), within --tolerance of the largest
    reader  what our reader finds in both files (the program etdump_values beside ETBACKEND) against the official one

Times are not compared. Prints a row for each program, and ends with 1 if something differs. A program that the official run time does
not run so is skipped with its error. --inner BACKEND takes archives (.pt2) instead: each is compiled for BACKEND and run with --debug-widen,
and the official Inspector must show values inside of its delegates, each joined with debug handles. --allocations checks instead that the official Inspector refuses files with allocations, as docs/profiling.md says.
"""

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

# Events inside of delegates are their plugins': other names, and sometimes another number. They are counted.
INSIDE = "inside delegates"


def record_officially(program, runs, path, debug_path, debug_mib):
    import torch
    from executorch.extension.pybindings.portable_lib import _load_for_executorch

    module = _load_for_executorch(str(program), enable_etdump=True, debug_buffer_size=debug_mib << 20)
    meta = module.method_meta("forward")
    dtypes = {6: torch.float32, 5: torch.float16, 15: torch.bfloat16, 4: torch.int64, 3: torch.int32, 11: torch.bool, 7: torch.float64,
              0: torch.uint8, 1: torch.int8}
    inputs = []
    for i in range(meta.num_inputs()):
        info = meta.input_tensor_meta(i)
        inputs.append(torch.ones(tuple(info.sizes()), dtype=dtypes[info.dtype()]))
    for _ in range(runs):
        module.forward(inputs)
    module.write_etdump_result_to_file(str(path), str(debug_path))


def record_here(etbackend, program, runs, path, debug_path, plugin_paths, extra=()):
    command = [etbackend, *[word for folder in plugin_paths for word in ("--plugin-path", folder)], "run", str(program), "--ones",
               "--profile", str(path), *extra]
    if debug_path is not None:
        command += ["--debug-buffer", str(debug_path)]
    command += ["--repeat", str(runs - 1), "--print-output", "none"] if runs > 1 else []
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def open_officially(path, debug_path):
    from executorch.devtools import Inspector

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return Inspector(etdump_path=str(path), debug_buffer_path=None if debug_path is None else str(debug_path))


def rows_of(inspector):
    """Events of the official Inspector: how often each occurs."""
    rows = Counter()
    for block in inspector.event_blocks:
        for event in block.events:
            if event.is_delegated_op:
                rows[INSIDE] += 1
            else:
                rows[(block.name, event.name, event._instruction_id, len(event.perf_data.raw))] += 1
    return rows


def values_of(inspector):
    """Values of the official Inspector, by block, event and position."""
    values = {}
    for i, block in enumerate(inspector.event_blocks):
        for event in block.events:
            for k, value in enumerate(event.debug_data):
                values[(i, block.name, event.name, event._instruction_id, k)] = value
        for k, value in enumerate(block.run_output):
            values[(i, block.name, "output", k)] = value
    return values


def differs(a, b, tolerance):
    """The reason why two values differ, or None."""
    import torch

    if type(a) is not type(b):
        return f"{type(a).__name__} and {type(b).__name__}"
    if isinstance(a, (list, tuple)):
        if len(a) != len(b):
            return f"{len(a)} and {len(b)} items"
        return next((reason for x, y in zip(a, b) if (reason := differs(x, y, tolerance))), None)
    if not isinstance(a, torch.Tensor):
        return None if a == b else f"{a} and {b}"
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype} {tuple(a.shape)} and {b.dtype} {tuple(b.shape)}"
    x, y = a.double(), b.double()
    if torch.equal(x.nan_to_num(nan=1e300), y.nan_to_num(nan=1e300)):
        return None
    finite = x.isfinite() & y.isfinite()
    if not torch.equal(x.nan_to_num(nan=1e300)[~finite], y.nan_to_num(nan=1e300)[~finite]):
        return "other infinities or NaN"
    if not finite.any():
        return None
    worst = (x - y)[finite].abs().max().item()
    scale = max(y[finite].abs().max().item(), 1e-3)
    return None if worst <= tolerance * scale else f"{worst:.3g} apart, the largest is {scale:.3g}"


def compare_values(theirs, ours, tolerance):
    reasons = [f"only officially: {key}" for key in theirs.keys() - ours.keys()] + [f"only here: {key}" for key in ours.keys() - theirs.keys()]
    for key in theirs.keys() & ours.keys():
        if reason := differs(theirs[key], ours[key], tolerance):
            reasons.append(f"{key}: {reason}")
    return sorted(reasons)


def raw_values(path, debug_path):
    """What the official reader finds, in the form of etdump_values."""
    from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc

    debug_buffer = Path(debug_path).read_bytes()
    sizes = {0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 2, 6: 4, 7: 8, 11: 1, 15: 2}
    kinds = ["Null", "Int", "Bool", "Float", "Double", "Tensor", "TensorList", "String"]

    def tensor(value):
        count = sizes[int(value.scalar_type)]
        for size in value.sizes:
            count *= size
        elements = debug_buffer[value.offset:value.offset + count] if count else b""
        return {"dtype": int(value.scalar_type), "sizes": list(value.sizes), "strides": list(value.strides), "offset": value.offset, "hex": elements.hex()}

    found = []
    for i, block in enumerate(deserialize_from_etdump_flatcc(Path(path).read_bytes()).run_data):
        for event in block.events or []:
            debug = event.debug_event
            if debug is None:
                continue
            value = debug.debug_entry
            tensors = [value.tensor] if value.tensor else value.tensor_list.tensors if value.tensor_list else []
            chain = debug.chain_index if debug.chain_index < 2**63 else debug.chain_index - 2**64
            real = value.float_value.float_val if value.float_value else value.double_value.double_val if value.double_value else 0.0
            kind = kinds.index(value.val) if isinstance(value.val, str) else int(value.val)
            found.append({"block": i, "chain": chain, "instruction": debug.instruction_id, "debug_id": debug.delegate_debug_id_int,
                          "debug_name": debug.delegate_debug_id_str or "", "output": bool(value.output and value.output.bool_val), "kind": kind,
                          "int": value.int_value.int_val if value.int_value else 0, "bool": bool(value.bool_value and value.bool_value.bool_val),
                          "real": real, "tensors": [tensor(x) for x in tensors]})
    return found


def our_raw_values(etbackend, path, debug_path):
    reader = Path(etbackend).with_name("etdump_values")
    lines = subprocess.run([str(reader), str(path), str(debug_path)], check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def rows_of_inspect(etbackend, path):
    report = json.loads(subprocess.run([etbackend, "inspect", str(path), "--by", "event", "--json"], check=True, capture_output=True).stdout)
    return Counter(INSIDE if row["inside_delegate"] else (row["name"], row["chain"], row["instruction"], row["calls"]) for row in report["rows"])


def check_program(options, program, folder, runs):
    """Returns the cells of the program's row, and reasons for each difference."""
    theirs, ours = folder / "theirs.etdp", folder / "ours.etdp"
    their_debug, our_debug = folder / "theirs.bin", folder / "ours.bin"
    record_officially(program, runs, theirs, their_debug, options.debug_mib)
    record_here(options.etbackend, program, runs, ours, our_debug, options.plugin_path)
    their_inspector, our_inspector = open_officially(theirs, their_debug), open_officially(ours, our_debug)
    their_rows, our_rows = rows_of(their_inspector), rows_of(our_inspector)
    their_table, our_table = rows_of_inspect(options.etbackend, theirs), rows_of_inspect(options.etbackend, ours)
    inside = [rows.pop(INSIDE, 0) for rows in (their_rows, our_rows)]
    for table in (their_table, our_table):
        table.pop(INSIDE, 0)
    reasons = [f"row only officially: {row}" for row in sorted((their_rows - our_rows).items())]
    reasons += [f"row only here: {row}" for row in sorted((our_rows - their_rows).items())]
    reasons += [f"inspect: {row}" for row in sorted(((their_table - our_table) + (our_table - their_table)).items())]
    their_values, our_values = values_of(their_inspector), values_of(our_inspector)
    value_reasons = compare_values(their_values, our_values, options.tolerance)
    reader_reasons = [f"reader of {path.name}" for path, debug in ((theirs, their_debug), (ours, our_debug))
                      if raw_values(path, debug) != our_raw_values(options.etbackend, path, debug)]
    yes = lambda wrong: "NO" if wrong else "yes"
    cells = [str(sum(their_rows.values())), yes(reasons), str(len(their_values)), yes(value_reasons), yes(reader_reasons), f"{inside[0]}, {inside[1]}"]
    return cells, reasons + value_reasons + reader_reasons


def check_allocations(options):
    """The official Inspector does not open files with allocations; our reader does."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "run.etdp"
        record_here(options.etbackend, options.programs[0], 1, path, None, options.plugin_path, ["--profile-memory"])
        rows_of_inspect(options.etbackend, path)
        try:
            open_officially(path, None)
        except ValueError as error:
            print(f"as expected, the official Inspector refuses allocations: {error}")
            return 0
    print("the official Inspector opens files with allocations now: record them by default")
    return 1


def check_inner(options):
    """Values inside of delegates in the official Inspector."""
    wrong = 0
    print("| model | values inside of delegates | with debug handles | dtypes recorded |\n|---|---|---|---|")
    for archive in options.programs:
        with tempfile.TemporaryDirectory() as name:
            program, record, path, debug = (Path(name) / file for file in ("m.pte", "m.etrecord", "run.etdp", "run.bin"))
            plugins = [word for folder in options.plugin_path for word in ("--plugin-path", folder)]
            command = [options.etbackend, *plugins, "compile", archive, "-b", options.inner, "-o", program, "--etrecord", record]
            subprocess.run(command, check=True, capture_output=True)
            record_here(options.etbackend, program, 1, path, debug, options.plugin_path)
            dtypes = sorted({tensor["dtype"] for value in our_raw_values(options.etbackend, path, debug) for tensor in value["tensors"]})
            record_here(options.etbackend, program, 1, path, debug, options.plugin_path, ["--debug-widen"])
            from executorch.devtools import Inspector

            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                inspector = Inspector(etdump_path=str(path), etrecord=str(record), debug_buffer_path=str(debug))
            inner = [event for block in inspector.event_blocks for event in block.events if event.is_delegated_op and event.debug_data]
            joined = sum(bool(event.debug_handles) for event in inner)
            wrong += joined != len(inner) or not inner
            print(f"| {Path(archive).stem} | {len(inner)} | {joined} | {', '.join(map(str, dtypes))} |", flush=True)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etbackend")
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--plugin-path", action="append", default=[])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--debug-mib", type=int, default=8, help="size of the official debug buffer, which is written whole")
    parser.add_argument("--allocations", action="store_true")
    parser.add_argument("--inner", metavar="BACKEND")
    options = parser.parse_args()
    if options.allocations:
        return check_allocations(options)
    if options.inner:
        return check_inner(options)
    wrong = skipped = 0
    print("| program | rows | the same | values | the same | our reader agrees with theirs | events inside delegates: theirs, ours |")
    print("|---|---|---|---|---|---|---|")
    for program in options.programs:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            try:
                record_officially(program, 1, folder / "probe.etdp", folder / "probe.bin", options.debug_mib)
            except Exception as error:  # noqa: BLE001  (of the official run time)
                skipped += 1
                print(f"| {Path(program).name} | not run: {str(error).splitlines()[0][:80]} | | | | | |", flush=True)
                continue
            try:
                cells, reasons = check_program(options, program, folder, options.runs)
            except AssertionError:  # the official Inspector: runs of a program with state have other outputs
                cells, reasons = check_program(options, program, folder, 1)
                cells[0] += " (one run)"
        wrong += bool(reasons)
        print(f"| {Path(program).name} | {' | '.join(cells)} |", flush=True)
        for reason in reasons[:12]:
            print("   ", reason)
    count = len(options.programs) - skipped
    print(f"{count - wrong} of {count} programs have the same rows and values; {skipped} do not run officially with inputs of ones")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
