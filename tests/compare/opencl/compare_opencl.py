# SPDX-License-Identifier: Apache-2.0
"""Compares processor time of our OpenCL plugin with OpenCV and tinygrad: same networks, same device, processes in alternation.

    python tests/compare/opencl/compare_opencl.py ETBACKEND --layer FOLDER [--plugin-path FOLDER] [--rounds 3] [--only PATTERN] [--keep FOLDER] [--page docs/opencl.md]

The networks are those of tests/compare/vulkan/compare_times.py. Each is exported once, as an archive for `etbackend compile -b opencl` and as an ONNX file for the peers. Figures are user time of whole processes, the
least of the rounds: "cold" is a process that loads and runs once with the driver's cache and the programs' own ones off, "warm" the same with caches that another process filled, and a run is what more runs in such a
process add, divided by their number. Outputs are compared with PyTorch's in float64 before anything is measured; the table has the largest error divided by the largest number. A program whose runs enqueue no
kernels, or use another device than ours, is an error: FOLDER is that of the layer which counts them, build/dev/plugins/opencl/device_use (tests/compare/device_use.py). Programs for Python include its start.
--page rewrites the table between the comments "peers" and "end of peers" of a page. Needs torch, executorch, onnx, onnxscript, opencv-python-headless and tinygrad, which needs a program named clang.
"""
import argparse
import fnmatch
import logging
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "vulkan")]

import compare_times  # noqa: E402
import compare_vulkan  # noqa: E402
import device_use  # noqa: E402

FEW, MORE = 3, 23  # runs of the processes whose difference is that of their runs
OFF = {"ETBACKEND_PLUGIN_CACHE": "off", "POCL_KERNEL_CACHE": "0", "OPENCV_OPENCL_CACHE_ENABLE": "false", "CACHELEVEL": "0"}
# tinygrad searches no kernels; its own cache of compiled ones is below XDG_CACHE_HOME.


def export(make, inputs, folder):
    """Writes the archive, the ONNX file and the inputs, unless the folder has them. Returns the paths of the inputs."""
    files = [folder / f"{i}.npy" for i in range(len(inputs))]
    if not (folder / "network.onnx").exists():
        torch.manual_seed(0)
        module = make().eval()
        torch.export.save(torch.export.export(module, inputs), folder / "network.pt2")
        for file, value in zip(files, inputs):
            np.save(file, value.numpy())
        torch.onnx.export(module, inputs, folder / "network.onnx", input_names=[f"input{i}" for i in range(len(inputs))], external_data=False, dynamo=True)
    return files


def make_programs(args, folder, files):
    """A program for each side, ours first."""
    path = ["--plugin-path", args.plugin_path] if args.plugin_path else []
    subprocess.run([args.etbackend, "compile", *path, "-b", "opencl", folder / "network.pt2", "-o", folder / "own.pte"], check=True, capture_output=True)
    flags = [flag for file in files for flag in ("--input", str(file))]
    yield compare_times.Program("opencl, here", lambda count, out: [args.etbackend, "run", folder / "own.pte", *path, *flags, "--repeat", str(compare_times.repeat_of(count)), "--output-dir", out])
    for side in ("opencv", "tinygrad"):
        yield compare_times.Program(side, lambda count, out, side=side: [sys.executable, HERE / f"{side}_side.py", folder / "network.onnx", str(count), out, *files])


def check_device(program, layer, known, environment, out):
    """The devices that the runs of a program use. Sets its failure if they use none."""
    try:
        program.dispatches, devices = device_use.dispatches_of_run(layer, lambda count: program.call(count, out), environment)
    except device_use.NotUsed as error:
        program.failure = str(error)
        return known
    if known and devices != known:
        sys.exit(f"{program.side}: runs on {devices}, expected {known}")
    print(f"{program.side}: {program.dispatches:g} dispatches a run on {', '.join(devices)}", file=sys.stderr)
    return devices


def measure(programs, rounds, expected, layer):
    """Adds least times and errors to the programs."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as out:
        known = None
        warm = {program.side: {"XDG_CACHE_HOME": f"{cache}/{program.side}", "POCL_CACHE_DIR": f"{cache}/{program.side}/pocl"} for program in programs}
        for program in programs:
            pathlib.Path(warm[program.side]["POCL_CACHE_DIR"]).mkdir(parents=True)
            try:
                program.spend("fill", 1, out, warm[program.side])
            except RuntimeError as error:
                program.failure = str(error)
                continue
            program.error = compare_vulkan.error_of(np.load(f"{out}/0.npy"), expected)
            known = check_device(program, layer, known, warm[program.side], out)
        runs = [program for program in programs if not program.failure]
        for _ in range(rounds):
            for program in runs:
                program.spend("cold", 1, out, {**OFF, "XDG_CACHE_HOME": f"{cache}/none", "POCL_CACHE_DIR": f"{cache}/none"})
                program.spend("warm", 1, out, warm[program.side])
                # The first two runs of tinygrad capture the network, so a run is counted from the third on.
                program.spend("few", FEW, out, warm[program.side])
                program.spend("more", MORE, out, warm[program.side])
    for program in runs:
        program.run = (program.least["more"] - program.least["few"]) / (MORE - FEW)


def rows(name, programs):
    ours = programs[0]
    for program in programs:
        if program.failure:
            print(f"{name}: {program.side}: {program.failure}", file=sys.stderr)
            yield f"| {name} | {program.side} | does not run | | | | | |"
            continue
        ratio = "" if program is ours or ours.failure else f"{ours.run / program.run:.2f}"
        yield (
            f"| {name} | {program.side} | {program.run * 1000:.1f} | {ratio} | {program.dispatches:g} | {program.least['cold']:.2f} | {program.least['warm']:.2f} | {program.error:.1e} |"
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("etbackend")
    parser.add_argument("--layer", type=pathlib.Path, required=True, help="folder of the layer opencl_device_use")
    parser.add_argument("--plugin-path")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="*")
    parser.add_argument("--keep", type=pathlib.Path, help="folder of the exported networks; those that are there are not made again")
    parser.add_argument("--page", type=pathlib.Path)
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    torch.set_grad_enabled(False)
    lines = ["| network | program | ms a run | ours divided by it | dispatches a run | cold, s | warm, s | largest error |", "|---|---|---|---|---|---|---|---|"]
    for name, make, inputs in compare_times.networks():
        if not fnmatch.fnmatch(name, args.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            folder = (args.keep or pathlib.Path(folder)) / re.sub(r"\W+", "_", name)
            folder.mkdir(parents=True, exist_ok=True)
            files = export(make, inputs, folder)
            programs = list(make_programs(args, folder, files))
            measure(programs, args.rounds, compare_vulkan.in_float64(folder / "network.pt2", files)[0], args.layer)
        found = list(rows(name, programs))
        print("\n".join(found), flush=True)
        lines += found
    if args.page:
        begin, end = "<!-- peers -->\n", "<!-- end of peers -->"
        before, rest = args.page.read_text().split(begin)
        args.page.write_text(before + begin + "\n".join(lines) + "\n" + end + rest.split(end, 1)[1])


if __name__ == "__main__":
    main()
