# SPDX-License-Identifier: Apache-2.0
"""Runs a network with ncnn on a Vulkan device. Needs the wheels ncnn and pnnx.

    python tests/compare/vulkan/ncnn_side.py NETWORK RUNS OUTPUT_FOLDER INPUT.npy

NETWORK.ncnn.param and NETWORK.ncnn.bin are what pnnx writes. Everything is float32. Writes 0.npy. Ends with an error unless ncnn opened a device and has a Vulkan kernel for each layer: without one it runs on the
processor, silently.
"""
import sys

import ncnn
import numpy as np


def main():
    network, runs, folder, file = sys.argv[1:]
    if ncnn.get_gpu_count() == 0:
        sys.exit("ncnn finds no Vulkan device")
    net = ncnn.Net()
    net.opt.use_vulkan_compute = True
    for name in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        if hasattr(net.opt, name):
            setattr(net.opt, name, False)
    net.opt.num_threads = 1
    if net.load_param(f"{network}.ncnn.param") or net.load_model(f"{network}.ncnn.bin"):
        sys.exit("ncnn does not load the network")
    without = {layer.type for layer in net.layers() if not layer.support_vulkan} - {"Input"}
    if without:
        sys.exit(f"ncnn has no Vulkan kernel for {', '.join(sorted(without))}")
    values = ncnn.Mat(np.load(file)[0])
    for _ in range(int(runs)):
        extractor = net.create_extractor()
        extractor.input("in0", values)
        _, made = extractor.extract("out0")
    np.save(f"{folder}/0.npy", np.array(made)[None])
    print(ncnn.get_gpu_info(ncnn.get_default_gpu_index()).device_name())


if __name__ == "__main__":
    main()
