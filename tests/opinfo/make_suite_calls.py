#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes conformance/cases/sampled_calls.def: calls for cases of `etbackend verify`, with the attributes and sizes of PyTorch's samples.

    build/dev/bin/etbackend verify --list --profile cert > list.txt
    python3 tests/opinfo/make_suite_calls.py list.txt conformance/cases/sampled_calls.def     # needs torch and numpy

Reads the kernel cases beside this file (case_file.hpp describes them). An op that has cases of its own in the list is left out. Numbers of
floating tensors are not kept, only their interval; a case draws its own. A row has five fields between bars:

    op | dtype | x (exact), or the largest number of the computation | arguments | results

An argument is NAME:VALUE. The first letter of a value is its kind: N none, I integer, D double, B bool, S text, L list of integers, F list
of doubles, M list of bools, T code of a dtype, V tensors between semicolons; else a tensor: f32[2,3](-4,4) with numbers of an interval, f32[2,3]#(-4,4) with whole numbers of it, i64[2]{0,1} with these
elements. @0231 after the sizes is a dim order.
"""
import collections
import math
import os
import struct
import sys

import numpy as np
import torch

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
NUMPY = {0: "u1", 1: "i1", 2: "i2", 3: "i4", 4: "i8", 5: "f2", 6: "f4", 7: "f8", 9: "c8", 10: "c16", 11: "u1", 15: "u2"}
NAMES = {0: "u8", 1: "i8", 2: "i16", 3: "i32", 4: "i64", 5: "f16", 6: "f32", 7: "f64", 11: "bool", 15: "bf16"}
FLOATS = (5, 6, 7, 15)
MOST_ROWS = {"f32": 5, "f64": 1, "i64": 2, "bool": 1}  # of an op and dtype; others: 1
MOST_CASES = 30  # an op with as many cases of other generators is left out
MOST_ELEMENTS = 4096
# Results that depend on chance or are not unique, and complex numbers. Others have designs of their own (conformance/cases/design_*.cpp): factors that
# fit each other, distances, histograms, results whose sizes depend on data, creation.
LEFT_OUT = ("lstsq householder ormqr ldl_solve rand empty dropout bernoulli nonzero masked_select resize unique multinomial normal fft complex polar conj real imag "
            "_pdist _cdist histc _embedding_bag").split()
# They have designs of their own: they depend on the width of a dtype, on numbers in order, or on neighbours.
LEFT_OUT_OPS = ("aten.view_copy.dtype", "aten.histogram.bins_tensor", "aten.nextafter.default")
# Matrices of these get a large diagonal of different numbers: their decompositions are unique and well conditioned.
MATRICES = "linalg_cholesky linalg_lu linalg_qr linalg_eigh linalg_svd linalg_solve linalg_ldl_factor geqrf _linalg triangular matrix_exp".split()
# Ops that move, select or compare elements: their results are exact.
EXACT = ("median mode sort topk gather scatter index put take masked_fill masked_scatter searchsorted bucketize cummax cummin flip "
         "roll tril triu narrow slice select as_strided copy clone repeat unfold pad constant_pad fill full zeros ones arange eye "
         "isin kthvalue max min amax amin argmax argmin any all where diag unbind split cat stack permute transpose view "
         "squeeze unsqueeze expand pixel aminmax sign heaviside floor_divide gcd lcm max_pool fractional_max adaptive_max "
         "maximum minimum clamp lift_fresh reflection_pad replication_pad constant_pad_nd t_copy").split()


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 8

    def read(self, kind):
        value = struct.unpack_from("<" + kind, self.data, self.at)[0]
        self.at += struct.calcsize("<" + kind)
        return value

    def text(self, count):
        self.at += count
        return self.data[self.at - count:self.at].decode()

    def tensor(self):
        dtype, rank = self.read("b"), self.read("B")
        sizes = [self.read("q") for _ in range(rank)]
        order = [self.read("B") for _ in range(rank)]
        count = math.prod(sizes)
        data = np.frombuffer(self.data, dtype=NUMPY[dtype], count=count, offset=self.at)
        self.at += data.nbytes
        if dtype == 15:
            data = (data.astype("u4") << 16).view("f4")
        return ("tensor", dtype, sizes, order, data.astype("f8") if dtype in FLOATS else data)

    def argument(self):
        kind = self.read("B")
        if kind == 0:
            return ("none",)
        if kind == 1:
            return self.tensor()
        if kind in (2, 3, 4):
            return ({2: "int", 3: "double", 4: "bool"}[kind], self.read("_qdB"[kind - 1]))
        if kind == 5:
            return ("text", self.text(self.read("I")))
        if kind in (6, 7, 8):
            return ({6: "ints", 7: "doubles", 8: "bools"}[kind], [self.read("qdB"[kind - 6]) for _ in range(self.read("I"))])
        if kind in (9, 10):
            return ("tensors", [self.tensor() if self.read("B") else None for _ in range(self.read("I"))])
        if kind == 11:
            return ("out", self.tensor())
        raise ValueError("an argument that the table does not have")


def read_cases(path):
    reader = Reader(open(path, "rb").read())
    count = reader.read("I")
    op = reader.text(reader.read("I"))
    cases = []
    for _ in range(count):
        end = reader.read("I")
        end += reader.at
        try:
            scale, arguments = reader.read("d"), reader.read("H")
            reader.text(reader.read("H"))
            cases.append((scale, [reader.argument() for _ in range(arguments)]))
        except (ValueError, KeyError):
            pass
        reader.at = end
    return op, cases


def functional_schema(schemas, op):
    """The schema without outputs and side effects that has the inputs of an out variant."""
    name, _, overload = op.partition(".")
    of_out = [s for s in schemas[name] if s.overload_name == overload]
    if not of_out:
        return None
    inputs = [(a.name, str(a.type)) for a in of_out[0].arguments if not a.is_out]
    for schema in schemas[name]:
        writes = any(a.is_out or (a.alias_info and a.alias_info.is_write) for a in schema.arguments)
        if writes or any(r.alias_info for r in schema.returns):
            continue
        if [(a.name, str(a.type)) for a in schema.arguments] == inputs:
            return schema
    return None


def shape_text(dtype, sizes, order):
    return f"{NAMES[dtype]}[{','.join(map(str, sizes))}]" + ("@" + "".join(map(str, order)) if order != sorted(order) else "")


def is_matrix(tensor):
    return tensor[1] in FLOATS and len(tensor[2]) >= 2 and min(tensor[2][-2:]) > 0


def tensor_text(tensor, has_diagonal=False, is_whole=False):
    _, dtype, sizes, order, data = tensor
    if dtype not in NAMES or data.size > MOST_ELEMENTS:
        raise ValueError("dtype or size")
    text = shape_text(dtype, sizes, order)
    if dtype not in FLOATS:
        return text + "{" + ",".join(str(int(x)) for x in data) + "}" if data.size <= 96 else text + f"({data.min()},{data.max()})"
    if not np.isfinite(data).all():
        raise ValueError("special values")
    low, high = (math.floor(data.min() * 64) / 64, math.ceil(data.max() * 64) / 64) if data.size else (-1, 1)
    if max(abs(low), abs(high)) > 1e4:
        raise ValueError("large numbers")
    if is_whole:
        return text + f"#({math.floor(low)},{math.ceil(high)})"
    return text + ("~" if has_diagonal and is_matrix(tensor) else "") + f"({low:.6g},{high:.6g})"


def value_text(argument, schema, has_diagonal, is_whole):
    kind = argument[0]
    if kind == "tensor":
        return tensor_text(argument, has_diagonal, is_whole)
    if kind == "tensors":
        if not argument[1] or any(one is None for one in argument[1]):
            raise ValueError("an optional tensor in a list")
        return "V" + ";".join(tensor_text(one) for one in argument[1])
    if kind == "none":
        return "N"
    value = argument[1]
    real = str(getattr(schema, "real_type", schema.type))
    if "Layout" in real or "MemoryFormat" in real:
        raise ValueError("a code that the table does not have")
    if kind == "int":
        return ("T" if "ScalarType" in real else "I") + str(value)
    if kind == "double":
        if not math.isfinite(value):
            raise ValueError("special values")
        return "D" + repr(value)
    if kind == "bool":
        return f"B{value}"
    if kind == "text":
        return "S" + value
    return {"ints": "L", "doubles": "F", "bools": "M"}[kind] + ",".join(map(repr, value))


def row_of(edge, base, schema, scale, arguments):
    """Returns the row's dtype, a key that is the same for calls that differ in sizes only, and its text."""
    inputs = [a for a in arguments if a[0] != "out"]
    outputs = [a[1] for a in arguments if a[0] == "out"]
    if len(inputs) != len(schema.arguments) or not outputs:
        raise ValueError("arguments")
    texts, key, largest = [], [], scale
    has_diagonal = any(word in base for word in MATRICES)
    is_whole = base.startswith("max_pool") and base.endswith("_backward")  # a sum whose additions PyTorch rounds one by one
    tensors = [t for a in inputs for t in ([a] if a[0] == "tensor" else a[1] if a[0] == "tensors" else []) if t is not None]
    for argument, one in zip(inputs, schema.arguments):
        text = value_text(argument, one, has_diagonal, is_whole)
        texts.append(f"{one.name}:{text}")
        key.append((len(argument[2]), argument[3]) if argument[0] == "tensor" else text.split("[")[0])
    dtypes = [t[1] for t in tensors]
    dtype = next((NAMES[d] for d in (6, 7, 5, 15, 4, 11) if d in dtypes), NAMES[dtypes[0]] if dtypes else None)
    if dtype is None or all(t[4].size == 0 for t in tensors):
        raise ValueError("no elements")
    if base == "histogram" and tensors[0][4].size > 1:
        raise ValueError("a number beside the border of two bins belongs to either")
    results = []
    for _, code, sizes, order, data in outputs:
        if code not in NAMES or not np.isfinite(data.astype("f8")).all():
            raise ValueError("results")
        results.append(shape_text(code, sizes, order))
    for _, code, _, _, data in outputs + tensors:
        if code in FLOATS and data.size:
            largest = max(largest, float(np.abs(data).max()))
    if base.startswith(("native_group_norm", "native_layer_norm", "_native_batch_norm_legit")) and tensors[0][4].size <= 8:
        # Few numbers may be close to each other: all but epsilon of their variance is rounding.
        largest = max(largest, float(np.abs(tensors[0][4]).max(initial=1)) / math.sqrt(inputs[-1][1]))
    for tensor in tensors:
        if has_diagonal and is_matrix(tensor):
            rows, columns = tensor[2][-2:]  # the last element of the diagonal is the largest
            largest = max(largest, float(np.ptp(tensor[4])) * max(rows, columns) * (1 + min(rows, columns)))
    name = base.strip("_")
    is_exact = any(name == e or name.startswith(e + "_") or (len(e) > 4 and name.startswith(e)) for e in EXACT)
    is_exact |= name == "embedding" or not any(code in FLOATS for _, code, _, _, _ in outputs)
    return dtype, tuple(map(str, key)), "|".join([edge, dtype, "x" if is_exact else f"{largest:.3g}", " ".join(texts), " ".join(results)])


def count_cases(path):
    counts = collections.Counter()
    for line in open(path):
        words = line.split()[0].split(".")
        if words[0] in ("op", "edge", "quant", "dyn"):
            counts[words[1]] += 1
    return counts


def main():
    covered = count_cases(sys.argv[1])
    schemas = collections.defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        schemas[schema.name].append(schema)
    rows = []
    for file in sorted(os.listdir(CASES)):
        op, cases = read_cases(os.path.join(CASES, file))
        base = op.split("::")[1].split(".")[0]
        schema = functional_schema(schemas, op)
        if schema is None or any(word in base for word in LEFT_OUT):
            continue
        overload = schema.overload_name or "default"
        if f"aten.{base}.{overload}" in LEFT_OUT_OPS:
            continue
        word = base if overload == "default" else f"{base}_{overload}".lower()
        if covered[word] >= MOST_CASES:
            continue
        seen, counts = set(), collections.Counter()
        most = 2 if "polynomial" in base else 5
        for scale, arguments in cases:
            try:
                dtype, key, text = row_of(f"aten.{base}.{overload}", base, schema, scale, arguments)
            except ValueError:
                continue
            if (dtype, key) in seen or counts[dtype] >= min(most, MOST_ROWS.get(dtype, 1)):
                continue
            seen.add((dtype, key))
            counts[dtype] += 1
            rows.append(text)
    with open(sys.argv[2], "w") as out:
        out.write("// SPDX-License-Identifier: Apache-2.0\n// Written by tests/opinfo/make_suite_calls.py, which describes the fields.\n")
        for row in rows:
            out.write(f'ETB_SAMPLED_CALL("{row}")\n')
    print(len(rows), "calls of", len({row.split("|")[0] for row in rows}), "ops")


main()
