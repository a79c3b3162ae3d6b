# SPDX-License-Identifier: Apache-2.0
"""Compares portable kernels with PyTorch's eager kernels: one program an operator, one thread on both sides.

    python tests/compare/kernels/compare_kernels.py --build build/release [--pairs 5] [--only TEXT] [--docs docs/performance.md]

Each case is a function of tensors at sizes where the kernel's loops count, not the call. It becomes a program by torch.export and `etbackend compile`. A pair
is one process of `etbackend run` and as many eager calls, in alternating order; a time is the fastest run of each, and the ratio the median of
the pairs' own, ours / eager: below 1 ours is faster. --docs writes the section "Kernels" of a page.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F

BEFORE = "## XNNPACK\n"
SECTION = """## Kernels

Portable kernels beside PyTorch's eager kernels ({version}), float32 and one thread on both sides, inputs of random numbers; ratios are ours / eager, medians of {pairs} pairs, so
below 1 ours is faster. PyTorch calls MKL and oneDNN for products, factorisations, convolutions and Fourier transforms.

```sh
python tests/compare/kernels/compare_kernels.py --build {build} --docs docs/performance.md
```

{table}

Geometric mean of {count}: {mean:.2f}.

"""


def randn(*sizes):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(1))


def positive(size):
    a = randn(size, size)
    return a @ a.mT + size * torch.eye(size)


def cases():
    """(family, name, function, inputs)"""
    square, symmetric = randn(256, 256), positive(256)
    image, volume = randn(1, 32, 64, 64), randn(1, 16, 16, 32, 32)
    yield "convolutions", "conv2d 3x3, 32 to 64 channels, 64x64", lambda x, w: F.conv2d(x, w, padding=1), (image, randn(64, 32, 3, 3))
    yield "convolutions", "conv2d 3x3 depthwise, 32 channels, 64x64", lambda x, w: F.conv2d(x, w, padding=1, groups=32), (image, randn(32, 1, 3, 3))
    yield "convolutions", "conv3d 3x3x3, 16 to 32 channels, 16x32x32", lambda x, w: F.conv3d(x, w, padding=1), (volume, randn(32, 16, 3, 3, 3))
    yield "convolutions", "conv_transpose2d 4x4 of stride 2, 32 to 16 channels", lambda x, w: F.conv_transpose2d(x, w, stride=2), (image, randn(32, 16, 4, 4))
    yield "pooling", "max_pool2d 3x3 of stride 2, 32 channels, 64x64", lambda x: F.max_pool2d(x, 3, 2), (image,)
    yield "pooling", "max_pool3d 3x3x3, 16 channels, 16x32x32", lambda x: F.max_pool3d(x, 3, 1), (volume,)
    yield "pooling", "avg_pool3d 3x3x3, 16 channels, 16x32x32", lambda x: F.avg_pool3d(x, 3, 1), (volume,)
    yield "pooling", "adaptive_max_pool3d to 5x7x7", lambda x: F.adaptive_max_pool3d(x, (5, 7, 7)), (volume,)
    yield "resampling", "interpolate bicubic, 64x64 to 160x160", lambda x: F.interpolate(x, size=(160, 160), mode="bicubic"), (image,)
    yield "resampling", "interpolate trilinear, 16x32x32 to 24x48x48", lambda x: F.interpolate(x, size=(24, 48, 48), mode="trilinear"), (volume,)
    yield "resampling", "grid_sample 2-D bilinear, 64x64", lambda x, g: F.grid_sample(x, g, align_corners=False), (image, randn(1, 64, 64, 2).clamp(-1, 1))
    yield "resampling", "grid_sample 3-D, 16x32x32", lambda x, g: F.grid_sample(x, g, align_corners=False), (volume, randn(1, 16, 32, 32, 3).clamp(-1, 1))
    yield "products", "mm 512x512x512", torch.mm, (randn(512, 512), randn(512, 512))
    yield "products", "mv 1024x1024", torch.mv, (randn(1024, 1024), randn(1024))
    yield "products", "linear 1024x1024 of one row", lambda x, w: F.linear(x, w), (randn(1, 1024), randn(1024, 1024))
    yield "products", "bmm 16 of 128x128x128", torch.bmm, (randn(16, 128, 128), randn(16, 128, 128))
    yield "products", "attention, 8 heads, 256 tokens of 64", F.scaled_dot_product_attention, (randn(1, 8, 256, 64), randn(1, 8, 256, 64), randn(1, 8, 256, 64))
    yield "products", "cdist of 256 and 256 points of 64", torch.cdist, (randn(256, 64), randn(256, 64))
    yield "Fourier transforms", "rfft, 64 lines of 1024", torch.fft.rfft, (randn(64, 1024),)
    yield "Fourier transforms", "rfft, 64 lines of 1000", torch.fft.rfft, (randn(64, 1000),)
    yield "Fourier transforms", "rfft, 64 lines of 1021, a prime", torch.fft.rfft, (randn(64, 1021),)
    yield "Fourier transforms", "rfft of 65536", torch.fft.rfft, (randn(65536),)
    yield "Fourier transforms", "rfft2 256x256", torch.fft.rfft2, (square,)
    yield "scans", "cumsum, 256 rows of 1024", lambda x: torch.cumsum(x, 1), (randn(256, 1024),)
    yield "scans", "cumsum, 1024 rows by columns", lambda x: torch.cumsum(x, 0), (randn(1024, 256),)
    yield "scans", "cummax, 256 rows of 1024", lambda x: torch.cummax(x, 1)[0], (randn(256, 1024),)
    yield "scans", "logcumsumexp, 256 rows of 1024", lambda x: torch.logcumsumexp(x, 1), (randn(256, 1024),)
    yield "sorting", "sort, 64 rows of 4096", lambda x: torch.sort(x, 1)[0], (randn(64, 4096),)
    yield "sorting", "topk 10 of 64 rows of 4096", lambda x: torch.topk(x, 10)[0], (randn(64, 4096),)
    yield "sorting", "median, 64 rows of 4096", lambda x: torch.median(x, 1)[0], (randn(64, 4096),)
    yield "sorting", "searchsorted, 65536 in 1024", lambda s, x: torch.searchsorted(s, x), (randn(1024).sort()[0], randn(65536))
    yield "sorting", "histc of 65536, 100 bins", lambda x: torch.histc(x, 100, -4, 4), (randn(65536),)
    yield "linear algebra", "LU 256x256", lambda a: torch.linalg.lu_factor_ex(a)[0], (square,)
    yield "linear algebra", "solve 256x256, one right side", lambda a, b: torch.linalg.solve_ex(a, b)[0], (square, randn(256))
    yield "linear algebra", "solve_triangular 512x512, one right side", lambda a, b: torch.linalg.solve_triangular(a, b, upper=False), (positive(512), randn(512, 1))
    yield "linear algebra", "solve_triangular 256x256, 256 right sides", lambda a, b: torch.linalg.solve_triangular(a, b, upper=False), (symmetric, square)
    yield "linear algebra", "Cholesky 256x256", lambda a: torch.linalg.cholesky_ex(a)[0], (symmetric,)
    yield "linear algebra", "QR 256x256", lambda a: torch.linalg.qr(a)[1], (square,)
    yield "linear algebra", "eigh 256x256", lambda a: torch.linalg.eigh(a)[0], (symmetric,)
    yield "linear algebra", "SVD 256x256", lambda a: torch.linalg.svd(a)[1], (square,)
    yield "linear algebra", "matrix_exp 256x256", torch.linalg.matrix_exp, (square / 16,)
    yield "reductions", "softmax, 256 rows of 1024", lambda x: F.softmax(x, 1), (randn(256, 1024),)
    yield "reductions", "layer_norm, 256 rows of 1024", lambda x: F.layer_norm(x, (1024,)), (randn(256, 1024),)
    yield "reductions", "var, 256 rows of 1024", lambda x: torch.var(x, 1), (randn(256, 1024),)
    yield "reductions", "logsumexp, 256 rows of 1024", lambda x: torch.logsumexp(x, 1), (randn(256, 1024),)
    yield "elements", "gelu of 262144", F.gelu, (randn(262144),)
    yield "elements", "erfinv of 262144", torch.erfinv, (randn(262144).clamp(-0.99, 0.99),)
    yield "elements", "lgamma of 262144", torch.lgamma, (randn(262144),)
    index = torch.randint(0, 1024, (4096,), generator=torch.Generator().manual_seed(2))
    yield "indexing", "index_select, 4096 rows of 64", lambda x, i: torch.index_select(x, 0, i), (randn(1024, 64), index)
    yield "indexing", "index_add, 4096 rows of 64", lambda x, i, s: torch.index_add(x, 0, i, s), (randn(1024, 64), index, randn(4096, 64))
    yield "indexing", "embedding_bag, 256 bags of 16", lambda w, i: F.embedding_bag(i, w, mode="sum"), (randn(1024, 64), index.reshape(256, 16))
    yield "indexing", "embedding, 4096 rows of 64", lambda w, i: F.embedding(i, w), (randn(1024, 64), index)
    yield "indexing", "gather, 4096x64", lambda x, i: torch.gather(x, 1, i), (randn(4096, 64), index.reshape(4096, 1).expand(4096, 64).contiguous() % 64)
    yield "indexing", "scatter_add, 4096x64", lambda x, i, s: torch.scatter_add(x, 1, i, s), (randn(4096, 64), index.reshape(4096, 1).expand(4096, 64).contiguous() % 64, randn(4096, 64))


class Case(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def fastest(call, seconds):
    """The fastest run, in microseconds, and the count of runs."""
    best, begin, count = float("inf"), time.perf_counter(), 0
    while time.perf_counter() - begin < seconds or count < 3:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        count += 1
    return best * 1e6, count


def run_ours(etbackend, program, arguments, count):
    done = subprocess.run([etbackend, "run", program, *arguments, "--print-output", "none", "--warmup", "2", "--repeat", str(count), "--json"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[0])
    return json.loads(done.stdout)["min_us"]


def compare(etbackend, case, pairs, seconds, folder):
    import numpy

    _, name, function, inputs = case
    archive, program = folder / "case.pt2", folder / "case.pte"
    torch.export.save(torch.export.export(Case(function), inputs), archive)
    subprocess.run([etbackend, "compile", archive, "-o", program], check=True, capture_output=True)
    arguments = []
    for i, tensor in enumerate(inputs):
        numpy.save(folder / f"{i}.npy", tensor.contiguous().numpy())
        arguments += ["--input", folder / f"{i}.npy"]
    ours, eager, ratios = [], [], []
    with torch.no_grad():
        for pair in range(pairs + 1):
            theirs, count = fastest(lambda: function(*inputs), seconds)
            mine = run_ours(etbackend, program, arguments, count)
            if pair == 0:
                continue  # caches are cold
            ours.append(mine), eager.append(theirs), ratios.append(mine / theirs)
    row = statistics.median(ours), statistics.median(eager), statistics.median(ratios)
    print(f"{name}: {row[0]:.0f} us, eager {row[1]:.0f} us, ratio {row[2]:.2f}", flush=True)
    return row


def write_section(page, text):
    old = page.read_text()
    heading = text.splitlines()[0] + "\n"
    if heading in old:
        begin = old.index(heading)
        old = old[:begin] + old[old.index(BEFORE):]
    page.write_text(old.replace(BEFORE, text + BEFORE))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--only", default="")
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines, ratios = ["| family | operator | ours, us | eager, us | ours / eager |", "|---|---|---|---|---|"], []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            if options.only not in f"{case[0]} {case[1]}":
                continue
            ours, eager, ratio = compare(options.build / "bin" / "etbackend", case, options.pairs, options.seconds, Path(folder))
            ratios.append(ratio)
            lines.append(f"| {case[0]} | {case[1]} | {ours:.0f} | {eager:.0f} | **{ratio:.2f}** |")
    if not ratios:
        sys.exit(f"no case matches '{options.only}'")
    if options.docs:
        write_section(options.docs, SECTION.format(version=f"torch {torch.__version__}", pairs=options.pairs, build=options.build, table="\n".join(lines),
                                                   count=len(ratios), mean=statistics.geometric_mean(ratios)))


if __name__ == "__main__":
    main()
