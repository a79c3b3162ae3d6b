# SPDX-License-Identifier: Apache-2.0
"""The shape of ExecuTorch's API: what needs no PyTorch."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from conftest import FIXTURES, archive, arrays, assert_near, has_xnnpack, needs_xnnpack, program

from etbackend import Error, Inspector, _native
from etbackend.executorch import EtbackendPartitioner, Runtime, Verification, to_edge_transform_and_lower


def test_one_runtime() -> None:
    assert Runtime.get() is Runtime.get()


@pytest.mark.parametrize("source", ["path", "text", "bytes", "bytearray", "file"])
def test_a_program_runs_as_there(source: str) -> None:
    path = program("add")
    content = path.read_bytes()
    data = {"path": path, "text": str(path), "bytes": content, "bytearray": bytearray(content), "file": io.BytesIO(content)}[source]
    loaded = Runtime.get().load_program(data, verification=Verification.Minimal)
    assert loaded.method_names == {"forward"}
    stem = FIXTURES / "programs" / "add.forward.0"
    method = loaded.load_method("forward")
    outputs = method.execute(arrays(stem, "in"))
    assert isinstance(outputs, list)
    assert_near([np.asarray(x) for x in outputs], arrays(stem, "out"))
    assert loaded.load_method("forward") is method


def test_metadata_as_there() -> None:
    loaded = Runtime.get().load_program(program("add"))
    for meta in (loaded.metadata("forward"), loaded.load_method("forward").metadata):
        assert (meta.name(), meta.num_inputs(), meta.num_outputs()) == ("forward", 2, 1)
        info = meta.input_tensor_meta(1)
        assert (info.sizes(), info.dtype(), info.nbytes()) == ((2, 3), 6, 24)
        assert "float32" in repr(info)
        for index in (-1, 2):
            with pytest.raises(Error):
                meta.input_tensor_meta(index)


def test_outputs_are_kept_when_another_method_runs() -> None:
    loaded = Runtime.get().load_program(program("methods"))
    stems = {name: FIXTURES / "programs" / f"methods.{name}.0" for name in ("encode", "decode")}
    found = {name: loaded.load_method(name).execute(arrays(stem, "in")) for name, stem in stems.items()}
    for name, stem in stems.items():
        assert_near([np.asarray(x) for x in found[name]], arrays(stem, "out"))


def test_external_weights_as_there() -> None:
    stem = FIXTURES / "programs" / "external.forward.0"
    loaded = Runtime.get().load_program(program("external"), data_path=stem.with_name("external.ptd"))
    assert_near([np.asarray(x) for x in loaded.load_method("forward").execute(arrays(stem, "in"))], arrays(stem, "out"))


def test_the_registry_lists_delegate_ids() -> None:
    registry = Runtime.get().backend_registry
    assert ("XnnpackBackend" in registry.registered_backend_names) == has_xnnpack == registry.is_available("XnnpackBackend")
    assert not registry.is_available("NoSuchBackend")


@needs_xnnpack
def test_lowering_takes_an_archive_for_an_exported_program(tmp_path: Path) -> None:
    stem = archive("lenet").with_suffix("")
    lowered = to_edge_transform_and_lower(archive("lenet"), partitioner=[EtbackendPartitioner("xnnpack")])
    assert lowered.methods == {"forward"} and lowered.exported_program() == archive("lenet")
    made = lowered.to_executorch()
    assert made.report.delegated_nodes > 0
    made.save(tmp_path / "a.pte")
    with open(tmp_path / "b.pte", "wb") as file:
        made.write_to_file(file)
    assert (tmp_path / "a.pte").read_bytes() == (tmp_path / "b.pte").read_bytes() == made.buffer
    outputs = Runtime.get().load_program(made.buffer).load_method("forward").execute(arrays(stem, "in"))
    assert_near([np.asarray(x) for x in outputs], arrays(stem, "out"), 1e-4)


def test_lowering_takes_methods_and_constants() -> None:
    made = to_edge_transform_and_lower({"a": archive("add"), "b": archive("mlp")}, constant_methods={"n": 4}).to_executorch()
    loaded = Runtime.get().load_program(made.buffer)
    assert made.methods == {"a", "b"} and loaded.method_names == {"a", "b", "n"}
    assert loaded.load_method("n").execute([]) == [4]


def test_a_record_of_the_compilation_is_written_on_request(tmp_path: Path) -> None:
    made = to_edge_transform_and_lower(archive("add"), generate_etrecord=True).to_executorch()
    made.get_etrecord().save(tmp_path / "etrecord.bin")
    with zipfile.ZipFile(tmp_path / "etrecord.bin") as record:
        assert record.testzip() is None and record.namelist()
    with pytest.raises(Error, match="etrecord.bin"):
        made.get_etrecord().save(tmp_path / "missing" / "etrecord.bin")
    with pytest.raises(Error) as caught:
        to_edge_transform_and_lower(archive("add")).to_executorch().get_etrecord()
    assert caught.value.reason == "executorch.unsupported" and caught.value.hint


class XnnpackPartitioner:
    """Stands for the official class of this name."""


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"partitioner": [XnnpackPartitioner()]}, "executorch.partitioner"),
        ({"partitioner": {"a": [EtbackendPartitioner("a")], "b": [EtbackendPartitioner("b")]}}, "executorch.partitioner"),
        ({"transform_passes": [1]}, "executorch.unsupported"),
        ({"compile_config": object()}, "executorch.unsupported"),
    ],
)
def test_what_has_no_counterpart_is_an_error(options: dict[str, object], reason: str) -> None:
    with pytest.raises(Error) as caught:
        to_edge_transform_and_lower(archive("add"), **options)  # type: ignore[arg-type]
    assert caught.value.reason == reason and caught.value.hint or reason == "executorch.partitioner"
    with pytest.raises(Error):
        to_edge_transform_and_lower(archive("add")).to_executorch(object())


def test_operators_as_there() -> None:
    names = Runtime.get().operator_registry.operator_names
    assert {"aten::add.out", "aten::convolution.out"} <= names and len(names) > 200


def test_an_operator_with_several_kernels_is_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["aten::add.out", "aten::add.out", "aten::mul.out"]
    monkeypatch.setattr(_native, "kernel_name", lambda index: names[index] if index < len(names) else None)
    assert Runtime.get().operator_registry.operator_names == set(names)


@pytest.mark.parametrize("has_values", [False, True])
def test_an_etdump_as_there(tmp_path: Path, has_values: bool) -> None:
    loaded = Runtime.get().load_program(program("add"), enable_etdump=True, debug_buffer_size=4096 if has_values else 0)
    stem = FIXTURES / "programs" / "add.forward.0"
    loaded.load_method("forward").execute(arrays(stem, "in"))
    etdump, values = tmp_path / "run.etdp", tmp_path / "run.bin"
    loaded.write_etdump_result_to_file(str(etdump), str(values))
    assert values.exists() == has_values
    inspector = Inspector(etdump, debug_buffer_path=values if has_values else None)
    events = [event for block in inspector.event_blocks for event in block.events]
    assert any("add" in event.name for event in events)
    recorded = [np.asarray(value) for event in events for value in event.debug_data]
    assert bool(recorded) == has_values
    if has_values:
        assert any(np.array_equal(value, arrays(stem, "out")[0]) for value in recorded)


def test_without_an_etdump_none_is_written(tmp_path: Path) -> None:
    with pytest.raises(Error) as caught:
        Runtime.get().load_program(program("add")).write_etdump_result_to_file(tmp_path / "a", tmp_path / "b")
    assert caught.value.reason == "python.not-recorded" and not list(tmp_path.iterdir())
