# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms that PyTorch's samples lack: every radix, primes large and small, lengths of several passes, dims in any order, and
complex numbers from parts, running sums of complex numbers."""
import torch

aten = torch.ops.aten
LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 15, 16, 27, 30, 31, 32, 34, 37, 41, 60, 62, 64, 74, 96, 105, 127, 128, 251, 256]


def numbers(generator, dtype, *sizes):
    return torch.randn(*sizes, generator=generator, dtype=dtype)


def lengths(emit):
    generator = torch.Generator().manual_seed(41)
    for real, pair in ((torch.float32, torch.complex64), (torch.float64, torch.complex128)):
        for n in LENGTHS:
            x, z = numbers(generator, real, 3, n), numbers(generator, pair, 3, n)
            half = numbers(generator, pair, 3, n // 2 + 1)
            emit(aten._fft_r2c.default, [x, [1], 0, n % 3 != 0], {}, f"length {n}")
            emit(aten._fft_c2r.default, [half, [1], 2, n], {}, f"length {n}")
            emit(aten._fft_c2c.default, [z, [1], n % 3, n % 2 == 0], {}, f"length {n}")


def dims(emit):
    generator = torch.Generator().manual_seed(42)
    for real, pair in ((torch.float32, torch.complex64), (torch.float64, torch.complex128)):
        x, z = numbers(generator, real, 4, 6, 5), numbers(generator, pair, 4, 6, 5)
        for wanted in ([0], [1], [0, 1], [2, 0], [1, 2, 0], [2, 1, 0]):
            emit(aten._fft_c2c.default, [z, wanted, 1, True], {}, "dims")
            emit(aten._fft_c2c.default, [z.permute(2, 0, 1).contiguous().permute(1, 2, 0), wanted, 2, False], {}, "dims in another order")
            emit(aten._fft_r2c.default, [x, wanted, 0, True], {}, "dims")
            emit(aten._fft_r2c.default, [x, wanted, 1, False], {}, "both halves")
            last = x.shape[wanted[-1]]
            emit(aten._fft_c2r.default, [z, wanted, 1, 2 * (last - 1)], {}, "dims")
            emit(aten._fft_c2r.default, [z, wanted, 0, 2 * last - 1], {}, "odd length")
        emit(aten._fft_r2c.default, [numbers(generator, real, 40, 24), [1], 0, True], {}, "many lines")
        emit(aten._fft_r2c.default, [numbers(generator, real, 24, 40), [0], 0, True], {}, "many lines")


def parts(emit):
    generator = torch.Generator().manual_seed(43)
    for real in (torch.float16, torch.float32, torch.float64):
        x = torch.randn(2, 3, 4, generator=generator).to(real)
        emit(aten.complex.default, [x, x.flip(0)], {}, "parts")
        emit(aten.complex.default, [x, x[:, :1, 0]], {}, "parts of other sizes")
        emit(aten.complex.default, [x[0, 0, 0], x[1, 1, 1]], {}, "rank 0")
        emit(aten.view_as_complex_copy.default, [torch.randn(3, 4, 2, generator=generator).to(real)], {}, "pairs")
        emit(aten.view_as_complex_copy.default, [torch.randn(0, 2, generator=generator).to(real)], {}, "zero size")


def running_log_sums(emit):
    """Numbers that differ by far, equal and infinite ones, NaN, angles beyond a turn."""
    inf, nan = float("inf"), float("nan")
    special = [complex(-inf, 1), complex(-inf, 2), complex(1, 2), complex(-300, 9), complex(300, -9), complex(inf, 0.5), complex(2, nan), 0j]
    generator = torch.Generator().manual_seed(44)
    for dtype in (torch.complex64, torch.complex128):
        emit(aten.logcumsumexp.default, [torch.tensor(special, dtype=dtype), 0], {}, "special numbers")
        emit(aten.logcumsumexp.default, [torch.tensor(special[2:5] * 2, dtype=dtype).reshape(3, 2), -2], {}, "far numbers")
        x = torch.randn(1, 600, 1, generator=generator, dtype=dtype) * 8
        emit(aten.logcumsumexp.default, [x, 1], {}, "long rows")
        emit(aten.logcumsumexp.default, [x[0, 0, 0], 0], {}, "rank 0")


def add_all(emit):
    for family in (lengths, dims, parts, running_log_sums):
        family(emit)
