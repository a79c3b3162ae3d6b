# SPDX-License-Identifier: Apache-2.0
"""The Inspector over profiles of this product and of ExecuTorch."""

from __future__ import annotations

import csv
import io
import subprocess
from pathlib import Path

import numpy as np
import pytest

import etbackend
from etbackend._product import program_path

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


def test_what_is_not_supported_says_so() -> None:
    inspector = etbackend.Inspector(OFFICIAL / "add.etdp")
    with pytest.raises(etbackend.Error, match="does not build ExportedPrograms"):
        inspector.get_exported_program()
    with pytest.raises(etbackend.Error, match="VGF"):
        inspector.get_vgf_neural_statistics()
    with pytest.raises(etbackend.Error, match="no values between operators"):
        inspector.calculate_numeric_gap("MSE")
    with pytest.raises(etbackend.Error, match="one of etdump_path and etdump_data"):
        etbackend.Inspector()


def test_distances_between_outputs() -> None:
    found = etbackend.compare_results([[1.0, 2.0]], [np.array([1.0, 2.5])])
    assert found["mse"] == [0.125]
    assert found["snr"][0] == pytest.approx(10 * np.log10(2.5 / 0.125))
    assert etbackend.compare_results([[3.0]], [[3.0]], ["snr"]) == {"snr": [float("inf")]}
