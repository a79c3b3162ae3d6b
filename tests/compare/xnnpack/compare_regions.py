# SPDX-License-Identifier: Apache-2.0
"""Counts, model by model, what the official partitioner and our plugin leave outside XNNPACK and what their payloads move around.

    python tests/compare/xnnpack/compare_regions.py ETBACKEND DIR... [--official FILE] [--page docs/xnnpack.md] [--only PATTERN]

Each NAME.pt2 of the folders (tests/fixtures/zoo; tests/peer/make_zoo.py --full writes the large ones) is lowered with both. Of each program: regions (calls of
delegates), nodes outside (instructions that call kernels, of a branch's too), and transposes and copies among the nodes of its payloads. `graph` is what the official partitioner
leaves in its graph, views that its memory planner elides later included. --official keeps the official side's figures and reads them again; --page rewrites the table of a page. Exits with
1 when a program of ours has more calls, or as many nodes outside and more transposes. Needs torch, torchao and executorch.
"""
import argparse
import collections
import fnmatch
import hashlib
import json
import logging
import pathlib
import re
import subprocess
import sys
import tempfile

BEGIN, END = "<!-- regions -->\n", "<!-- end of regions -->"
MOVES = ("XNNStaticTranspose", "XNNCopy")
NO_NODE = ("executorch_call_delegate", "getitem", "sym_size", "_operator.")


def payload_nodes(payload, folder):
    """Names of the nodes of a payload, as the official tools read it."""
    import executorch.backends.xnnpack.serialization as schemas
    from executorch.backends.xnnpack.serialization.xnnpack_graph_serialize import XNNHeader
    from executorch.exir._serialize._flatbuffer import _flatc_decompile

    header = XNNHeader.from_bytes(payload[: XNNHeader.EXPECTED_LENGTH])
    graph = folder / "payload.bin"
    graph.write_bytes(payload[header.flatbuffer_offset : header.flatbuffer_offset + header.flatbuffer_size])
    schema = pathlib.Path(schemas.__path__[0]) / "schema.fbs"
    _flatc_decompile(str(folder), str(schema), str(graph), ["--raw-binary"])
    nodes = json.loads(re.sub(rb"\b-?(inf|nan)\b", b"0", (folder / "payload.json").read_bytes()))["xnodes"]
    return [node["xnode_union_type"] for node in nodes]


def figures_of(program_file, folder):
    from executorch.exir._serialize._program import _flatbuffer_to_program, _get_extended_header
    from executorch.exir.schema import DataLocation, DelegateCall, KernelCall

    data = program_file.read_bytes()
    header = _get_extended_header(data)
    program = _flatbuffer_to_program(data[: header.program_size] if header else data)
    found = collections.Counter(regions=0, outside=0, moves=0)
    for plan in program.execution_plan:
        for chain in plan.chains:
            for instruction in chain.instructions:
                found["regions"] += isinstance(instruction.instr_args, DelegateCall)
                found["outside"] += isinstance(instruction.instr_args, KernelCall)
        for delegate in plan.delegates:
            if delegate.processed.location == DataLocation.INLINE:
                payload = bytes(program.backend_delegate_data[delegate.processed.index].data)
            else:
                segment = program.segments[delegate.processed.index]
                payload = data[header.segment_base_offset + segment.offset :][: segment.size]
            found["moves"] += sum(name in MOVES for name in payload_nodes(payload, folder))
    found["nbytes"] = len(data)
    return dict(found)


def nodes_left(module):
    return sum(node.op == "call_function" and not any(word in str(node.target) for word in NO_NODE) for part in module.modules() if hasattr(part, "graph") for node in part.graph.nodes)


def lower_officially(archive, folder):
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackDynamicallyQuantizedPartitioner, XnnpackPartitioner
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

    partitioners = [XnnpackPartitioner()]
    if "dynamic" in archive.stem and "q8" in archive.stem or "8da4w" in archive.stem:
        partitioners.insert(0, XnnpackDynamicallyQuantizedPartitioner())
    try:
        with torch.no_grad():
            edge = to_edge_transform_and_lower(torch.export.load(archive), partitioner=partitioners, compile_config=EdgeCompileConfig(_check_ir_validity=False))
            left = nodes_left(edge.exported_program().graph_module)
            program = edge.to_executorch()
        with open(folder / "official.pte", "wb") as file:
            program.write_to_file(file)
    except Exception as error:  # noqa: BLE001  (any error of the official side)
        return {"fault": f"{type(error).__name__}: {(str(error).strip() or '-').splitlines()[0][:80]}"}
    return {**figures_of(folder / "official.pte", folder), "graph": left}


def lower_here(etbackend, archive, folder):
    program = folder / "ours.pte"
    done = subprocess.run([etbackend, "compile", archive, "-b", "xnnpack", "-o", program, "--allow-missing-kernels"], capture_output=True, text=True)
    if done.returncode != 0:
        return {"fault": (done.stderr.strip() or "-").splitlines()[-1]}
    return figures_of(program, folder)


def row_of(name, ours, theirs):
    cells = [ours.get(key, "-") for key in ("regions", "outside", "moves")] + [theirs.get(key, "-") for key in ("regions", "outside", "graph", "moves")]
    note = "fails: " + theirs["fault"].split(":")[0] if "fault" in theirs else ""
    return f"| {name} | " + " | ".join(map(str, cells)) + f" | {note} |\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etbackend")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--official", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--only", default="*")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    known = json.loads(options.official.read_text()) if options.official and options.official.exists() else {}
    table = "| model | regions | nodes outside | transposes, copies | official: regions | nodes outside | in its graph | transposes, copies | |\n|---|---|---|---|---|---|---|---|---|\n"
    behind = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for archive in sorted(path for root in options.folders for path in root.glob("*.pt2")):
            if not fnmatch.fnmatch(archive.stem, options.only):
                continue
            digest = hashlib.sha256(archive.read_bytes()).hexdigest()
            if digest not in known:
                known[digest] = lower_officially(archive, folder)
                if options.official:
                    options.official.write_text(json.dumps(known))
            ours, theirs = lower_here(options.etbackend, archive, folder), known[digest]
            row = row_of(archive.stem, ours, theirs)
            print(row, end="", flush=True)
            table += row
            # One more region that leaves fewer nodes outside is not worse. Moves of nodes that the other side
            # left outside are not either.
            calls = [side.get("regions", 0) + side.get("outside", 0) for side in (ours, theirs)]
            is_more = "fault" not in theirs and (calls[0] > calls[1] or (ours["outside"] == theirs["outside"] and ours["moves"] > theirs["moves"]))
            if "fault" in ours or is_more:
                behind.append(archive.stem)
    if options.page:
        page = options.page.read_text()
        start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        options.page.write_text(page[:start] + table + page[end:])
    print(f"behind: {', '.join(behind) or 'none'}")
    return 1 if behind else 0


if __name__ == "__main__":
    sys.exit(main())
