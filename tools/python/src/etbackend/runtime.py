# SPDX-License-Identifier: Apache-2.0
"""Running programs (.pte)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import _native
from ._files import write_file
from ._product import folders_of, text_of, texts_of
from ._program_file import read_trees
from ._trees import Tree, describe, flatten, parse_tree, unflatten
from .errors import Error

if TYPE_CHECKING:
    from .program import Program

Framework: TypeAlias = Literal["numpy", "torch"]
Values: TypeAlias = Literal["none", "outputs", "all"]
LoadMode: TypeAlias = Literal["file", "mmap", "mmap-lock", "mmap-try-lock"]
OptionValue: TypeAlias = str | int | float | bool
Source: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | Program"

_KINDS = ("none", "tensor", "int", "float", "bool", "other")
_LOAD_MODES: dict[str, int] = {"mmap": 0, "file": 1, "mmap-lock": 2, "mmap-try-lock": 3}
_NO_PLUGINS, _SHARED_ARENAS, _SECURE, _ASYNC = 1, 2, 4, 8  # ETB_MODULE_*
_VALUES: dict[str, int] = {"none": 0, "outputs": 1, "all": 2}  # ETB_RECORD_*
_FRAMEWORKS: dict[str | None, int] = {None: -1, "numpy": 0, "torch": 1}


@dataclass(frozen=True)
class ValueInfo:
    """An input or output of a method.

    kind: "tensor", "int", "float", "bool", "none", or "other" (a text or a list, which cannot cross).
    sizes: upper bounds if is_dynamic. dim_order: dimensions from outermost to innermost.
    """

    kind: str
    dtype: str
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    is_dynamic: bool
    nbytes: int
    dtype_code: int  # ExecuTorch's ScalarType

    @staticmethod
    def _of(spec: _native.Spec) -> ValueInfo:
        kind, code, dtype, sizes, dim_order, is_dynamic, nbytes = spec
        is_tensor = kind == 1
        return ValueInfo(_KINDS[kind], dtype if is_tensor else "", sizes, dim_order, is_dynamic, nbytes, code)


@dataclass(frozen=True)
class MethodInfo:
    """Description of a method. The trees show the nesting of the exporter's call: `((*, {"x": *}), {})`."""

    name: str
    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]
    input_tree: str
    output_tree: str


@dataclass(frozen=True)
class Decision:
    """The plugin that serves one delegate of the program, and why. plugin_id: "" if none could be used."""

    backend_id: str
    plugin_id: str
    plugin_version: str
    rule: str
    data: Mapping[str, Any]  # all candidates, as `etbackend explain --json` prints them


class Method:
    """One method of a loaded program. Call it as the model was called at export."""

    def __init__(
        self, native: _native.Method, copies: bool, trees: tuple[str, str], threads: Callable[[], ThreadPoolExecutor]
    ) -> None:
        self._native = native
        self._threads = threads
        self._copies = copies
        self._inputs = parse_tree(trees[0])
        self._outputs = parse_tree(trees[1])
        root = self._inputs
        # Most models take tensors and no keywords: their arguments are the leaves.
        self._is_plain = root is None or (
            len(root.children) == 2 and root.children[0].is_flat_tuple and root.children[1].leaf_count == 0
        )
        self._returns_leaf = self._outputs is not None and self._outputs.is_leaf

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        inputs = args if self._is_plain and not kwargs else self._flatten(args, kwargs)
        outputs = self._native.run(inputs, -1, self._copies, 0, 0, 0, 0)
        return outputs[0] if self._returns_leaf and len(outputs) == 1 else self._unflatten(outputs)

    def execute(
        self,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        framework: Framework | None = None,
        copy: bool | None = None,
        timeout: float | None = None,
        max_instructions: int = 0,
        priority: int = 0,
        run_id: int = 0,
    ) -> Any:
        """Like a call, with options of this run.

        framework: of output arrays; by default PyTorch's if an input is a torch.Tensor, else NumPy's.
        copy: False: output arrays borrow the program's memory, which the next run of the method overwrites.
        timeout: seconds, after which the run fails with reason "status.deadline-exceeded".
        max_instructions: limit of instructions in loops; 0: the library's default.
        priority: for plugins that order the runs of a device, from 1 (background) to 1000; 0: 500.
        run_id: number of the run in logs and traces of plugins; 0: the library chooses one.
        """
        leaves = self._flatten(tuple(args), kwargs or {})
        return self._unflatten(
            self.run(
                leaves,
                framework=framework,
                copy=copy,
                timeout=timeout,
                max_instructions=max_instructions,
                priority=priority,
                run_id=run_id,
            )
        )

    def submit(self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, **run: Any) -> Future[Any]:
        """Starts `execute` on a thread of the program and returns its future.

        Runs of a program start in the order of their calls, one after another. The arrays must not change meanwhile.
        `Runtime.cancel` stops the present run, `Future.cancel` one that has not begun.
        """
        return self._threads().submit(self.execute, args, kwargs, **run)

    def run(
        self,
        leaves: Sequence[Any],
        *,
        framework: Framework | None = None,
        copy: bool | None = None,
        timeout: float | None = None,
        max_instructions: int = 0,
        priority: int = 0,
        run_id: int = 0,
    ) -> list[Any]:
        """Runs on all inputs in the program's order, without their nesting, and returns all outputs likewise."""
        copies = self._copies if copy is None else copy
        return self._native.run(
            tuple(leaves),
            _framework_of(framework),
            copies,
            _nanoseconds(timeout),
            _whole(max_instructions, "max_instructions"),
            _whole(priority, "priority", 1000),
            _whole(run_id, "run_id"),
        )

    @property
    def name(self) -> str:
        return self._native.name

    @property
    def info(self) -> MethodInfo:
        """Inputs and outputs. Loads the method."""
        native = self._native
        return MethodInfo(
            native.name,
            tuple(ValueInfo._of(spec) for spec in native.input_specs()),
            tuple(ValueInfo._of(spec) for spec in native.output_specs()),
            describe(self._inputs) if self._inputs else "",
            describe(self._outputs) if self._outputs else "",
        )

    def load(self) -> None:
        """Makes the method ready, which its first run would do otherwise."""
        self._native.load()

    def unload(self) -> None:
        """Ends the method's memory and state; the next run starts from initial values."""
        self._native.unload()

    def _flatten(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        root: Tree | None = self._inputs
        if root is not None:
            return tuple(flatten(root, (args, dict(kwargs)), f"arguments of '{self.name}'"))
        if kwargs:
            raise Error(
                f"method '{self.name}': the program does not state the names of its arguments, found {sorted(kwargs)}",
                reason="python.tree",
                hint="pass all inputs by position",
            )
        return args

    def _unflatten(self, outputs: list[Any]) -> Any:
        if self._outputs is None or self._outputs.leaf_count != len(outputs):
            return outputs  # no tree, or a program with further outputs (gradients)
        return unflatten(self._outputs, iter(outputs))


class Runtime:
    """A loaded program. `Runtime.load` makes one; `with` closes it."""

    def __init__(self, native: _native.Program, copies: bool, trees: Mapping[str, tuple[str, str]]) -> None:
        self._native = native
        self._names = tuple(native.method_names)
        self._methods = {
            name: Method(native.method(index), copies, trees.get(name, ("", "")), self._use_thread)
            for index, name in enumerate(self._names)
        }
        self._thread: ThreadPoolExecutor | None = None
        default = "forward" if "forward" in self._methods or not self._names else self._names[0]
        self._forward = self._methods.get(default)

    @staticmethod
    def load(
        source: Source,
        *,
        backends: Mapping[str, str] | None = None,
        devices: Mapping[str, str] | str | None = None,
        options: Mapping[str, Mapping[str, OptionValue]] | None = None,
        threads: int = 0,
        data: Iterable[str | os.PathLike[str]] = (),
        kernels: Iterable[str | os.PathLike[str]] = (),
        plugin_paths: Iterable[str | os.PathLike[str]] = (),
        use_plugins: bool = True,
        load_mode: LoadMode = "file",
        max_memory: int = 0,
        random_seed: int = 0,
        shared_arenas: bool = False,
        overlap: bool = False,
        secure: bool = False,
        copy_outputs: bool = True,
        profile: bool = False,
        record_values: Values = "none",
        record_memory: bool = False,
        max_debug_bytes: int = 0,
    ) -> Runtime:
        """Loads a program from a path, from bytes, or from etbackend.compile.

        backends: plugin to use by delegate id, as in {"XnnpackBackend": "xnnpack"}.
        devices: device (uuid or name) by delegate id, or for all delegates.
        options: options of delegates, by delegate id.
        threads: for kernels and plugins; 0: one for each processor.
        data: files of external weights (.ptd). kernels: libraries of kernels.
        plugin_paths: folders searched for plugins before all others.
        load_mode: "file" reads the file; "mmap" maps it, which ends the process if the file is cut meanwhile.
        overlap: delegates run while other instructions run that do not depend on them (`etbackend run --async`).
        copy_outputs: False: see Method.execute(copy=False).
        profile: records the times of all runs, for write_profile. record_values: also outputs of the methods, or all
        values that operators and delegates compute. record_memory: also allocations.
        max_debug_bytes: of all recorded values; later ones are left out. 0: 16 GiB.
        """
        native = _native.ProgramOptions()
        native.load_mode = _choice(load_mode, _LOAD_MODES, "load_mode")
        flags = {_NO_PLUGINS: not use_plugins, _SHARED_ARENAS: shared_arenas, _SECURE: secure, _ASYNC: overlap}
        native.flags = sum(flag for flag, is_set in flags.items() if is_set)
        native.registry_flags = 1 if secure else 0
        native.threads = _whole(threads, "threads", 0xFFFFFFFF)
        native.max_memory_bytes = _whole(max_memory, "max_memory")
        native.random_seed = _whole(random_seed, "random_seed")
        # Weights that etbackend.compile wrote beside a program are found by themselves.
        beside = getattr(source, "external_data", None)
        native.record_values = _choice(record_values, _VALUES, "record_values")
        native.record_flags = 1 if record_memory else 0  # ETB_RECORD_ALLOCATIONS
        native.max_debug_bytes = _whole(max_debug_bytes, "max_debug_bytes")
        native.is_recorded = profile or native.record_values != 0 or record_memory
        native.data_paths = texts_of(data, "data") or ([] if beside is None else [str(beside)])
        native.kernel_libraries = texts_of(kernels, "kernels")
        native.plugin_paths = folders_of(plugin_paths, "plugin_paths")
        native.choices = _choices(backends, devices)
        native.settings = [
            (text_of(backend, "options"), text_of(key, "options"), _setting(value))
            for backend, rows in (options or {}).items()
            for key, value in rows.items()
        ]
        program, trees = _open(source, load_mode, native)
        return Runtime(program, copy_outputs, trees)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs "forward", or the first method, with the arguments of the exported model."""
        return self._default()(*args, **kwargs)

    __call__ = forward

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Starts `forward` on a thread of the program and returns its future; see Method.submit."""
        return self._default().submit(args, kwargs)

    def execute(self, method: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, **run: Any) -> Any:
        """Runs a method by name; `run` are options of Method.execute."""
        return self.method(method).execute(args, kwargs, **run)

    @property
    def method_names(self) -> tuple[str, ...]:
        return self._names

    def method(self, name: str = "forward") -> Method:
        found = self._methods.get(name)
        if found is None:
            raise Error(f"method '{name}': the program has {list(self._names)}", reason="python.method")
        return found

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The plugins that serve the delegates of the loaded methods, and why."""
        return tuple(
            Decision(backend, plugin, version, rule, json.loads(data))
            for backend, plugin, version, rule, data in self._native.decisions()
        )

    def profile(self) -> tuple[bytes, bytes]:
        """Returns what was recorded so far: an ETDump, and its debug buffer (b"" without values)."""
        return self._native.recorded()

    def write_profile(self, path: str | os.PathLike[str], debug_buffer: str | os.PathLike[str] | None = None) -> None:
        """Writes what was recorded so far as an ETDump (.etdp), and the recorded values to the file debug_buffer.

        etbackend.Inspector, `etbackend inspect` and ExecuTorch's Inspector open them.
        """
        etdump, values = self.profile()
        if values and debug_buffer is None:
            raise Error("write_profile: values were recorded, and no file is named for them", reason="python.argument", hint="debug_buffer=FILE")
        if debug_buffer is not None:
            write_file(debug_buffer, values, "debug buffer")
        write_file(path, etdump, "profile")

    def clear_profile(self) -> None:
        """Forgets what was recorded so far."""
        self._native.clear_recorded()

    def set_option(self, backend: str, key: str, value: OptionValue) -> None:
        """Changes an option of the delegates with this id, from the next run on, as `options` of load does before.

        It reaches what the plugin's schema allows: runs of this program, its contexts or its delegates. An option that is
        fixed when a delegate is made can change while no loaded method has a delegate of this id.
        """
        self._native.set_option(text_of(backend, "backend"), text_of(key, "key"), _setting(value))

    def cancel(self) -> None:
        """Asks the present run, on another thread, to stop: it fails with reason "status.cancelled"."""
        self._native.cancel()

    def close(self) -> None:
        """Ends the program: a present run is cancelled, and memory is freed with the last array that borrows it."""
        self._native.close()
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    def _default(self) -> Method:
        if self._forward is None:
            raise Error("the program has no method", reason="python.method")
        return self._forward

    def _use_thread(self) -> ThreadPoolExecutor:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="etbackend")
        return self._thread

    @property
    def is_closed(self) -> bool:
        return self._native.is_closed

    def __enter__(self) -> Runtime:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<etbackend.Runtime of {', '.join(self._names)}{' (closed)' if self.is_closed else ''}>"


def _open(
    source: Source, load_mode: str, options: _native.ProgramOptions
) -> tuple[_native.Program, dict[str, tuple[str, str]]]:
    content = getattr(source, "buffer", source)  # of an etbackend.Program
    if isinstance(content, (bytes, bytearray, memoryview)):
        return _open_bytes(bytes(content), options)
    path = text_of(source, "program")
    if load_mode == "file":
        try:
            with open(path, "rb") as file:
                return _open_bytes(file.read(), options)
        except OSError as cause:
            raise Error(f"cannot read program '{path}': {cause.strerror}", reason="python.file") from cause
    program = _native.Program.open_file(os.fsencode(path), options)
    try:
        with open(path, "rb") as file:
            return program, read_trees(lambda offset, count: os.pread(file.fileno(), count, offset))
    except OSError:
        return program, {}  # removed since: the trees are a convenience


def _open_bytes(content: bytes, options: _native.ProgramOptions) -> tuple[_native.Program, dict[str, tuple[str, str]]]:
    program = _native.Program.open_bytes(content, options)
    return program, read_trees(lambda offset, count: content[offset : offset + count])


def _choices(backends: Mapping[str, str] | None, devices: Mapping[str, str] | str | None) -> list[tuple[str, str, str]]:
    rows = [(text_of(backend, "backends"), text_of(plugin, "backends"), "") for backend, plugin in (backends or {}).items()]
    if isinstance(devices, str):
        devices = {"": devices}
    rows += [(text_of(backend, "devices"), "", text_of(device, "devices")) for backend, device in (devices or {}).items()]
    return rows


def _setting(value: OptionValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else text_of(str(value), "options")


def _choice(value: str | None, table: Mapping[Any, int], what: str) -> int:
    try:
        return table[value]
    except (KeyError, TypeError):
        raise Error(f"{what}: {value!r}, expected one of {list(table)}", reason="python.argument") from None


def _framework_of(framework: str | None) -> int:
    number = _choice(framework, _FRAMEWORKS, "framework")
    if framework == "torch":
        try:
            import torch  # noqa: F401, PLC0415  (the native module expects it to be there)
        except ImportError as cause:
            raise Error("framework: 'torch', which is not installed", reason="python.argument") from cause
    return number


def _whole(value: int, what: str, most: int = 0xFFFFFFFFFFFFFFFF) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise Error(f"{what}: {value!r}, expected a whole number from 0 to {most}", reason="python.argument")
    return value


def _nanoseconds(timeout: float | None) -> int:
    if timeout is None:
        return 0
    if not isinstance(timeout, (int, float)) or not 0 < timeout < 1e9:
        raise Error(f"timeout: {timeout!r}, expected seconds above 0", reason="python.argument")
    return max(1, int(timeout * 1e9))
