# SPDX-License-Identifier: Apache-2.0
"""Every Python block of docs/python.md runs as it is, in one empty folder, in order; so does that of the tutorial."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import FIXTURES, ROOT, archive, needs_xnnpack

import etbackend

PAGE = ROOT / "docs" / "python.md"
# Words after the language, and the code. The first word is a package that the block needs.
BLOCKS = re.findall(r"^```python ?([a-z ]*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def is_there(words: str) -> bool:
    return not words or importlib.util.find_spec(words.split()[0]) is not None


@needs_xnnpack
def test_every_block_of_the_page_runs(tmp_path: Path) -> None:
    assert len(BLOCKS) >= 7
    shutil.copy(archive("lenet"), tmp_path / "lenet.pt2")
    shutil.copy(FIXTURES / "programs" / "counter.pte", tmp_path)
    for words, block in BLOCKS:
        if not is_there(words):
            continue
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, block + done.stderr
        assert done.stdout or "print" not in block


def test_the_model_of_the_tutorial_exports_and_compiles(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (block,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "tutorial.md").read_text(), re.MULTILINE | re.DOTALL)
    done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = etbackend.compile(tmp_path / "mine.pt2").load().forward(np.ones((4, 4), np.float32))
    np.testing.assert_allclose(result, np.full((4, 4), 0.25), rtol=1e-6)


def test_the_export_of_a_training_step_works_as_compiling_md_has_it(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    (block,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "compiling.md").read_text(), re.MULTILINE | re.DOTALL)

    class Loss(torch.nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)

        def forward(self, x, target):  # type: ignore[no-untyped-def]
            return torch.nn.functional.cross_entropy(self.linear(x), target)

    inputs = (torch.ones(4, 3), torch.zeros(4, dtype=torch.int64))
    exec(block.replace('"training.pt2"', "path"), {"torch": torch, "model_that_returns_its_loss": Loss(), "inputs": inputs, "path": tmp_path / "training.pt2"})
    assert "__et_training_gradients_index_forward" in etbackend.compile(tmp_path / "training.pt2").load().method_names


def test_the_page_counts_lines_right() -> None:
    lines = {words: [line for line in block.splitlines() if line and not line.startswith("model, x")] for words, block in BLOCKS}
    page = PAGE.read_text()
    assert f"in {len(lines['torch ours'])} lines" in page and f"1.5.1 in {len(lines['executorch theirs'])}:" in page


def test_every_reason_of_the_package_is_on_the_page() -> None:
    page = PAGE.read_text()
    used = set()
    for folder in ("src/etbackend", "native"):
        for path in (ROOT / "tools" / "python" / folder).iterdir():
            if path.suffix in (".py", ".cpp"):
                used |= set(re.findall(r'"((?:python|compile|executorch)\.[a-z-]+)"', path.read_text()))
    assert len(used) >= 15
    for reason in used - {"compile.json"}:
        family, name = reason.split(".")
        assert f"`{reason}`" in page or f"`.{name}`" in page, reason
    assert "python.no-such-reason" not in page


@pytest.mark.parametrize("text", ["load_mode", "copy_outputs", "plan_inputs", "allow_faults"])
def test_options_of_the_page_exist(text: str) -> None:
    import inspect

    import etbackend

    names = {*inspect.signature(etbackend.compile).parameters, *inspect.signature(etbackend.Runtime.load).parameters}
    assert text in names and text in PAGE.read_text()
