# SPDX-License-Identifier: Apache-2.0
"""The installed package: version, program, plugins, types."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, archive, has_xnnpack

import etbackend
from etbackend import _native

FOLDER = Path(etbackend.__file__).parent


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "etbackend", *words], capture_output=True, text=True, check=False)


def test_the_package_is_the_installed_one() -> None:
    assert not FOLDER.is_relative_to(ROOT / "tools")


def test_one_version_everywhere() -> None:
    header = (ROOT / "api" / "include" / "etb" / "version.h").read_text()
    parts = [re.search(rf"#define ETB_VERSION_{part} (\d+)", header) for part in ("MAJOR", "MINOR", "PATCH")]
    version = ".".join(part.group(1) for part in parts if part)
    assert etbackend.__version__ == version and version in run("--version").stdout


def test_the_module_is_the_command_line_program(tmp_path: Path) -> None:
    listed = json.loads(run("list", "--json").stdout)
    assert listed
    assert run("compile", "missing.pt2").returncode == 3
    made = run("compile", str(archive("add")), "-o", str(tmp_path / "add.pte"))
    assert made.returncode == 0, made.stderr
    assert run("run", str(tmp_path / "add.pte")).returncode == 0


def test_the_console_script_is_there() -> None:
    script = Path(sys.executable).parent / "etbackend"
    if not script.exists():
        pytest.skip("the package was not installed by pip")
    assert subprocess.run([script, "--version"], check=True, capture_output=True, text=True).stdout == run("--version").stdout


def test_plugins_have_the_bytes_that_their_manifests_promise() -> None:
    manifests = list(FOLDER.glob("lib/**/plugins.d/*.json"))
    assert bool(manifests) == has_xnnpack
    for manifest in manifests:
        for library in json.loads(manifest.read_text())["libraries"]:
            content = (manifest.parent / library["path"]).read_bytes()
            assert hashlib.sha256(content).hexdigest() == library["sha256"]


def test_the_wheel_has_its_licence_and_types() -> None:
    from importlib import metadata

    try:
        files = [str(file) for file in metadata.files("etbackend") or []]
    except metadata.PackageNotFoundError:
        pytest.skip("the package was not installed by pip")
    assert any(file.endswith("licenses/LICENSE") for file in files)
    assert {"etbackend/py.typed", "etbackend/_native.pyi"} <= set(files)
    assert metadata.version("etbackend") == etbackend.__version__


def test_importing_loads_neither_pytorch_nor_a_plugin() -> None:
    code = "import sys, etbackend; maps = open('/proc/self/maps').read(); assert 'torch' not in sys.modules; assert 'plugins.d' not in maps"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names_have_documentation() -> None:
    for name in etbackend.__all__:
        found = getattr(etbackend, name)
        if inspect.isfunction(found) or inspect.isclass(found):
            assert found.__doc__, name
            for member_name, member in vars(found).items():
                if inspect.isfunction(member) and not member_name.startswith("_"):
                    assert inspect.signature(member)


def test_the_stub_has_the_native_modules_names() -> None:
    stub = (FOLDER / "_native.pyi").read_text()
    for name in (name for name in dir(_native) if not name.startswith("_")):
        assert re.search(rf"^(def|class) {name}\b", stub, re.MULTILINE), name
    for kind in (_native.Program, _native.Method, _native.ProgramOptions):
        body = stub.split(f"class {kind.__name__}:")[1].split("\nclass ")[0]
        members = {name for name in dir(kind) if not name.startswith("_")}
        assert members == set(re.findall(r"^    (?:def )?(?!__)(\w+)[(:]", body, re.MULTILINE))


def test_a_users_code_passes_mypy_strict(tmp_path: Path) -> None:
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    code = tmp_path / "use.py"
    code.write_text(
        "import etbackend\n"
        "from etbackend.executorch import EtbackendPartitioner, Runtime, to_edge_transform_and_lower\n"
        "def work(path: str) -> tuple[int, str]:\n"
        "    made: etbackend.Program = etbackend.compile(path, backends=['xnnpack'])\n"
        "    runtime = made.load(threads=1)\n"
        "    name: str = runtime.method().info.inputs[0].dtype\n"
        "    buffer = to_edge_transform_and_lower(path, partitioner=[EtbackendPartitioner()]).to_executorch().buffer\n"
        "    Runtime.get().load_program(buffer).load_method('forward').execute([])\n"
        "    return made.report.delegated_nodes, name\n"
    )
    environment = {**os.environ, "MYPY_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", sys.executable]
    good = subprocess.run([*command, str(code)], capture_output=True, text=True, env=environment, check=False)
    assert good.returncode == 0, good.stdout + good.stderr
    code.write_text(code.read_text().replace("tuple[int, str]", "tuple[str, str]"))
    bad = subprocess.run([*command, str(code)], capture_output=True, text=True, env=environment, check=False)
    assert bad.returncode == 1 and "Incompatible return value" in bad.stdout
    # The package itself, outside of site-packages, which mypy does not check.
    shutil.copytree(FOLDER, tmp_path / "own" / "etbackend", ignore=shutil.ignore_patterns("bin", "lib", "__pycache__"))
    command += ["--ignore-missing-imports", "-p", "etbackend"]
    package = subprocess.run(command, cwd=tmp_path / "own", capture_output=True, text=True, env=environment, check=False)
    assert package.returncode == 0, package.stdout + package.stderr


def test_an_installation_without_its_program_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("etbackend._product.FOLDER", tmp_path)
    with pytest.raises(etbackend.Error) as caught:
        etbackend.compile(archive("add"))
    assert caught.value.reason == "python.installation"
