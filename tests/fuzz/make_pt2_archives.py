#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes hostile torch.export archives, one a trick, from two good ones: what the archive reader's fuzz corpus begins with.

usage: make_pt2_archives.py FIXTURES_DIR OUT_DIR

FIXTURES_DIR has add.pt2 and dynamic.pt2 (tests/fixtures/archives). Needs Python only.
"""
import io
import json
import pathlib
import struct
import sys
import zipfile

U64 = 2 ** 64 - 1


def read(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def store(records, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in records.items():
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return bytearray(out.getvalue())


def model_name(records):
    return next(name for name in records if "/models/" in name)


def with_model(records, edit):
    """`edit` changes the parsed model, or gives the bytes to write instead."""
    name = model_name(records)
    model = json.loads(records[name])
    made = edit(model)
    return store({**records, name: made if isinstance(made, bytes) else json.dumps(model).encode()})


def with_text(records, old, new):
    name = model_name(records)
    data = records[name]
    assert old in data, old
    return store({**records, name: data.replace(old, new)})


def zip64_tail(data, count=None, size=None, offset=None, end64=None):
    """The archive with a zip64 end record that says other things than the truth."""
    end = data.rfind(b"PK\5\6")
    _, _, _, total, nbytes, start = struct.unpack("<HHHHII", data[end + 4:end + 20])
    record = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count or total, count or total,
                         size if size is not None else nbytes, offset if offset is not None else start)
    locator = struct.pack("<IIQI", 0x07064B50, 0, end if end64 is None else end64, 1)
    return data[:end] + record + locator + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)


def central_entries(data):
    at = struct.unpack("<I", data[(end := data.rfind(b"PK\5\6")) + 16:end + 20])[0]
    while at >= 0 and data[at:at + 4] == b"PK\1\2":
        name, extra, comment = struct.unpack("<HHH", data[at + 28:at + 34])
        yield at
        at += 46 + name + extra + comment


def zip_tricks(good):
    data = store(good)
    yield "zip64_right", zip64_tail(data)
    yield "zip64_entry_count_huge", zip64_tail(data, count=U64)
    yield "zip64_directory_wraps", zip64_tail(data, size=2 ** 63, offset=2 ** 63 + 64)
    yield "zip64_directory_outside", zip64_tail(data, offset=2 ** 40)
    yield "zip64_locator_outside", zip64_tail(data, end64=U64 - 3)
    yield "zip64_locator_at_itself", zip64_tail(data, end64=len(data) - 10)
    yield "deflate_bomb", store({**good, "add/data/weights/bomb": bytes(4 << 20)}, zipfile.ZIP_DEFLATED)
    for cut in (4, 22, len(data) // 2, len(data) - 1, len(data) - 23):
        yield f"truncated_{cut}", data[:cut]
    for what, place in (("sizes_huge", 20), ("offset_huge", 42)):
        bent = bytearray(data)
        for at in central_entries(bent):
            bent[at + place:at + place + (8 if place == 20 else 4)] = b"\xfe\xff\xff\xff" * (2 if place == 20 else 1)
        yield what, bent
    bent, first = bytearray(data), None
    for at in central_entries(bent):
        first = bent[at + 42:at + 46] if first is None else first
        bent[at + 42:at + 46] = first
    yield "all_records_one_place", bent
    bent = bytearray(data)
    for at in central_entries(bent):
        size = struct.unpack("<I", bent[at + 20:at + 24])[0] + 40
        bent[at + 20:at + 28] = struct.pack("<II", size, size)
    yield "records_overlap", bent
    bent = bytearray(data)
    for at in central_entries(bent):
        bent[at + 28:at + 34] = b"\xff" * 6
    yield "names_reach_outside", bent
    yield "two_ends", data + data[data.rfind(b"PK\5\6"):]
    yield "comment_is_an_archive", data[:-2] + struct.pack("<H", len(data)) + data


def json_tricks(good):
    yield "json_deep", with_model(good, lambda _: b"[" * 20000)
    yield "json_deep_objects", with_model(good, lambda _: b'{"a":' * 20000)
    yield "json_no_end", with_model(good, lambda m: json.dumps(m).encode()[:-30])
    yield "json_not_utf8", with_text(good, b'"aten"', b'"\xff\xfe\xc0\x80"')
    yield "json_number_huge", with_text(good, b'"as_int": 2', b'"as_int": 1' + b"0" * 400)
    yield "json_number_just_above", with_text(good, b'"as_int": 2', b'"as_int": 9223372036854775808')
    yield "json_sizes_negative", with_text(good, b'"as_int": 2', b'"as_int": -2')
    yield "json_sizes_huge", with_text(good, b'"as_int": 2', b'"as_int": 4611686018427387904')
    yield "json_dtype_unknown", with_text(good, b'"dtype": 7', b'"dtype": 777')
    yield "json_version", with_text(good, b'"major": 8', b'"major": 9999999999')
    yield "json_a_key_twice", with_text(good, b'"graph_module":', b'"graph_module": 3, "graph_module":')
    yield "json_null_graph", with_model(good, lambda m: m["graph_module"].update(graph=None))
    yield "json_two_kinds", with_text(good, b'"as_tensor":', b'"as_int": 1, "as_tensor":')

    def undefined(model):
        model["graph_module"]["graph"]["nodes"][0]["inputs"][0]["arg"] = {"as_tensor": {"name": "nobody"}}

    def forever(model):
        node = model["graph_module"]["graph"]["nodes"][0]
        node["inputs"][0]["arg"]["as_tensor"]["name"] = node["outputs"][0]["as_tensor"]["name"]

    def nested(model):
        graph = model["graph_module"]["graph"]
        for _ in range(40):
            inner = json.loads(json.dumps(graph))
            graph = {**graph, "nodes": [{"target": "torch.ops.higher_order.wrap_with_set_grad_enabled", "metadata": {}, "inputs": [
                {"name": "", "arg": {"as_bool": False}, "kind": 1}, {"name": "", "arg": {"as_graph": {"name": "g", "graph": inner}}, "kind": 1}],
                "outputs": graph["outputs"], "is_hop_single_tensor_return": True}]}
        model["graph_module"]["graph"] = graph

    def wrong_arguments(model):
        for node in model["graph_module"]["graph"]["nodes"]:
            for item in node["inputs"]:
                item["arg"] = {"as_strings": ["x", "y"]}

    def many_results(model):
        node = model["graph_module"]["graph"]["nodes"][0]
        node["outputs"] = node["outputs"] * 50

    def no_inputs(model):
        model["graph_module"]["signature"]["input_specs"] = []

    for edit in (undefined, forever, nested, wrong_arguments, many_results, no_inputs):
        yield "graph_" + edit.__name__, with_model(good, edit)


SYMBOL = "Symbol('s77', positive=True, integer=True)"


def expression_tricks(good):
    tricks = {
        "deep": "Add(" * 900 + "Integer(1)" + ", Integer(1))" * 900,
        "deep_printed": "(" * 5000 + "s77" + ")" * 5000,
        "wide": "Add(" + ", ".join([SYMBOL] * 700) + ")",
        "power": f"Pow({SYMBOL}, Integer(1000000))",
        "powers": "Pow(" * 40 + SYMBOL + ", Integer(2))" * 40,
        "product_of_sums": "Mul(" + ", ".join([f"Add({SYMBOL}, Integer({i}))" for i in range(60)]) + ")",
        "division_by_zero": f"FloorDiv({SYMBOL}, Integer(0))",
        "remainder_of_zero": f"Mod({SYMBOL}, Add({SYMBOL}, Mul(Integer(-1), {SYMBOL})))",
        "least_by_minus_one": "FloorDiv(Integer(-9223372036854775808), Integer(-1))",
        "overflow": "Mul(Integer(9223372036854775807), Integer(9223372036854775807))",
        "number_huge": "Integer(" + "9" * 500 + ")",
        "unknown": "Exec('rm', Integer(1))",
        "no_end": "Add(" + SYMBOL,
        "symbol_unknown": "Symbol('zz', integer=True)",
        "name_long": "Symbol('" + "s" * 9000 + "', integer=True)",
    }
    for name, text in tricks.items():
        def edit(model, text=text):
            for meta in model["graph_module"]["graph"]["tensor_values"].values():
                for size in meta["sizes"]:
                    if "as_expr" in size:
                        size["as_expr"]["expr_str"] = text
        yield "expression_" + name, with_model(good, edit)

    def ranges(model):
        for bounds in model["range_constraints"].values():
            bounds.update(min_val=2 ** 62, max_val=-5)
    yield "ranges_upside_down", with_model(good, ranges)


def weight_tricks(good):
    """The first tensor constant or weight of the archive, described wrongly."""
    config = next((name for name in good if name.endswith("_weights_config.json") and b"path_name" in good[name]), None)
    if config is None:
        return
    for name, change in {"offset_huge": {"storage_offset": {"as_int": 2 ** 62}}, "offset_negative": {"storage_offset": {"as_int": -1}},
                         "strides_huge": {"strides": [{"as_int": 2 ** 61}] * 2}, "strides_negative": {"strides": [{"as_int": -4}] * 2},
                         "sizes_huge": {"sizes": [{"as_int": 2 ** 40}] * 2}, "rank_huge": {"sizes": [{"as_int": 1}] * 500, "strides": [{"as_int": 1}] * 500},
                         "dtype_unknown": {"dtype": 99}}.items():
        data = json.loads(good[config])
        for entry in data["config"].values():
            entry["tensor_meta"].update(change)
        yield "weight_" + name, store({**good, config: json.dumps(data).encode()})
    data = json.loads(good[config])
    for entry in data["config"].values():
        entry["path_name"] = "../../../etc/passwd"
    yield "weight_elsewhere", store({**good, config: json.dumps(data).encode()})
    yield "weights_short", store({name: data[:3] if "/weight_" in name else data for name, data in good.items()})


def main():
    fixtures, out = map(pathlib.Path, sys.argv[1:3])
    add, dynamic, tied = (read(fixtures / f"{name}.pt2") for name in ("add", "dynamic", "tied"))
    for name, data in (*zip_tricks(add), *json_tricks(add), *expression_tricks(dynamic), *weight_tricks(tied)):
        (out / f"{name}.pt2").write_bytes(bytes(data))


if __name__ == "__main__":
    main()
