# SPDX-License-Identifier: Apache-2.0
"""Files that are missing, damaged, or vanish; plugins that fail."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import FIXTURES, arrays, assert_near, needs_xnnpack, program

import etbackend
from etbackend import Error, Runtime


@pytest.mark.parametrize("mode", ["file", "mmap"])
@pytest.mark.parametrize("path", ["missing.pte", ".", "a\0b", "a\udcffb", 7, None])
def test_a_program_that_is_no_file_is_an_error(tmp_path: Path, path: object, mode: str) -> None:
    given = str(tmp_path / path) if isinstance(path, str) and path.isascii() and path.isprintable() else path
    with pytest.raises(Error) as caught:
        Runtime.load(given, load_mode=mode)  # type: ignore[arg-type]
    assert caught.value.reason and str(caught.value)


@pytest.mark.parametrize("content", [b"", b"x", b"\0" * 64, b"\xff" * 4096, b"\x10\0\0\0ET12" + b"\xff" * 64])
@pytest.mark.parametrize("mode", ["file", "mmap"])
def test_a_damaged_program_is_an_error(tmp_path: Path, content: bytes, mode: str) -> None:
    path = tmp_path / "damaged.pte"
    path.write_bytes(content)
    for source in (path, content):
        with pytest.raises(Error):
            Runtime.load(source, load_mode=mode)  # type: ignore[arg-type]


def test_every_cut_of_a_program_is_an_error_or_runs() -> None:
    content = program("add").read_bytes()
    x = np.ones((2, 3), np.float32)
    for length in range(0, len(content), 7):
        try:
            Runtime.load(content[:length]).forward(x, x)
        except Error:
            pass


def test_every_changed_byte_of_a_program_is_an_error_or_runs() -> None:
    content = program("add").read_bytes()
    x = np.ones((2, 3), np.float32)
    for index in range(len(content)):
        changed = bytearray(content)
        changed[index] ^= 0xFF
        try:
            Runtime.load(changed).forward(x, x)
        except Error:
            pass


def test_a_loaded_program_survives_its_file(tmp_path: Path, xy: tuple[np.ndarray, np.ndarray]) -> None:
    path = tmp_path / "program.pte"
    path.write_bytes(program("conv").read_bytes())
    runtime = Runtime.load(path)
    os.truncate(path, 0)
    path.unlink()
    stem = FIXTURES / "programs" / "conv.forward.0"
    assert_near(runtime.method().run(arrays(stem, "in")), arrays(stem, "out"))


def test_weights_that_vanish_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(Error, match="gone.ptd"):
        Runtime.load(program("external"), data=[tmp_path / "gone.ptd"]).method().load()


@pytest.mark.parametrize("is_loaded", [True, False])
def test_weights_that_are_cut_are_an_error_before_they_are_read_and_nothing_after(tmp_path: Path, is_loaded: bool) -> None:
    stem = FIXTURES / "programs" / "external.forward.0"
    path = tmp_path / "weights.ptd"
    path.write_bytes((FIXTURES / "programs" / "external.ptd").read_bytes())
    method = Runtime.load(program("external"), data=[path]).method()
    if is_loaded:
        method.load()
    os.truncate(path, 0)
    path.unlink()
    if is_loaded:
        assert_near(method.run(arrays(stem, "in")), arrays(stem, "out"))
    else:
        with pytest.raises(Error, match="shorter"):
            method.load()


def test_errors_cross_processes() -> None:
    error = Error("what", reason="python.test", hint="do", code=3)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.reason, copy.hint, copy.code) == ("what\nhint: do", "python.test", "do", 3)


def test_an_error_has_the_librarys_status() -> None:
    with pytest.raises(Error) as caught:
        Runtime.load(program("add")).forward(1, 2)
    assert caught.value.code == 0x12 and caught.value.reason == "status.invalid-argument"


# A plugin's defect and the reason that the error must have or name.
BROKEN = {
    "no_symbol": "library.symbol",
    "wrong_major": "abi.version",
    "no_note": "ident.note",
    "throws": "query.exception",
    "null_table": "query.null",
    "no_execute": "query.table",
    "lies_about_id": "ident.query",
    "init_fails": "no driver",
    "init_gives_nothing": "",
    "undefined_symbol": "library.load",
}


@pytest.mark.parametrize("way", BROKEN)
def test_a_broken_plugin_is_an_error_with_its_reason(make_broken: Callable[[str], Path], way: str) -> None:
    folder = make_broken(way)
    runtime = Runtime.load(program("xnnpack"), plugin_paths=[folder], backends={"XnnpackBackend": "com.example.broken"})
    try:
        runtime.method().load()
        (decision,) = runtime.decisions  # the packed plugin took its place; the decision has the reason
        assert decision.plugin_id != "com.example.broken"
        text = str(decision.data)
    except Error as error:
        text = f"{error} {error.reason}"
    assert BROKEN[way] in text and "com.example.broken" in text


def test_a_good_plugin_of_the_same_source_is_usable(make_broken: Callable[[str], Path]) -> None:
    folder = make_broken("good")
    (plugin,) = etbackend.plugins([folder], only_paths=True)
    assert plugin.is_usable and plugin.id == "com.example.broken" and plugin.provides == ("XnnpackBackend",)
    (device,) = etbackend.devices("broken", [folder], only_paths=True)
    assert device.kind == "npu" and device.name == "Broken One" and device.uuid.startswith("07")


def test_a_changed_library_is_an_error(make_broken: Callable[[str], Path]) -> None:
    folder = make_broken("good")
    library = folder / "good.so"
    content = bytearray(library.read_bytes())
    content[-1] ^= 1
    library.unlink()
    library.write_bytes(content)
    library.chmod(0o755)
    with pytest.raises(Error, match="sha256") as caught:
        etbackend.devices("broken", [folder], only_paths=True)
    assert caught.value.reason in ("library.digest", "status.not-found")


def test_a_library_that_vanishes_is_an_error(make_broken: Callable[[str], Path]) -> None:
    folder = make_broken("good")
    (folder / "good.so").unlink()
    (plugin,) = etbackend.plugins([folder], only_paths=True)
    assert not plugin.is_usable and plugin.reason == "library.missing" and plugin.problem


@needs_xnnpack
def test_the_packed_plugin_is_found_by_each_of_its_names() -> None:
    found = [plugin for plugin in etbackend.plugins() if "xnnpack" in plugin.aliases]
    assert found[0].is_usable and found[0].can_run and found[0].can_compile and found[0].tier == "distribution"
    for name in ("xnnpack", "XnnpackBackend", found[0].id):
        assert etbackend.explain(name).winner == found[0].id


def test_a_name_that_nothing_has_is_explained() -> None:
    explanation = etbackend.explain("xnnpak")
    assert explanation.winner is None and explanation.candidates == () and explanation.places
    with pytest.raises(Error) as caught:
        etbackend.devices("xnnpak")
    assert caught.value.reason


def test_folders_that_are_wrong_are_errors(tmp_path: Path) -> None:
    for wrong in ([tmp_path / "missing"], "one", [7]):
        with pytest.raises(Error):
            etbackend.plugins(wrong)  # type: ignore[arg-type]


def test_a_method_whose_name_is_no_text_can_still_run() -> None:
    content = program("add").read_bytes()
    runtime = Runtime.load(content.replace(b"forward", b"\x99orward"))
    (name,) = runtime.method_names
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(runtime.forward(x, x), x + x)
    np.testing.assert_array_equal(runtime.execute(name, (x, x)), x + x)
