# SPDX-License-Identifier: Apache-2.0
"""A network that PT2E quantised, as integer layers between codes: read from the graph of torch.export, computed with NumPy.

Layers are dequantize -> op -> clamps and moves -> quantize. The rules are those of docs/dsp_stub.md ("Arithmetic") and of CMSIS-NN with
CMSIS_NN_USE_SINGLE_ROUNDING; both are written here from these texts, without code of either side.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch

LOW, HIGH = -128, 127
MOVES = ("flatten", "view", "reshape", "dropout", "clone", "alias", "contiguous", "unsqueeze", "squeeze")
KINDS = {"conv2d": "convolution", "linear": "linear", "add": "add", "max_pool2d": "maximum", "mean": "average", "adaptive_avg_pool2d": "average"}


@dataclass(frozen=True)
class Quant:
    scale: float
    zero: int

    def code(self, number):
        """The quantize op, in float32."""
        inverse = np.float32(1 / self.scale)
        return int(np.clip(np.rint(inverse * np.float32(number)) + self.zero, LOW, HIGH))


@dataclass
class Layer:
    name: str
    kind: str
    inputs: list  # names of layers
    quants: list  # of the inputs
    result: Quant
    shapes: list  # of the inputs, as the op reads them
    shape: tuple  # of the codes
    low: int = LOW
    high: int = HIGH
    weights: np.ndarray = None  # [outputs, inputs of a group, kernel...]
    multipliers: np.ndarray = None
    shifts: np.ndarray = None  # to the right
    bias: np.ndarray = None  # in units of the sums
    scales: np.ndarray = None  # of the sums
    real_bias: np.ndarray = None
    stride: tuple = (1, 1)
    padding: tuple = (0, 0)
    dilation: tuple = (1, 1)
    kernel: tuple = (1, 1)
    groups: int = 1


def to_multiplier(number):
    """A multiplier of 31 bits and a shift to the right."""
    part, exponent = math.frexp(number)
    multiplier = int(np.rint(part * 2**31))
    if multiplier == 2**31:
        multiplier, exponent = 2**30, exponent + 1
    return multiplier, 31 - exponent


class Reader:
    """Reads the layers of an exported program, in order."""

    def __init__(self, program):
        signature = program.graph_signature
        self.constants = {name: program.state_dict[target] for names in (signature.inputs_to_parameters, signature.inputs_to_buffers)
                          for name, target in names.items() if target in program.state_dict}
        self.constants |= {name: program.constants[target] for names in (signature.inputs_to_buffers, signature.inputs_to_lifted_tensor_constants)
                           for name, target in names.items() if target in program.constants}
        self.layers = [self.read(node) for node in program.graph.nodes if op_of(node) == "quantize_per_tensor"]

    def read(self, quantize):
        result, name = quant_of(quantize), quantize.name
        low, high, node, shape = LOW, HIGH, quantize.args[0], tuple(quantize.meta["val"].shape)
        while True:
            op = op_of(node)
            if op in ("relu", "relu_"):
                low = max(low, result.code(0))
            elif op in ("hardtanh", "hardtanh_", "relu6", "clamp"):
                least, most = (0, 6) if op == "relu6" else node.args[1:3]
                low, high = max(low, result.code(least)), min(high, result.code(most))
            elif op not in MOVES:
                break
            node = node.args[0]
        if op == "":
            return Layer(name, "input", [], [], result, [], shape)
        if op == "dequantize_per_tensor":
            return Layer(name, "clamp", [node.args[0].name], [quant_of(node)], result, [shape], shape, low, high)
        kind = KINDS.get(op.rstrip("_"))
        if kind is None:
            raise SystemExit(f"{name}: {node.target} is no layer of this comparison")
        operands = node.args[:2] if kind == "add" else node.args[:1]
        codes = [self.operand(operand) for operand in operands]
        shapes = [tuple(operand.meta["val"].shape) for operand in operands]
        layer = Layer(name, kind, [code.args[0].name for code in codes], [quant_of(code) for code in codes], result, shapes, shape, low, high)
        getattr(self, f"read_{kind}")(layer, node)
        return layer

    def operand(self, node):
        while op_of(node) in MOVES:
            node = node.args[0]
        if op_of(node) != "dequantize_per_tensor":
            raise SystemExit(f"{node}: no codes")
        return node

    def read_sums(self, layer, node):
        dequantize = node.args[1]
        weights, scales = (self.constants[dequantize.args[i].name] for i in (0, 1))
        layer.weights = weights.numpy().astype(np.int64)
        scales = layer.quants[0].scale * scales.double().numpy()
        bias = node.args[2] if len(node.args) > 2 and node.args[2] is not None else None
        bias = np.zeros(len(scales)) if bias is None else self.constants[bias.name].detach().double().numpy()
        layer.scales, layer.real_bias, layer.bias = scales, bias, np.rint(bias / scales).astype(np.int64)
        pairs = [to_multiplier(scale / layer.result.scale) for scale in scales]
        layer.multipliers, layer.shifts = (np.array(column, np.int64) for column in zip(*pairs))

    read_linear = read_sums

    def read_convolution(self, layer, node):
        self.read_sums(layer, node)
        layer.stride, layer.padding, layer.dilation, layer.groups = (list(node.args) + [[1, 1], [0, 0], [1, 1], 1][len(node.args) - 3:])[3:7]
        layer.kernel = layer.weights.shape[2:]
        if layer.groups == layer.shapes[0][1] and layer.groups > 1:
            layer.kind = "depthwise"

    def read_add(self, layer, node):
        if node.kwargs.get("alpha", 1) != 1 or layer.shapes[0] != layer.shapes[1]:
            raise SystemExit(f"{layer.name}: alpha or a broadcast operand")

    def read_maximum(self, layer, node):
        layer.kernel, layer.stride, layer.padding = (list(node.args) + [node.args[1], [0, 0]][len(node.args) - 2:])[1:4]
        self.expect_one_scale(layer)

    def read_average(self, layer, node):
        over = node.args[1]
        is_whole = sorted(d % 4 for d in over) == [2, 3] if op_of(node) == "mean" else op_of(node) == "adaptive_avg_pool2d" and list(over) == [1, 1]
        if not is_whole:
            raise SystemExit(f"{layer.name}: an average over a part of an image")
        layer.kernel = layer.stride = layer.shapes[0][2:]
        self.expect_one_scale(layer)

    def expect_one_scale(self, layer):
        if layer.quants[0] != layer.result:
            raise SystemExit(f"{layer.name}: two scales, which CMSIS-NN's function does not have")


def op_of(node):
    """"conv2d" for aten.conv2d.default, "" for an input."""
    return str(node.target).split(".")[-2] if node.op == "call_function" else ""


def quant_of(node):
    return Quant(float(node.args[1]), int(node.args[2]))


# ---- The rules.


def round_up(value, shift):
    """Divides by 2^shift, ties upwards."""
    return (value + (1 << (shift - 1))) >> shift


def round_even(value, shift):
    down, rest, half = value >> shift, value & ((1 << shift) - 1), 1 << (shift - 1)
    return down + ((rest > half) | ((rest == half) & (down & 1 == 1)))


def along(sums, axis, *arrays):
    """Numbers of the output channels, for sums with channels at `axis`."""
    shape = [1] * sums.ndim
    shape[axis] = -1
    return [array.reshape(shape) for array in arrays]


class Rules:
    """Layers as CMSIS-NN computes them, from its documentation and from TensorFlow Lite's parameters."""

    def compute(self, layer, operands):
        operands = [codes.reshape(shape).astype(np.int64, order="C") for codes, shape in zip(operands, layer.shapes)]
        codes = getattr(self, layer.kind)(layer, *operands)
        return np.clip(codes, layer.low, layer.high).astype(np.int8).reshape(layer.shape)

    def clamp(self, layer, x):
        if layer.quants[0] != layer.result:
            raise SystemExit(f"{layer.name}: another scale")
        return x

    def requantise(self, layer, sums, axis):
        multipliers, shifts, bias = along(sums, axis, layer.multipliers, layer.shifts, layer.bias)
        return round_up((sums + bias) * multipliers, shifts) + layer.result.zero

    def linear(self, layer, x):
        # Products of floats are exact here: sums have less than 53 bits.
        sums = (x - layer.quants[0].zero).astype(np.float64) @ layer.weights.T.astype(np.float64)
        return self.requantise(layer, sums.astype(np.int64), -1)

    def windows(self, layer, x, fill):
        """Yields each tap, and the elements that it reads: [N, C, OH, OW]."""
        (top, left), (height, width) = layer.padding, layer.kernel
        padded = np.pad(x, ((0, 0), (0, 0), (top, top), (left, left)), constant_values=fill)
        sizes = [(padded.shape[2 + i] - (layer.kernel[i] - 1) * layer.dilation[i] - 1) // layer.stride[i] + 1 for i in (0, 1)]
        for y in range(height):
            for z in range(width):
                begin = y * layer.dilation[0], z * layer.dilation[1]
                rows, columns = (slice(begin[i], begin[i] + (sizes[i] - 1) * layer.stride[i] + 1, layer.stride[i]) for i in (0, 1))
                yield (y, z), padded[:, :, rows, columns]

    def convolution(self, layer, x):
        sums, weights = 0, layer.weights.astype(np.float64)
        outputs = len(weights) // layer.groups
        for (y, z), part in self.windows(layer, x - layer.quants[0].zero, 0):
            batch, channels, height, width = part.shape
            grouped = part.reshape(batch, layer.groups, channels // layer.groups, -1).astype(np.float64)
            sums = sums + weights[:, :, y, z].reshape(layer.groups, outputs, -1) @ grouped
        return self.requantise(layer, sums.astype(np.int64).reshape(batch, -1, height, width), 1)

    def depthwise(self, layer, x):
        repeats = len(layer.weights) // layer.groups
        taps = self.windows(layer, np.repeat(x, repeats, axis=1) - layer.quants[0].zero, 0)
        return self.requantise(layer, sum(part * layer.weights[:, 0, y, z, None, None] for (y, z), part in taps), 1)

    def maximum(self, layer, x):
        return np.maximum.reduce([part for _, part in self.windows(layer, x, LOW)])

    def average(self, layer, x):
        """Ties of codes away from zero."""
        sums, count = x.sum((2, 3)), x.shape[2] * x.shape[3]
        return np.sign(sums) * ((np.abs(sums) + count // 2) // count)

    def add(self, layer, a, b):
        """Both operands rounded to 2^-20 of twice the larger scale, then the sum."""
        twice = 2 * max(quant.scale for quant in layer.quants)
        scaled = [round_up(((x - quant.zero) << 20) * np.int64(pair[0]), pair[1]) for x, quant in zip((a, b), layer.quants)
                  for pair in [to_multiplier(quant.scale / twice)]]
        multiplier, shift = to_multiplier(twice / (2**20 * layer.result.scale))
        return round_up((scaled[0] + scaled[1]) * multiplier, shift) + layer.result.zero


class DeviceRules(Rules):
    """Additions round once, ties to even. All else is as in CMSIS-NN."""

    def add(self, layer, a, b):
        scales = [quant.scale / layer.result.scale for quant in layer.quants]
        shift = to_multiplier(max(scales))[1]
        exact = sum((x - quant.zero) * int(np.rint(scale * 2.0**shift)) for x, quant, scale in zip((a, b), layer.quants, scales))
        return round_even(exact, shift) + layer.result.zero


class ExactRules(DeviceRules):
    """Sums in real numbers, with the bias as it is, rounded once: what float layers approximate."""

    def requantise(self, layer, sums, axis):
        scales, bias = along(sums, axis, layer.scales, layer.real_bias)
        return np.rint((sums * scales + bias) / layer.result.scale) + layer.result.zero

    def average(self, layer, x):
        return np.rint((x - layer.result.zero).mean((2, 3))) + layer.result.zero
