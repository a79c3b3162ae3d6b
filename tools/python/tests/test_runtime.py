# SPDX-License-Identifier: Apache-2.0
"""Programs of the official exporter: they run, and the API around a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, FIXTURES, arrays, assert_near, needs_xnnpack, program

import etbackend
from etbackend import Error, Runtime


@pytest.mark.parametrize("name", ["add", "complex", "cond", "conv", "dynamic", "dynamic_view", "linear", "map", "types", "unplanned"])
def test_official_programs_compute_the_official_outputs(name: str) -> None:
    method = Runtime.load(program(name)).method()
    stem, cases = FIXTURES / "programs" / f"{name}.forward", 0
    while inputs := arrays(stem.with_name(f"{stem.name}.{cases}"), "in"):
        assert_near(method.run(inputs), arrays(stem.with_name(f"{stem.name}.{cases}"), "out"))
        cases += 1
    assert cases > 0


def test_a_call_returns_what_the_model_returned(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    result = add.forward(*xy)
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, xy[0] + xy[1])
    np.testing.assert_array_equal(add(*xy), result)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_program_loads_from_memory(kind: type, xy: tuple[np.ndarray, np.ndarray]) -> None:
    content = program("add").read_bytes()
    runtime = Runtime.load(kind(content))
    del content
    np.testing.assert_array_equal(runtime.forward(*xy), xy[0] + xy[1])


@pytest.mark.parametrize("mode", ["file", "mmap", "mmap-try-lock"])
def test_a_program_loads_in_every_mode(mode: str, xy: tuple[np.ndarray, np.ndarray]) -> None:
    runtime = Runtime.load(str(program("add")), load_mode=mode)  # type: ignore[arg-type]
    np.testing.assert_array_equal(runtime.forward(*xy), xy[0] + xy[1])
    assert runtime.method().info.input_tree == "((*, *), {})"


def test_methods_have_names_and_descriptions() -> None:
    runtime = Runtime.load(program("methods"))
    assert {"forward", "encode", "decode", "get_vocab"} <= set(runtime.method_names)
    assert isinstance(runtime.method("get_vocab").run(())[0], int)
    for name in ("forward", "encode", "decode"):
        stem = FIXTURES / "programs" / f"methods.{name}.0"
        assert_near(runtime.method(name).run(arrays(stem, "in")), arrays(stem, "out"))
        info = runtime.method(name).info
        assert info.name == name
        assert [list(value.sizes) for value in info.inputs] == [list(x.shape) for x in arrays(stem, "in")]
        assert {value.kind for value in info.inputs} == {"tensor"} and {value.dtype for value in info.inputs} == {"float32"}


def test_an_unknown_method_is_an_error_with_the_names() -> None:
    with pytest.raises(Error, match="forwards.*forward") as caught:
        Runtime.load(program("methods")).execute("forwards")
    assert caught.value.reason == "python.method"


def test_state_persists_between_runs_and_ends_with_unload() -> None:
    runtime = Runtime.load(program("counter"))
    stems = [FIXTURES / "programs" / f"counter.forward.{i}" for i in range(3)]
    for _ in range(2):
        for stem in stems:
            assert_near(runtime.method().run(arrays(stem, "in")), arrays(stem, "out"))
        runtime.method().unload()


def test_sizes_below_the_bound_of_a_dynamic_program() -> None:
    runtime = Runtime.load(program("dynamic"))
    assert runtime.method().info.inputs[0].is_dynamic
    stem = FIXTURES / "programs" / "dynamic.forward.0"
    found = runtime.method().run(arrays(stem, "in"))
    assert [x.shape for x in found] == [x.shape for x in arrays(stem, "out")]


def test_external_weights() -> None:
    stem = FIXTURES / "programs" / "external.forward.0"
    weights = FIXTURES / "programs" / "external.ptd"
    runtime = Runtime.load(program("external"), data=[weights])
    assert_near(runtime.method().run(arrays(stem, "in")), arrays(stem, "out"))
    with pytest.raises(Error):
        Runtime.load(program("external")).method().load()


@needs_xnnpack
def test_a_delegate_runs_on_the_packed_plugin() -> None:
    runtime = Runtime.load(program("xnnpack"), backends={"XnnpackBackend": "xnnpack"}, threads=1)
    stem = FIXTURES / "programs" / "xnnpack.forward.0"
    assert_near(runtime.method().run(arrays(stem, "in")), arrays(stem, "out"))
    (decision,) = runtime.decisions
    assert decision.backend_id == "XnnpackBackend" and "xnnpack" in decision.plugin_id
    assert decision.data["winner"] == decision.plugin_id


def test_a_delegate_without_plugins_is_an_error() -> None:
    with pytest.raises(Error, match="XnnpackBackend"):
        Runtime.load(program("xnnpack"), use_plugins=False).method().load()


@needs_xnnpack
def test_an_unknown_option_of_a_delegate_is_an_error() -> None:
    runtime = Runtime.load(program("xnnpack"), options={"XnnpackBackend": {"no_such_option": 1}})
    with pytest.raises(Error, match="no_such_option"):
        runtime.method().load()


@needs_xnnpack
def test_an_option_changes_while_its_method_is_not_loaded() -> None:
    runtime = Runtime.load(program("xnnpack"))
    method = runtime.method()
    method.load()
    with pytest.raises(Error, match="weight_cache_enabled' is fixed when a delegate is made"):
        runtime.set_option("XnnpackBackend", "weight_cache_enabled", False)
    method.unload()
    runtime.set_option("XnnpackBackend", "weight_cache_enabled", False)
    with pytest.raises(Error, match="expected a value of type bool"):
        runtime.set_option("XnnpackBackend", "weight_cache_enabled", "perhaps")
    with pytest.raises(Error, match="the program has 'XnnpackBackend'"):
        runtime.set_option("NoSuchBackend", "weight_cache_enabled", False)
    stem = FIXTURES / "programs" / "xnnpack.forward.0"
    assert_near(method.run(arrays(stem, "in")), arrays(stem, "out"))


@needs_xnnpack
def test_an_unknown_device_is_an_error() -> None:
    with pytest.raises(Error, match="no such device"):
        Runtime.load(program("xnnpack"), devices="no such device").method().load()


def test_a_memory_limit_is_kept() -> None:
    with pytest.raises(Error, match="memory"):
        Runtime.load(program("conv"), max_memory=16).method().load()


@pytest.mark.parametrize(
    "options",
    [
        {"threads": -1},
        {"threads": 1.5},
        {"threads": 10**30},
        {"threads": 10**6},
        {"max_memory": "1GiB"},
        {"load_mode": "fast"},
        {"data": "one.ptd"},
        {"data": [7]},
        {"kernels": ["a\0b"]},
        {"backends": {"": "xnnpack"}},
        {"backends": {"XnnpackBackend": 3}},
        {"plugin_paths": ["/no/such/folder"]},
        {"kernels": ["/no/such/library.so"]},
    ],
)
def test_wrong_options_are_errors(options: dict[str, object]) -> None:
    with pytest.raises(Error) as caught:
        Runtime.load(program("add"), **options)  # type: ignore[arg-type]
    assert caught.value.reason


def test_a_closed_program_is_an_error(xy: tuple[np.ndarray, np.ndarray]) -> None:
    with Runtime.load(program("add")) as runtime:
        method = runtime.method()
        method(*xy)
    assert runtime.is_closed and "closed" in repr(runtime)
    runtime.close()
    for call in (lambda: runtime.forward(*xy), lambda: method(*xy), method.load, runtime.cancel, lambda: method.info):
        with pytest.raises(Error) as caught:
            call()
        assert caught.value.reason == "python.closed"


def test_nested_inputs_and_outputs_have_the_exporters_form() -> None:
    runtime = Runtime.load(DATA / "tree.pte")
    one, two, three = (np.full(3, value, np.float32) for value in (1, 2, 3))
    found = runtime.forward(one, {"x": two, "y": [three]}, scale=two)
    assert list(found) == ["sum", "rest"] and isinstance(found["rest"], tuple) and isinstance(found["rest"][1], list)
    assert_near([found["sum"], found["rest"][0], found["rest"][1][0]], [one + two, one * two, three - one])
    by_name = runtime.execute("forward", (one, {"y": [three], "x": two}), {"scale": two}, timeout=10)
    np.testing.assert_array_equal(by_name["sum"], one + two)
    assert runtime.method().info.input_tree == "((*, {'x': *, 'y': [*]}), {'scale': *})"


@pytest.mark.parametrize("position", range(5))
def test_a_call_of_another_form_names_the_place(position: int) -> None:
    x = np.ones(3, np.float32)
    calls = [
        ((x, {"x": x}), {"scale": x}, r"\[0\]\[1\].*keys"),
        ((x, x), {"scale": x}, "ndarray"),
        ((x, {"x": x, "y": x}), {"scale": x}, r"\['y'\]"),
        ((x,), {"scale": x}, "of 1"),
        ((x, {"x": x, "y": [x]}), {}, "keys"),
    ]
    args, kwargs, text = calls[position]
    with pytest.raises(Error, match=text) as caught:
        Runtime.load(DATA / "tree.pte").forward(*args, **kwargs)
    assert caught.value.reason == "python.tree" and caught.value.hint


def test_keywords_without_names_in_the_program_are_errors(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(Error) as caught:
        add.forward(xy[0], other=xy[1])
    assert caught.value.reason == "python.tree"


def test_a_named_method_runs_by_default_where_forward_is_missing(tmp_path: Path) -> None:
    made = etbackend.compile(methods={"first": FIXTURES / "archives" / "add.pt2"})
    runtime = made.load()
    assert runtime.method_names == ("first",)
    inputs = arrays(FIXTURES / "archives" / "add", "in")
    assert_near([runtime.forward(*inputs)], arrays(FIXTURES / "archives" / "add", "out"))


def test_runs_are_recorded_on_request(tmp_path: Path, xy: tuple[np.ndarray, np.ndarray]) -> None:
    with Runtime.load(program("add"), profile=True, record_values="all") as runtime:
        runtime.forward(*xy)
        with pytest.raises(Error, match="debug_buffer"):
            runtime.write_profile(tmp_path / "run.etdp")
        runtime.write_profile(tmp_path / "run.etdp", tmp_path / "run.bin")
        inspector = etbackend.Inspector(tmp_path / "run.etdp", debug_buffer_path=tmp_path / "run.bin")
        values = [value for block in inspector.event_blocks for event in block.events for value in event.debug_data]
        assert any(np.array_equal(value, xy[0] + xy[1]) for value in values)
        recorded = len(runtime.profile()[0])
        runtime.clear_profile()
        assert len(runtime.profile()[0]) < recorded and runtime.profile()[1] == b""
    for call in (runtime.profile, runtime.clear_profile):
        with pytest.raises(Error) as caught:
            call()
        assert caught.value.reason == "python.closed"


def test_what_was_not_recorded_is_an_error(add: Runtime) -> None:
    for call in (add.profile, add.clear_profile):
        with pytest.raises(Error) as caught:
            call()
        assert caught.value.reason == "python.not-recorded" and caught.value.hint
    with pytest.raises(Error, match="record_values"):
        Runtime.load(program("add"), record_values="some")  # type: ignore[arg-type]
