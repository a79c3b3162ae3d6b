# SPDX-License-Identifier: Apache-2.0
"""Cases of quantized_decomposed: results from PyTorch's own decompositions where they exist, else from the formula of the op."""
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  (registers the ops)

qd = torch.ops.quantized_decomposed
CODES = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.float16: 5, torch.float32: 6, torch.float64: 7,
         torch.bfloat16: 15}
RANGES = [(torch.int8, -128, 127), (torch.uint8, 0, 255), (torch.int16, -32768, 32767), (torch.int8, -8, 7)]
T, F, I, N = "Tensor", "float", "int", "Optional[int]"


def add_plain(emit):
    g = torch.Generator().manual_seed(21)
    name = "quantized_decomposed::"
    for dtype, low, high in RANGES:
        for source in (torch.float32, torch.float16, torch.bfloat16):
            x = (torch.randn(3, 5, 7, generator=g) * 3).to(source)
            for scale, zero in ((0.05, 3), (0.013, -2 if low < 0 else 9)):
                q = qd.quantize_per_tensor(x, scale, zero, low, high, dtype)
                tail = [(I, low), (I, high), (I, CODES[dtype])]
                emit(name + "quantize_per_tensor.out", [(T, x), (F, scale), (I, zero)] + tail, [q], "per tensor")
                s, z = torch.tensor([scale], dtype=torch.float64), torch.tensor([zero])
                emit(name + "quantize_per_tensor.Tensor_out", [(T, x), (T, s), (T, z)] + tail, [q], "per tensor")
                d = qd.dequantize_per_tensor(q, scale, zero, low, high, dtype)
                emit(name + "dequantize_per_tensor.out", [(T, q), (F, scale), (I, zero)] + tail + [(N, None)], [d], "per tensor")
                emit(name + "dequantize_per_tensor.Tensor_out", [(T, q), (T, s), (T, z)] + tail + [(N, None)], [d], "per tensor")
                half = qd.dequantize_per_tensor(q, scale, zero, low, high, dtype, out_dtype=torch.float16)
                if low >= -128:
                    emit(name + "dequantize_per_tensor.out", [(T, q), (F, scale), (I, zero)] + tail + [(N, 5)], [half], "to float16")
        x = torch.randn(4, 6, 5, generator=g) * 3
        for axis in (0, 1, 2):
            for scale_dtype in (torch.float32, torch.float64):
                scales = (torch.rand(x.shape[axis], generator=g) * 0.1 + 0.01).to(scale_dtype)
                zeros = torch.randint(0, 7, (x.shape[axis],), generator=g)
                q = qd.quantize_per_channel(x, scales, zeros, axis, low, high, dtype)
                tail = [(I, axis), (I, low), (I, high), (I, CODES[dtype])]
                emit(name + "quantize_per_channel.out", [(T, x), (T, scales), (T, zeros)] + tail, [q], f"axis {axis}")
                d = qd.dequantize_per_channel(q, scales, zeros, axis, low, high, dtype)
                emit(name + "dequantize_per_channel.out", [(T, q), (T, scales), ("Optional[Tensor]", zeros)] + tail + [(N, None)], [d], f"axis {axis}")
                d = qd.dequantize_per_channel(q, scales, None, axis, low, high, dtype)
                emit(name + "dequantize_per_channel.out", [(T, q), (T, scales), ("Optional[Tensor]", None)] + tail + [(N, None)], [d], f"axis {axis}")
        for scale_dtype in (torch.float32, torch.float64):
            scales = (torch.rand(4, 6, 1, generator=g) * 0.1 + 0.01).to(scale_dtype)
            zeros = torch.randint(0, 7, (4, 6, 1), generator=g)
            tail = [(I, low), (I, high), (I, CODES[dtype])]
            q = qd.quantize_per_token(x, scales, zeros, low, high, dtype)
            emit(name + "quantize_per_token.out", [(T, x), (T, scales), (T, zeros)] + tail, [q], "per token")
            d = qd.dequantize_per_token(q, scales, zeros, low, high, dtype, torch.float32)
            emit(name + "dequantize_per_token.out", [(T, q), (T, scales), (T, zeros)] + tail + [(I, 6)], [d], "per token")
        s, z = qd.choose_qparams(x, low, high, 1e-5, dtype) if dtype != torch.int16 else (None, None)
        if s is not None:
            emit(name + "choose_qparams.Tensor_out", [(T, x), (I, low), (I, high), (F, 1e-5), (I, CODES[dtype])], [s, z], "range", 1e-9)
            s, z = qd.choose_qparams(x.abs(), low, high, 1e-5, dtype)
            emit(name + "choose_qparams.Tensor_out", [(T, x.abs()), (I, low), (I, high), (F, 1e-5), (I, CODES[dtype])], [s, z], "positive", 1e-9)
        a, b = (torch.randint(low, high + 1, (3, 37), generator=g).to(dtype) for _ in range(2))
        sums = (a.float() - 2) * 0.05 + (b.float() - 1) * 0.03
        q = torch.clamp(torch.round(sums * torch.tensor(1 / torch.tensor(0.07))) + 3, low, high).to(dtype)
        ends = [(I, low), (I, high)]
        emit(name + "add.out", [(T, a), (F, 0.05), (I, 2), *ends, (T, b), (F, 0.03), (I, 1), *ends, (F, 0.07), (I, 3), *ends], [q], "add")
    for sizes in ((3, 9), (2, 4, 6)):
        x = torch.randn(*sizes, generator=g)
        for y in (x, x.abs(), -x.abs(), x * 0):
            s, z = qd.choose_qparams_per_token_asymmetric(y, torch.int8)
            emit(name + "choose_qparams_per_token_asymmetric.out", [(T, y), (I, 1)], [s, z], "per token", 1e-9)
    matrices(emit, g, name)


def matrices(emit, g, name):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, w = torch.randn(5, 12, generator=g).to(dtype), torch.randint(-128, 128, (12, 70), generator=g).to(torch.int8)
        scales = (torch.rand(12, generator=g) * 0.1).to(dtype)
        product = x.double() @ (w.double() * scales.double()[:, None])
        size = float((x.double().abs() @ (w.double() * scales.double()[:, None]).abs()).max())
        emit(name + "mixed_mm.out", [(T, x), (T, w), (T, scales), ("Optional[Tensor]", None)], [product.to(dtype)], "mm", size)
        for groups in (1, 3):
            w = torch.randint(-128, 128, (9, 12), generator=g).to(torch.int8)
            scales = (torch.rand(9, groups, generator=g) * 0.1).to(dtype)
            whole = w.double() * scales.double().repeat_interleave(12 // groups, 1)
            product, size = x.double() @ whole.T, float((x.double().abs() @ whole.T.abs()).max())
            scales = scales[:, 0].contiguous() if groups == 1 else scales
            emit(name + "mixed_linear.out", [(T, x), (T, w), (T, scales), ("Optional[Tensor]", None), (N, None)], [product.to(dtype)], "linear", size)
        indices = torch.tensor([[0, 3, 1], [4, 4, 2]])
        for bits in (8, 4, 2):
            low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
            w = torch.randint(low, high + 1, (5, 16), generator=g).to(torch.int8)
            packed = {8: w, 4: ((w[:, ::2] + 8).to(torch.uint8) << 4) | (w[:, 1::2] + 8).to(torch.uint8),
                      2: sum(((w[:, i::4] + 2).to(torch.uint8) << (2 * i)) for i in range(4)).to(torch.uint8)}[bits]
            for groups in (1, 2):
                scales, zeros = torch.rand(5, groups, generator=g).to(dtype), (torch.rand(5, groups, generator=g) * 4).to(dtype)
                for points in (None, zeros):
                    rows = qd.dequantize_per_channel_group(w, scales, points, low, high, torch.int8, 16 // groups, dtype)
                    op = name + {8: "embedding_byte", 4: "embedding_4bit", 2: "embedding_2bit"}[bits]
                    head = [(T, packed), (T, scales), ("Optional[Tensor]", points), (I, low), (I, high), (T, indices)]
                    emit(op + ".out", head, [rows[indices]], f"{bits} bits")
                    emit(op + ".dtype_out", head + [(N, 6)], [rows[indices].float()], f"{bits} bits")


def add_all(emit):
    del emit
