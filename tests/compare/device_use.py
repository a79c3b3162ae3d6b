#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ends with an error unless a program computes on a Vulkan or OpenCL device in each of its runs. A program that falls back to the processor is no measurement of the device.

    python3 tests/compare/device_use.py LAYER COMMAND...

LAYER is the folder of a layer that counts the dispatches which a process submits: build/dev/plugins/vulkan/device_use (target vulkan_device_use) or build/dev/plugins/opencl/device_use (opencl_device_use).
COMMAND has the word COUNT where the number of runs belongs; it is started with 3 and with 5, and must submit more dispatches for 5: those of the load do not depend on the number, and `etbackend run` adds a run
that it does not measure if there are several. Prints the dispatches of a run and the devices.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

FEW, MORE = 3, 5  # runs


class NotUsed(Exception):
    """The program did not use a device."""


def variables(layer):
    """Environment in which a loader inserts the layer, by the file that the folder has."""
    layer = pathlib.Path(layer).resolve()
    if (layer / "device_use.json").exists():
        return {"VK_LAYER_PATH": str(layer), "VK_INSTANCE_LAYERS": "VK_LAYER_ETBACKEND_device_use"}
    if (layer / "device_use.so").exists():
        return {"OPENCL_LAYERS": str(layer / "device_use.so")}
    raise RuntimeError(f"no layer in {layer}: build the target vulkan_device_use or opencl_device_use")


def count(layer, command, environment=None):
    """What a process submits: the layer's JSON object."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "use.json"
        layered = {**variables(layer), "ETB_DEVICE_USE": str(file)}
        child = subprocess.run(command, env={**os.environ, **(environment or {}), **layered}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if child.returncode != 0:
            raise RuntimeError(f"exit code {child.returncode}: {child.stderr.decode(errors='replace')[-400:]}")
        if not file.exists():
            raise NotUsed("submits nothing to a device")
        return json.loads(file.read_text())


def dispatches_of_run(layer, call, environment=None):
    """Dispatches of a run, and the names of the devices. call(count): the command for so many runs."""
    few, more = (count(layer, call(number), environment) for number in (FEW, MORE))
    added = (more["dispatches"] - few["dispatches"]) / (MORE - FEW)
    if added < 1:
        raise NotUsed(f"submits {few['dispatches']} dispatches with {FEW} runs and {more['dispatches']} with {MORE}: its runs do not use the device")
    return added, more["devices"]


def main():
    layer, *command = sys.argv[1:]
    try:
        added, devices = dispatches_of_run(layer, lambda number: [str(number) if word == "COUNT" else word for word in command])
    except (NotUsed, RuntimeError) as error:
        sys.exit(str(error))
    print(f"{added:g} dispatches a run on {', '.join(devices)}")


if __name__ == "__main__":
    main()
