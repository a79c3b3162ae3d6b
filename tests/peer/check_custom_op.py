#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program of ours that calls a custom op on the official run time, with a kernel built against the installed wheel.

usage: check_custom_op.py ETBACKEND

Compiles tests/fixtures/custom_op, checks that the program is refused while nobody has registered my::scale.out, loads the kernel
(official_scale.cpp) and compares with PyTorch's numbers. Needs numpy, torch, executorch and a C++ compiler ($CXX or c++).
"""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

import executorch
import numpy as np
import torch
from executorch.runtime import Runtime

HERE = pathlib.Path(__file__).resolve().parent
FIXTURE = HERE.parent / "fixtures" / "custom_op"
DECLARATION = "my::scale(Tensor x, float factor=2.0) -> Tensor"


def build_kernel(folder):
    wheel = pathlib.Path(list(executorch.__path__)[0])
    library = folder / "libofficial_scale.so"
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-fPIC", "-shared", f"-I{wheel}/include",
                    f"-I{wheel}/include/executorch/runtime/core/portable_type/c10", "-DC10_USING_CUSTOM_GENERATED_MACROS",
                    str(HERE / "official_scale.cpp"), "-o", str(library), f"-L{wheel}/lib", "-lexecutorch", f"-Wl,-rpath,{wheel}/lib"], check=True)
    return library


def main():
    inputs, wanted = np.load(FIXTURE / "custom_op.in.0.npy"), np.load(FIXTURE / "custom_op.out.0.npy")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        program = folder / "custom_op.pte"
        subprocess.run([sys.argv[1], "compile", str(FIXTURE / "custom_op.pt2"), "-o", str(program), "--custom-op", DECLARATION], check=True)
        loaded = Runtime.get().load_program(str(program))
        try:
            loaded.load_method("forward")
            print("the official run time loads the program without its kernel")
            return 1
        except RuntimeError as error:
            print(f"without the kernel: {str(error).splitlines()[0]}")
        ctypes.CDLL(str(build_kernel(folder)))
        got = loaded.load_method("forward").execute([torch.from_numpy(inputs)])[0].numpy()
    difference = float(np.max(np.abs(got - wanted)))
    print(f"with it: differs from PyTorch by {difference:g}")
    return 0 if difference <= 2e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
