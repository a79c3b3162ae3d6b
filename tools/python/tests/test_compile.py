# SPDX-License-Identifier: Apache-2.0
"""Compiling archives."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, FIXTURES, archive, arrays, assert_near, needs_xnnpack

import etbackend
from etbackend import Error, Runtime
from etbackend._record_words import record_words


@pytest.mark.parametrize("name", ["add", "lenet", "mlp", "branch", "tied", "rotary"])
def test_an_archive_computes_pytorchs_outputs(name: str) -> None:
    stem = archive(name).with_suffix("")
    made = etbackend.compile(archive(name))
    assert_near(made.load().method().run(arrays(stem, "in")), arrays(stem, "out"), 1e-4)
    assert made.report.delegated_nodes == 0 and made.report.regions == () and made.report.faults == ()


@needs_xnnpack
def test_a_plugin_gets_nodes_and_the_report_says_which() -> None:
    stem = archive("lenet").with_suffix("")
    made = etbackend.compile(archive("lenet"), backends=["xnnpack"])
    report = made.report
    assert report.regions and report.regions[0].backend_id == "XnnpackBackend" and report.delegated_nodes > 0
    assert sum(node.region is not None for node in report.nodes) == report.delegated_nodes
    assert report.summary().startswith(f"Total delegated subgraphs: {len(report.regions)}\n")
    assert report.methods[0].name == "forward" and report.methods[0].delegate_calls == len(report.regions)
    runtime = made.load()
    assert_near(runtime.method().run(arrays(stem, "in")), arrays(stem, "out"), 1e-4)
    assert [decision.backend_id for decision in runtime.decisions] == ["XnnpackBackend"] * len(report.regions)


@needs_xnnpack
def test_nodes_are_kept_from_a_plugin_with_a_reason() -> None:
    report = etbackend.compile(archive("lenet"), backends=["xnnpack"], skip_ops=["aten.*"]).report
    assert report.delegated_nodes == 0
    assert {refusal.reason for node in report.nodes for refusal in node.refusals} >= {"host.filter"}
    with pytest.raises(Error, match="none of the") as caught:
        etbackend.compile(archive("lenet"), backends=["xnnpack"], skip_ops=["aten.*"], strict=True)
    assert caught.value.reason == "compile.negative"


def test_a_record_has_values_modules_and_weights(tmp_path: Path) -> None:
    stem = archive("lenet").with_suffix("")
    record = tmp_path / "m.etrecord"
    values = {"etrecord_inputs": arrays(stem, "in"), "etrecord_modules": {"small": archive("mlp")}}
    outputs = arrays(stem, "out")
    etbackend.compile(archive("lenet"), etrecord=record, etrecord_outputs=outputs, etrecord_weights=True, **values)
    with zipfile.ZipFile(record) as file:
        names = file.namelist()
        assert {"small/forward", "small/forward_state_dict", "representative_inputs", "reference_outputs"} <= set(names)
        assert len(file.read("exported_program_state_dict")) > 4 * 1000
    etbackend.compile(methods={"a": archive("lenet")}, etrecord=record, etrecord_outputs={"a": outputs})
    with pytest.raises(Error, match="2 values, method 'forward' has 1 outputs"):
        etbackend.compile(archive("lenet"), etrecord=record, etrecord_outputs=[*outputs, 3.0])
    with pytest.raises(Error, match="etrecord_outputs: a value of type 'ndarray', expected a list"):
        etbackend.compile(archive("lenet"), etrecord=record, etrecord_outputs=outputs[0])
    with pytest.raises(Error, match="needs --etrecord"):
        etbackend.compile(archive("lenet"), etrecord_weights=True)


# np.float64 is a float of Python; its repr is no number.
@pytest.mark.parametrize(("value", "word"), [(np.float64(1.5), "1.5"), (1.5, "1.5"), (7, "7"), (True, "true"), (None, "none")])
def test_numbers_of_a_record_are_words(tmp_path: Path, value: object, word: str) -> None:
    assert record_words([value], None, tmp_path) == ["--etrecord-input", word]


def test_save_writes_the_bytes_of_the_command_line(tmp_path: Path) -> None:
    made = etbackend.compile(archive("lenet"))
    path = made.save(tmp_path / "model.pte")
    other = tmp_path / "other.pte"
    subprocess.run([sys.executable, "-m", "etbackend", "compile", str(archive("lenet")), "-o", str(other)], check=True)
    assert path.read_bytes() == made.buffer == other.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)
    assert os.listdir(tmp_path) == ["model.pte", "other.pte"] or sorted(os.listdir(tmp_path)) == ["model.pte", "other.pte"]


@pytest.mark.parametrize("path", ["missing/model.pte", "."])
def test_save_into_no_folder_is_an_error(tmp_path: Path, path: str) -> None:
    with pytest.raises(Error) as caught:
        etbackend.compile(archive("add")).save(tmp_path / path)
    assert caught.value.reason == "python.file" and os.listdir(tmp_path) == []


def test_bytes_are_a_model_too() -> None:
    assert etbackend.compile(archive("add").read_bytes()).buffer == etbackend.compile(archive("add")).buffer


def test_trees_of_an_archive_are_in_the_program() -> None:
    runtime = etbackend.compile(DATA / "tree.pt2").load()
    one, two = np.full(3, 1, np.float32), np.full(3, 2, np.float32)
    found = runtime.forward(one, {"x": two, "y": [two]}, scale=one)
    np.testing.assert_array_equal(found["sum"], one + two)


def test_several_methods_share_a_program() -> None:
    made = etbackend.compile(methods={"prefill": archive("mlp"), "decode": archive("add")}, constants={"layers": 3})
    runtime = made.load()
    assert set(runtime.method_names) == {"prefill", "decode", "layers"}
    assert runtime.execute("layers") == 3 or runtime.execute("layers") == [3]


def test_weights_beside_the_program_are_found(tmp_path: Path) -> None:
    stem = archive("mlp").with_suffix("")
    made = etbackend.compile(archive("mlp"), external_data=tmp_path / "mlp.ptd")
    assert (tmp_path / "mlp.ptd").stat().st_size > 0
    for runtime in (made.load(), Runtime.load(made.buffer, data=[tmp_path / "mlp.ptd"])):
        assert_near(runtime.method().run(arrays(stem, "in")), arrays(stem, "out"), 1e-4)


def test_warnings_are_in_the_report() -> None:
    made = etbackend.compile(FIXTURES / "zoo" / "unbounded.pt2")
    assert any("upper bound" in warning for warning in made.report.warnings)


def test_a_name_like_an_option_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("--help", "-"):
        Path(name).write_bytes(archive("add").read_bytes())
        assert etbackend.compile(name).buffer


def test_the_users_configuration_files_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "etbackend.toml").write_text("[compile]\nno-such-key = 1\n")
    assert etbackend.compile(archive("add")).buffer


@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        ("missing.pt2", {}, "compile.not-found"),
        (b"no archive", {}, "compile.invalid-input"),
        (None, {}, "python.argument"),
        (object(), {}, "python.argument"),
        ("add", {"backends": "xnnpack"}, "python.argument"),
        ("add", {"backends": ["no-such-plugin"]}, "compile.not-found"),
        ("add", {"backends": ["--help"]}, "compile."),
        ("add", {"bounds": {"s0": "many"}}, "compile."),
        ("add", {"plugin_paths": ["/no/such/folder"]}, "compile."),
        ("add", {"external_data": "/no/such/folder/x.ptd"}, "compile."),
        ("add", {"custom_ops": ["no declaration"]}, "compile."),
        ("add", {"rules": ["/no/such.rules"]}, "compile."),
        ("add", {"methods": {"forward": "missing.pt2"}}, "compile."),
        ("add", {"min_region": -1, "backends": ["xnnpack"]}, "compile."),
    ],
)
def test_a_failure_has_the_compilers_words_and_a_reason(model: object, options: dict[str, object], reason: str) -> None:
    given = archive(model) if model == "add" else model
    with pytest.raises(Error) as caught:
        etbackend.compile(given, **options)  # type: ignore[arg-type]
    assert caught.value.reason.startswith(reason) and caught.value.message


def test_a_damaged_archive_is_an_error(tmp_path: Path) -> None:
    content = archive("lenet").read_bytes()
    for length in (0, 1, 100, len(content) // 2, len(content) - 1):
        with pytest.raises(Error) as caught:
            etbackend.compile(content[:length])
        assert caught.value.reason == "compile.invalid-input"


def test_a_compilation_has_a_deadline() -> None:
    with pytest.raises(Error) as caught:
        etbackend.compile(FIXTURES / "zoo" / "whisper.pt2", timeout=0.001)
    assert caught.value.reason == "compile.deadline"


def test_no_file_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    etbackend.compile(archive("add"))
    with pytest.raises(Error):
        etbackend.compile(b"no archive")
    assert os.listdir(tmp_path) == []
