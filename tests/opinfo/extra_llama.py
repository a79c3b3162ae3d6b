# SPDX-License-Identifier: Apache-2.0
"""Cases of ExecuTorch's operators for language models, and of the products of a mixture of experts. Results come from PyTorch's own attention in double, from indexing, and from
the recurrence written with tensors; neither needs ExecuTorch."""
import math

import torch

T, F, I, B, N, S = "Tensor", "float", "int", "bool", "Optional[float]", "Optional[Tensor]"
FLOATS = [torch.float32, torch.float16, torch.bfloat16]


def attention(q, k, v, start, mask=None, causal=False, scale=None, heads_dim=2):
    """softmax(scale * Q K^T + mask) V over [batch, sequence, heads, size] in double, and the size of the largest term."""
    if heads_dim == 2:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    q, k, v = q.double(), k.double(), v.double()
    count = k.size(2) if mask is not None else start + q.size(2)
    repeats = q.size(1) // k.size(1)
    k, v = (x[:, :, :count].repeat_interleave(repeats, 1) for x in (k, v))
    if causal:
        mask = torch.full((q.size(2), count), -math.inf).triu(1 + start)
    scores = q @ k.transpose(-1, -2) * (scale or 1 / math.sqrt(q.size(-1)))
    if mask is not None:
        scores = scores + mask.double()
    out = scores.softmax(-1) @ v
    return (out.transpose(1, 2) if heads_dim == 2 else out).contiguous(), float(v.abs().max())


def add_attention(emit, g):
    # batch, queries, heads, heads of keys, keys, start, head size
    shapes = [(1, 1, 4, 4, 10, 0, 8), (2, 1, 4, 2, 10, 9, 8), (1, 5, 4, 1, 12, 3, 20), (1, 21, 2, 2, 33, 7, 8), (1, 3, 8, 2, 300, 290, 4)]
    for dtype in FLOATS:
        for batch, n, heads, key_heads, keys, start, size in shapes:
            q = torch.randn(batch, n, heads, size, generator=g).to(dtype)
            k, v = (torch.randn(batch, keys, key_heads, size, generator=g).to(dtype) for _ in range(2))
            mask = torch.randn(n, keys, generator=g).masked_fill(torch.rand(n, keys, generator=g) < 0.3, -math.inf)
            mask[:, 0] = 0.5
            for name, m, causal, scale in (("causal", None, True, None), ("plain", None, False, 0.25), ("mask", mask, False, None)):
                out, largest = attention(q, k, v, start, m, causal, scale)
                tail = [(I, start), (S, m), (F, 0.0), (B, causal), (N, scale)]
                emit("llama::custom_sdpa.out", [(T, q), (T, k), (T, v)] + tail, [out.to(dtype)], name, largest)


def add_quantized(emit, g):
    for heads_dim in (2, 1):
        for n, heads, key_heads, keys, start, size in ((1, 4, 2, 10, 9, 8), (4, 4, 4, 12, 3, 16), (20, 2, 1, 40, 20, 8)):
            def quantized(count, head_count):
                sizes = (1, count, head_count) if heads_dim == 2 else (1, head_count, count)
                x = torch.randint(-128, 128, (*sizes, size), generator=g).to(torch.int8)
                scales = torch.rand(*sizes, 1, generator=g) * 0.02 + 0.001
                points = torch.randint(-20, 20, (*sizes, 1), generator=g).to(torch.int8)
                return x, scales, points, (x.double() - points.double()) * scales.double()

            q, k, v = quantized(n, heads), quantized(keys, key_heads), quantized(keys, key_heads)
            mask = torch.randn(n, keys, generator=g)
            for name, m, causal in (("causal", None, True), ("mask", mask, False)):
                out, largest = attention(q[3], k[3], v[3], start, m, causal, None, heads_dim)
                tail = [(I, start), (S, m), (F, 0.0), (B, causal), (N, None)]
                numbers = [(S, part) for x in (q, k, v) for part in (x[2], x[1])] + [(B, heads_dim == 1)]
                emit("llama::custom_quantized_sdpa.out", [(T, q[0]), (T, k[0]), (T, v[0])] + tail + numbers, [out.float()], name, largest)


def add_updates(emit, g):
    for dtype in FLOATS + [torch.int8, torch.int64, torch.float64]:
        for batch, n, keys, heads, size, start in ((1, 1, 6, 2, 4, 5), (2, 3, 8, 2, 3, 2), (1, 4, 4, 1, 8, 0)):
            value, cache = (torch.randint(-9, 9, (batch, rows, heads, size), generator=g).to(dtype) for rows in (n, keys))
            after = cache.clone()
            after[:, start : start + n] = value
            indices = torch.stack([torch.randperm(keys, generator=g)[:n] for _ in range(batch)])
            picked = cache.clone()
            for i in range(batch):
                picked[i, indices[i]] = value[i]
            emit("llama::update_cache.out", [(T, value), ("in place", (cache, after)), (I, start)], [torch.zeros(1, dtype=dtype)], "update")
            emit("llama::update_cache_with_indices.out", [(T, value), ("in place", (cache, picked)), (I, 0), (T, indices)],
                 [torch.zeros(1, dtype=dtype)], "update")
            if dtype in FLOATS:
                q = torch.randn(batch, n, heads * 2, size, generator=g).to(dtype)
                out, largest = attention(q, after, after, start, None, True)
                emit("llama::sdpa_with_kv_cache.out", [(T, q), (T, value), (T, value), ("in place", (cache, after)),
                     ("in place", (cache.clone(), after)), (I, start), (I, n), (S, None), (F, 0.0), (B, True), (N, None)],
                     [out.to(dtype)], "update", largest)


def add_hadamard(emit, g):
    for dtype in FLOATS:
        for sizes in ((3, 1), (2, 5, 16), (4, 128)):
            x = torch.randn(*sizes, generator=g).to(dtype)
            matrix = torch.ones(1, 1, dtype=torch.float64)
            while matrix.size(0) < sizes[-1]:
                matrix = torch.kron(torch.tensor([[1.0, 1.0], [1.0, -1.0]], dtype=torch.float64), matrix)
            out = x.double() @ matrix / math.sqrt(sizes[-1])
            emit("llama::fast_hadamard_transform.out", [(T, x)], [out.to(dtype)], "rows", float(x.abs().sum(-1).max()) / math.sqrt(sizes[-1]))


def add_delta_rule(emit, g):
    for heads, state_heads, tokens, rows, columns, channelwise in ((3, 3, 4, 5, 6, True), (4, 2, 3, 4, 4, False), (2, 1, 1, 8, 3, True)):
        def make(*sizes):
            return torch.randn(2, *sizes, generator=g)
        query, key, value = make(heads, tokens, rows), make(state_heads, tokens, rows) * 0.4, make(state_heads, tokens, columns)
        decay = torch.rand(2, state_heads, tokens, *([rows] if channelwise else []), generator=g)
        beta, before = torch.rand(2, state_heads, tokens, generator=g), make(state_heads, rows, columns)
        state, results = before.double(), []
        for t in range(tokens):
            state = state * (decay[:, :, t, :, None] if channelwise else decay[:, :, t, None, None]).double()
            k = key[:, :, t, :, None].double()
            error = value[:, :, t].double() - (state * k).sum(2)
            state = state + k * (error * beta[:, :, t, None].double())[:, :, None, :]
            shared = state.repeat_interleave(heads // state_heads, 1)
            results.append((shared * query[:, :, t, :, None].double()).sum(2))
        outs = [torch.stack(results, 2).float(), state.float()]
        scale = float(max(o.abs().max() for o in outs)) * 4
        for op in ("gated_delta_rule", "channelwise_gated_delta_rule"):
            arguments = [(T, x) for x in (query, key, value, decay, beta, before)]
            emit(f"llama::{op}.out", arguments, outs, "rule", scale)


def add_products(emit, g):
    for m, k, n in ((1, 3, 5), (20, 32, 17), (3, 300, 2)):
        a, b = (torch.randint(-128, 128, sizes, generator=g).to(torch.int8) for sizes in ((m, k), (k, n)))
        for left in (a, a.view(torch.uint8)):
            emit("aten::_int_mm.out", [(T, left), (T, b)], [(left.long() @ b.long()).int()], "mm")
    for dtype in FLOATS + [torch.float64]:
        for ends, m, k, n in (([2, 2, 5], 5, 4, 3), ([0, 4, 7], 9, 33, 40), ([1], 1, 8, 8)):
            x, w = torch.randn(m, k, generator=g).to(dtype), torch.randn(len(ends), k, n, generator=g).to(dtype)
            out, size, begin = torch.zeros(m, n, dtype=torch.float64), 1.0, 0
            for i, end in enumerate(ends):
                out[begin:end] = x[begin:end].double() @ w[i].double()
                begin = end
            size = float((x.double().abs() @ w.double().abs().amax(0)).max())
            emit("transformers::grouped_mm_fallback.out", [(T, x), (T, w), (T, torch.tensor(ends))], [out.to(dtype)], "groups", size)


def add_plain(emit):
    g = torch.Generator().manual_seed(51)
    add_attention(emit, g)
    add_quantized(emit, g)
    add_updates(emit, g)
    add_hadamard(emit, g)
    add_delta_rule(emit, g)
    add_products(emit, g)


def add_all(emit):
    del emit
