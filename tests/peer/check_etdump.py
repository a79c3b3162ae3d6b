# SPDX-License-Identifier: Apache-2.0
"""Compares ETDumps of our run time with those of the official one: the same programs, both files in the official Inspector.

    python tests/peer/check_etdump.py ETBACKEND PROGRAM.pte ... [--plugin-path DIR] [--runs 3]

Needs the executorch wheel. Each program runs on both sides with inputs of ones; the official Inspector opens both files, and
`etbackend inspect` opens both, too. Compares blocks and rows of the run time (event name, chain, instruction, calls), not
times. Prints a row for each program, and ends with 1 if a row differs. A program that the official run time does not run so is skipped with its error.
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

# Loading is one step here, so our file has no row for the part of it that the official run time calls Method::init.
ONLY_OFFICIAL = {"Method::init"}
# Events inside of a delegate are its plugin's: other names, and sometimes another number. They are counted.
INSIDE = "inside delegates"


def record_officially(program, runs, path):
    import torch
    from executorch.extension.pybindings.portable_lib import _load_for_executorch

    module = _load_for_executorch(str(program), enable_etdump=True)
    meta = module.method_meta("forward")
    dtypes = {6: torch.float32, 4: torch.int64, 3: torch.int32, 11: torch.bool, 7: torch.float64, 0: torch.uint8, 1: torch.int8}
    inputs = []
    for i in range(meta.num_inputs()):
        info = meta.input_tensor_meta(i)
        inputs.append(torch.ones(tuple(info.sizes()), dtype=dtypes[info.dtype()]))
    for _ in range(runs):
        module.forward(inputs)
    module.write_etdump_result_to_file(str(path), str(path) + ".bin")


def record_here(etbackend, program, runs, path, plugin_paths):
    command = [etbackend, *[word for folder in plugin_paths for word in ("--plugin-path", folder)], "run", str(program), "--ones"]
    command += ["--repeat", str(runs - 1), "--profile", str(path), "--print-output", "none"] if runs > 1 else ["--profile", str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def rows_of_inspector(path):
    """Events of the official Inspector: how often each occurs."""
    from executorch.devtools import Inspector

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        inspector = Inspector(etdump_path=str(path))
    rows = Counter()
    for block in inspector.event_blocks:
        for event in block.events:
            if event.name in ONLY_OFFICIAL:
                continue
            if event.is_delegated_op:
                rows[INSIDE] += 1
            else:
                rows[(block.name, event.name, event._instruction_id, len(event.perf_data.raw))] += 1
    return rows


def rows_of_inspect(etbackend, path):
    report = json.loads(subprocess.run([etbackend, "inspect", str(path), "--by", "event", "--json"], check=True, capture_output=True).stdout)
    return Counter(INSIDE if row["inside_delegate"] else (row["name"], row["chain"], row["instruction"], row["calls"]) for row in report["rows"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etbackend")
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--plugin-path", action="append", default=[])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    wrong = skipped = 0
    print("| program | rows of the official Inspector | the same for our file | rows of etbackend inspect | the same | events inside delegates: theirs, ours |")
    print("|---|---|---|---|---|---|")
    for program in options.programs:
        with tempfile.TemporaryDirectory() as name:
            theirs, ours = Path(name) / "theirs.etdp", Path(name) / "ours.etdp"
            try:
                record_officially(program, options.runs, theirs)
            except Exception as error:
                skipped += 1
                print(f"| {Path(program).name} | not run: {str(error).splitlines()[0][:80]} | | | |", flush=True)
                continue
            record_here(options.etbackend, program, options.runs, ours, options.plugin_path)
            their_rows, our_rows = rows_of_inspector(theirs), rows_of_inspector(ours)
            their_table, our_table = rows_of_inspect(options.etbackend, theirs), rows_of_inspect(options.etbackend, ours)
        inside = [rows.pop(INSIDE, 0) for rows in (their_rows, our_rows)]
        for table in (their_table, our_table):
            table.pop(INSIDE, 0)
        same, same_table = their_rows == our_rows, their_table == our_table
        wrong += not (same and same_table)
        print(f"| {Path(program).name} | {sum(their_rows.values())} | {'yes' if same else 'NO'} | {sum(their_table.values())} | {'yes' if same_table else 'NO'} | {inside[0]}, {inside[1]} |", flush=True)
        if not same:
            print("  only officially:", sorted((their_rows - our_rows).items())[:6], "\n  only here:", sorted((our_rows - their_rows).items())[:6])
        if not same_table:
            print("  only officially:", sorted((their_table - our_table).items())[:6], "\n  only here:", sorted((our_table - their_table).items())[:6])
    count = len(options.programs) - skipped
    print(f"{count - wrong} of {count} programs have the same rows; {skipped} do not run officially with inputs of ones")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
