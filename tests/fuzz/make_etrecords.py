# SPDX-License-Identifier: Apache-2.0
"""Writes the small records from which etrecord_fuzz starts: python3 tests/fuzz/make_etrecords.py tests/fuzz/etrecord"""

import io
import json
import pickle
import sys
import zipfile
from pathlib import Path


def zip_of(entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in entries.items():
            file.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return out.getvalue()


def node(name, op, handle, stack):
    metadata = {"debug_handle": str(handle), "stack_trace": f'File "m.py", line {handle}, in forward', "nn_module_stack": stack}
    return {"name": name, "target": f"executorch.exir.dialects.edge.ops.{op}", "inputs": [], "outputs": [], "metadata": metadata}


def graph(nodes):
    return json.dumps({"graph_module": {"graph": {"nodes": nodes}}})


def saved(pickled, storages=()):
    return zip_of({"archive/data.pkl": pickled, "archive/byteorder": "little", **{f"archive/data/{i}": bytes_ for i, bytes_ in enumerate(storages)}})


# [a tensor of two floats], as torch.save writes it
TENSOR = b"\x80\x02](ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x02tQK\0(K\x02t(K\x01t\x89ccollections\nOrderedDict\n)RtRe."


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    empty = saved(b"\x80\x02}.")
    beside = {"_state_dict": empty, "_constants": empty, "_example_inputs": saved(pickle.dumps(((), {}), 2))}
    edge = graph([node("add", "aten.add.Tensor", 1, "L__self__,,Net"), node("conv", "aten.convolution.default", 2, "k,a.b,Conv2d")])
    record = {
        "ETRECORD_V0": json.dumps({"program": {"name": "m.pte", "sha256": "0" * 64}}),
        "edge_dialect_exported_program/forward": edge,
        **{f"edge_dialect_exported_program/forward{ending}": data for ending, data in beside.items()},
        "debug_handle_map": '{"forward": {"0": [1, 2], "1": 3}}',
        "delegate_map": '{"forward": {"0": {"name": "X", "delegate_map": {"Conv #1": [2], "7": 1}}}}',
        "instruction_id_to_num_outs_map": '{"forward": {"0": 1}}',
        "export_graph_id": "7",
        "representative_inputs": saved(TENSOR, [bytes(8)]),
        "reference_outputs": pickle.dumps({"forward": [[1, 2.5, True, None, "t"]]}),
    }
    old = {"ETRECORD_V0": "", "edge_dialect_exported_program": graph([]), "edge_dialect_exported_program_state_dict": empty, "debug_handle_map": '{"forward": {"0": null}}'}
    extra = {"ETRECORD_V0": "", "stage/forward": graph([]), "stage/forward_state_dict": empty, "delegate_map": '{"a": null, "b": {"0": {"name": "", "delegate_map": null}}}'}
    for name, entries in {"record": record, "old": old, "extra": extra}.items():
        (folder / f"{name}.etrecord").write_bytes(zip_of(entries))


if __name__ == "__main__":
    main()
