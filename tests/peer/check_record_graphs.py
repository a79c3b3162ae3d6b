# SPDX-License-Identifier: Apache-2.0
"""Runs the graphs of records of `etbackend compile --etrecord-weights` with the official tools.

    python tests/peer/check_record_graphs.py ETBACKEND ARCHIVE.pt2 ... [--module NAME=ARCHIVE.pt2]

Needs the executorch wheel, and pandas. Beside each archive are PyTorch's inputs and outputs, ARCHIVE.in.0.npy and ARCHIVE.out.0.npy.
`parse_etrecord` must return them, the exported graph and the edge graph must compute them, and an extra module must compute as
its archive does. The official Inspector must find a numeric gap below 1e-8 between the record's graph and a profile of this run
time. Ends with 1 if something differs.
"""

import argparse
import contextlib
import io
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

warnings.simplefilter("ignore")


@contextlib.contextmanager
def silence():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)


def arrays_of(archive, kind):
    """Paths of PyTorch's inputs ("in") or outputs ("out"), in order."""
    paths = (archive.with_suffix(f".{kind}.{index}.npy") for index in range(100))
    return [path for path in paths if path.exists()]


def largest_difference(found, expected):
    from torch.utils._pytree import tree_leaves

    found = tree_leaves(found)
    if len(found) != len(expected):
        return float("inf")
    return max(float((a.double() - b.double()).abs().max()) for a, b in zip(found, expected))


def official_gap(profile, record, buffer):
    """Rows, and the largest mean squared error of a node."""
    from executorch.devtools import Inspector

    with silence():
        table = Inspector(etdump_path=profile, etrecord=record, debug_buffer_path=buffer).calculate_numeric_gap("MSE")
    return len(table), max(float(gap[0]) for gap in table["gap"])


def check_archive(etbackend, archive, module, folder):
    import numpy as np
    import torch
    from executorch.devtools.etrecord import parse_etrecord
    from torch.utils._pytree import tree_leaves

    program, record, profile, buffer = (str(folder / f"{archive.stem}.{ending}") for ending in ("pte", "etrecord", "etdp", "bin"))
    inputs, outputs = arrays_of(archive, "in"), arrays_of(archive, "out")
    stored = [word for path in inputs for word in ("--etrecord-input", path)]
    stored += [word for path in outputs for word in ("--etrecord-output", path)]
    words = ["--etrecord-module", f"{module[0]}={module[1]}"] if module else []
    run(etbackend, "compile", archive, "-o", program, "--etrecord", record, "--etrecord-weights", *stored, *words)
    given = [word for path in inputs for word in ("--input", path)]
    run(etbackend, "run", program, *given, "--profile", profile, "--debug-buffer", buffer, "--print-output", "none")
    with silence():
        parsed = parse_etrecord(record)
    xs, ys = ([torch.from_numpy(np.load(path)) for path in paths] for paths in (inputs, outputs))
    wrong = []
    if largest_difference(parsed._representative_inputs, xs) != 0:
        wrong.append("representative inputs")
    if set(parsed._reference_outputs) != {"forward"} or largest_difference(parsed._reference_outputs["forward"][0], ys) != 0:
        wrong.append("reference outputs")
    with torch.no_grad():
        exported = largest_difference(parsed.exported_program.module()(*xs), ys)
        edge = largest_difference(parsed.edge_dialect_program.module()(*xs), ys)
        if module:
            extra, direct = parsed.graph_map.get(f"{module[0]}/forward"), torch.export.load(module[1])
            example = direct.example_inputs[0]
            if extra is None or largest_difference(extra.module()(*example), tree_leaves(direct.module()(*example))) > 1e-5:
                wrong.append("extra module")
    rows, gap = official_gap(profile, record, buffer)
    wrong += [name for name, is_wrong in (("exported graph", exported > 1e-5), ("edge graph", edge > 1e-5), ("numeric gap", not gap < 1e-8)) if is_wrong]
    print(f"| {archive.stem} | {exported:.2g} | {edge:.2g} | {rows} | {gap:.2g} | {'NO: ' + ', '.join(wrong) if wrong else 'yes'} |", flush=True)
    return bool(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etbackend")
    parser.add_argument("archives", nargs="+", type=Path)
    parser.add_argument("--module", help="an extra module of each record")
    options = parser.parse_intermixed_args()
    module = options.module.split("=", 1) if options.module else None
    print("| model | largest difference of the exported graph | of the edge graph | rows of the numeric gap | largest MSE | right |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        wrong = sum(check_archive(options.etbackend, archive, module, Path(folder)) for archive in options.archives)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
