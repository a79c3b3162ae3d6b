# SPDX-License-Identifier: Apache-2.0
"""CMSIS-NN's own functions for the layers of integer_network.py, compiled for this machine and called by ctypes."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
from integer_network import Rules, to_multiplier

SKIPPED = ("_f16", "_f32", "_flt", "Bindings")


def build(sources, folder):
    """Compiles the integer functions with single rounding. Returns the library's path."""
    library = Path(folder) / "cmsis_nn_single.so"
    files = [str(path) for path in sorted(Path(sources).glob("Source/**/*.c")) if not any(word in str(path) for word in SKIPPED)]
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-w", "-DCMSIS_NN_USE_SINGLE_ROUNDING", f"-I{sources}/Include", *files, "-o", library], check=True)
    return library


class Context(ctypes.Structure):
    _fields_ = [("buffer", ctypes.c_void_p), ("size", ctypes.c_int32)]


class Factors(ctypes.Structure):
    _fields_ = [("multipliers", ctypes.c_void_p), ("shifts", ctypes.c_void_p)]


def ints(*values):
    """A struct of 32-bit numbers: sizes, strides, limits."""
    return (ctypes.c_int32 * len(values))(*(int(value) for value in values))


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def last(codes):
    """Channels last."""
    return np.ascontiguousarray(np.moveaxis(codes.astype(np.int8), 1, -1))


class Functions(Rules):
    def __init__(self, library):
        self.library = ctypes.CDLL(str(library))

    def call(self, name, *args):
        if getattr(self.library, name)(*args) != 0:
            raise SystemExit(f"{name} refuses a layer")

    def factors(self, layer):
        arrays = layer.multipliers.astype(np.int32), (31 - layer.shifts).astype(np.int32), layer.bias.astype(np.int32)
        return arrays, Factors(pointer(arrays[0]), pointer(arrays[1]))

    def scratch(self, name, *args):
        size = getattr(self.library, name)(*args)
        memory = np.zeros(size + 64, np.int8)
        return memory, Context(memory.ctypes.data, size)

    def image(self, layer):
        """Sizes of input and output: batch, height, width, channels."""
        (n, c, h, w), (out_h, out_w) = layer.shapes[0], self.output_sizes(layer)
        return ints(n, h, w, c), ints(n, out_h, out_w, c if layer.weights is None else len(layer.weights))

    def output_sizes(self, layer):
        reach = [(layer.kernel[i] - 1) * layer.dilation[i] + 1 for i in (0, 1)]
        return [(layer.shapes[0][2 + i] + 2 * layer.padding[i] - reach[i]) // layer.stride[i] + 1 for i in (0, 1)]

    def window(self, layer):
        return [number for pair in (layer.stride, layer.padding, layer.dilation) for number in (pair[1], pair[0])] + [layer.low, layer.high]

    def sums(self, layer, x, function, parameters, filter_sizes, weights):
        source, result = self.image(layer)
        arrays, factors = self.factors(layer)
        memory, context = self.scratch(f"{function}_get_buffer_size", parameters, source, filter_sizes, result)
        codes, out = last(x), np.zeros(list(result), np.int8)
        weights = np.ascontiguousarray(weights.astype(np.int8))
        self.call(function, ctypes.byref(context), parameters, ctypes.byref(factors), source, pointer(codes), filter_sizes, pointer(weights),
                  ints(1, 1, 1, result[3]), pointer(arrays[2]), result, pointer(out))
        return np.moveaxis(out, -1, 1)

    def convolution(self, layer, x):
        parameters = ints(-layer.quants[0].zero, layer.result.zero, *self.window(layer))
        sizes = ints(len(layer.weights), *layer.kernel, layer.weights.shape[1])
        return self.sums(layer, x, "arm_convolve_wrapper_s8", parameters, sizes, np.moveaxis(layer.weights, 1, -1))

    def depthwise(self, layer, x):
        outputs = len(layer.weights)
        parameters = ints(-layer.quants[0].zero, layer.result.zero, outputs // layer.groups, *self.window(layer))
        return self.sums(layer, x, "arm_depthwise_conv_wrapper_s8", parameters, ints(1, *layer.kernel, outputs), np.moveaxis(layer.weights[:, 0], 0, -1))

    def linear(self, layer, x):
        outputs, inputs = layer.weights.shape
        arrays, factors = self.factors(layer)
        # Where it reads sums of weights, they contain the bias.
        sums = (layer.weights.sum(1) * -layer.quants[0].zero + layer.bias).astype(np.int32)
        rows = x.size // inputs
        codes, weights, out = x.astype(np.int8), layer.weights.astype(np.int8), np.zeros((rows, outputs), np.int8)
        self.call("arm_fully_connected_per_channel_s8", ctypes.byref(Context(sums.ctypes.data, 0)),
                  ints(-layer.quants[0].zero, 0, layer.result.zero, layer.low, layer.high), ctypes.byref(factors), ints(rows, 1, 1, inputs), pointer(codes),
                  ints(inputs, 1, 1, outputs), pointer(weights), ints(1, 1, 1, outputs), pointer(arrays[2]), ints(rows, 1, 1, outputs), pointer(out))
        return out

    def pool(self, layer, x, function, context):
        source, result = self.image(layer)
        codes, out = last(x), np.zeros(list(result), np.int8)
        self.call(function, ctypes.byref(context), ints(layer.stride[1], layer.stride[0], layer.padding[1], layer.padding[0], layer.low, layer.high), source,
                  pointer(codes), ints(1, *layer.kernel, 1), result, pointer(out))
        return np.moveaxis(out, -1, 1)

    def maximum(self, layer, x):
        return self.pool(layer, x, "arm_max_pool_s8", Context(None, 0))

    def average(self, layer, x):
        memory, context = self.scratch("arm_avgpool_s8_get_buffer_size", self.output_sizes(layer)[1], layer.shapes[0][1])
        return self.pool(layer, x, "arm_avgpool_s8", context)

    def add(self, layer, a, b):
        twice = 2 * max(quant.scale for quant in layer.quants)
        operands = [(-quant.zero, *to_multiplier(quant.scale / twice)) for quant in layer.quants]
        multiplier, shift = to_multiplier(twice / (2**20 * layer.result.scale))
        codes, out = [x.astype(np.int8) for x in (a, b)], np.zeros(a.shape, np.int8)
        numbers = [number for offset, factor, right in operands for number in (offset, factor, 31 - right)]
        self.call("arm_elementwise_add_s8", pointer(codes[0]), pointer(codes[1]), *numbers, 20, pointer(out), layer.result.zero, multiplier, 31 - shift,
                  layer.low, layer.high, a.size)
        return out
