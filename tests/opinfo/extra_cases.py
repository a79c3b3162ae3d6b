# SPDX-License-Identifier: Apache-2.0
"""Cases that PyTorch's samples lack: special values, and calls that no OpInfo makes. Each family is a function that calls
emit(functional overload, args, kwargs, source); ops that are not wanted are dropped by the caller."""
import torch

aten = torch.ops.aten
REALS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
SPECIAL = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.0, 1e-40, -1e-6, 1e30, -1e5, 88.0,
           -100.0]


def functional_overloads():
    for name in dir(aten):
        packet = getattr(aten, name)
        if not hasattr(packet, "overloads"):
            continue
        for overload in packet.overloads():
            functional = getattr(packet, overload)
            if name != "_pdist_forward" and not functional._schema.is_mutable and not any(a.is_out for a in functional._schema.arguments):
                yield functional  # _pdist_forward accepts rank 2 only, unchecked


def special_values(emit):
    for functional in functional_overloads():
        required = [str(a.type) for a in functional._schema.arguments if not a.has_default_value()]
        for dtype in REALS:
            values = torch.tensor(SPECIAL, dtype=dtype)
            if functional._schema.name == "aten::gelu":  # PyTorch returns NaN or inf for inf
                values = values[values.isfinite()]
            if functional._schema.name in ("aten::igamma", "aten::igammac", "aten::special_zeta"):
                values = values[(values.abs() > 1e-30) & (values.abs() < 1e20) | (values == 0)]  # PyTorch returns 0 or NaN
            if "polynomial" in functional._schema.name or "airy" in functional._schema.name:  # PyTorch overflows to NaN, and of NaN it is any number
                values = values[values.abs() <= 3]
            if functional._schema.name.startswith("aten::special_bessel"):  # PyTorch returns NaN for inf, and noise for 1e30
                values = values[values.abs() < 1e20]
            if required == ["Tensor"]:
                emit(functional, [values], {}, "special values")
            elif required == ["Tensor", "Tensor"]:
                left, right = values.repeat_interleave(len(SPECIAL)), values.repeat(len(SPECIAL))
                emit(functional, [left, right], {}, "special values")
            elif required == ["Tensor", "number"]:
                emit(functional, [values, 2], {}, "special values")
                emit(functional, [values, float("nan")], {}, "special values")
                emit(functional, [values, float("-inf")], {}, "special values")


def integer_extremes(emit):
    for functional in functional_overloads():
        if functional._schema.name in ("aten::gcd", "aten::lcm"):  # PyTorch ends with SIGFPE
            continue
        if "polynomial" in functional._schema.name or "airy" in functional._schema.name:
            continue  # PyTorch computes in float32 until it overflows
        if functional._schema.name == "aten::special_zeta" or "bessel_j" in functional._schema.name or "bessel_y" in functional._schema.name:
            continue  # PyTorch returns NaN for large exponents, and noise for large arguments
        required = [str(a.type) for a in functional._schema.arguments if not a.has_default_value()]
        for dtype in INTEGERS:
            info = torch.iinfo(dtype)
            values = torch.tensor([info.min, info.max, 1, 2, 3, 5, 7, info.max // 2], dtype=dtype)
            if required == ["Tensor"]:
                emit(functional, [values], {}, "integer extremes")
            elif required == ["Tensor", "Tensor"]:
                emit(functional, [values.repeat_interleave(8), values.repeat(8)], {}, "integer extremes")


def mixed_dtypes(emit):
    every = REALS + INTEGERS + [torch.bool]
    for functional in functional_overloads():
        required = [str(a.type) for a in functional._schema.arguments if not a.has_default_value()]
        if required != ["Tensor", "Tensor"]:
            continue
        for i, left in enumerate(every):
            for right in every[i % 3::3]:
                a = torch.tensor([[3, 1, 2], [5, 7, 100]]).to(left)
                b = torch.tensor([[2, 1, 3]]).to(right)
                emit(functional, [a, b], {}, "mixed dtypes")
                emit(functional, [a, b[0, 0]], {}, "mixed dtypes, rank 0")


def wide_enough_for_vectors(emit):
    """Longer than a block of the driver, and odd, so that vector bodies and tails both run."""
    generator = torch.Generator().manual_seed(7)
    for functional in functional_overloads():
        required = [str(a.type) for a in functional._schema.arguments if not a.has_default_value()]
        for dtype in (torch.float32, torch.float16):
            a = (torch.randn(3, 531, generator=generator) * 3).to(dtype)
            b = (torch.randn(531, generator=generator) * 3).to(dtype)
            if required == ["Tensor"]:
                emit(functional, [a], {}, "wide")
            elif required == ["Tensor", "Tensor"]:
                emit(functional, [a, b], {}, "wide broadcast")
                emit(functional, [a, a.flip(0)], {}, "wide")


def polynomials_at_a_number(emit):
    for functional in functional_overloads():
        if "polynomial" in functional._schema.name and functional._schema.overload_name == "x_scalar":
            for dtype in (torch.float32, torch.float64, torch.int64, torch.uint8):
                degrees = torch.tensor([0, 1, 2, 3, 5, 8, 13]).to(dtype)
                emit(functional, [0.75, degrees], {}, "number")
                emit(functional, [-2, degrees], {}, "number")


FAMILIES = [polynomials_at_a_number, special_values, integer_extremes, mixed_dtypes, wide_enough_for_vectors]


def add_all(emit):
    for family in FAMILIES:
        family(emit)
