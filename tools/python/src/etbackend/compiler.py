# SPDX-License-Identifier: Apache-2.0
"""Compiling exported models into programs: the packaged `etbackend compile`, in a process of its own.

A process of its own, because plugins and a file's constants are worked on there: a crash is an error here, memory
goes back to the system, and the program has the bytes that the command line writes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ._product import folders_of, program_path, text_of, texts_of
from ._record_words import record_words
from .errors import Error
from .program import Program
from .reports import CompileReport

# A torch.export.ExportedProgram, or the path or bytes of an archive (.pt2).
Model: TypeAlias = Any
Path_: TypeAlias = "str | os.PathLike[str]"

# Names of exit codes (docs/exit_codes.md), as reasons.
_REASONS = {
    1: "compile.negative",
    2: "compile.usage",
    3: "compile.not-found",
    4: "compile.invalid-input",
    5: "compile.refused",
    6: "compile.unavailable",
    7: "compile.internal",
}


def compile(  # noqa: A001  (the name of the command)
    model: Model | None = None,
    backends: Iterable[str] = (),
    *,
    methods: Mapping[str, Model] | None = None,
    constants: Mapping[str, object] | None = None,
    bounds: Mapping[str, int] | None = None,
    compile_specs: Mapping[str, object] | None = None,
    backend_options: Mapping[str, Mapping[str, object]] | None = None,
    target: Path_ | None = None,
    external_data: Path_ | None = None,
    etrecord: Path_ | None = None,
    etrecord_inputs: Sequence[object] | None = None,
    etrecord_outputs: Sequence[object] | Mapping[str, Sequence[object]] | None = None,
    etrecord_modules: Mapping[str, Model] | None = None,
    etrecord_weights: bool = False,
    custom_ops: Iterable[str] = (),
    rules: Iterable[Path_] = (),
    decompose: Mapping[str, str] | None = None,
    only_ops: Iterable[str] = (),
    skip_ops: Iterable[str] = (),
    only_modules: Iterable[str] = (),
    skip_modules: Iterable[str] = (),
    only_nodes: Iterable[str] = (),
    skip_nodes: Iterable[str] = (),
    min_region: int = 1,
    plan_inputs: bool = True,
    plan_outputs: bool = True,
    concurrent_branches: bool = False,
    allow_missing_kernels: bool = False,
    allow_faults: bool = False,
    strict: bool = False,
    isolate: bool = False,
    plugin_paths: Iterable[Path_] = (),
    secure: bool = False,
    timeout: float | None = None,
) -> Program:
    """Compiles an exported model: plugins claim nodes, portable kernels run the rest.

    model: a torch.export.ExportedProgram, or the path or bytes of an archive (.pt2); becomes method "forward".
    backends: names of plugins, as `etbackend list` prints them, in order of preference.
    methods: further methods by name.
    constants: methods without inputs that return these values.
    bounds: largest value of a dynamic size, by its symbol, as in {"s31": 512}.
    etrecord: where to write the record of the compilation. It may also have representative inputs of "forward"
        (etrecord_inputs, by default the model's example inputs), reference outputs such as PyTorch's
        (etrecord_outputs: a list for "forward", or lists by method), other models by name (etrecord_modules), and
        the weights of its graphs (etrecord_weights), which then run without the archive. Values are arrays,
        tensors of PyTorch, and numbers.
    plan_inputs, plan_outputs: False: the program has no memory of its own for them, and a run reads the caller's.
    concurrent_branches: branches that are independent share no memory, so that asynchronous runs overlap.
    allow_faults: return the program although a plugin failed and was skipped; report.faults has its text.
    backend_options: options of plugins by name, as in {"xnnpack": {"key": "value"}}.
    target: a target file that `etbackend list --devices --target-dir` writes; the plugins compile for that device.
    strict: a plugin that gets no node is an error.
    isolate: run plugins in a process of their own, so that one that crashes is skipped.
    timeout: seconds for the whole compilation.

    The other options are those of `etbackend compile` (docs/compiling.md).
    """
    values: dict[str, Iterable[str]] = {
        "-b": texts_of(backends, "backends"),
        "--constant": _pairs(constants, "constants"),
        "--bound": _pairs(bounds, "bounds"),
        "--compile-spec": _pairs(compile_specs, "compile_specs"),
        "--backend-option": [
            f"{name}:{text}" for name, given in (backend_options or {}).items() for text in _pairs(given, "backend_options")
        ],
        "--target": texts_of([] if target is None else [target], "target"),
        "--decompose": _pairs(decompose, "decompose"),
        "--external-data": texts_of([] if external_data is None else [external_data], "external_data"),
        "--etrecord": texts_of([] if etrecord is None else [etrecord], "etrecord"),
        "--custom-op": texts_of(custom_ops, "custom_ops"),
        "--rules": texts_of(rules, "rules"),
        "--only-op": texts_of(only_ops, "only_ops"),
        "--skip-op": texts_of(skip_ops, "skip_ops"),
        "--only-module": texts_of(only_modules, "only_modules"),
        "--skip-module": texts_of(skip_modules, "skip_modules"),
        "--only-node": texts_of(only_nodes, "only_nodes"),
        "--skip-node": texts_of(skip_nodes, "skip_nodes"),
        "--min-region": [] if min_region == 1 else [text_of(str(min_region), "min_region")],
        "--plugin-path": folders_of(plugin_paths, "plugin_paths"),
    }
    flags = {
        "--unplanned-inputs": not plan_inputs,
        "--unplanned-outputs": not plan_outputs,
        "--concurrent-branches": concurrent_branches,
        "--allow-missing-kernels": allow_missing_kernels,
        "--strict": strict,
        "--isolate": isolate,
        "--secure": secure,
        "--etrecord-weights": etrecord_weights,
    }
    arguments = [word for option, texts in values.items() for text in texts for word in (option, text)]
    arguments += [flag for flag, is_set in flags.items() if is_set]
    # The folder is the user's alone: the program that a model becomes must not be exchanged on the way.
    with tempfile.TemporaryDirectory(prefix="etbackend-") as folder:
        inputs = _write_models(model, methods or {}, Path(folder))
        inputs += record_words(etrecord_inputs, etrecord_outputs, Path(folder))
        for index, (name, given) in enumerate((etrecord_modules or {}).items()):
            path = _archive(given, Path(folder) / f"record{index}.pt2")
            inputs += ["--etrecord-module", f"{text_of(name, 'etrecord_modules')}={path}"]
        program, report = _run(arguments + inputs, Path(folder), allow_faults, timeout)
    return Program(program, report, None if external_data is None else Path(external_data))


def _pairs(values: Mapping[str, object] | None, what: str) -> list[str]:
    return [f"{text_of(key, what)}={_value_text(value, what)}" for key, value in (values or {}).items()]


def _value_text(value: object, what: str) -> str:
    """true and false, numbers, text as it is, [lists]."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_value_text(item, what) for item in value) + "]"
    return text_of(str(value), what)


def _write_models(model: Model | None, methods: Mapping[str, Model], folder: Path) -> list[str]:
    words = []
    if model is not None:
        words.append(_archive(model, folder / "forward.pt2"))
    for index, (name, given) in enumerate(methods.items()):
        words += ["--method", f"{text_of(name, 'methods')}={_archive(given, folder / f'{index}.pt2')}"]
    if not words:
        raise Error("no model is named", reason="python.argument", hint="pass a model, or methods={name: model}")
    return words


def _archive(model: Model, path: Path) -> str:
    """Path of the model's archive; `path` is where to write it if it is none yet."""
    if isinstance(model, (str, os.PathLike)):
        text = text_of(model, "model")
        return text if os.path.dirname(text) else os.path.join(".", text)  # never an option, never "-"
    if isinstance(model, (bytes, bytearray, memoryview)):
        path.write_bytes(model)
        return str(path)
    if not hasattr(model, "graph_signature"):
        found = type(model).__name__
        raise Error(
            f"model: a value of type '{found}', expected a torch.export.ExportedProgram, a path or bytes",
            reason="python.argument",
            hint="torch.export.export(model.eval(), example_arguments)",
        )
    import torch  # noqa: PLC0415  (only such a model needs it, and then it is there)

    try:
        torch.export.save(model, path)
    except Exception as cause:  # what PyTorch cannot save has many exceptions
        raise Error(f"torch.export.save fails for the model: {cause}", reason="compile.save") from cause
    return str(path)


def _run(
    arguments: Sequence[str], folder: Path, allow_faults: bool, timeout: float | None
) -> tuple[bytes, CompileReport]:
    output, report = folder / "program.pte", folder / "report.json"
    command = [str(program_path()), "--no-config", "compile", "--json", "-o", str(output)]
    if "-b" in arguments:
        command += ["--report-json", str(report)]  # without a plugin there is nothing to report
    try:
        done = subprocess.run(
            [*command, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as cause:
        raise Error(f"the compilation took more than {timeout} s", reason="compile.deadline") from cause
    except OSError as cause:
        raise Error(f"cannot start '{command[0]}': {cause.strerror}", reason="python.installation") from cause
    if done.returncode not in (0, 1) or not output.exists():
        raise error_of(done)
    result = CompileReport._of(json.loads(done.stdout), json.loads(report.read_text()) if report.exists() else None)
    if done.returncode == 1 and not (allow_faults and result.faults):
        raise error_of(done)
    return output.read_bytes(), result


def error_of(done: subprocess.CompletedProcess[bytes], command: str = "compile") -> Error:
    """What the program printed before it ended with a failure."""
    text = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        return Error(
            f"`etbackend {command}` was ended by {name}" + (f": {text}" if text else ""),
            reason=f"{command}.crashed",
            hint="isolate=True skips a plugin that crashes, and names it" if command == "compile" else "",
        )
    lines = [line.removeprefix(f"etbackend {command}: ") for line in text.splitlines()]
    hints = [line.strip().removeprefix("hint: ") for line in lines if line.lstrip().startswith("hint: ")]
    message = "\n".join(line for line in lines if not line.lstrip().startswith("hint: "))
    reason = _REASONS.get(done.returncode, f"compile.exit-{done.returncode}").replace("compile", command, 1)
    return Error(message or f"exit code {done.returncode}", reason=reason, hint="\n".join(hints))


__all__ = ["Model", "compile"]
