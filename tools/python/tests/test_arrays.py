# SPDX-License-Identifier: Apache-2.0
"""Arrays that go in and come out: layouts, dtypes, memory."""

from __future__ import annotations

import array
import gc
import sys
import weakref
from typing import Any

import numpy as np
import pytest
from conftest import DATA, FIXTURES, archive, arrays, assert_near, program

import etbackend
from etbackend import Error, Runtime


def address(x: np.ndarray) -> int:
    return int(x.__array_interface__["data"][0])


def test_every_layout_of_an_input_gives_the_same_result(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = xy
    expected = x + y
    wide = np.zeros((4, 9), np.float32)
    wide[::2, ::3] = x
    for layout in (np.asfortranarray(x), x.T.copy().T, wide[::2, ::3], x[::-1, ::-1].copy()[::-1, ::-1], x.reshape(2, 3)):
        np.testing.assert_array_equal(add.forward(layout, y), expected)
    broadcast = np.broadcast_to(np.float32(10), (2, 3))
    np.testing.assert_array_equal(add.forward(x, broadcast), expected)


def test_inputs_are_only_read(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = xy
    for one in (x, y):
        one.flags.writeable = False
    np.testing.assert_array_equal(add.forward(x, y), x + y)


def test_other_holders_of_memory_are_inputs(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = xy
    flat = memoryview(array.array("f", x.ravel())).cast("B").cast("f", (2, 3))
    np.testing.assert_array_equal(add.forward(flat, y), x + y)


class OnlyDlpack:
    """An array library that offers nothing but DLPack."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


def test_dlpack_tensors_are_inputs_and_are_released(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = xy
    before = sys.getrefcount(x)
    for _ in range(3):
        np.testing.assert_array_equal(add.forward(OnlyDlpack(x), y), x + y)
        with pytest.raises(Error):
            add.forward(OnlyDlpack(x), "wrong")  # released after errors too
    assert sys.getrefcount(x) == before


class Failing:
    def __dlpack__(self) -> Any:
        raise RuntimeError("no export today")


class NoCapsule:
    def __dlpack__(self) -> Any:
        return 7


@pytest.mark.parametrize("wrong", [Failing(), NoCapsule()])
def test_dlpack_that_fails_is_an_error(add: Runtime, xy: tuple[np.ndarray, np.ndarray], wrong: object) -> None:
    with pytest.raises(Error, match="input 0.*(today|version)") as caught:
        add.forward(wrong, xy[1])
    assert caught.value.reason == "python.value" and caught.value.hint


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (np.ones((2, 3)), "float64.*float32"),
        (np.ones((2, 3), np.int32), "int32.*float32"),
        (np.ones((3, 2), np.float32), r"\[3, 2\].*\[2, 3\]"),
        (np.ones(6, np.float32), "rank"),
        (np.ones((2, 3, 1), np.float32), "rank"),
        (np.ones((0, 3), np.float32), "sizes"),
        (np.ones((2, 3), ">f4"), "format '>f'"),
        (np.ones((2, 3), np.complex64), "complex64.*float32"),
        (np.ones((2, 3), np.longdouble), "format 'g'"),
        (np.ones((2, 3), "S4"), "format '4s'"),
        (np.ones((2, 3), object), "format|buffer"),
        (np.ones((1,) * 17, np.float32), "rank 17"),
        (np.float32(3), "rank"),
        (3.0, "kind"),
        (True, "kind"),
        (None, "kind"),
        ("text", "type 'str'"),
        (b"bytes", "type 'bytes'"),
        ([1.0], "type 'list'"),
        (object(), "type 'object'"),
        (10**30, "number"),
    ],
)
def test_wrong_inputs_are_errors_that_name_them(
    add: Runtime, xy: tuple[np.ndarray, np.ndarray], wrong: object, text: str
) -> None:
    with pytest.raises(Error, match=text) as caught:
        add.forward(xy[0], wrong)
    assert "input 1" in str(caught.value) and caught.value.reason
    np.testing.assert_array_equal(add.forward(*xy), xy[0] + xy[1])  # the program stays usable


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_wrong_number_of_inputs_is_an_error(add: Runtime, xy: tuple[np.ndarray, np.ndarray], count: int) -> None:
    with pytest.raises(Error, match=f"{count} inputs given.*expects 2"):
        add.forward(*(xy[0],) * count)


def test_results_are_copies_by_default(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    first = add.forward(*xy)
    second = add.forward(xy[0] * 2, xy[1])
    np.testing.assert_array_equal(first, xy[0] + xy[1])
    assert address(first) != address(second) and first.flags.writeable and first.flags.owndata


def test_borrowed_results_are_the_programs_memory(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    method = add.method()
    first = method.execute(xy, copy=False)
    second = method.execute((xy[0] * 2, xy[1]), copy=False)
    assert address(first) == address(second) and not first.flags.writeable
    np.testing.assert_array_equal(first, second)


def test_pointers_show_that_nothing_is_copied() -> None:
    # The program returns its input, so its pointer shows what the run read.
    made = etbackend.compile(DATA / "passed.pt2", plan_inputs=False, plan_outputs=False)
    method = made.load().method()
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    passed, more = method.execute((x,), copy=False)
    assert address(passed) == address(x)
    np.testing.assert_array_equal(more, x + 1)
    through_dlpack, _ = method.execute((OnlyDlpack(x),), copy=False)
    assert address(through_dlpack) == address(x)
    copied, _ = method.execute((np.asfortranarray(x),), copy=False)  # another layout is the one reason for a copy
    assert address(copied) != address(x)
    np.testing.assert_array_equal(copied, x)


def test_a_borrowed_array_keeps_the_input_that_it_shares() -> None:
    method = etbackend.compile(DATA / "passed.pt2", plan_inputs=False).load().method()
    x = np.full((2, 3), 7, np.float32)
    gone = weakref.ref(x)
    passed, _ = method.execute((x,), copy=False)
    del x, _
    assert gone() is not None
    np.testing.assert_array_equal(passed, np.full((2, 3), 7, np.float32))
    del passed
    gc.collect()
    assert gone() is None


def test_borrowed_arrays_outlive_the_program(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    result = add.method().execute(xy, copy=False)
    gone = weakref.ref(add)
    add.close()
    del add
    gc.collect()
    np.testing.assert_array_equal(result, xy[0] + xy[1])
    del gone


def test_memory_that_is_borrowed_is_not_unloaded(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    result = add.method().execute(xy, copy=False)
    with pytest.raises(Error) as caught:
        add.method().unload()
    assert caught.value.reason == "python.views" and "delete" in caught.value.hint
    del result
    add.method().unload()
    np.testing.assert_array_equal(add.forward(*xy), xy[0] + xy[1])


def test_outputs_in_another_order_of_dimensions_keep_their_meaning() -> None:
    made = etbackend.compile(archive("channels_last"))
    stem = archive("channels_last").with_suffix("")
    for copy in (True, False):
        found = made.load(copy_outputs=copy).method().run(arrays(stem, "in"))
        assert_near(found, arrays(stem, "out"))


def test_numbers_are_values() -> None:
    stem = FIXTURES / "zoo" / "fixed_inputs"
    runtime = etbackend.compile(stem.with_suffix(".pt2")).load()
    kinds = [value.kind for value in runtime.method().info.inputs]
    assert "tensor" in kinds and len(set(kinds)) > 1


def test_constant_methods_return_python_numbers() -> None:
    constants = {"get_vocab_size": 50257, "use_kv_cache": True, "scale": 0.5}
    runtime = etbackend.compile(archive("add"), constants=constants).load()
    for name, value in constants.items():
        (found,) = runtime.method(name).run(())
        assert found == value and type(found) is type(value)


def test_results_that_cannot_cross_are_errors() -> None:
    runtime = etbackend.compile(archive("add"), constants={"names": "a text"}).load()
    with pytest.raises(Error, match="output 0") as caught:
        runtime.method("names").run(())
    assert caught.value.reason == "python.value"


def test_bools_halves_and_whole_numbers_cross() -> None:
    stem = FIXTURES / "programs" / "types.forward.0"
    inputs = arrays(stem, "in")
    assert {x.dtype.name for x in inputs} - {"float32"}
    assert_near(Runtime.load(program("types")).method().run(inputs), arrays(stem, "out"))
