# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests: files of the repository, broken plugins. The package under test is the installed one."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import etbackend

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "tests" / "fixtures"
DATA = Path(__file__).resolve().parent / "data"

has_xnnpack = any(plugin.is_usable and "xnnpack" in plugin.aliases for plugin in etbackend.plugins())
needs_xnnpack = pytest.mark.skipif(not has_xnnpack, reason="the wheel has no xnnpack plugin")


def program(name: str) -> Path:
    return FIXTURES / "programs" / f"{name}.pte"


def archive(name: str) -> Path:
    return FIXTURES / "archives" / f"{name}.pt2"


def arrays(stem: Path, kind: str) -> list[np.ndarray]:
    """The arrays STEM.in.0.npy and so on."""
    found = []
    while (path := stem.with_name(f"{stem.name}.{kind}.{len(found)}.npy")).exists():
        found.append(np.load(path))
    return found


def assert_near(found: list[np.ndarray], expected: list[np.ndarray], tolerance: float = 1e-5) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        one = np.asarray(one)
        assert one.shape == other.shape and one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.fixture
def add() -> etbackend.Runtime:
    """x + y for float32 [2, 3]."""
    return etbackend.Runtime.load(program("add"))


@pytest.fixture
def xy() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 10, np.float32)


@pytest.fixture(scope="session")
def loop(tmp_path_factory: pytest.TempPathFactory) -> etbackend.Program:
    """A loop of as many rounds as its first input has: runs as long as a test wants."""
    return etbackend.compile(FIXTURES / "zoo" / "while_loop.pt2")


@pytest.fixture(scope="session")
def make_broken(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Builds a plugin of tests/broken_plugins that claims the delegate id XnnpackBackend; returns its folder."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler for a broken plugin")
    source = ROOT / "tests" / "broken_plugins" / "broken_plugin.cpp"

    def make(way: str) -> Path:
        folder = tmp_path_factory.mktemp(way)
        folder.chmod(0o755)
        library = folder / f"{way}.so"
        command = [compiler, "-std=c++20", "-shared", "-fPIC", "-O1", f"-I{ROOT / 'api' / 'include'}"]
        # check_sanitized.sh sets it: a host with sanitizers refuses a plugin without them.
        if sanitizers := os.environ.get("ETB_TEST_SANITIZERS"):
            command.append(f"-fsanitize={sanitizers}")
        exports = f"-Wl,--version-script={ROOT / 'tools' / 'cmake' / 'plugin_exports.map'}"
        define = f"-DETB_BROKEN_{way.upper()}"
        subprocess.run([*command, define, exports, "-fvisibility=hidden", str(source), "-o", str(library)], check=True)
        library.chmod(0o755)
        abi = {"wrong_major": "2.0"}.get(way, "1.0")
        manifest = {
            "manifest_version": 1,
            "id": "com.example.broken",
            "version": "1.2.3",
            "vendor": "Example",
            "provides": [{"id": "XnnpackBackend"}],
            "aliases": ["broken"],
            "abi": {"min": abi, "max": abi, "profiles": ["runtime"]},
            "libraries": [
                {
                    "os": "linux",
                    "arch": "x86_64",
                    "path": library.name,
                    "sha256": hashlib.sha256(library.read_bytes()).hexdigest(),
                    "size": library.stat().st_size,
                }
            ],
        }
        path = folder / "com.example.broken.json"
        path.write_text(json.dumps(manifest))
        path.chmod(0o644)
        return folder

    return make
