# SPDX-License-Identifier: Apache-2.0
"""The Inspector over profiles of this product and of ExecuTorch."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import etbackend
from etbackend._product import program_path
from etbackend._recorded_values import reference_outputs

from conftest import FIXTURES, archive, needs_xnnpack

OFFICIAL = FIXTURES / "etrecord"


def recorded(folder: Path, *options: str) -> tuple[Path, Path]:
    """A profile of some runs, and the record of the compilation."""
    program, record, profile = folder / "m.pte", folder / "m.etrecord", folder / "run.etdp"
    command = str(program_path())
    compile_ = [command, "compile", str(archive("lenet")), "-o", str(program), "--etrecord", str(record), *options]
    run = [command, "run", str(program), "--repeat", "4", "--profile", str(profile), "--print-output", "none"]
    for words in (compile_, run):
        subprocess.run(words, check=True, capture_output=True)
    return profile, record


def test_events_have_times_and_sources(tmp_path: Path) -> None:
    profile, record = recorded(tmp_path)
    inspector = etbackend.Inspector(profile, etrecord=record)
    assert inspector.program is not None and inspector.program["name"] == "m.pte"
    (block,) = [block for block in inspector.event_blocks if block.name == "Execute"]
    assert block.method == "forward"
    kernels = [event for event in block.events if event.name.startswith("native_call_convolution")]
    assert kernels
    for event in kernels:
        assert event.perf_data is not None and len(event.perf_data.raw) == 5
        assert event.perf_data.min <= event.perf_data.p50 <= event.perf_data.max
        assert event.op_types == ["aten.convolution.default"]
        assert event.sources[0]["line"] > 0
        assert all(trace and "line" in trace for trace in event.stack_traces.values())


@needs_xnnpack
def test_events_inside_a_delegate_are_joined(tmp_path: Path) -> None:
    profile, record = recorded(tmp_path, "-b", "xnnpack")
    inspector = etbackend.Inspector(profile, etrecord=record)
    inside = [event for block in inspector.event_blocks for event in block.events if event.is_delegated_op]
    assert inside
    for event in inside:
        assert event.delegate_backend_name == "XnnpackBackend"
        assert event.op_types


def test_columns_are_the_official_ones() -> None:
    inspector = etbackend.Inspector(OFFICIAL / "add.etdp", etrecord=OFFICIAL / "add.etrecord")
    assert list(inspector.rows()[0]) == [
        "event_block_name",
        "event_name",
        "raw",
        *(f"{name} (ms)" for name in ("p10", "p50", "p90", "avg", "min", "max")),
        "op_types",
        "delegate_debug_identifier",
        "stack_traces",
        "module_hierarchy",
        "is_delegated_op",
        "delegate_backend_name",
        "debug_data",
        "start_time",
    ]
    text = io.StringIO()
    inspector.print_data_tabular(text)
    assert "native_call_add.out" in text.getvalue() and "OPERATOR_CALL" not in text.getvalue()
    tsv = io.StringIO()
    inspector.save_data_to_tsv(tsv)
    rows = list(csv.DictReader(io.StringIO(tsv.getvalue()), delimiter="\t"))
    assert [row["event_name"] for row in rows][2:] == ["native_call_add.out", "native_call_mul.out", "Method::execute"]
    assert rows[2]["op_types"] == "['aten.add.Tensor']"


def test_scales_and_bytes() -> None:
    ms = etbackend.Inspector(OFFICIAL / "add.etdp")
    us = etbackend.Inspector(
        etdump_data=(OFFICIAL / "add.etdp").read_bytes(), target_time_scale=etbackend.TimeScale.US
    )
    for one, other in zip(ms.event_blocks[1].events, us.event_blocks[1].events):
        assert one.perf_data is not None and other.perf_data is not None
        assert other.perf_data.avg == pytest.approx(1000 * one.perf_data.avg)
    assert us.rows()[0]["avg (us)"] > 0


def test_all_methods_are_joined() -> None:
    inspector = etbackend.Inspector(OFFICIAL / "two_methods.etdp", etrecord=OFFICIAL / "two_methods.etrecord")
    assert [block.method for block in inspector.event_blocks if block.name == "Execute"] == ["forward", "encode"]


def test_totals_and_op_lists() -> None:
    inspector = etbackend.Inspector(OFFICIAL / "net_xnnpack.etdp", etrecord=OFFICIAL / "net_xnnpack.etrecord")
    assert inspector.find_total_for_module("first") > 0
    assert inspector.find_total_for_module("nowhere") == 0
    assert "aten.mean.dim" in inspector.get_op_list("Execute")


def test_values_come_from_the_debug_buffer() -> None:
    folder = FIXTURES / "etdump"
    inspector = etbackend.Inspector(folder / "conv.etdp", debug_buffer_path=folder / "conv.bin")
    values = [value for block in inspector.event_blocks for event in block.events for value in event.debug_data]
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    assert arrays and all(np.isfinite(array).all() for array in arrays)
    without = etbackend.Inspector(folder / "conv.etdp")
    values = [value for block in without.event_blocks for event in block.events for value in event.debug_data]
    assert not any(isinstance(value, np.ndarray) for value in values)


def test_metadata_is_parsed(tmp_path: Path) -> None:
    inspector = etbackend.Inspector(OFFICIAL / "add.etdp", delegate_metadata_parser=lambda texts: {"count": len(texts)})
    assert inspector.event_blocks[1].events[0].delegate_debug_metadatas == []


def test_a_delegates_clock_is_converted() -> None:
    inspector = etbackend.Inspector(
        OFFICIAL / "net_xnnpack.etdp", delegate_time_scale_converter=lambda name, time: time * 2
    )
    plain = etbackend.Inspector(OFFICIAL / "net_xnnpack.etdp")
    for one, other in zip(inspector.event_blocks[1].events, plain.event_blocks[1].events):
        assert one.perf_data is not None and other.perf_data is not None
        factor = 2e6 if one.is_delegated_op else 1
        assert one.perf_data.avg == pytest.approx(factor * other.perf_data.avg)


def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = etbackend.Inspector(OFFICIAL / "add.etdp").to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 7


def test_another_programs_record_is_refused() -> None:
    with pytest.raises(etbackend.Error, match="another program") as found:
        etbackend.Inspector(OFFICIAL / "net_xnnpack.etdp", etrecord=OFFICIAL / "add.etrecord")
    assert found.value.reason == "inspect.invalid-input"


def vgf_record(**changes: object) -> dict[str, object]:
    """A record in the form that ExecuTorch's VGF backend documents; its device is not here."""
    blob = {"available": True, "encoding": "base64", "data": "AQID"}
    segment = {"segment_id": 0, "statistics_info": blob, "statistics_memory": {"available": False, "data": ""}}
    return {"schema": "executorch.vgf.neural_statistics", "schema_version": 1, "segments": [segment], **changes}


def test_statistics_of_the_vgf_backend_are_decoded() -> None:
    inspector = etbackend.Inspector(OFFICIAL / "add.etdp")
    assert inspector.get_vgf_neural_statistics() == []
    event = inspector.event_blocks[-1].events[0]
    event.raw_delegate_debug_metadatas = ["", "another backend's text", "[1]", '{"schema": "x"}', json.dumps(vgf_record())]
    (record,) = inspector.get_vgf_neural_statistics()
    (segment,) = record["segments"]
    assert segment["statistics_info"]["raw_data"] == b"\x01\x02\x03" and segment["statistics_memory"]["raw_data"] == b""


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(vgf_record())[:-1],
        json.dumps(vgf_record(schema_version=2)),
        json.dumps(vgf_record(segments=[1])),
        json.dumps(vgf_record(segments={"statistics_info": 1})),
        json.dumps(vgf_record()).replace("AQID", "A"),
        json.dumps(vgf_record()).replace("base64", "hex"),
    ],
)
def test_damaged_statistics_of_vgf_are_errors(text: str) -> None:
    inspector = etbackend.Inspector(OFFICIAL / "add.etdp")
    inspector.event_blocks[-1].events[0].raw_delegate_debug_metadatas = [text]
    with pytest.raises(etbackend.Error, match="VGF"):
        inspector.get_vgf_neural_statistics()


def test_what_is_not_supported_says_so() -> None:
    inspector = etbackend.Inspector(OFFICIAL / "add.etdp")
    assert inspector.get_exported_program() is None  # without a record, as officially
    with pytest.raises(etbackend.Error, match="needs etrecord and debug_buffer_path"):
        inspector.calculate_numeric_gap("MSE")
    with pytest.raises(etbackend.Error, match="one of etdump_path and etdump_data"):
        etbackend.Inspector()


def with_values(folder: Path, inputs: list[Path]) -> etbackend.Inspector:
    """A run of the network with its recorded values."""
    profile, buffer = folder / "run.etdp", folder / "run.bin"
    command = str(program_path())
    program, record = folder / "m.pte", folder / "m.etrecord"
    words = [command, "compile", str(archive("lenet")), "-o", str(program), "--etrecord", str(record)]
    subprocess.run(words, check=True, capture_output=True)
    run = [command, "run", str(program), "--profile", str(profile), "--debug-buffer", str(buffer)]
    subprocess.run([*run, *(f"--input={path}" for path in inputs)], check=True, capture_output=True)
    return etbackend.Inspector(profile, etrecord=record, debug_buffer_path=buffer)


LENET_INPUT = FIXTURES / "archives" / "lenet.in.0.npy"
GAP_COLUMNS = [
    "aot_debug_handle",
    "aot_ops",
    "aot_intermediate_output",
    "runtime_ops",
    "runtime_debug_handle",
    "runtime_intermediate_output",
    "gap",
    "stacktraces",
]


def test_a_record_with_weights_needs_no_archive(tmp_path: Path) -> None:
    inspector = with_values(tmp_path, [LENET_INPUT])
    expected = inspector.numeric_gap_rows("MSE", model=archive("lenet"))
    with pytest.raises(etbackend.Error, match="the record has no weights"):
        inspector.numeric_gap_rows("MSE")
    outputs = [np.load(LENET_INPUT.with_name("lenet.out.0.npy"))]
    record = tmp_path / "weights.etrecord"
    etbackend.compile(archive("lenet"), etrecord=record, etrecord_outputs=outputs, etrecord_weights=True)
    again = etbackend.Inspector(tmp_path / "run.etdp", etrecord=record, debug_buffer_path=tmp_path / "run.bin")
    rows = again.numeric_gap_rows("MSE")
    assert [row["aot_ops"] for row in rows] == [row["aot_ops"] for row in expected]
    assert [row["gap"] for row in rows] == [row["gap"] for row in expected]


def test_the_numeric_gap_of_each_node(tmp_path: Path) -> None:
    inspector = with_values(tmp_path, [LENET_INPUT])
    # The record has the inputs of the export, which are those of the run.
    for inputs in (None, [np.load(LENET_INPUT)]):
        rows = inspector.numeric_gap_rows("MSE", model=archive("lenet"), inputs=inputs)
        assert len(rows) > 5
        assert list(rows[0]) == GAP_COLUMNS
        assert all(row["gap"][0] < 1e-10 for row in rows)
    assert all(row["gap"][0] > 80 for row in inspector.numeric_gap_rows("SNR", model=archive("lenet")))
    first = inspector.numeric_gap_rows("L1", model=archive("lenet"))[0]
    assert first["runtime_ops"] == ["native_call_convolution.out"]
    assert "conv2d" in first["aot_ops"] and first["stacktraces"]["conv2d"] is not None
    assert first["aot_intermediate_output"].shape == first["runtime_intermediate_output"].shape
    frame = pytest.importorskip("pandas") and inspector.calculate_numeric_gap("MSE", model=archive("lenet"))
    assert list(frame.columns) == GAP_COLUMNS


class LargestDifference(etbackend.NumericalComparatorBase):
    def preprocessing(self, mapping: dict) -> dict:  # type: ignore[type-arg]
        assert self.inspector is not None
        return {key: (handles, value + 1) for key, (handles, value) in mapping.items()}

    def element_compare(self, a: np.ndarray, b: np.ndarray) -> float:  # type: ignore[type-arg]
        return float(np.max(np.abs(a - b)))


def test_a_comparator_of_the_user(tmp_path: Path) -> None:
    inspector = with_values(tmp_path, [LENET_INPUT])
    rows = inspector.numeric_gap_rows(LargestDifference(), model=archive("lenet"))
    assert list(rows[0]) == GAP_COLUMNS
    assert [row["gap"][0] for row in rows] == pytest.approx([1.0] * len(rows), abs=1e-4)
    with pytest.raises(etbackend.Error, match="expected one of MSE, L1, SNR"):
        inspector.numeric_gap_rows("ABC", model=archive("lenet"))


class Backwards(etbackend.NumericalComparatorBase):
    """Compares in another order; may replace the values of the model, which are parts of the keys."""

    def __init__(self, replaces: bool) -> None:
        self.replaces = replaces

    def preprocessing(self, mapping: dict) -> dict:  # type: ignore[type-arg]
        items = reversed(list(mapping.items()))
        return {(handles, value + 0 if self.replaces else value): found for (handles, value), found in items}

    def element_compare(self, a: np.ndarray, b: np.ndarray) -> float:  # type: ignore[type-arg]
        return float(np.max(np.abs(a - b)))


@pytest.mark.parametrize("replaces", [False, True])
def test_a_comparator_may_change_the_order(tmp_path: Path, replaces: bool) -> None:
    inspector = with_values(tmp_path, [LENET_INPUT])
    expected = inspector.numeric_gap_rows(LargestDifference(), model=archive("lenet"))
    rows = inspector.numeric_gap_rows(Backwards(replaces), model=archive("lenet"))
    assert len(rows) == len(expected) > 5
    for row, other in zip(reversed(rows), expected):
        assert list(row) == GAP_COLUMNS
        assert all(row[name] == other[name] for name in ("aot_debug_handle", "aot_ops", "runtime_ops", "stacktraces"))


def test_values_of_other_inputs_have_a_gap(tmp_path: Path) -> None:
    inspector = with_values(tmp_path, [])  # ones
    rows = inspector.numeric_gap_rows("MSE", model=archive("lenet"), inputs=[np.load(LENET_INPUT)])
    assert max(row["gap"][0] for row in rows) > 1e-4


def test_an_exported_program_of_the_record() -> None:
    pytest.importorskip("executorch.devtools")
    inspector = etbackend.Inspector(OFFICIAL / "add.etdp", etrecord=OFFICIAL / "add.etrecord")
    program = inspector.get_exported_program()
    assert any("aten.add.Tensor" in str(node.target) for node in program.graph.nodes)
    assert inspector.get_exported_program("no such graph") is None


class SavedRecord:
    """Has the method of ExecuTorch's ETRecord that the Inspector calls."""

    def save(self, path: str) -> None:
        Path(path).write_bytes((OFFICIAL / "add.etrecord").read_bytes())


def test_a_record_may_be_an_object_and_a_profile_bytes() -> None:
    data = (OFFICIAL / "add.etdp").read_bytes()
    inspector = etbackend.Inspector(etdump_data=data, etrecord=SavedRecord())
    assert inspector.rows()[2]["op_types"] == ["aten.add.Tensor"]
    assert inspector.find_total_for_module("nowhere") == 0  # reads both files again
    with pytest.raises(etbackend.Error, match="expected a path or an ETRecord"):
        etbackend.Inspector(etdump_data=data, etrecord=7)


def test_reference_outputs_of_the_record(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    inspector = with_values(tmp_path, [LENET_INPUT])
    assert all(block.reference_output is None for block in inspector.event_blocks)
    expected = torch.from_numpy(np.load(LENET_INPUT.with_name("lenet.out.0.npy")))
    text = io.BytesIO()
    torch.save({"forward": [[expected]]}, text)
    with zipfile.ZipFile(tmp_path / "m.etrecord", "a") as file:
        file.writestr("reference_outputs", text.getvalue())
    again = etbackend.Inspector(
        tmp_path / "run.etdp", etrecord=tmp_path / "m.etrecord", debug_buffer_path=tmp_path / "run.bin"
    )
    (block,) = [block for block in again.event_blocks if block.name == "Execute"]
    assert block.reference_output is not None and len(block.reference_output) == len(block.run_output) == 1
    found = etbackend.compare_results(block.reference_output, block.run_output)
    assert found["mse"][0] < 1e-10 and found["snr"][0] > 80


def record_with(folder: Path, outputs: bytes | None) -> str:
    """A file with this entry for reference outputs."""
    path = folder / "outputs.etrecord"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("ETRECORD_V0", "")
        if outputs is not None:
            file.writestr("reference_outputs", outputs)
    return str(path)


@pytest.fixture
def use_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Replaces PyTorch by a module of this text."""

    def use(text: str) -> None:
        folder = tmp_path / "modules"
        folder.mkdir()
        (folder / "torch.py").write_text(text)
        monkeypatch.delitem(sys.modules, "torch", raising=False)
        monkeypatch.syspath_prepend(str(folder))

    yield use
    sys.modules.pop("torch", None)


def test_a_record_without_outputs_needs_no_pytorch(tmp_path: Path, use_torch: Callable[[str], None]) -> None:
    use_torch("raise AssertionError('imported')")
    assert reference_outputs(record_with(tmp_path, None)) == {}
    with pytest.raises(AssertionError, match="imported"):
        reference_outputs(record_with(tmp_path, b"x"))


@pytest.mark.parametrize(
    "statement", ["raise EOFError", "raise RuntimeError", "return [1]", "return None", "return {'forward': 1}", "return {'forward': [1]}"]
)
def test_other_values_are_no_outputs(tmp_path: Path, use_torch: Callable[[str], None], statement: str) -> None:
    use_torch(f"def load(file, weights_only):\n    {statement}\n")
    assert reference_outputs(record_with(tmp_path, b"x")) == {}


def test_distances_are_those_of_executorch() -> None:
    torch = pytest.importorskip("torch")
    official = pytest.importorskip("executorch.devtools.inspector")
    generator = torch.Generator().manual_seed(1)
    expected = [torch.randn(3, 5, generator=generator), torch.randn(4, generator=generator)]
    found = [value + 0.3 * torch.randn(value.shape, generator=generator) for value in expected]
    theirs = official.compare_results(expected, found, plot=False)
    ours = etbackend.compare_results([value.numpy() for value in expected], [value.numpy() for value in found])
    assert list(ours) == list(theirs)
    for name, values in theirs.items():
        assert ours[name] == pytest.approx(values, abs=0.006)  # theirs are rounded to two digits


def test_distances_between_outputs() -> None:
    found = etbackend.compare_results([[1.0, 2.0]], [np.array([1.0, 2.5])])
    assert found["mse"] == [0.125]
    assert found["snr"][0] == pytest.approx(10 * np.log10(2.5 / 0.125))
    assert etbackend.compare_results([[3.0]], [[3.0]], ["snr"]) == {"snr": [float("inf")]}
