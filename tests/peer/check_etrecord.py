# SPDX-License-Identifier: Apache-2.0
"""Compares `etbackend inspect` with the official Inspector, on official records and on those of `etbackend compile`.

    python tests/peer/check_etrecord.py ETBACKEND ARCHIVE.pt2 ... [--plugin-path DIR] [--backend NAME ...] [--official FOLDER] [--copy-record PROGRAM]

Needs the executorch wheel, and pandas. tests/fixtures/make_etrecords.py writes the folder of official files; without --official
it does so now. For each pair of a profile and a record the official Inspector and `inspect --by event --json` must have the same
rows in the same order, with equal columns: block, name, times over the runs, op types, debug handles, identifier, stack traces,
metadata, backend, start times. For records of ours the official `parse_etrecord` must also find each part, with the exporter's inputs.
--copy-record build/dev/bin/copy_record: each official record that this project reads and writes again must be equal in the official
parser: graphs, extra modules, maps, graph id, inputs and outputs. Rows where this project knows more are counted: nodes of events inside a delegate, whose handles the official reader has, too, and
methods after the first, where the official Inspector has no answer. Ends with 1 if a row differs or none is compared, and with a
traceback if the official reader raises anything but the exception that NOT_OPENED has for the record.
"""

import argparse
import contextlib
import io
import json
import math
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

warnings.simplefilter("ignore")
ROOT = Path(__file__).resolve().parents[2]
# The run time's own events are of no node; officially they have the handles of instruction 0.
OF_METHOD = {"Method::init", "Program::load_method", "Method::execute"}
# Records that the official Inspector does not open: the exception that it raises, and a part of the text.
SEVERAL_METHODS = (AttributeError, "has no attribute 'graph_module'")
OTHER_FIELDS = (TypeError, "Node.__init__() missing 1 required positional argument")
PICKLED = (RuntimeError, "Failed to load reference_outputs from ETRecord")
NOT_OPENED = {"two_methods": SEVERAL_METHODS, "0.7.0": OTHER_FIELDS, "1.0.1": PICKLED, "1.1.0": PICKLED, "1.2.0": PICKLED}


@contextlib.contextmanager
def silence():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def is_not_opened(record, error):
    """True if this error is the known one for the record."""
    kind, text = NOT_OPENED.get(record.stem, (None, ""))
    return type(error) is kind and text in str(error)


def official_rows(profile, record):
    from executorch.devtools import Inspector

    with silence():
        inspector = Inspector(etdump_path=str(profile), etrecord=str(record))
    rows = []
    for block in inspector.event_blocks:
        for event in block.events:
            handles = event.debug_handles
            handles = [] if handles is None or event.name in OF_METHOD else [handles] if isinstance(handles, int) else list(handles)
            rows.append(
                {
                    "block": block.name,
                    "name": event.name,
                    "raw": event.perf_data.raw if event.perf_data else None,
                    "p10": event.perf_data.p10 if event.perf_data else None,
                    "p90": event.perf_data.p90 if event.perf_data else None,
                    "avg": event.perf_data.avg if event.perf_data else None,
                    "op_types": event.op_types,
                    "handles": handles,
                    "identifier": event.delegate_debug_identifier,
                    "inside": bool(event.is_delegated_op),
                    "backend": event.delegate_backend_name if event.name not in OF_METHOD else None,
                    "traces": sorted(set(trace or "" for trace in event.stack_traces.values())),
                    "outputs": event.num_outputs if event.name not in OF_METHOD else 1,
                    "values": len(event.debug_data),
                    "start": list(event.start_time or []),
                }
            )
    return rows


def inspect(etbackend, profile, record):
    done = subprocess.run([etbackend, "inspect", str(profile), "--etrecord", str(record), "--by", "event", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    rows = []
    blocks = json.loads(done.stdout)["event_blocks"]
    for block in blocks:
        for event in block["events"]:
            rows.append(
                {
                    "block": block["name"],
                    "name": event["name"],
                    "raw": event["raw"],
                    "p10": event["p10"],
                    "p90": event["p90"],
                    "avg": event["avg"],
                    "op_types": event["op_types"],
                    "handles": event["debug_handles"],
                    "identifier": event["delegate_debug_identifier"],
                    "inside": event["is_delegated_op"],
                    "backend": event["delegate_backend_name"],
                    "traces": sorted(set(trace or "" for trace in event["stack_traces"].values())),
                    "outputs": event["num_outputs"],
                    "values": len(event["debug_data"]),
                    "start": event["start_time"],
                }
            )
    return rows, blocks


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        # Officially, times inside delegates are differences of large numbers.
        return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-9)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def compare(theirs, ours):
    """Columns that differ, by row."""
    if len(theirs) != len(ours):
        return [f"{len(theirs)} rows officially, {len(ours)} here"]
    out = []
    for i, (one, other) in enumerate(zip(theirs, ours)):
        out += [f"row {i} ({one['name']}), {name}: {one[name]!r} officially, {other[name]!r} here" for name in one if not same(one[name], other[name])]
    return out


def print_row(name, theirs, ours, blocks, wrong):
    inside = [row for row in ours if row["inside"]]
    joined = sum(bool(row["op_types"]) for row in inside)
    methods = ", ".join(dict.fromkeys(block["method"] for block in blocks if block["method"]))
    found = "no answer" if theirs is None else len(theirs)
    print(f"| {name} | {found} | {len(ours)} | {'-' if theirs is None else 'NO' if wrong else 'yes'} | {joined} of {len(inside)} | {methods} |", flush=True)
    for line in wrong[:6]:
        print("  ", line)


def check_pair(etbackend, name, profile, record):
    """One of "equal", "different", or "not opened" by the official Inspector, for the known reason."""
    ours, blocks = inspect(etbackend, profile, record)
    try:
        theirs = official_rows(profile, record)
    except (AttributeError, RuntimeError, TypeError) as error:
        if not is_not_opened(record, error):
            raise
        theirs = None
    wrong = [] if theirs is None else compare(theirs, ours)
    print_row(name, theirs, ours, blocks, wrong)
    return "not opened" if theirs is None else "different" if wrong else "equal"


def check_parts(archive, record, has_backend):
    """What the official parser lacks in a record of ours."""
    import torch
    from executorch.devtools.etrecord import parse_etrecord

    with silence():
        parsed = parse_etrecord(str(record))
        exported = torch.export.load(str(archive))
    missing = [name for name in ("exported_program", "edge_dialect_program", "_debug_handle_map", "_delegate_map", "_instruction_id_to_num_outs_map") if getattr(parsed, name) is None]
    if parsed.export_graph_id is None:
        missing.append("export_graph_id")
    if exported.example_inputs is not None and not exported.example_inputs[1]:
        given = [value for value in exported.example_inputs[0]]
        stored = parsed._representative_inputs or []
        if len(given) != len(stored) or not all(torch.equal(a, b) for a, b in zip(given, stored) if isinstance(a, torch.Tensor)):
            missing.append("representative inputs")
    if has_backend and not any(call["delegate_map"] for call in parsed._delegate_map["forward"].values()):
        missing.append("names of events of the delegate")
    return missing


def code_of(program):
    """The text of a graph, or of several by name."""
    if program is None or not hasattr(program, "items"):
        return program and str(program.graph)
    return {name: str(one.graph) for name, one in program.items()}


def flat(values):
    if isinstance(values, dict):
        return [item for name in sorted(values) for item in [name, *flat(values[name])]]
    if isinstance(values, (list, tuple)):
        return [len(values), *(item for value in values for item in flat(value))]
    return [values.tolist() if hasattr(values, "tolist") else values]


def is_read_officially(record):
    """False for records of old releases that the official parser does not read, for the known reason."""
    from executorch.devtools.etrecord import parse_etrecord

    try:
        with silence():
            parse_etrecord(str(record))
    except (RuntimeError, TypeError) as error:
        if not is_not_opened(record, error):
            raise
        return False
    return True


def check_copy(program, record, copy):
    """Parts that the official parser finds different in the record and in the copy that this project wrote."""
    from executorch.devtools.etrecord import parse_etrecord

    subprocess.run([program, str(record), str(copy)], check=True)
    with silence():
        one, other = parse_etrecord(str(record)), parse_etrecord(str(copy))
    graphs = ["exported_program", "edge_dialect_program", "graph_map"]
    maps = ["_debug_handle_map", "_delegate_map", "_instruction_id_to_num_outs_map", "export_graph_id"]
    tensors = ["_representative_inputs", "_reference_outputs"]
    parts = [(name, code_of) for name in graphs] + [(name, lambda value: value) for name in maps] + [(name, flat) for name in tensors]
    return [name for name, form in parts if form(getattr(one, name)) != form(getattr(other, name))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etbackend")
    parser.add_argument("archives", nargs="*")
    parser.add_argument("--plugin-path", action="append", default=[])
    parser.add_argument("--backend", action="append", default=[])
    parser.add_argument("--official")
    parser.add_argument("--copy-record")
    options = parser.parse_intermixed_args()
    plugins = [word for folder in options.plugin_path for word in ("--plugin-path", folder)]
    found, faults = [], 0
    print("| files | rows of the official Inspector | rows here | equal | events inside delegates with nodes, here | methods joined here |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        official = Path(options.official or folder / "official")
        if not options.official:
            subprocess.run([sys.executable, "make_etrecords.py", str(official)], cwd=ROOT / "tests" / "fixtures", check=True, capture_output=True)
        releases = sorted((ROOT / "tests" / "fixtures" / "etrecord" / "releases").glob("*.etrecord"))
        for record in [*sorted(official.glob("*.etrecord")), *releases]:
            # Records of old releases are of the same program as add.
            profile = official / "add.etdp" if record in releases else record.with_suffix(".etdp")
            found.append(check_pair(options.etbackend, f"official {record.stem}", profile, record))
            if options.copy_record and is_read_officially(record):
                if different := check_copy(options.copy_record, record, folder / "copy.etrecord"):
                    faults += 1
                    print("   the copy differs in", ", ".join(different))
        for archive in options.archives:
            for backend in ["", *options.backend]:
                program, record, profile = (folder / f"model.{ending}" for ending in ("pte", "etrecord", "etdp"))
                words = ["-b", backend] if backend else []
                subprocess.run([options.etbackend, *plugins, "compile", archive, *words, "-o", program, "--etrecord", record], check=True, capture_output=True)
                subprocess.run([options.etbackend, *plugins, "run", program, "--ones", "--repeat", "3", "--profile", profile, "--print-output", "none"], check=True, capture_output=True)
                name = f"{Path(archive).stem} {backend}".strip()
                found.append(check_pair(options.etbackend, name, profile, record))
                if missing := check_parts(archive, record, bool(backend)):
                    faults += 1
                    print("   parse_etrecord lacks", ", ".join(missing))
    equal, not_opened = found.count("equal"), found.count("not opened")
    print(f"{equal} of {len(found) - not_opened} pairs have the same rows; the official Inspector does not open {not_opened} more; other faults: {faults}")
    return 0 if equal == len(found) - not_opened > 0 and faults == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
