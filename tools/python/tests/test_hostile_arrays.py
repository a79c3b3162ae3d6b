# SPDX-License-Identifier: Apache-2.0
"""Arrays that lie: DLPack tensors with wrong fields, memory that was given back, sizes without end."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from etbackend import Error, Runtime


class Tensor(ctypes.Structure):
    """DLManagedTensor (dlpack.h)."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Crafted:
    """A float32 tensor [2, 3] on the processor, whose fields a test changes. It has no deleter."""

    def __init__(self, shape: tuple[int, ...] = (2, 3), strides: tuple[int, ...] | None = None, **fields: Any) -> None:
        self.values = np.arange(6, dtype=np.float32)
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self.tensor = Tensor(self.values.ctypes.data, 1, 0, len(shape), 2, 32, 1, ctypes.addressof(self.shape))
        if self.strides is not None:
            self.tensor.strides = ctypes.addressof(self.strides)
        for name, value in fields.items():
            setattr(self.tensor, name, value)

    def __dlpack__(self) -> Any:
        return new_capsule(ctypes.addressof(self.tensor), b"dltensor", None)


def test_a_crafted_tensor_is_an_input(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    expected = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(add.forward(Crafted(), xy[1]), expected + xy[1])
    columns = Crafted(strides=(1, 2)).values.reshape(3, 2).T
    np.testing.assert_array_equal(add.forward(Crafted(strides=(1, 2)), xy[1]), columns + xy[1])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Crafted(data=None), "no memory"),
        (lambda: Crafted(data=None, byte_offset=8), "no memory"),
        (lambda: Crafted(data=None, strides=(1, 2)), "no memory"),
        (lambda: Crafted(shape=(2, 3), ndim=-1), "rank -1"),
        (lambda: Crafted(shape=(1,) * 17), "rank 17"),
        (lambda: Crafted(ndim=2**31 - 1), "rank 2147483647"),
        (lambda: Crafted(shape=(-2, 3)), "negative size"),
        (lambda: Crafted(shape=(-2, -3)), "negative size"),
        (lambda: Crafted(shape=(2**62, 8)), "too many elements"),
        (lambda: Crafted(shape=(2**62, 8), strides=(2**62, 2**62)), "too many elements"),
        (lambda: Crafted(shape=(2**33, 3), strides=(0, 0)), "sizes"),
        (lambda: Crafted(lanes=4), "DLPack's type 2"),
        (lambda: Crafted(bits=3), "3 bits"),
        (lambda: Crafted(bits=128), "128 bits"),
        (lambda: Crafted(code=77), "DLPack's type 77"),
        (lambda: Crafted(device_type=2), "on a device"),
        (lambda: Crafted(device_type=-1), "on a device"),
    ],
)
def test_a_tensor_with_a_wrong_field_is_an_error(
    add: Runtime, xy: tuple[np.ndarray, np.ndarray], make: Callable[[], Crafted], text: str
) -> None:
    with pytest.raises(Error, match=text) as caught:
        add.forward(xy[0], make())
    assert "input 1" in str(caught.value) and caught.value.reason
    np.testing.assert_array_equal(add.forward(*xy), xy[0] + xy[1])


def test_a_tensor_without_sizes_is_an_error(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    wrong = Crafted()
    wrong.tensor.shape = None
    with pytest.raises(Error, match="input 0: .*without sizes"):
        add.forward(wrong, xy[1])


def test_a_capsule_that_was_used_is_an_error(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    crafted = Crafted()

    class One:
        capsule = crafted.__dlpack__()

        def __dlpack__(self) -> Any:
            return self.capsule

    add.forward(One(), xy[1])
    with pytest.raises(Error, match="input 0"):
        add.forward(One(), xy[1])


def test_memory_that_was_given_back_is_an_error(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    view = memoryview(xy[0])
    view.release()
    with pytest.raises(Error, match="input 0.*released"):
        add.forward(view, xy[1])


@pytest.mark.parametrize("shape", [(2**33, 3), (2, 2**40), (2**61, 3)])
def test_sizes_without_end_are_compared_before_anything_is_copied(
    add: Runtime, xy: tuple[np.ndarray, np.ndarray], shape: tuple[int, int]
) -> None:
    try:
        endless = np.broadcast_to(np.float32(1), shape)
    except ValueError:
        pytest.skip("NumPy makes no such array")
    with pytest.raises(Error, match="input 1") as caught:
        add.forward(xy[0], endless)
    assert caught.value.reason == "status.invalid-argument"
