# SPDX-License-Identifier: Apache-2.0
"""Runs a network with OpenCV's module dnn on an OpenCL device. Needs the wheel opencv-python-headless.

    python tests/compare/opencl/opencv_side.py NETWORK.onnx RUNS OUTPUT_FOLDER INPUT.npy ...

Everything is float32. Writes 0.npy. Ends with an error unless OpenCV has an OpenCL device. A layer without a kernel runs on the processor silently, so compare_opencl.py counts the dispatches of a run.
"""
import os
import sys

# OpenCV, and its module dnn once more, leave devices of the kind CPU out otherwise.
os.environ.setdefault("OPENCV_OPENCL_DEVICE", ":CPU:")
os.environ["OPENCV_DNN_OPENCL_ALLOW_ALL_DEVICES"] = "1"

import cv2
import numpy as np


def main():
    network, runs, folder, *files = sys.argv[1:]
    cv2.ocl.setUseOpenCL(True)
    if not cv2.ocl.useOpenCL():
        sys.exit("OpenCV finds no OpenCL device")
    cv2.setNumThreads(1)
    net = cv2.dnn.readNetFromONNX(network, *([cv2.dnn.ENGINE_CLASSIC] if hasattr(cv2.dnn, "ENGINE_CLASSIC") else []))
    net.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
    net.setPreferableTarget(cv2.dnn.DNN_TARGET_OPENCL)
    values = [np.load(file) for file in files]
    for _ in range(int(runs)):
        for i, value in enumerate(values):
            net.setInput(value, f"input{i}")
        made = net.forward()
    np.save(f"{folder}/0.npy", np.asarray(made))


if __name__ == "__main__":
    main()
