#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports PyTorch's own operator samples (OpInfo) with torch.export, for program_samples.

  export_samples.py OUT_DIR [--ops REGEX] [--dtypes a,b] [--per-dtype N] [--seed S] [--shard I/N] [--all]
                    [--limit N] [--list FILE]

Each sample becomes a model whose forward calls the operator: tensors are the inputs, everything else is a constant. The operator is
called as a function and, where it has one, as a method of its first argument. Two files a sample, in OUT_DIR/<operator>/:

  <dtype>_<number>_<function|method>.pt2     written by torch.export.save
  <dtype>_<number>_<function|method>.case    inputs and PyTorch's outputs (case_file.hpp), with the scale of the error model

OUT_DIR/refused_<shard>.tsv has a line for each sample that torch.export cannot write: operator, dtype, variant, reason. Such samples do not
count. Without --all a seeded subset of N samples for each operator and dtype is exported; with --all --limit N the subset has the
samples at even distances, the first and the last among them. Existing files are kept, so that a stopped run
goes on where it stopped. --list exports only the samples that FILE names, a line each: programs.txt beside this script has those that
run in CI.
"""
import argparse
import random
import re
import signal
import struct
import sys
import warnings
from pathlib import Path

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

from conditioned import AMBIGUOUS, BY_FACTORS, conditioned_error
from exact import own_error
from make_cases import CODES, DTYPES, Unusable, map_tensors, pack_tensor, tensors_in

SECONDS_PER_SAMPLE = 60
ALL_DTYPES = [*DTYPES, torch.complex64, torch.complex128]


class Variant:
    """One way to call an operator."""

    def __init__(self, name, call):
        self.name, self.call = name, call


def variants_of(op):
    yield Variant("function", op.op)
    method = op.get_method()
    if callable(method) and method is not op.op:
        yield Variant("method", method)


class Sample(torch.nn.Module):
    """Calls the operator on the sample's arguments, with the inputs in place of its tensors. `bounds` are the largest sizes of its
    results, for sizes that depend on data."""

    def __init__(self, call, args, kwargs, bounds=()):
        super().__init__()
        self.call, self.args, self.kwargs, self.bounds = call, args, kwargs, bounds

    def forward(self, *tensors):
        left = iter(tensors)
        args = map_tensors(self.args, lambda _: next(left))
        kwargs = map_tensors(self.kwargs, lambda _: next(left))
        results = tuple(tensors_in(self.call(*args, **kwargs)))  # named tuples cannot be saved
        for result, sizes in zip(results, self.bounds):
            for size, bound in zip(result.shape, sizes):
                if not isinstance(size, int):
                    torch._check(size <= bound)
        return results


def is_inexact(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def largest_magnitude(tensor):
    """Of the finite numbers; of complex ones the larger part."""
    parts = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    return float(torch.nan_to_num(parts.double(), nan=0, posinf=0, neginf=0).abs().max())


class Magnitudes(TorchDispatchMode):
    """Records the ATen calls of an operator and the largest magnitude among their results."""

    def __init__(self):
        super().__init__()
        self.largest, self.count, self.is_elementwise = 0.0, 0, True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        reals = [t for t in tensors_in(result) if is_inexact(t) and t.numel()]
        if reals and not func._schema.name.endswith(("detach", "alias", "view", "_to_copy")):
            self.count += 1
            self.is_elementwise &= torch.Tag.pointwise in func.tags
        for t in reals:
            self.largest = max(self.largest, largest_magnitude(t))
        return result


def scale_of(name, call, args, kwargs, results):
    """What the error is measured against: 0 for one operator that computes element by element, else the largest intermediate result.
    16-bit dtypes round each intermediate result, and PyTorch's own distance from a computation in float64 counts too."""
    reals = [t for t in results if is_inexact(t) and t.numel()]
    if not reals:
        return 0.0
    magnitudes = Magnitudes()
    with torch.no_grad(), magnitudes:
        call(*args, **kwargs)
    # A product that is added may be rounded before.
    is_one_step = magnitudes.count <= 1 and magnitudes.is_elementwise and name not in ("addcmul", "addcdiv")
    dtype = reals[0].dtype
    computing_eps = 2.0**-52 if dtype in (torch.float64, torch.complex128) else 2.0**-23
    rounding = torch.finfo(dtype).eps / computing_eps / 32 * min(magnitudes.count, 8) if dtype.itemsize == 2 else 1.0
    scale = 0.0 if is_one_step else magnitudes.largest * rounding
    own = own_error(name.replace(".", "_"), args, reals[0])
    distance = max(distance_from_exact(call, args, kwargs, results), own)
    if BY_FACTORS.match(name):
        distance = max(distance, conditioned_error(name, call, args, kwargs, computing_eps))
    return max(scale, distance / (8 * computing_eps))


def distance_from_exact(call, args, kwargs, results):
    """Largest difference between PyTorch's results and those of the same call in float64, beyond the rounding of each result."""
    wider = lambda t: t.double() if t.is_floating_point() else t.to(torch.complex128) if t.is_complex() else t
    named = {k: torch.float64 if isinstance(v, torch.dtype) and v.is_floating_point else v for k, v in kwargs.items()}
    try:
        with torch.no_grad():
            exact = list(tensors_in(call(*map_tensors(args, wider), **map_tensors(named, wider))))
    except Exception:
        return 0.0
    distances = [0.0]
    for t, e in zip(results, exact):
        if is_inexact(t) and t.numel() and t.shape == e.shape:
            difference = ((wider(t) - e).abs() - torch.finfo(t.dtype).eps * e.abs()).clamp(min=0)
            distances.append(float(torch.nan_to_num(difference, nan=0, posinf=0, neginf=0).max()))
    return max(distances)


def without_folders(program):
    """Source locations name files, not where they are on this machine."""
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else []:
            if node.meta.get("stack_trace"):
                node.meta["stack_trace"] = re.sub(r'File "(?:[^"]*/site-packages/|[^"]*/)', 'File "', node.meta["stack_trace"])
    return program


def pack_sample(inputs, results, scale, source):
    plain = lambda t: t.detach().resolve_conj().resolve_neg().contiguous()
    packed = [b"\1" + pack_tensor(t) for t in inputs] + [b"\x0b" + pack_tensor(plain(t)) for t in results]
    text = source.encode()[:200]
    body = struct.pack("<dHH", scale, len(packed), len(text)) + text + b"".join(packed)
    name = source.encode()
    return b"ETBCASE1" + struct.pack("<II", 1, len(name)) + name + struct.pack("<I", len(body)) + body


class Drawing(TorchDispatchMode):
    """Finds out whether an ATen call draws random numbers: it changes the generator, or would with more elements."""

    def __init__(self):
        super().__init__()
        self.found = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        before = torch.get_rng_state()
        result = func(*args, **(kwargs or {}))
        is_empty = all(t.numel() == 0 for t in tensors_in(result))
        self.found |= torch.Tag.nondeterministic_seeded in func.tags and (is_empty or not torch.equal(before, torch.get_rng_state()))
        return result


def is_random(call, args, kwargs, results):
    """Whether the results are random numbers, or memory that nobody wrote. OpInfo seeds the generator inside of some operators, so that
    two calls agree."""
    torch.manual_seed(12345)
    drawing = Drawing()
    with torch.no_grad(), drawing:
        again = list(tensors_in(call(*map_tensors(args, torch.clone), **map_tensors(kwargs, torch.clone))))
    same = lambda a, b: a.shape == b.shape and a.dtype == b.dtype and torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))
    return drawing.found or len(again) != len(results) or not all(same(a, b) for a, b in zip(results, again))


def on_alarm(*_):
    raise TimeoutError(f"torch.export took more than {SECONDS_PER_SAMPLE} s")


# Operators that name one of several equal elements, and PyTorch does not say which.
ORDERS = {"topk", "kthvalue", "mode", "median", "nanmedian"}


def export(variant, sample, path, op):
    """Writes both files; raises what PyTorch raises."""
    if op.name in AMBIGUOUS:
        variant = Variant(variant.name, lambda *args, _call=variant.call, **kwargs: sample.output_process_fn_grad(_call(*args, **kwargs)))
    args, kwargs = map_tensors([sample.input, *sample.args], torch.clone), map_tensors(dict(sample.kwargs), torch.clone)
    inputs = list(tensors_in(args)) + list(tensors_in(kwargs))
    torch.manual_seed(54321)  # is_random takes another one
    with torch.no_grad():
        result = variant.call(*map_tensors(args, torch.clone), **map_tensors(kwargs, torch.clone))
    results = list(tensors_in(result))
    # OpInfo seeds the generator inside of some operators, so that two calls agree.
    if re.match(r"(new_)?empty|(svd|pca)_lowrank", op.name) or is_random(variant.call, args, kwargs, results):
        raise Unusable("random results")
    if op.name == "matrix_exp" and inputs[0].dtype.itemsize == 2:
        raise Unusable("PyTorch 2.13 has no bounds for the norms of 16-bit floats: exp(0.1) on a diagonal is NaN or infinite")
    if not results:
        raise Unusable(f"the result is {type(result).__name__}")
    if op.name in ORDERS and inputs[0].unique().numel() != inputs[0].numel():
        raise Unusable("equal elements")
    for t in inputs + results:
        if t.dtype not in CODES or t.layout != torch.strided:
            raise Unusable(f"{t.dtype}, {t.layout}")
    program = torch.export.export(Sample(variant.call, args, kwargs).eval(), tuple(inputs), strict=False)
    if any(limits.upper > 2**40 for limits in program.range_constraints.values()):
        # A program needs a bound for each size. A user states it in the model, as here.
        bounds = [[2 * size for size in t.shape] for t in results]
        program = torch.export.export(Sample(variant.call, args, kwargs, bounds).eval(), tuple(inputs), strict=False)
    case = pack_sample(inputs, results, scale_of(op.name, variant.call, args, kwargs, results), op.full_name)
    torch.export.save(without_folders(program), path.with_suffix(".pt2"))
    path.with_suffix(".case").write_bytes(case)


def evenly_spread(items, count):
    """The first item, the last one and others at even distances, count in all."""
    if count == 1:
        return items[:1]
    return [items[i * (len(items) - 1) // (count - 1)] for i in range(count)]


def samples_of(op, dtype, options):
    try:
        samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
    except Exception:
        return []
    numbered = [(i, s) for i, s in enumerate(samples)
                if sum(t.numel() for t in tensors_in([s.input, s.args, s.kwargs])) <= options.max_numel]
    if options.all and options.limit and len(numbered) > options.limit:
        return evenly_spread(numbered, options.limit)
    if options.all or options.list:
        return numbered
    return sorted(random.Random(f"{options.seed}{op.full_name}{dtype}").sample(numbered, min(options.per_dtype, len(numbered))),
                  key=lambda one: one[0])


def folder_of(op):
    return re.sub(r"\W+", "_", op.full_name)


def export_operator(op, options, refused):
    done = 0
    for dtype in ALL_DTYPES:
        short = str(dtype)[6:]
        if dtype not in op.supported_dtypes("cpu") or (options.dtypes and short not in options.dtypes):
            continue
        for number, sample in samples_of(op, dtype, options):
            for variant in variants_of(op):
                path = options.out_dir / folder_of(op) / f"{short}_{number}_{variant.name}"
                if options.list and f"{path.parent.name}/{path.name}" not in options.list:
                    continue
                if path.with_suffix(".case").exists():
                    done += 1
                    continue
                path.parent.mkdir(parents=True, exist_ok=True)
                signal.alarm(SECONDS_PER_SAMPLE)
                try:
                    export(variant, sample, path, op)
                    done += 1
                except Exception as why:
                    reason = (str(why).strip().splitlines() or [type(why).__name__])[0][:160]
                    refused.write(f"{op.full_name}\t{short}\t{variant.name}\t{reason}\n")
                finally:
                    signal.alarm(0)
                torch._dynamo.reset()
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir", type=Path)
    parser.add_argument("--ops", help="only operators whose name matches")
    parser.add_argument("--dtypes", type=lambda text: text.split(","), help="only these, e.g. float32,int64")
    parser.add_argument("--all", action="store_true", help="every sample instead of a subset")
    parser.add_argument("--list", type=lambda path: set(Path(path).read_text().split()), help="only the samples that this file names")
    parser.add_argument("--limit", type=int, default=0, help="with --all: at most so many samples of an operator and a dtype")
    parser.add_argument("--per-dtype", type=int, default=1)
    parser.add_argument("--max-numel", type=int, default=100000, help="largest sum of a sample's elements")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shard", default="0/1", help="I/N: every N-th operator, from the I-th")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, on_alarm)
    options.out_dir.mkdir(parents=True, exist_ok=True)
    first, step = map(int, options.shard.split("/"))
    folders = {name.split("/")[0] for name in options.list or []}
    wanted = [op for op in op_db if (not options.ops or re.search(options.ops, op.full_name))
              and (not folders or folder_of(op) in folders)][first::step]
    with open(options.out_dir / f"refused_{first}.tsv", "a", buffering=1) as refused:
        for position, op in enumerate(wanted):
            count = export_operator(op, options, refused)
            print(f"[{position + 1}/{len(wanted)}] {op.full_name}: {count} programs", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
