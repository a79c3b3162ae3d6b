# SPDX-License-Identifier: Apache-2.0
"""Compares the simulated DSP with the TOSA reference model: codes of the layers, pools and factors that compare_single wrote.

    compare_single 300 DIR
    python tests/compare/cmsis_nn/compare_tosa.py DIR

Needs the package tosa-tools, which has the serializer and the program tosa_reference_model. Prints elements compared and different.
"""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import serializer.tosa_serializer as ts
from serializer.tosa_serializer import DType, TosaOp, TosaSerializer
from tosa.NanPropagationMode import NanPropagationMode
from tosa.RoundingMode import RoundingMode

MODEL = Path(sysconfig.get_path("scripts")) / "tosa_reference_model"
NAMES = {0: "conv2d", 1: "depthwise conv2d", 2: "linear", 3: "maximum pool", 4: "average pool"}
TYPES = {"int8": DType.INT8, "int16": DType.INT16, "int32": DType.INT32}


class Graph:
    """One TOSA program with one result, run on the reference model."""

    def __init__(self, folder):
        self.folder = folder
        self.s = TosaSerializer(str(folder), ts.ConstMode.EMBED)
        self.files, self.names = [], []

    def input(self, name, values):
        np.save(self.folder / f"{name}.npy", values)
        self.files.append(f"{name}.npy")
        tensor = self.s.addPlaceholder(list(values.shape), TYPES[str(values.dtype)], values)
        self.names.append(tensor.name)
        return tensor

    def const(self, values, dtype):
        values = np.asarray(values)
        return self.s.addConst(list(values.shape), dtype, values)

    def op(self, op, inputs, shape, dtype, attribute, is_result=False):
        out = (self.s.addOutput if is_result else self.s.addIntermediate)(list(shape), dtype)
        self.s.addOperator(op, [tensor.name for tensor in inputs], [out.name], attribute)
        return out

    def rescale(self, x, multipliers, shifts, out_zero, out_type, is_result, in_type=DType.INT32):
        """Sums of 48 bits have multipliers of 16 bits and shifts as they are; other shifts are relative to 31."""
        attribute, is_wide = ts.TosaSerializerAttribute(), in_type == DType.INT48
        attribute.RescaleAttribute(not is_wide, RoundingMode.SINGLE_ROUND, True, False, False)
        shifts = shifts if is_wide else 31 - shifts
        inputs = [x, self.const(multipliers, DType.INT16 if is_wide else DType.INT32), self.const(shifts.astype(np.int8), DType.INT8),
                  self.const(np.zeros(1, np.int64), in_type), self.const(np.array([out_zero]), out_type)]
        return self.op(TosaOp.Op().RESCALE, inputs, x.shape, out_type, attribute, is_result)

    def clamp(self, x, low, high, dtype=DType.INT8):
        attribute = ts.TosaSerializerAttribute()
        as_bytes = lambda value: np.array([value], np.int8 if dtype == DType.INT8 else np.int16).tobytes()
        attribute.ClampAttribute(self.s.builder, list(as_bytes(low)), list(as_bytes(high)), NanPropagationMode.PROPAGATE)
        return self.op(TosaOp.Op().CLAMP, [x], x.shape, dtype, attribute, True)

    def run(self):
        (self.folder / "program.tosa").write_bytes(self.s.serialize())
        result = self.s.currRegion.currBasicBlock.outputs[0]
        done = subprocess.run([MODEL, "--tosa_file=program.tosa", "--flatbuffer_dir=.", "--output_dir=.", "--ifm_name=" + ",".join(self.names),
                               "--ifm_file=" + ",".join(self.files), "--ofm_name=" + result, "--ofm_file=result.npy"],
                              cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"the reference model refuses {self.folder}: {done.stdout}{done.stderr}")
        return np.load(self.folder / "result.npy")


def fit(x, l):
    """TOSA wants windows that end at the border: the padding [top, bottom, left, right], and the input without what no window reads."""
    padding = []
    for axis in (0, 1):
        size, out = l["input"][1 + axis], l["output"][1 + axis]
        reach = (out - 1) * l["stride"][axis] + (l["kernel"][axis] - 1) * l["dilation"][axis] + 1
        after = reach - size - l["padding"][axis]
        if after < 0:
            x = np.delete(x, np.s_[size + after:], axis=1 + axis)
        padding += [l["padding"][axis], max(after, 0)]
    return x, padding


def run_sums(l, folder, x, weights, bias, multipliers, shifts, outputs):
    """A convolution of one group, or a depthwise one."""
    x, padding = fit(x, l)
    graph, attribute = Graph(folder), ts.TosaSerializerAttribute()
    is_depthwise = l["kind"] == 1
    codes, sum_type = (DType.INT16, DType.INT48) if x.dtype == np.int16 else (DType.INT8, DType.INT32)
    (attribute.DepthwiseConv2dAttribute if is_depthwise else attribute.Conv2dAttribute)(padding, l["stride"], l["dilation"], False, sum_type)
    zero = lambda value, dtype: graph.const(np.array([value]), dtype)
    inputs = [graph.input("x", x), graph.const(weights, DType.INT8), graph.const(bias, sum_type), zero(-l["input_offset"], codes), zero(0, DType.INT8)]
    shape = l["output"][:3] + [outputs]
    sums = graph.op(TosaOp.Op().DEPTHWISE_CONV2D if is_depthwise else TosaOp.Op().CONV2D, inputs, shape, sum_type, attribute)
    scaled = graph.rescale(sums, multipliers, shifts, l["output_offset"], codes, False, sum_type)
    return graph.clamp(scaled, l["low"], l["high"], codes) and graph.run()


def run_pool(l, folder, x):
    x, padding = fit(x, l)
    graph, attribute = Graph(folder), ts.TosaSerializerAttribute()
    inputs = [graph.input("x", x)]
    if l["kind"] == 3:
        attribute.MaxPool2dAttribute(l["kernel"], l["stride"], padding, NanPropagationMode.PROPAGATE)
    else:
        attribute.AvgPool2dAttribute(l["kernel"], l["stride"], padding, DType.INT32)
        inputs += [graph.const(np.array([-l["input_offset"]], np.int8), DType.INT8) for _ in range(2)]
    graph.op(TosaOp.Op().MAX_POOL2D if l["kind"] == 3 else TosaOp.Op().AVG_POOL2D, inputs, l["output"], DType.INT8, attribute, True)
    return graph.run()


def run_layer(base, folder):
    l = json.loads(base.with_suffix(".json").read_text())
    read = lambda name, dtype: np.fromfile(base.with_suffix("." + name), dtype)
    is_wide = base.name.startswith("wide")
    codes = np.int16 if is_wide else np.int8
    x, expected = read("input", codes).reshape(l["input"]), read("output", codes).reshape(l["output"])
    if l["kind"] >= 3:
        return l["kind"], run_pool(l, folder, x), expected
    bias = read("bias", np.int64 if is_wide else np.int32)
    multipliers, shifts = (read(name, np.int32) for name in ("multipliers", "shifts"))
    if l["kind"] == 1:
        inputs = l["input"][3]
        weights = read("weights", np.int8).reshape(l["kernel"] + [inputs, l["outputs"] // inputs])
        return 1, run_sums(l, folder, x, weights, bias, multipliers, shifts, l["outputs"]), expected
    groups, outputs = l["groups"], l["outputs"] // l["groups"]
    weights = read("weights", np.int8).reshape([l["outputs"]] + l["kernel"] + [-1])
    parts = []
    for g in range(groups):
        own, width = slice(g * outputs, (g + 1) * outputs), l["input"][3] // groups
        parts.append(run_sums(l, folder, np.ascontiguousarray(x[..., g * width:(g + 1) * width]), weights[own], bias[own], multipliers[own], shifts[own], outputs))
    return l["kind"], np.concatenate(parts, axis=3), expected


def run_matmul(base, folder):
    """A linear layer with int16 weights and no bias."""
    l = json.loads(base.with_suffix(".json").read_text())
    read = lambda name, dtype=np.int16: np.fromfile(base.with_suffix("." + name), dtype)
    rows, outputs = l["input"][0], l["outputs"]
    x, weights = read("input").reshape(1, rows, -1), read("weights").reshape(outputs, -1)
    graph, attribute = Graph(folder), ts.TosaSerializerAttribute()
    attribute.MatMulAttribute()
    zero = lambda: graph.const(np.array([0]), DType.INT16)
    inputs = [graph.input("x", x), graph.input("w", np.ascontiguousarray(weights.T)[None]), zero(), zero()]
    sums = graph.op(TosaOp.Op().MATMUL, inputs, [1, rows, outputs], DType.INT48, attribute)
    scaled = graph.rescale(sums, read("multipliers", np.int32), read("shifts", np.int32), 0, DType.INT16, False, DType.INT48)
    graph.clamp(scaled, l["low"], l["high"], DType.INT16)
    return graph.run().ravel(), read("output")


def run_table(base, folder):
    """A table of 513 samples of int16 codes; its results have 7 more bits, which a rescale rounds off."""
    read = lambda name: np.fromfile(base.with_suffix("." + name), np.int16)
    graph, attribute = Graph(folder), ts.TosaSerializerAttribute()
    attribute.TableAttribute()
    x = read("input").reshape(-1, 1)
    longer = graph.op(TosaOp.Op().TABLE, [graph.input("x", x), graph.const(read("samples"), DType.INT16)], x.shape, DType.INT32, attribute)
    one = np.full(1, 1 << 30, np.int32), np.full(1, 31 - 37, np.int32)
    graph.rescale(longer, *one, 0, DType.INT16, True)
    return graph.run().ravel(), read("output")


def print_row(name, cases, elements, inside, different, largest):
    print(f"| {name}, DSP | TOSA | {cases} | {elements} | {inside} | {different} | {largest} |", flush=True)


def main():
    source = Path(sys.argv[1])
    folder = source / "tosa"
    folder.mkdir(exist_ok=True)
    read = lambda name: np.fromfile(source / f"factors.{name}", np.int32)
    values, results, multipliers, shifts = read("values"), read("results"), read("multipliers"), read("shifts")
    graph = Graph(folder)
    graph.rescale(graph.input("x", values.reshape(-1, len(multipliers))), multipliers, shifts, 0, DType.INT32, True)
    errors = np.abs(graph.run().astype(np.int64).ravel() - results)
    inside = np.count_nonzero((results > -128) & (results < 127))
    print_row("requantise", 1, errors.size, inside, np.count_nonzero(errors), errors.max())
    counts = {}
    def add(name, found, expected):
        errors = np.abs(found.astype(np.int32) - expected)
        cases, elements, inside, different, largest = counts.get(name, (0, 0, 0, 0, 0))
        limits = np.iinfo(expected.dtype)
        inside += np.count_nonzero((expected > limits.min) & (expected < limits.max))
        counts[name] = (cases + 1, elements + errors.size, inside, different + np.count_nonzero(errors), max(largest, int(errors.max(initial=0))))

    for base in sorted(source.glob("matmul_*.json")):
        add("int16 linear with int16 weights", *run_matmul(base, folder))
    for base in sorted(set(source.glob("*_*.json")) - set(source.glob("matmul_*.json"))):
        kind, found, expected = run_layer(base, folder)
        add(("int16 " if base.name.startswith("wide") else "") + NAMES[kind], found, expected)
    for base in sorted(source.glob("table_*.input")):
        add("int16 table", *run_table(base, folder))
    for name, count in counts.items():
        print_row(name, *count)


if __name__ == "__main__":
    main()
