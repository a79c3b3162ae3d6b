# SPDX-License-Identifier: Apache-2.0
"""The shape of ExecuTorch's Python API, so that a program moves by changing its imports.

    from etbackend.executorch import EtbackendPartitioner, Runtime, to_edge_transform_and_lower

    program = to_edge_transform_and_lower(exported, partitioner=[EtbackendPartitioner("xnnpack")]).to_executorch()
    outputs = Runtime.get().load_program(program.buffer).load_method("forward").execute([x])

Nothing of the package executorch is imported. What this run time has no counterpart for is an Error, never ignored.
"""

from __future__ import annotations

import enum
import functools
import itertools
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from . import _native, compiler, program, registry, runtime
from ._files import write_file
from .errors import Error
from .reports import CompileReport


class EtbackendPartitioner:
    """Names the plugin that is offered the model's nodes. compile_specs go to the plugin as they are."""

    def __init__(self, backend: str = "xnnpack", compile_specs: Mapping[str, object] | None = None) -> None:
        self.backend = backend
        self.compile_specs = dict(compile_specs or {})


class ETRecord:
    """The record of a compilation: what tools need to relate a run to the exported model."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def save(self, path: str | os.PathLike[str]) -> None:
        write_file(path, self._content, "ETRecord")


class ExecutorchProgramManager:
    """A compiled program, as `to_executorch()` returns it."""

    def __init__(self, made: program.Program, record: bytes | None = None) -> None:
        self._program = made
        self._record = record

    @property
    def methods(self) -> set[str]:
        return {method.name for method in self._program.report.methods}

    def get_etrecord(self) -> ETRecord:
        if self._record is None:
            raise Error(
                "the program has no ETRecord",
                reason="executorch.unsupported",
                hint="to_edge_transform_and_lower(..., generate_etrecord=True)",
            )
        return ETRecord(self._record)

    @property
    def buffer(self) -> bytes:
        return self._program.buffer

    @property
    def report(self) -> CompileReport:
        return self._program.report

    def write_to_file(self, open_file: BinaryIO) -> None:
        open_file.write(self.buffer)

    def save(self, path: str | os.PathLike[str]) -> None:
        self._program.save(path)


class EdgeProgramManager:
    """Models and partitioners. They are compiled by to_executorch(), in one step."""

    def __init__(self, methods: Mapping[str, Any], options: Mapping[str, Any], with_record: bool) -> None:
        self._methods = dict(methods)
        self._options = dict(options)
        self._with_record = with_record

    @property
    def methods(self) -> set[str]:
        return set(self._methods)

    def exported_program(self, method_name: str = "forward") -> Any:
        return self._methods[method_name]

    def to_executorch(self, config: object | None = None) -> ExecutorchProgramManager:
        _must_be_default(config, "to_executorch(config)", "etbackend.compile has options for the memory plan")
        if not self._with_record:
            return ExecutorchProgramManager(compiler.compile(methods=self._methods, **self._options))
        with tempfile.TemporaryDirectory(prefix="etbackend-") as folder:
            record = Path(folder) / "etrecord.bin"
            made = compiler.compile(methods=self._methods, etrecord=record, **self._options)
            return ExecutorchProgramManager(made, record.read_bytes())


def to_edge_transform_and_lower(
    programs: Any,
    transform_passes: object | None = None,
    partitioner: EtbackendPartitioner | Sequence[EtbackendPartitioner] | Mapping[str, Sequence[EtbackendPartitioner]] | None = None,
    constant_methods: Mapping[str, object] | None = None,
    compile_config: object | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Takes what ExecuTorch's function of this name takes, with EtbackendPartitioner for its partitioners."""
    _must_be_default(transform_passes, "transform_passes", "the compiler has its own passes; rules= of etbackend.compile adds some")
    _must_be_default(compile_config, "compile_config", "etbackend.compile has options of its own")
    methods = dict(programs) if isinstance(programs, Mapping) else {"forward": programs}
    chosen = _partitioners(partitioner)
    specs = {key: value for one in chosen for key, value in one.compile_specs.items()}
    options = {"backends": [one.backend for one in chosen], "compile_specs": specs, "constants": constant_methods}
    return EdgeProgramManager(methods, options, bool(generate_etrecord))


def _partitioners(given: Any) -> list[EtbackendPartitioner]:
    if isinstance(given, Mapping):
        lists = [_partitioners(one) for one in given.values()]
        if any([one.__dict__ for one in found] != [one.__dict__ for one in lists[0]] for found in lists):
            raise Error("partitioner: methods with different partitioners", reason="executorch.partitioner")
        return lists[0] if lists else []
    found = [] if given is None else list(given) if isinstance(given, Sequence) else [given]
    for one in found:
        if not isinstance(one, EtbackendPartitioner):
            raise Error(
                f"partitioner: {type(one).__name__}, expected EtbackendPartitioner",
                reason="executorch.partitioner",
                hint='for XnnpackPartitioner(): EtbackendPartitioner("xnnpack")',
            )
    return found


def _must_be_default(value: object | None, what: str, hint: str) -> None:
    if value is not None:
        raise Error(f"{what}: found {type(value).__name__}, expected None", reason="executorch.unsupported", hint=hint)


class Verification(enum.Enum):
    """Accepted and not needed: every program is verified before its use."""

    Minimal = 0
    InternalConsistency = 1


class TensorInfo:
    def __init__(self, info: runtime.ValueInfo) -> None:
        self._info = info

    def sizes(self) -> tuple[int, ...]:
        return self._info.sizes

    def dtype(self) -> int:
        """Number of the ScalarType."""
        return self._info.dtype_code

    def nbytes(self) -> int:
        return self._info.nbytes

    def __repr__(self) -> str:
        return f"TensorInfo(sizes={list(self.sizes())}, dtype={self._info.dtype}, nbytes={self.nbytes()})"


class MethodMeta:
    def __init__(self, info: runtime.MethodInfo) -> None:
        self._info = info

    def name(self) -> str:
        return self._info.name

    def num_inputs(self) -> int:
        return len(self._info.inputs)

    def num_outputs(self) -> int:
        return len(self._info.outputs)

    def input_tensor_meta(self, index: int) -> TensorInfo:
        return _tensor_of(self._info.inputs, index, "input")

    def output_tensor_meta(self, index: int) -> TensorInfo:
        return _tensor_of(self._info.outputs, index, "output")


def _tensor_of(values: Sequence[runtime.ValueInfo], index: int, what: str) -> TensorInfo:
    if not 0 <= index < len(values):
        raise Error(f"{what} {index}: the method has {len(values)}", reason="python.argument")
    if values[index].kind != "tensor":
        raise Error(f"{what} {index}: of kind {values[index].kind}, expected a tensor", reason="python.argument")
    return TensorInfo(values[index])


class Method:
    def __init__(self, method: runtime.Method) -> None:
        self._method = method

    def execute(self, inputs: Sequence[Any]) -> list[Any]:
        """Runs on all inputs in order. Outputs are torch tensors where PyTorch is imported, else NumPy arrays."""
        return self._method.run(inputs, framework="torch" if "torch" in sys.modules else None)

    __call__ = execute

    @property
    def metadata(self) -> MethodMeta:
        return MethodMeta(self._method.info)


class Program:
    def __init__(self, loaded: runtime.Runtime) -> None:
        self._runtime = loaded
        self._methods: dict[str, Method] = {}

    @property
    def method_names(self) -> set[str]:
        return set(self._runtime.method_names)

    def load_method(self, name: str) -> Method:
        method = self._runtime.method(name)
        method.load()
        return self._methods.setdefault(name, Method(method))

    def metadata(self, method_name: str) -> MethodMeta:
        return MethodMeta(self._runtime.method(method_name).info)

    def write_etdump_result_to_file(
        self, etdump_path: str | os.PathLike[str], debug_buffer_path: str | os.PathLike[str]
    ) -> None:
        """Writes what was recorded since load_program(enable_etdump=True). Without values, only the first file."""
        etdump, values = self._runtime.profile()
        if values:
            write_file(debug_buffer_path, values, "debug buffer")
        write_file(etdump_path, etdump, "profile")


class BackendRegistry:
    @property
    def registered_backend_names(self) -> list[str]:
        """Delegate ids of all usable plugins."""
        found = (name for plugin in registry.plugins() if plugin.is_usable and plugin.can_run for name in plugin.provides)
        return list(dict.fromkeys(found))

    def is_available(self, backend_name: str) -> bool:
        return backend_name in self.registered_backend_names


class OperatorRegistry:
    @property
    def operator_names(self) -> set[str]:
        """Operators that the library's own kernels carry out, as "aten::add.out"."""
        found: set[str] = set()
        index = itertools.count()
        while (name := _native.kernel_name(next(index))) is not None:
            found.add(name)
        return found


class Runtime:
    """Use Runtime.get()."""

    def __init__(self) -> None:
        self.backend_registry = BackendRegistry()
        self.operator_registry = OperatorRegistry()

    @staticmethod
    @functools.lru_cache(maxsize=1)
    def get() -> Runtime:
        return Runtime()

    def load_program(
        self,
        data: bytes | bytearray | BinaryIO | str | os.PathLike[str],
        *,
        verification: Verification = Verification.InternalConsistency,
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
        data_path: str | os.PathLike[str] | None = None,
    ) -> Program:
        source: Any = data.read() if hasattr(data, "read") else data
        # ExecuTorch's methods of a program share their arenas; theirs and ours copy outputs.
        loaded = runtime.Runtime.load(
            source,
            data=[] if data_path is None else [data_path],
            shared_arenas=True,
            profile=enable_etdump,
            record_values="all" if enable_etdump and debug_buffer_size else "none",
            max_debug_bytes=debug_buffer_size,
        )
        return Program(loaded)
