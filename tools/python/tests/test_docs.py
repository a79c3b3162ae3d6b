# SPDX-License-Identifier: Apache-2.0
"""Every Python block of docs/python.md runs as it is, in one empty folder, in order."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import FIXTURES, ROOT, archive, needs_xnnpack

PAGE = ROOT / "docs" / "python.md"
BLOCKS = re.findall(r"^```python( torch)?\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@needs_xnnpack
def test_every_block_of_the_page_runs(tmp_path: Path) -> None:
    assert len(BLOCKS) >= 7
    shutil.copy(archive("lenet"), tmp_path / "lenet.pt2")
    shutil.copy(FIXTURES / "programs" / "counter.pte", tmp_path)
    for needs_torch, block in BLOCKS:
        if needs_torch and importlib.util.find_spec("torch") is None:
            continue
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, block + done.stderr
        assert done.stdout or needs_torch or "error" not in block


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
