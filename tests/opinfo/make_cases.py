#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns PyTorch's own operator samples (OpInfo) into case files for the portable kernels.

  make_cases.py OUT_DIR [--ops REGEX] [--per-dtype N] [--max-numel N] [--seed S] [--all]

Each sample of torch.testing's op_db runs under a dispatch mode that records the ATen calls behind it. A call whose op has a kernel
here (docs/kernels.md) is written as a call of the out variant: arguments in schema order, and the outputs that PyTorch computes for them.
Besides the samples, element-wise ops get NaN, infinities, signed zeros and subnormals, 4-d ops get channels_last inputs, and
tensor-number overloads are derived from the tensor-tensor ones. One file an op; the format is described in case_file.hpp.
Without --all a seeded subset is kept: at most N cases for each dtype, small tensors first.
"""
import argparse
import importlib.util
import random
import re
import struct
import warnings
from math import prod
from pathlib import Path

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

from conditioned import ASKS_FOR_VECTORS, BY_FACTORS, conditioned_error, is_inexact
from exact import own_error
from pack import CODES, Unusable, dim_order_of, pack_argument, pack_tensor, pack_tensors
from trees import freeze, map_tensors, tensors_in

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool]
# Functional overloads whose out variant cannot be found by comparing schemas.
RENAMED = {"aten::mean": "aten::mean.dtype_out", "aten::prod": "aten::prod.out", "aten::max": "aten::max.unary_out",
           "aten::min": "aten::min.unary_out"}
# Results that PyTorch leaves unspecified (memory contents, random numbers): only sizes are compared.
OPEN_RESULT = {"aten::empty.out", "aten::empty_permuted.out", "aten::rand.out", "aten::randn.out", "aten::randperm.out", "aten::empty_strided.out",
               "dim_order_ops::_empty_dim_order.out", "llama::update_cache.out", "llama::update_cache_with_indices.out"}
# Likewise one result of several: vectors that may have any sign.
OPEN_OUTS = {("aten::linalg_eig.out", "eigenvectors")}
# Ops with complex tensors in the cases.
COMPLEX = {"aten::_to_copy.out", "aten::_fft_c2c.out", "aten::_fft_c2r.out", "aten::_fft_r2c.out", "aten::complex.out", "aten::logcumsumexp.out",
           "aten::view_as_complex_copy.out", "aten::view_as_real_copy.out"}
COMPLEX_DTYPES = [torch.complex64, torch.complex128]
COMPLEX_OPS = re.compile(r"(to|bool|int|float|cfloat|cdouble)$|fft|i?stft|complex|logcumsumexp|polar|view_as|" + BY_FACTORS.pattern)  # OpInfos that call them
# Ops that add up many terms: the error is measured against the sum of the terms' magnitudes.
ACCUMULATES = re.compile(r"aten::(_fft_|mm|bmm|addmm|convolution|convolution_backward|sum|mean|cumsum|var|var_mean|_cdist_forward|"
                         r"_pdist_forward|native_layer_norm|native_group_norm|_native_batch_norm|_softmax|_log_softmax|linear|"
                         r"avg_pool|_adaptive_avg_pool|upsample|_upsample|grid_sampler|scatter_add|scatter_reduce|index_put|prod|"
                         r"_embedding_bag|histogram|segment_reduce|std|sub|add|rsub|remainder|fmod|logit|gelu|expm1|log1p|glu|elu|max_pool2d_with_indices_b)")


# Minimum error scale for ops where PyTorch's own value is that far from the exact one. The vectorised erf has
# an absolute error near 1e-7, which is visible for small arguments (bfloat16 of -1e-6 is 6 % off).
FIXED_SCALE = {"aten::erf.out": 0.05}


def full_name(overload):
    schema = overload._schema
    return schema.name + ("." + schema.overload_name if schema.overload_name else "")


def functional_arguments(schema):
    return [(a.name, str(a.type)) for a in schema.arguments if not a.is_out]


def overloads_of(packet):
    return [getattr(packet, name) for name in packet.overloads()]


def resolve(name):
    """torch.ops overload for 'ns::op.overload', or None."""
    namespace, rest = name.split("::")
    op, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), op, None)
    return getattr(packet, overload or "default", None) if packet is not None else None


def kernel_names():
    """The kernels of the table that kernel_cases --docs writes from the registry."""
    table = (Path(__file__).parents[2] / "docs/kernels.md").read_text()
    return re.findall(r"(?m)^\| (\w+::[\w.]+) \|", table)


def find_targets(names):
    """Maps functional overload -> out overload for every op that has a kernel and that PyTorch knows."""
    targets = {}
    reverse = {out: functional for functional, out in RENAMED.items()}
    for name in names:
        out = resolve(name)
        if out is None:
            continue
        if name in reverse:
            targets[resolve(reverse[name])] = out
            continue
        if not any(a.is_out for a in out._schema.arguments):
            targets[out] = out  # in place: copy_, index_put_
            continue
        packet = getattr(getattr(torch.ops, name.split("::")[0]), name.split("::")[1].split(".")[0])
        wanted = functional_arguments(out._schema)
        for candidate in overloads_of(packet):
            schema = candidate._schema
            if not any(a.is_out for a in schema.arguments) and not schema.is_mutable and functional_arguments(schema) == wanted:
                targets[candidate] = out
    return targets


def view_to_copy(targets):
    """Views record as their copying twin: permute.default -> permute_copy.default."""
    table = {}
    for functional in targets:
        namespace, name = functional._schema.name.split("::")
        if namespace != "aten" or not name.endswith("_copy"):
            continue
        packet = getattr(torch.ops.aten, name[: -len("_copy")], None)
        overload = functional._schema.overload_name or "default"
        if packet is not None and overload in packet.overloads():
            table[getattr(packet, overload)] = functional
    return table


class Recorder(TorchDispatchMode):
    def __init__(self, targets, views):
        super().__init__()
        self.targets, self.views, self.calls = targets, views, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        wanted = self.views.get(func, func)
        if wanted in self.targets:
            self.calls.append((wanted, freeze(args), freeze(kwargs or {})))
        return func(*args, **(kwargs or {}))


def bind(schema, args, kwargs):
    """The arguments of a call by position in its schema, defaults filled in."""
    bound, position = [], 0
    for a in schema.arguments:
        if a.is_out:
            continue
        if not a.kwarg_only and position < len(args):
            bound.append(args[position])
        elif a.name in kwargs:
            bound.append(kwargs[a.name])
        elif a.has_default_value():
            bound.append(a.default_value)
        else:
            raise Unusable("missing " + a.name)
        position += 0 if a.kwarg_only else 1
    return bound


def as_tensor_argument(type_text, value):
    """Exported programs turn a number passed for a tensor into a rank-0 tensor."""
    if type_text in ("Tensor", "Optional[Tensor]") and isinstance(value, (bool, int, float)):
        return torch.tensor(value)
    return value


def call(functional, bound):
    schema = functional._schema
    positional = [v for a, v in zip(schema.arguments, bound) if not a.kwarg_only]
    named = {a.name: v for a, v in zip(schema.arguments, bound) if a.kwarg_only}
    return functional(*positional, **named)


def magnitude(functional, name, bound, result):
    """What the error of an accumulating op is measured against; 0 for ops computed element by element."""
    if name in FIXED_SCALE:
        return FIXED_SCALE[name]
    if BY_FACTORS.match(name.split("::")[1].split(".")[0]):
        return factor_scale(functional, bound, result)
    if not ACCUMULATES.match(name):
        first = next((t for t in tensors_in(result) if t.is_floating_point()), None)
        if first is None:
            return 0.0
        computing_eps = 2.0**-52 if first.dtype == torch.float64 else 2.0**-23
        return own_error(name.split("::")[1].split(".")[0], bound, first) / (32 * computing_eps)  # the factor of compare.cpp
    reals = [t for t in tensors_in(bound) if (t.is_floating_point() or t.is_complex()) and t.numel()]
    largest = max([largest_of(t) for t in reals], default=0.0)
    absolute_of = lambda t: t.double().abs() if t.is_floating_point() else t.abs().to(torch.complex128) if t.is_complex() else t
    try:
        summed = list(tensors_in(call(functional, map_tensors(bound, absolute_of))))
        sizes = [largest_of(t) for t in summed if t.numel()]
    except Exception:
        sizes = []
    results = [largest_of(t) for t in tensors_in(result) if t.numel()]
    return max(sizes + results + [largest]) * rounded_steps(name, bound)


def factor_scale(functional, bound, result):
    """The largest number of a factorisation, and PyTorch's error by the matrix's condition."""
    largest = max([largest_of(t) for t in tensors_in([bound, result]) if is_inexact(t) and t.numel()], default=0.0)
    computing_eps = 2.0**-52 if bound[0].dtype in (torch.float64, torch.complex128) else 2.0**-23
    error = conditioned_error(full_name(functional).removesuffix(".default"), lambda *args: call(functional, list(args)), bound, {}, computing_eps)
    return max(largest, error / (8 * computing_eps))

def largest_of(tensor):
    """The largest finite magnitude."""
    magnitudes = tensor.abs() if tensor.is_complex() else tensor
    return float(torch.nan_to_num(magnitudes.double(), nan=0, posinf=0, neginf=0).abs().max())


def rounded_steps(name, bound):
    """PyTorch rounds these partial results to the 16-bit dtype: sums of a transposed convolution, of gradients and of an adaptive pool, the
    logarithm in _log_softmax, mean and deviation of a batch norm, positions in a grid. Its own error is then a part of a 16-bit rounding of them, not of a float32 one."""
    if bound[0].dtype not in (torch.float16, torch.bfloat16):
        return 1
    coarser = 8 if bound[0].dtype == torch.bfloat16 else 1  # three bits less
    if name.startswith(("aten::_log_softmax", "aten::_native_batch_norm", "aten::_adaptive_avg_pool")):
        return 128 * coarser
    if name.startswith("aten::grid_sampler"):
        return 16384 * coarser
    if name.startswith(("aten::add.", "aten::sub.", "aten::rsub.")):  # alpha * other, and a number, where its scalar loops run
        is_exact = isinstance(bound[1], torch.Tensor) or float(torch.tensor(bound[1]).to(bound[0].dtype)) == bound[1]
        return 1 if is_exact and bound[-1] == 1 else 64 * coarser
    sums_in_16_bits = name == "aten::convolution_backward.out" or (name == "aten::convolution.out" and bound[6])
    return 128 * coarser if sums_in_16_bits else 1


def contiguous_result(t):
    return t.detach().clone(memory_format=torch.preserve_format) if dim_order_of(t) else t.detach().contiguous()


def has_ties(bound):
    """Whether values repeat along the dim that an op orders by: then PyTorch does not say which comes first."""
    values, dim = bound[0], next((v for v in bound[1:] if isinstance(v, int) and not isinstance(v, bool)), -1)
    dim = bound[2] if len(bound) == 5 else dim  # topk(self, k, dim, largest, sorted)
    if values.dim() == 0:
        return False
    ordered = torch.nan_to_num(values.double(), nan=torch.finfo(torch.float64).max).sort(dim).values
    return bool((ordered.diff(dim=dim) == 0).any())


def has_subnormals(tensor):
    if not tensor.is_floating_point():
        return False
    smallest = torch.finfo(torch.float64 if tensor.dtype == torch.float64 else torch.float32).tiny
    return bool(((tensor != 0) & (tensor.abs() < smallest)).any())


def refuse_undefined(name, bound):
    if BY_FACTORS.match(name.split("::")[1]) and bound[0].dtype not in (torch.float32, torch.float64, *COMPLEX_DTYPES):
        raise Unusable("a factorisation in another dtype, which PyTorch has for empty matrices only")
    if name in ("aten::sort.values", "aten::topk.values", "aten::median.dim_values") and has_ties(bound):
        raise Unusable("ties")
    if name in ("aten::fmod.Tensor_out", "aten::remainder.Tensor_out") and has_subnormals(bound[1]):
        raise Unusable("remainder of a division by a subnormal number")  # NaN in PyTorch's vector loops, right in its scalar ones
    if name == "aten::resize_" and (len(bound[1]) != bound[0].dim() or prod(bound[1]) > bound[0].numel()):
        raise Unusable("another rank or more memory than a program's tensor can have")
    if name == "aten::polygamma.out" and bool(((bound[1] <= 0) & (bound[1] == bound[1].floor())).any()):
        raise Unusable("a pole, where PyTorch returns large numbers")
    if name == "aten::mode.values" and bound[0].dim() and bound[0].size(bound[1]) > 16 and has_ties(bound):
        raise Unusable("index of one of several equal elements")
    if name.startswith("aten::hist") and bound[0].dtype in (torch.float16, torch.bfloat16):
        raise Unusable("counts in 16 bits")
    if name == "aten::histogram.bins_tensor_out" and bool((bound[1].diff() < 0).any()):
        raise Unusable("edges that do not rise")
    if name == "aten::grid_sampler_2d.out" and bound[2] == 1 and bound[0].dtype in (torch.float16, torch.bfloat16):
        raise Unusable("nearest pixel of a position rounded to 16 bits")


def pack_case(functional, out, args, kwargs, source):
    schema, name = out._schema, full_name(out)
    bound = bind(functional._schema, args, kwargs)
    bound = [as_tensor_argument(str(a.type), v) for a, v in zip(functional._schema.arguments, bound)]
    refuse_undefined(name, bound)
    if name in ASKS_FOR_VECTORS:
        bound[ASKS_FOR_VECTORS[name]] = False
    in_place = functional is out
    before = map_tensors(bound, freeze)
    result = call(functional, bound)
    has_complex = name in COMPLEX or BY_FACTORS.match(name.split("::")[1])
    if any(t.dtype not in CODES or t.is_complex() for t in tensors_in([bound, result])) and not has_complex:
        raise Unusable("complex")
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if name == "aten::convolution_backward.out":  # unrequested results are sometimes present
        results = [r if wanted else None for r, wanted in zip(results, bound[10])]
    packed, outs, inputs = [], iter(results), iter(before)
    for a in schema.arguments:
        if in_place and a.name == "self":
            packed.append(b"\x0d" + pack_tensor(next(inputs)) + pack_tensor(bound[0]))
        elif not a.is_out:
            packed.append(pack_argument(str(a.type), next(inputs)))
        elif str(a.type) == "List[Tensor]":
            packed.append(pack_tensors(12, [contiguous_result(t) for t in results]))
        else:
            kind, one = b"\x0e" if name in OPEN_RESULT or (name, a.name) in OPEN_OUTS else b"\x0b", next(outs)
            packed.append(b"\0" if one is None else kind + pack_tensor(contiguous_result(one)))
    scale = magnitude(functional, name, before, result)
    text = source.encode()[:200]
    body = struct.pack("<dHH", scale, len(packed), len(text)) + text + b"".join(packed)
    return struct.pack("<I", len(body)) + body


def signature_of(args, kwargs):
    """What a subset should cover: the dtypes of the tensors, ranks apart."""
    return tuple(str(t.dtype)[6:] for t in list(tensors_in(args)) + list(tensors_in(kwargs)))[:3]


# Families of extra cases of which a subset has one for each op and dtype.
SPECIAL_SOURCES = ["special values", "zero size", "rank 0", "wide", "dims in another order", "both halves", "odd length", "many lines",
                   # Of factorisations.
                   "pivot", "imaginary diagonal", "not positive", *[f"{side}{kind}" for side in ("left", "right") for kind in ("", " adjoint")],
                   *[f"{kind}{blocks}" for kind in ("hermitian", "symmetric") for blocks in ("", " blocks of two")],
                   *[f"length {n}" for n in (1, 2, 16, 30, 31, 37, 96)],  # of Fourier transforms: every radix, and convolutions
                   *[f"{kind}segments {r}" for r in ("sum", "mean", "max", "min", "prod") for kind in ("", "long ")],
                   *[f"long segments from 2 {r}" for r in ("sum", "mean", "max", "min", "prod")]]


class Cases:
    def __init__(self, options):
        self.options, self.by_op, self.skipped = options, {}, {}

    def add(self, functional, out, args, kwargs, source):
        numel = sum(t.numel() for t in tensors_in([args, kwargs]))
        if numel > self.options.max_numel:
            return
        try:
            packed = pack_case(functional, out, args, kwargs, source)
        except Unusable as why:
            self.skipped.setdefault(str(why), 0)
            self.skipped[str(why)] += 1
            return
        except Exception:  # PyTorch rejects it: no result to compare with
            return
        if len(packed) > self.options.max_bytes:
            return
        self.keep(full_name(out), signature_of(args, kwargs), packed[4 + 12 + len(source.encode()[:200]):], packed, source)

    def add_plain(self, name, arguments, outputs, source, scale=0.0):
        """A call that PyTorch has no out variant for: (schema type, value) of each argument, and what the outputs must be."""
        kind = b"\x0e" if name in OPEN_RESULT else b"\x0b"
        packed = [b"\x0d" + pack_tensor(value[0]) + pack_tensor(value[1]) if text == "in place" else pack_argument(text, value)
                  for text, value in arguments] + [kind + pack_tensor(t) for t in outputs]
        text = source.encode()[:200]
        body = struct.pack("<dHH", scale, len(packed), len(text)) + text + b"".join(packed)
        key = signature_of([v for _, v in arguments], {})[:1] or signature_of(outputs, {})[:1]
        self.keep(name, key, body[12 + len(text):], struct.pack("<I", len(body)) + body, source)

    def keep(self, name, key, content, packed, source):
        """Equal calls count once; `source` tells the families of extra cases apart."""
        self.by_op.setdefault(name, {}).setdefault(key, {}).setdefault(content, (packed, source))

    def choose(self, name, signature, cases):
        """A few cases of one op and dtype: one of each family of special ones, then small ones at random."""
        packed = list(cases.values())
        random.Random(f"{self.options.seed}{name}{signature}").shuffle(packed)
        packed.sort(key=lambda p: len(p[0]) > 1500)  # stable: small ones first, otherwise at random
        limit = max(1, self.options.per_dtype // 3) if len(set(signature)) > 1 else self.options.per_dtype
        special = [next((p for p in packed if p[1] == source), None) for source in SPECIAL_SOURCES]
        special = [p for p in special if p is not None]
        return [p[0] for p in special + [p for p in packed if p not in special][:limit]]

    def write(self, directory):
        directory.mkdir(parents=True, exist_ok=True)
        total = 0
        for name, groups in sorted(self.by_op.items()):
            chosen = [[packed for packed, _ in cases.values()] if self.options.all else self.choose(name, signature, cases)
                      for signature, cases in sorted(groups.items())]
            while not self.options.all and sum(sum(map(len, group)) for group in chosen) > self.options.op_bytes:
                fullest = max(chosen, key=lambda group: (len(group) > 1, max(map(len, group))))
                if len(fullest) == 1:
                    break
                fullest.remove(max(fullest, key=len))
            chosen = sum(chosen, [])
            path = directory / (name.replace("::", "__") + ".cases")
            path.write_bytes(b"ETBCASE1" + struct.pack("<II", len(chosen), len(name)) + name.encode() + b"".join(chosen))
            total += len(chosen)
            print(f"{name}: {len(chosen)} cases, {path.stat().st_size} bytes")
        print(f"{total} cases of {len(self.by_op)} ops; left out: {self.skipped}")


def scalar_twin(functional, args, targets):
    """add.Tensor(a, b) also as add.Scalar(a, number of b)."""
    name = functional._schema.overload_name
    twin = {"Tensor": "Scalar", "Tensor_mode": "Scalar_mode", "Tensor_Tensor": "Tensor_Scalar"}.get(name)
    packet = getattr(torch.ops.aten, functional._schema.name.split("::")[1])
    if functional._schema.name.endswith("shift"):
        twin = "Tensor_Scalar"
    if twin is None or twin not in packet.overloads() or getattr(packet, twin) not in targets or len(args) < 2:
        return None
    other = args[1]
    if isinstance(other, torch.Tensor):
        if other.numel() == 0 or other.is_complex():
            return None
        other = other.reshape(-1)[-1].item()
    return getattr(packet, twin), [args[0], other] + list(args[2:])


def record(cases, targets, options):
    views = view_to_copy(targets)
    wanted_names = re.compile(options.ops) if options.ops else None
    for op in op_db:
        if wanted_names and not options.thorough and not related(op, wanted_names):
            continue
        for dtype in DTYPES + (COMPLEX_DTYPES if COMPLEX_OPS.match(op.full_name) else []):
            if dtype not in op.supported_dtypes("cpu"):
                continue
            try:
                samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
            except Exception:
                continue
            for sample in samples[: None if options.all else options.samples]:
                recorder = Recorder(targets, views)
                try:
                    with torch.no_grad(), recorder:
                        op(sample.input, *sample.args, **sample.kwargs)
                except Exception:
                    continue
                for functional, args, kwargs in recorder.calls:
                    emit(cases, targets, functional, args, kwargs, op.full_name)


def related(op, wanted):
    return any(wanted.search(text) for text in (op.name, op.aten_name or "", op.full_name))


def emit(cases, targets, functional, args, kwargs, source):
    cases.add(functional, targets[functional], args, kwargs, source)
    twin = scalar_twin(functional, args, targets)
    if twin:
        cases.add(twin[0], targets[twin[0]], twin[1], kwargs, source + " scalar")
    ranks = [t.dim() for t in tensors_in(args)]
    if 4 in ranks:
        turned = map_tensors(args, lambda t: t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t)
        cases.add(functional, targets[functional], turned, kwargs, source + " channels_last")


def add_extra_cases(emit_wanted, emit_plain):
    """Every extra_*.py beside this file has add_all(emit), and add_plain(emit) for calls that PyTorch has no out variant for."""
    for path in sorted(Path(__file__).parent.glob("extra_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.add_all(emit_wanted)
        if hasattr(module, "add_plain"):
            module.add_plain(emit_plain)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir", type=Path)
    parser.add_argument("--ops", help="only ops whose name matches, e.g. '^aten::(add|mul)[.]'")
    parser.add_argument("--all", action="store_true", help="keep everything instead of a subset")
    parser.add_argument("--thorough", action="store_true", help="with --ops: run the samples of every OpInfo, not only related ones")
    parser.add_argument("--per-dtype", type=int, default=4)
    parser.add_argument("--samples", type=int, default=40, help="samples of an OpInfo and dtype that are run")
    parser.add_argument("--max-numel", type=int, help="largest sum of a case's elements; without --all 20000")
    parser.add_argument("--max-bytes", type=int, help="largest case; without --all 60000")
    parser.add_argument("--op-bytes", type=int, default=24000, help="largest file of a subset")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    no_limit = 1 << 40
    options.max_numel = options.max_numel or (no_limit if options.all else 20000)
    options.max_bytes = options.max_bytes or (no_limit if options.all else 60000)
    warnings.simplefilter("ignore")
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    names = kernel_names()
    if options.ops:
        names = [n for n in names if re.search(options.ops, n)]
        options.ops = "|".join(sorted({re.escape(n.split("::")[1].split(".")[0].strip("_").removesuffix("_copy")) for n in names}))
    targets = find_targets(names)
    cases = Cases(options)
    add_extra_cases(lambda functional, args, kwargs, source: emit(cases, targets, functional, args, kwargs, source)
                    if functional in targets else None,
                    lambda name, *rest: cases.add_plain(name, *rest) if name in names else None)
    record(cases, targets, options)
    cases.write(options.out_dir)


if __name__ == "__main__":
    main()
