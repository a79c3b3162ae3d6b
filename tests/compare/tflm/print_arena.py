#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the memory that TFLite Micro needs for two int8 networks with random weights, layer by layer those of this repository.

usage: print_arena.py        needs tensorflow-cpu and tflite-micro, both of PyPI

small    the network of docs/dsp_stub.md: [3, 32, 32], 3x3 to 16 channels, 3x3 to 32 with stride 2, mean, linear to 10
ds_cnn   the network of docs/microcontroller.md: [1, 49, 10], 10x4 to 64 channels, four pairs of depthwise 3x3 and 1x1, mean, linear to 12
"""
import contextlib
import os
import re
import tempfile

import numpy as np
import tensorflow as tf
from tflite_micro.python.tflite_micro import runtime

SEED = 1


def small():
    layers = tf.keras.layers
    image = tf.keras.Input([32, 32, 3], 1)
    x = layers.Conv2D(16, 3, padding="same", activation="relu")(image)
    x = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
    return tf.keras.Model(image, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def ds_cnn():
    layers = tf.keras.layers
    image = tf.keras.Input([49, 10, 1], 1)
    x = layers.Conv2D(64, (10, 4), strides=2, padding="same", activation="relu")(image)
    for _ in range(4):
        x = layers.DepthwiseConv2D(3, padding="same", activation="relu")(x)
        x = layers.Conv2D(64, 1, activation="relu")(x)
    return tf.keras.Model(image, layers.Dense(12)(layers.GlobalAveragePooling2D()(x)))


def to_int8(model):
    """Returns the bytes of an int8 TFLite model, inputs and outputs included."""
    random = np.random.default_rng(SEED)
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: (
        [random.standard_normal((1, *model.input_shape[1:])).astype(np.float32)] for _ in range(8))
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    return converter.convert()


@contextlib.contextmanager
def standard_error():
    """Yields a list that has the lines which C code wrote to standard error, afterwards."""
    lines, kept = [], os.dup(2)
    with tempfile.TemporaryFile("w+") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            lines += file.read().splitlines()


def main():
    tf.keras.utils.set_random_seed(SEED)
    for network in (small, ds_cnn):
        model = to_int8(network())
        interpreter = runtime.Interpreter.from_bytes(model)
        details = interpreter.get_input_details(0)
        interpreter.set_input(np.zeros(details["shape"], np.int8), 0)
        interpreter.invoke()
        with standard_error() as lines:
            interpreter.print_allocations()
        found = {name: int(count) for line in lines for name, count in re.findall(r"(total|head|tail) (\d+) bytes", line)}
        print(f"{network.__name__}: model {len(model):,} bytes, arena {found['total']:,} bytes "
              f"({found['head']:,} for values, {found['tail']:,} for the state of the interpreter)")


if __name__ == "__main__":
    main()
