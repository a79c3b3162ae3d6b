#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes schemas.txt, the list of operators with their signatures, from the registries of PyTorch and ExecuTorch.

usage: make_schema_list.py OUT.txt

Keeps the rules of results (dtype=, sizes=) that OUT.txt has.

Signatures are facts; the notation is ours and explained at the top of the file that this writes. Needs torch, executorch and
torchao; only maintainers run it, when a new release of these is to be supported.
"""
import os
import re
import sys
from unittest.mock import MagicMock

import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401  (registers llama)
import executorch.exir  # noqa: F401  (registers dim_order_ops, quantized_decomposed)
import executorch.extension.pybindings.portable_lib  # noqa: F401  (registers executorch_prim)
import executorch.kernels.quantized  # noqa: F401
import torch
import torchao  # noqa: F401
try:
    import tosa_serializer  # noqa: F401
except ImportError:  # not in ExecuTorch's wheel; its Cortex-M ops do not need it
    sys.modules["tosa_serializer"] = MagicMock()
import executorch.backends.cortex_m.passes  # noqa: E402,F401  (before the ops: each imports the other)
import executorch.backends.cortex_m.ops.operators  # noqa: E402,F401  (registers cortex_m)
from torch._C import _jit_get_all_schemas

HEADER = """\
# Operators: one a line, sorted; written by make_schema_list.py.
#
#   namespace.name.overload(argument, ..., *, keyword argument, ...) -> result, ... | relation ...
#
# An argument is `name: type = default`. Types: tensor scalar int float bool string complex dtype layout memory_format
# device generator; `?` optional, `[]` list, `[2]` list that one number stands for. `@a` shares storage set a with what else
# carries it, `!a` also writes it. Relations: core (in the Core ATen set); out=OP (the variant that writes its results into given
# tensors); copy=OP (of a view: the op that copies instead); functional=OP (of an op that writes: the one that does not).
#
# Rules of results, written by hand and kept by make_schema_list.py: `dtype=RULE`, or up to three in a list (the first result, the
# second, the others; the last one given also for those after it), and `sizes=broadcast(argument,...)` for elementwise ops. Sizes of other ops: partitioner_sdk/infer. Dtype rules:
#
#   like(x)            the dtype of x
#   promoted(x,...)    PyTorch's promotion of tensors and numbers (torch.result_type)
#   float(x,...)       as promoted, but float32 for integers and bool
#   division(x,...)    as float without the argument rounding_mode, else as promoted
#   half_to_float(x)   float32 if the argument half_to_float is set, else like x
#   given(x)           the argument dtype, else like x
#   sum(x)             the argument dtype, else int64 for integers and bool, else like x
#   value(n,...)       the argument dtype, else by the kind of the numbers: float32, int64 or bool
#   created            the argument dtype, else float32
#   real(x)            the dtype of the parts of complex x
#   complex(x)         the complex dtype with parts like x; x itself if it is complex
#   bool, int32, int64 that dtype
"""

WANTED_NAMESPACES = {"aten", "cortex_m", "quantized_decomposed", "dim_order_ops", "executorch_prim", "torchao", "llama"}
# Ops of Cortex-M that have kernels here.
WANTED_CORTEX_M = re.compile(r"(de)?quantize_per_tensor$|quantized_(add|avg_pool2d|conv2d|depthwise_conv2d|linear|max_pool2d|mul)$|softmax$")
# Families that no exported program contains: other devices, sparse and nested tensors, and ops that only TorchScript
# uses.
UNWANTED = re.compile(
    r"(double_backward|_backward_(backward|overrideable|elemt|reduce)|attention_overrideable|_jvp$|"
    r"^(_|dist_|to_dense_|batch_norm_|linear_|conv_tbc_|gather_|index_select_|masked_select_|matmul_|matrix_exp_|cumprod_|"
    r"cummaxmin_|trace_|affine_grid_generator_|embedding_|infinitely_differentiable_gelu_|max_pool2d_|"
    r"value_selecting_reduction_|_slow_conv2d_|_pack_padded_sequence_|_weight_norm_differentiable_|"
    r"_grid_sampler_2d_cpu_fallback_)backward|^_?foreach|^_foreach|cudnn|miopen|mkldnn|mps|cuda|cslt|^_fused_|^_amp_|nested|jagged|sparse|coo|csr|"
    r"^quantize|quantized|fbgemm|^q_|^_test|^_nnpack|^record_stream|^retain_grad|^set_|^_set|^rename|names|^align_|"
    r"^refine_|^_cufft|^_use_|^_debug|^_assert_async|^_efficient|^_flash|^_scaled_dot_product_(flash|efficient|cudnn|fused)|"
    r"^_make_|^_coalesc|^fake_quantize|^_fake_quantize|^choose_qparams_opt|^_choose_q|"
    r"^_dirichlet|^_standard_gamma|^_sample_dirichlet|^_validate|^_spdiags|^_lazy|^_dyn_quant|^_weight_int|"
    r"^_convert_weight|^_mixed_dtypes|^_wrapped|^_ctc|^ctc|^_thnn|^_batch_norm_impl|^linalg_lstsq|"
    r"^_transform_bias|^_transformer_encoder|^_native_multi_head|^_triton|^_segment|^_remove|"
    r"^_add_batch|^_fw_primal|^_new_zeros|^_has_|^_is_|^is_|^crow|^ccol|^_values|^_indices|^_nnz|^_dim[IV]|^_sobol|"
    r"^_scaled_|^_rowwise|^_functional|^sym_constrain|^_functional_sym|^_resize_output|"
    r"^batch_norm_(elemt|gather|stats|update))"
)
# Custom ops of Python packages, whose out variants exist only here.
OWN_LINES = [
    "torch_nn._linear_cross_entropy_batch_chunked.default(input: tensor, linear_weight: tensor, target: tensor, linear_bias: tensor?, "
    "weight: tensor?, reduction: string, ignore_index: int, label_smoothing: float, batch_chunk_size: int, acc_policy: string, "
    "acc_dtype: dtype, allow_retain_graph: bool, compute_input_grad: bool, compute_linear_weight_grad: bool, "
    "compute_linear_bias_grad: bool) -> tensor, tensor, tensor, tensor",
    "torch_nn._linear_cross_entropy_batch_chunked_no_reduction.default(input: tensor, linear_weight: tensor, target: tensor, "
    "linear_bias: tensor?, weight: tensor?, ignore_index: int, batch_chunk_size: int, acc_policy: string, acc_dtype: dtype) -> tensor",
    "transformers.grouped_mm_fallback.default(input: tensor, weight: tensor, offs: tensor) -> tensor | "
    "out=transformers.grouped_mm_fallback.out",
    "transformers.grouped_mm_fallback.out(input: tensor, weight: tensor, offs: tensor, *, out: tensor!a) -> tensor!a",
]
FACTORY_ARGUMENTS = {"dtype", "layout", "device", "pin_memory"}
# Need no tensor, or are gradients, but occur in exported programs.
WANTED_ANYWAY = {"aten::_assert_scalar", "aten::_softmax_backward_data", "aten::native_dropout_backward"}
# Of unwanted families, but PyTorch chooses them on CPU.
WANTED_ATTENTION = "aten::_scaled_dot_product_flash_attention_for_cpu"
SCALAR_TYPES = {
    "Tensor": "tensor", "number": "scalar", "Scalar": "scalar", "int": "int", "SymInt": "int", "float": "float",
    "SymFloat": "float", "bool": "bool", "SymBool": "bool", "str": "string", "complex": "complex", "ScalarType": "dtype",
    "Layout": "layout", "MemoryFormat": "memory_format", "Device": "device", "Generator": "generator",
}


def text_of_type(kind, count):
    """Our word for a type, None when there is none."""
    kind = str(kind)
    optional = re.fullmatch(r"Optional\[(.*)\]", kind)
    if optional:
        inner = text_of_type(optional.group(1), count)
        return inner + "?" if inner else None
    listed = re.fullmatch(r"List\[(.*)\]", kind)
    if listed:
        inner = text_of_type(listed.group(1), None)
        return f"{inner}[{count or ''}]" if inner else None
    return SCALAR_TYPES.get(kind)


def text_of_default(argument, kind):
    value = argument.default_value
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(repr(item).lower() for item in value) + "]"
    if isinstance(value, str):
        return '"' + value + '"'
    if kind.startswith("memory_format"):
        return ["contiguous", "preserve", "channels_last"][value]
    if kind.startswith("dtype"):
        return {4: "int64", 6: "float32", 24: "float8_e4m3fn"}[value]
    if isinstance(value, int) and kind.startswith("float"):
        value = float(value)
    return repr(value)


def text_of_alias(info):
    if info is None:
        return ""
    letters = "".join(sorted(info.before_set))
    return ("!" if info.is_write else "@") + letters if letters.isalpha() else ""


def text_of_argument(argument):
    kind = text_of_type(argument.real_type, argument.N)
    if kind is None:
        return None
    # The mark of a list of out tensors is inside the item type, which Python does not expose.
    mark = text_of_alias(argument.alias_info) or ("!a" if argument.is_out else "")
    text = f"{argument.name}: {kind}{mark}"
    if argument.has_default_value():
        text += f" = {text_of_default(argument, kind)}"
    return text


def full_name(schema):
    namespace, name = schema.name.split("::")
    return f"{namespace}.{name}.{schema.overload_name or 'default'}"


def is_out(schema):
    return any(a.is_out or (a.kwarg_only and a.alias_info and a.alias_info.is_write) for a in schema.arguments)


def plain_arguments(schema, factory=()):
    """What two variants of one op must agree in; creation ops take dtype, layout, ... only in the functional form."""
    return [
        (a.name, str(a.type))
        for a in schema.arguments
        if not (a.kwarg_only and a.alias_info and a.alias_info.is_write) and not (a.kwarg_only and a.name in factory)
    ]


def out_count(schema):
    return sum(1 for a in schema.arguments if a.kwarg_only and a.alias_info and a.alias_info.is_write)


def writes_self(schema):
    first = schema.arguments[0] if schema.arguments else None
    return bool(first and not is_out(schema) and any(a.alias_info and a.alias_info.is_write for a in schema.arguments))


def is_view(schema):
    return not writes_self(schema) and not is_out(schema) and any(r.alias_info for r in schema.returns)


def tensor_result_count(schema):
    return sum(len(schema.returns) == 1 and str(r.type) == "List[Tensor]" or str(r.type) == "Tensor" for r in schema.returns)


def is_core(schema):
    namespace, name = schema.name.split("::")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    op = getattr(packet, schema.overload_name or "default", None)
    return op is not None and torch.Tag.core in op.tags


def relations(schema, by_base):
    found = ["core"] if is_core(schema) else []

    def first_match(base, wanted):
        for left_out in ((), FACTORY_ARGUMENTS):
            for other in by_base.get(base, []):
                if wanted(other) and plain_arguments(other, left_out) == plain_arguments(schema, left_out):
                    return full_name(other)
        return None

    if is_view(schema):
        copy = first_match(schema.name + "_copy", lambda s: not is_out(s) and not writes_self(s))
        if copy:
            found.append("copy=" + copy)
    elif writes_self(schema):
        if schema.name.endswith("_"):
            functional = first_match(schema.name[:-1], lambda s: not is_out(s) and not writes_self(s))
            if functional:
                found.append("functional=" + functional)
    elif not is_out(schema) and schema.returns:
        out = first_match(schema.name, lambda s: is_out(s) and out_count(s) == tensor_result_count(schema))
        if out:
            found.append("out=" + out)
    return found


def read_result_rules(path):
    """Returns the words dtype= and sizes= of each op of an existing list."""
    rules = {}
    if os.path.exists(path):
        for line in open(path):
            words = line.rstrip("\n").rpartition(" | ")[2].split(" ")
            rules[line.split("(")[0]] = [word for word in words if word.startswith(("dtype=", "sizes="))]
    return rules


def main():
    schemas = {}
    result_rules = read_result_rules(sys.argv[1])
    every = [s for s in _jit_get_all_schemas() if s.name.split("::")[0] in WANTED_NAMESPACES]
    core_names = {s.name for s in every if is_core(s)}
    for schema in every:
        name = schema.name.split("::")[1]
        if schema.name.startswith("aten::") and UNWANTED.search(name) and schema.name not in core_names | WANTED_ANYWAY:
            if not schema.name.startswith(WANTED_ATTENTION):
                continue
        if schema.name.startswith("cortex_m::") and not WANTED_CORTEX_M.match(name):
            continue
        schemas[full_name(schema)] = schema
    by_base = {}
    for name in sorted(schemas):
        by_base.setdefault(schemas[name].name, []).append(schemas[name])
    lines = []
    for name in sorted(schemas):
        schema = schemas[name]
        parts, seen_keyword, ok = [], False, True
        for argument in schema.arguments:
            if argument.kwarg_only and not seen_keyword:
                parts.append("*")
                seen_keyword = True
            text = text_of_argument(argument)
            ok = ok and text is not None
            parts.append(text or "")
        results = [(text_of_type(r.real_type, None), text_of_alias(r.alias_info)) for r in schema.returns]
        # Ops that TorchScript defines only over numbers and texts do not occur in an exported program.
        touches_tensors = "tensor" in "".join(parts) or any(kind and "tensor" in kind for kind, _ in results)
        is_wanted = touches_tensors or not schema.name.startswith("aten::") or schema.name in WANTED_ANYWAY
        if not ok or not is_wanted or any(kind is None for kind, _ in results):
            continue
        line = f"{name}({', '.join(parts)}) -> {', '.join(k + a for k, a in results) or 'nothing'}"
        related = relations(schema, by_base) + result_rules.get(name, [])
        lines.append(line + (" | " + " ".join(related) if related else ""))
    for line in OWN_LINES:
        kept = result_rules.get(line.split("(")[0], [])
        lines.append(" ".join([line, *kept]))
    with open(sys.argv[1], "w") as out:
        out.write(HEADER + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
