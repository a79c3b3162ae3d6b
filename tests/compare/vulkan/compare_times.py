# SPDX-License-Identifier: Apache-2.0
"""Compares processor time of our Vulkan plugin with the official run time: same files, same driver, processes in alternation.

    python tests/compare/vulkan/compare_times.py ETBACKEND PEER LIBRARY --layer FOLDER [--plugin-path FOLDER] [--rounds 5] [--only PATTERN] [--keep FOLDER] [--rows FILE] [--ncnn] [--page docs/vulkan.md [--mark times]]

PEER is the program of the folder peer here, LIBRARY the official run time as a shared library. Each network is exported once, and becomes a program of the official exporter and one of
`etbackend compile -b vulkan`. Figures are user time of whole processes, the least of the rounds, because other work of the machine only adds to it: "cold" is a process that loads and runs once
with MESA_SHADER_CACHE_DISABLE=true and without our own cache, "warm" the same after another one that filled a new cache folder, and a run is what more runs in such a process add, divided by their number.
Outputs are compared with PyTorch's in float64 before anything is measured; the table has the largest error divided by the largest number. A program whose runs do not use a Vulkan device, or another device than ours, ends the
script: FOLDER is that of the layer which counts dispatches (device_use.py), build/dev/plugins/vulkan/device_use. --ncnn adds ncnn for networks of one image, in float32 (ncnn_side.py checks that it uses the device; needs the wheels ncnn and pnnx).
--page rewrites the table between the comments "MARK" and "end of MARK" of a page. All programs use the driver that VK_DRIVER_FILES or VK_ICD_FILENAMES names. Needs torch and executorch.
"""
import argparse
import fnmatch
import json
import logging
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "runtime")]

import compare_vulkan  # noqa: E402
import device_use  # noqa: E402
import models  # noqa: E402


class Product(nn.Module):
    def forward(self, a, b):
        return a @ b


class Block(models.Block):
    """A block whose attention is written out: with scaled_dot_product_attention the exporter's file ends the process of the official run time at load (it has no logical_not)."""

    def attend(self, q, k, v):
        count = q.shape[-2]
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        mask = torch.full((count, count), -1e9).triu(1) if self.causal else 0
        return torch.softmax(scores + mask, -1) @ v


class VisionTransformer(nn.Module):
    """Half of ViT-Tiny: patches of 16 x 16 pixels of an image of 224 x 224, 6 layers of 192 numbers and 3 heads."""

    def __init__(self, width=192, heads=3, layers=6):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.first, self.places = nn.Parameter(torch.randn(1, 1, width)), nn.Parameter(torch.randn(1, 197, width))
        self.blocks = nn.Sequential(*[Block(width, heads, causal=False) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.first, x], 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


def networks():
    """Names, functions that make the module, and inputs. Weights are random: only times matter here."""
    torch.manual_seed(0)
    image = torch.randn(1, 3, 224, 224)
    yield "MobileNetV2 224 x 224", models.MobileNetV2, (image,)
    yield "ResNet-18 224 x 224", models.ResNet18, (image,)
    yield "ViT, 6 layers of 192, 224 x 224", VisionTransformer, (image,)
    yield "GPT, 6 layers of 384, 64 tokens", lambda: models.Gpt(block=Block), (torch.randint(0, 8192, (1, 64)),)
    yield "product of 1024 x 1024", Product, (torch.randn(1024, 1024), torch.randn(1024, 1024))


class Program:
    """A file with the command that runs it a number of times."""

    def __init__(self, side, call):
        self.side, self.call = side, call
        self.least = {}
        self.failure = None

    def spend(self, what, count, out, environment):
        """Keeps the least user time of a process with so many runs."""
        with open(os.devnull, "wb") as nothing:
            child = subprocess.Popen(self.call(count, out), env={**os.environ, **environment}, stdout=nothing, stderr=subprocess.PIPE)
            text = child.stderr.read().decode(errors="replace")
            _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise RuntimeError(f"{self.side}: exit code {child.returncode}: {text[-400:]}")
        self.least[what] = min(usage.ru_utime, self.least.get(what, usage.ru_utime))


def export(make, inputs, folder):
    """Writes the archive, the official program and the inputs, unless the folder has them. Returns the paths of the inputs."""
    files = [folder / f"{i}.npy" for i in range(len(inputs))]
    if not (folder / "official.pte").exists():
        torch.manual_seed(0)
        exported = torch.export.export(make().eval(), inputs)
        torch.export.save(exported, folder / "network.pt2")
        for file, value in zip(files, inputs):
            np.save(file, value.numpy())
        (folder / "official.pte").write_bytes(compare_vulkan.lower(exported, 600)[0])
    return files


def repeat_of(count):
    """The number that lets `etbackend run --repeat` run so often: beside one run, there is a first one that it does not count."""
    assert count != 2, "etbackend run cannot run twice"
    return max(1, count - 1)


def make_programs(args, make, folder, files):
    """A program for each side."""
    theirs, own = folder / "official.pte", folder / "own.pte"
    path = ["--plugin-path", args.plugin_path] if args.plugin_path else []
    subprocess.run([args.etbackend, "compile", *path, "-b", "vulkan", folder / "network.pt2", "-o", own], check=True, capture_output=True)

    def ours(program):
        flags = [flag for file in files for flag in ("--input", str(file))]
        pin = ["--backend-pin", "VulkanBackend=vulkan"] if program == theirs else []
        return lambda count, out: [args.etbackend, "run", program, *path, *pin, *flags, "--repeat", str(repeat_of(count)), "--output-dir", out]

    yield Program("official file, here", ours(theirs))
    yield Program("our file, here", ours(own))
    yield Program("official file, official run time", lambda count, out: [args.peer, args.library, theirs, out, str(count), *files])
    if args.ncnn and len(files) == 1 and np.load(files[0]).ndim == 4:
        import pnnx

        if not (folder / "ncnn.ncnn.param").exists():
            torch.manual_seed(0)
            pnnx.export(make().eval(), str(folder / "ncnn.pt"), (torch.from_numpy(np.load(files[0])),), fp16=False)
        yield Program("ncnn", lambda count, out: [sys.executable, HERE / "ncnn_side.py", folder / "ncnn", str(count), out, files[0]])


def check_devices(programs, layer):
    """Ends the script if a run of a program does not use the device that ours use. ncnn_side.py has a check of its own."""
    with tempfile.TemporaryDirectory() as out:
        known = None
        for program in programs:
            if program.failure or program.side == "ncnn":
                continue
            try:
                program.dispatches, devices = device_use.dispatches_of_run(layer, lambda count: program.call(count, out))
            except device_use.NotUsed as error:
                sys.exit(f"{program.side}: {error}")
            known = known or devices
            if devices != known:
                sys.exit(f"{program.side}: runs on {devices}, expected {known}")
            print(f"{program.side}: {program.dispatches:g} dispatches a run on {', '.join(devices)}", file=sys.stderr)


def measure(programs, rounds, expected, layer):
    """Adds least times and errors to the programs."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as out:
        cold = {"MESA_SHADER_CACHE_DISABLE": "true", "ETBACKEND_PLUGIN_CACHE": "off"}
        for program in programs:
            warm = {"XDG_CACHE_HOME": f"{cache}/{program.side.replace(' ', '_')}"}
            try:
                program.spend("fill", 1, out, warm)
            except RuntimeError as error:
                program.failure = str(error)
                continue
            found = np.load(f"{out}/0.npy")
            program.error = compare_vulkan.error_of(found, expected)
            program.count = 3 if program.least["fill"] > 2 else 11
        check_devices(programs, layer)
        runs = [program for program in programs if not program.failure]
        for _ in range(rounds):
            for program in runs:
                warm = {"XDG_CACHE_HOME": f"{cache}/{program.side.replace(' ', '_')}"}
                program.spend("cold", 1, out, cold)
                program.spend("warm", 1, out, warm)
                program.spend("runs", program.count, out, warm)
    for program in runs:
        program.run = (program.least["runs"] - program.least["warm"]) / (program.count - 1)


def rows(name, programs):
    peer = programs[2]
    lines = []
    for program in programs:
        if program.failure:
            lines.append(f"| {name} | {program.side} | does not run | | | | |")
            print(program.failure, file=sys.stderr)
            continue
        ratio = "" if program is peer or peer.failure else f"{program.run / peer.run:.2f}"
        lines.append(f"| {name} | {program.side} | {program.run:.3f} | {ratio} | {program.least['cold']:.2f} | {program.least['warm']:.2f} | {program.error:.1e} |")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("etbackend")
    parser.add_argument("peer")
    parser.add_argument("library")
    parser.add_argument("--layer", type=pathlib.Path, required=True, help="folder of the layer vulkan_device_use")
    parser.add_argument("--plugin-path")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="*")
    parser.add_argument("--ncnn", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, help="folder of the official programs; those that are there are not made again")
    parser.add_argument("--rows", type=pathlib.Path, help="file that keeps the rows of finished networks")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--mark", default="times", help="name of the table on the page")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    torch.set_grad_enabled(False)
    lines = ["| network | program | seconds a run | of the official run time's | cold | warm | largest error |", "|---|---|---|---|---|---|---|"]
    finished = json.loads(args.rows.read_text()) if args.rows and args.rows.exists() else {}
    for name, make, inputs in networks():
        if not fnmatch.fnmatch(name, args.only):
            continue
        if name not in finished:
            with tempfile.TemporaryDirectory() as folder:
                folder = (args.keep or pathlib.Path(folder)) / re.sub(r"\W+", "_", name)
                folder.mkdir(parents=True, exist_ok=True)
                files = export(make, inputs, folder)
                programs = list(make_programs(args, make, folder, files))
                measure(programs, args.rounds, compare_vulkan.in_float64(folder / "network.pt2", files)[0], args.layer)
            finished[name] = rows(name, programs)
            if args.rows:
                args.rows.write_text(json.dumps(finished))
        lines += finished[name]
        print("\n".join(finished[name]), flush=True)
    if args.page:
        begin, end = f"<!-- {args.mark} -->\n", f"<!-- end of {args.mark} -->"
        before, rest = args.page.read_text().split(begin)
        args.page.write_text(before + begin + "\n".join(lines) + "\n" + end + rest.split(end, 1)[1])


if __name__ == "__main__":
    main()
