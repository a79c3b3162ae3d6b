# SPDX-License-Identifier: Apache-2.0
"""Runs a network with tinygrad on an OpenCL device. Needs the wheel tinygrad.

    python tests/compare/opencl/tinygrad_side.py NETWORK.onnx RUNS OUTPUT_FOLDER INPUT.npy ...

Everything is float32. The network is captured once (TinyJit), so later runs only enqueue its kernels. Writes 0.npy.
"""
import os
import sys

os.environ["DEV"] = "CL"  # read when tinygrad is imported

import numpy as np
from tinygrad import Tensor, TinyJit
from tinygrad.nn.onnx import OnnxRunner


def main():
    network, runs, folder, *files = sys.argv[1:]
    model = OnnxRunner(network)

    @TinyJit
    def run(*tensors):
        return next(iter(model({f"input{i}": tensor for i, tensor in enumerate(tensors)}).values())).realize()

    tensors = [Tensor(np.load(file), device="CL").realize() for file in files]
    for _ in range(int(runs)):
        made = run(*tensors).numpy()
    np.save(f"{folder}/0.npy", made)


if __name__ == "__main__":
    main()
