# SPDX-License-Identifier: Apache-2.0
"""Compares orders of the sums of a linear layer of depth 4 and its bias, in float32, on random layers of the sizes of `fixed_inputs`.

    python tests/compare/vulkan/sum_orders.py

An error is the largest one of a layer's results against float64, divided by their largest number. Needs numpy.
"""
import numpy as np

LAYERS, ROWS, COLUMNS, DEPTH = 20000, 2, 4, 4


def orders(a, b, bias):
    p = [a[..., k] * b[..., k] for k in range(DEPTH)]
    return {
        "in turn, then the bias": (((p[0] + p[1]) + p[2]) + p[3]) + bias,
        "the bias, then in turn": (((bias + p[0]) + p[1]) + p[2]) + p[3],
        "in pairs, then the bias": ((p[0] + p[1]) + (p[2] + p[3])) + bias,
    }


def main():
    random = np.random.default_rng(1)
    a = random.standard_normal((LAYERS, ROWS, 1, DEPTH)).astype(np.float32)
    b = random.uniform(-0.5, 0.5, (LAYERS, 1, COLUMNS, DEPTH)).astype(np.float32)
    bias = random.uniform(-0.5, 0.5, (LAYERS, 1, COLUMNS)).astype(np.float32)
    exact = (a.astype(np.float64) * b).sum(-1) + bias
    errors = {name: np.abs(found - exact).max((1, 2)) / np.abs(exact).max((1, 2)) for name, found in orders(a, b, bias).items()}
    for name, each in errors.items():
        print(f"{name}: mean {each.mean():.2e}")
    turn, pairs = errors["in turn, then the bias"], errors["in pairs, then the bias"]
    print(f"in pairs: nearer in {(pairs < turn).mean():.0%}, farther in {(pairs > turn).mean():.0%} of the layers")


if __name__ == "__main__":
    main()
