# SPDX-License-Identifier: Apache-2.0
"""Measures `etbackend run --async` on models with two branches, and compares its outputs with those of the program's order.

    python tests/compare/runtime/overlap.py --build build/dev [--backend dsp_stub vulkan opencl] [--pairs 9] [--repeat 20] [--one-core]

Needs torch. One branch is for the named backend, the other for XNNPACK; without that plugin, for the portable kernels. Each pair is two
processes, in alternating order. A ratio is the median of the pairs' own ratios of medians, asynchronous / in order: below 1 the runs overlap.
--one-core leaves one thread to the drivers of the GPU plugins on processors (lavapipe, PoCL), so that the other branch has one, too.
--chain has a chain of two backends beside kernels of the host instead of two branches; the plugin of a GPU begins without the host.
--prefix runs each process by a command, such as "chrt -f 1" on a machine with other load.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed

# Where branches share memory, they wait for each other.
PLANS = {"least memory": [], "branches apart": ["--concurrent-branches"]}
ONE_CORE = {"LP_NUM_THREADS": "1", "POCL_MAX_PTHREAD_COUNT": "1"}


class Floats(torch.nn.Module):
    """Products for a GPU; transposed convolutions, which the GPU plugins reject."""

    def __init__(self):
        super().__init__()
        self.products = torch.nn.ModuleList([torch.nn.Linear(384, 384) for _ in range(4)])
        self.others = torch.nn.ModuleList([torch.nn.ConvTranspose2d(64, 64, 3, padding=1) for _ in range(4)])

    def forward(self, x, y):
        for layer in self.products:
            x = torch.relu(layer(x))
        for layer in self.others:
            y = layer(y)
        return x, y

    example = (torch.randn(256, 384), torch.randn(1, 64, 56, 56))


class Codes(torch.nn.Module):
    """Convolutions of int8 codes for the DSP; products of floats."""

    def __init__(self):
        super().__init__()
        self.weights = [f"weight{i}" for i in range(4)]
        for name in self.weights:
            self.register_buffer(name, torch.randint(-127, 128, (16, 16, 3, 3), dtype=torch.int8))
        self.layer = torch.nn.Linear(512, 512)

    def forward(self, x, y):
        ops = torch.ops.quantized_decomposed
        code = (0, -128, 127, torch.int8)
        for name in self.weights:
            weight = ops.dequantize_per_tensor.default(getattr(self, name), 0.0005, *code)
            real = torch.conv2d(ops.dequantize_per_tensor.default(x, 0.05, *code), weight, None, 1, 1)
            x = ops.quantize_per_tensor.default(torch.relu(real), 0.05, *code)
        for _ in range(30):
            y = torch.relu(self.layer(y))
        return x, y

    example = (torch.zeros(1, 16, 32, 32, dtype=torch.int8), torch.randn(256, 512))


class Chain(torch.nn.Module):
    """Convolutions for XNNPACK and functions of their result for a GPU, beside sorts for the portable kernels."""

    def __init__(self):
        super().__init__()
        self.others = torch.nn.ModuleList([torch.nn.Conv2d(64, 64, 3, padding=1) for _ in range(6)])

    def forward(self, x, y):
        for layer in self.others:
            x = layer(x)
        for _ in range(16):
            x = torch.erf(x)
        for i in range(2):
            y = torch.sort(y, dim=i)[0]
        return x, y

    example = (torch.randn(1, 64, 56, 56), torch.randn(256, 256))


def run(command, extra=None):
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | (extra or {}))
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def median_us(text):
    return float(re.search(r"p50 ([0-9.]+)", text)[1])


def read_outputs(folder):
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def measure(program, etbackend, folder, options, extra):
    """Returns the medians of a pair by flag, and checks that both have the same outputs."""
    found, outputs = {}, {}
    for flag in options.order:
        out = f"{folder}/out{flag}"
        command = [*options.prefix.split(), etbackend, "run", program, "--random", "1", "--warmup", "3", "--repeat", str(options.repeat), "--output-dir", out]
        found[flag] = median_us(run(command + ([flag] if flag else []), extra))
        outputs[flag] = read_outputs(out)
    if outputs[""] != outputs["--async"]:
        sys.exit(f"{program}: outputs differ")
    return found


def working_memory(text):
    return re.search(r", ([0-9.]+ \w+) working memory", text)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/dev")
    parser.add_argument("--backend", nargs="+", default=["dsp_stub", "vulkan", "opencl"])
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--one-core", action="store_true")
    parser.add_argument("--prefix", default="")
    parser.add_argument("--chain", action="store_true")
    options = parser.parse_args()
    etbackend, extra = f"{options.build}/bin/etbackend", ONE_CORE if options.one_core else {}
    has_xnnpack = Path(f"{options.build}/plugins.d/xnnpack.json").exists()
    torch.manual_seed(1)
    print("| backend | memory plan | working memory | in order, ms | asynchronous, ms | ratio |\n|---|---|---|---|---|---|")
    for backend in options.backend:
        model = (Chain if options.chain else Codes if backend == "dsp_stub" else Floats)().eval()
        with tempfile.TemporaryDirectory() as folder:
            torch.export.save(torch.export.export(model, model.example), f"{folder}/model.pt2")
            backends = [backend, "xnnpack"][:: -1 if options.chain else 1] if has_xnnpack else [backend]
            for plan, flags in PLANS.items():
                memory = working_memory(run([etbackend, "compile", *(f"--backend={each}" for each in backends), *flags, f"{folder}/model.pt2", "-o", f"{folder}/model.pte"]))
                pairs = []
                for i in range(options.pairs):
                    options.order = ["", "--async"][:: 1 if i % 2 == 0 else -1]
                    pairs.append(measure(f"{folder}/model.pte", etbackend, folder, options, extra))
                ratio = statistics.median(pair["--async"] / pair[""] for pair in pairs)
                times = [statistics.median(pair[flag] for pair in pairs) / 1000 for flag in ("", "--async")]
                print(f"| {backend} | {plan} | {memory} | {times[0]:.2f} | {times[1]:.2f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
