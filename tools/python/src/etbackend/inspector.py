# SPDX-License-Identifier: Apache-2.0
"""Profiles of runs joined with the record of the compilation, in the shape of ExecuTorch's devtools.

    inspector = etbackend.Inspector("run.etdp", etrecord="model.etrecord")
    inspector.print_data_tabular()
    slowest = inspector.to_dataframe().sort_values("avg (ms)").tail()   # needs pandas

The program `etbackend inspect` reads both files, for all methods and all plugins; this module holds its answer.
"""

from __future__ import annotations

import csv
import enum
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ._product import program_path, text_of
from ._recorded_values import reference_outputs, value_of
from ._vgf import statistics_of
from .compiler import error_of
from .errors import Error
from .numeric_gap import NumericalComparatorBase, gap_rows

if TYPE_CHECKING:
    import pandas

# Columns and rows that a printed table leaves out.
_HIDDEN_COLUMNS = ("raw", "delegate_debug_identifier", "stack_traces", "module_hierarchy", "debug_data")
_HIDDEN_EVENT = "OPERATOR_CALL"
_LONGEST_LIST = 4


class TimeScale(enum.Enum):
    """Unit of times. Cycles have no length in seconds: both scales are cycles, or neither."""

    NS = "ns"
    US = "us"
    MS = "ms"
    S = "s"
    CYCLES = "cycles"


_PER_SECOND = {TimeScale.NS: 1e9, TimeScale.US: 1e6, TimeScale.MS: 1e3, TimeScale.S: 1.0, TimeScale.CYCLES: 1.0}

MetadataParser = Callable[[list[str]], "list[str] | Mapping[str, Any]"]
TimeConverter = Callable[["int | str", "int | float"], "int | float"]


@dataclass
class PerfData:
    """Times of an event in the target scale, one for each run."""

    raw: list[float]

    @property
    def p10(self) -> float:
        return float(np.percentile(self.raw, 10))

    @property
    def p50(self) -> float:
        return float(np.percentile(self.raw, 50))

    @property
    def p90(self) -> float:
        return float(np.percentile(self.raw, 90))

    @property
    def avg(self) -> float:
        return float(np.mean(self.raw))

    @property
    def min(self) -> float:
        return min(self.raw)

    @property
    def max(self) -> float:
        return max(self.raw)


@dataclass
class Event:
    """Work of a run: an operator, a call of a delegate, or an event inside of a delegate.

    sources: of each node: its op, file, line, function and module.
    debug_data: values that the run recorded, as NumPy arrays where the debug buffer is given.
    """

    name: str
    perf_data: PerfData | None = None
    op_types: list[str] = field(default_factory=list)
    delegate_debug_identifier: int | str | None = None
    debug_handles: list[int] | None = None
    num_outputs: int = 1
    stack_traces: dict[str, str | None] = field(default_factory=dict)
    module_hierarchy: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    is_delegated_op: bool = False
    delegate_backend_name: str | None = None
    debug_data: list[Any] = field(default_factory=list)
    start_time: list[int] = field(default_factory=list)
    instruction_id: int | None = None
    sources: list[dict[str, Any]] = field(default_factory=list)
    raw_delegate_debug_metadatas: list[str] = field(default_factory=list)
    _parser: MetadataParser | None = None

    @property
    def delegate_debug_metadatas(self) -> list[str] | Mapping[str, Any]:
        """What the parser makes of the plugin's metadata; without a parser the metadata."""
        if not self.is_delegated_op or self._parser is None:
            return self.raw_delegate_debug_metadatas
        return self._parser(self.raw_delegate_debug_metadatas)

    def asdict(self, units: str = "") -> dict[str, Any]:
        """A row of the table."""
        data = self.perf_data
        times = {name: getattr(data, name) if data else None for name in ("p10", "p50", "p90", "avg", "min", "max")}
        return {
            "event_name": self.name,
            "raw": data.raw if data else None,
            **{name + units: value for name, value in times.items()},
            "op_types": self.op_types if len(self.op_types) <= _LONGEST_LIST else _shortened(self.op_types),
            "delegate_debug_identifier": self.delegate_debug_identifier,
            "stack_traces": self.stack_traces,
            "module_hierarchy": self.module_hierarchy,
            "is_delegated_op": self.is_delegated_op,
            "delegate_backend_name": self.delegate_backend_name,
            "debug_data": self.debug_data,
            "start_time": self.start_time,
        }

    def to_dataframe(self, units: str = "") -> pandas.DataFrame:
        return _frame([self.asdict(units)])


@dataclass
class EventBlock:
    """Runs of one method with the same events, or the loading of a method ("Default")."""

    name: str
    events: list[Event] = field(default_factory=list)
    source_time_scale: TimeScale = TimeScale.NS
    target_time_scale: TimeScale = TimeScale.MS
    bundled_input_index: int | None = None  # of the inputs in a bundled program
    run_output: list[Any] = field(default_factory=list)
    reference_output: list[Any] | None = None
    method: str | None = None  # found by its instructions; None without a record

    def rows(self, include_units: bool = False, include_delegate_debug_data: bool = False) -> list[dict[str, Any]]:
        units = f" ({self.target_time_scale.value})" if include_units else ""
        out = []
        for event in self.events:
            row = {"event_block_name": self.name, **event.asdict(units)}
            metadata = event.delegate_debug_metadatas if include_delegate_debug_data else None
            if isinstance(metadata, Mapping):
                row.update(metadata)
            elif metadata:
                row["delegate_debug_metadata"] = metadata
            out.append(row)
        return out

    def to_dataframe(
        self, include_units: bool = False, include_delegate_debug_data: bool = False
    ) -> pandas.DataFrame:
        return _frame(self.rows(include_units, include_delegate_debug_data))


class Inspector:
    """Reads a profile, and the record of the compilation of the same program.

    etdump_path, etdump_data: one of them; files of `etbackend run --profile` and of ExecuTorch.
    etrecord: path of a record of `etbackend compile --etrecord` or of ExecuTorch, or ExecuTorch's ETRecord. Another
        program's is refused.
    debug_buffer_path: file with the values that the profile refers to.
    delegate_time_scale_converter: maps (event name, recorded time) to a time in the target scale.
    """

    def __init__(
        self,
        etdump_path: str | os.PathLike[str] | None = None,
        etdump_data: bytes | None = None,
        etrecord: Any = None,
        source_time_scale: TimeScale = TimeScale.NS,
        target_time_scale: TimeScale = TimeScale.MS,
        debug_buffer_path: str | os.PathLike[str] | None = None,
        delegate_metadata_parser: MetadataParser | None = None,
        delegate_time_scale_converter: TimeConverter | None = None,
        enable_module_hierarchy: bool = False,
        reference_graph_name: str = "edge_dialect_exported_program",
    ) -> None:
        if (etdump_path is None) == (etdump_data is None):
            raise Error("expected one of etdump_path and etdump_data", reason="python.argument")
        if reference_graph_name != "edge_dialect_exported_program":
            raise Error(
                f"reference_graph_name: '{reference_graph_name}', expected 'edge_dialect_exported_program', the graph "
                "whose nodes have the debug handles",
                reason="python.argument",
            )
        self._scales = (TimeScale(source_time_scale), TimeScale(target_time_scale))
        self._folder = tempfile.TemporaryDirectory()  # of files that later calls read, too
        self._etrecord = None if etrecord is None else self._record_path(etrecord)
        self._parser, self._converter = delegate_metadata_parser, delegate_time_scale_converter
        self._buffer_path = None if debug_buffer_path is None else text_of(debug_buffer_path, "debug_buffer_path")
        self._buffer = b"" if self._buffer_path is None else Path(self._buffer_path).read_bytes()
        if etdump_data is not None:
            etdump_path = Path(self._folder.name) / "run.etdp"
            etdump_path.write_bytes(etdump_data)
        self._profile = text_of(etdump_path, "etdump_path")
        report = json.loads(self._inspect("--by", "event", "--json"))
        self.program: dict[str, str] | None = report["program"]
        self.allocators: list[dict[str, Any]] = report["allocators"]
        references = reference_outputs(self._etrecord)
        self.event_blocks = [self._block(block, references) for block in report["event_blocks"]]

    def _record_path(self, etrecord: Any) -> str:
        if isinstance(etrecord, (str, os.PathLike)):
            return text_of(etrecord, "etrecord")
        if not callable(getattr(etrecord, "save", None)):
            raise Error(
                f"etrecord: a value of type '{type(etrecord).__name__}', expected a path or an ETRecord",
                reason="python.argument",
            )
        path = os.path.join(self._folder.name, "model.etrecord")
        etrecord.save(path)
        return path

    def _inspect(self, *options: str) -> bytes:
        source, target = self._scales
        words = [str(program_path()), "--no-config", "inspect", f"--etdump_path={self._profile}"]
        words += [f"--source_time_scale={source.value}", f"--target_time_scale={target.value}", *options]
        if self._etrecord is not None:
            words.append(f"--etrecord={self._etrecord}")
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != 0:
            raise error_of(done, "inspect")
        return done.stdout

    def _block(self, block: dict[str, Any], references: Mapping[str, Sequence[Any]]) -> EventBlock:
        cases = references.get(block["method"] or "forward", ()) if block["name"] == "Execute" else ()
        index = max(block["bundled_input_index"] or 0, 0)
        return EventBlock(
            name=block["name"],
            events=[self._event(event) for event in block["events"]],
            source_time_scale=self._scales[0],
            target_time_scale=self._scales[1],
            bundled_input_index=block["bundled_input_index"],
            run_output=[value_of(value, self._buffer) for value in block["run_output"]],
            reference_output=list(cases[index]) if index < len(cases) else None,
            method=block["method"],
        )

    def _event(self, event: dict[str, Any]) -> Event:
        raw = event["raw"]
        if raw is not None and event["is_delegated_op"] and self._converter is not None:
            raw = self._converted(event)
        hierarchy = event["module_hierarchy"]
        return Event(
            name=event["name"],
            perf_data=None if raw is None else PerfData(raw),
            op_types=event["op_types"],
            delegate_debug_identifier=event["delegate_debug_identifier"],
            debug_handles=event["debug_handles"] or None,
            num_outputs=event["num_outputs"],
            stack_traces=event["stack_traces"],
            module_hierarchy={
                node: {key: (path, kind) for key, (path, kind) in frames.items()} for node, frames in hierarchy.items()
            },
            is_delegated_op=event["is_delegated_op"],
            delegate_backend_name=event["delegate_backend_name"],
            debug_data=[value_of(value, self._buffer) for value in event["debug_data"]],
            start_time=event["start_time"],
            instruction_id=event["instruction_id"],
            sources=event["sources"],
            raw_delegate_debug_metadatas=event["delegate_debug_metadatas"],
            _parser=self._parser,
        )

    def _converted(self, event: dict[str, Any]) -> list[float]:
        assert self._converter is not None
        factor = _PER_SECOND[self._scales[0]] / _PER_SECOND[self._scales[1]]
        times = []
        for start, elapsed in zip(event["start_time"], event["raw"]):
            end = start + round(elapsed * factor)
            times.append(float(self._converter(event["name"], end) - self._converter(event["name"], start)))
        return times

    def rows(self, include_units: bool = True, include_delegate_debug_data: bool = False) -> list[dict[str, Any]]:
        """The rows of all blocks, without pandas."""
        return [row for block in self.event_blocks for row in block.rows(include_units, include_delegate_debug_data)]

    def to_dataframe(self, include_units: bool = True, include_delegate_debug_data: bool = False) -> pandas.DataFrame:
        return _frame(self.rows(include_units, include_delegate_debug_data))

    def _shown_rows(self, include_units: bool, include_delegate_debug_data: bool) -> list[dict[str, Any]]:
        rows = self.rows(include_units, include_delegate_debug_data)
        shown = (row for row in rows if _HIDDEN_EVENT not in row["event_name"])
        return [{name: value for name, value in row.items() if name not in _HIDDEN_COLUMNS} for row in shown]

    def print_data_tabular(
        self, file: IO[str] | None = None, include_units: bool = True, include_delegate_debug_data: bool = False
    ) -> None:
        """Prints the events but OPERATOR_CALL, whose time the operator's own event has."""
        rows = self._shown_rows(include_units, include_delegate_debug_data)
        columns = _columns(rows)
        cells = [columns, *([_cell(row.get(name)) for name in columns] for row in rows)]
        widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
        for line in cells:
            text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths))
            print(text.rstrip(), file=file if file is not None else sys.stdout)

    def save_data_to_tsv(
        self, file: IO[str], include_units: bool = True, include_delegate_debug_data: bool = False
    ) -> None:
        """Writes the same rows with tabs, as pandas does."""
        rows = self._shown_rows(include_units, include_delegate_debug_data)
        columns = _columns(rows)
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["", *columns])
        for index, row in enumerate(rows):
            writer.writerow([index, *("" if row.get(name) is None else row[name] for name in columns)])

    def find_total_for_module(self, module_name: str) -> float:
        """The average time of a run inside of this module, in the target scale. Each piece of time counts once."""
        answer = json.loads(self._inspect(f"--total-for={module_name}", "--json"))
        return float(answer["total"])

    def get_op_list(self, event_block: str, show_delegated_ops: bool | None = True) -> dict[str, list[Event]]:
        """The events of each op type in the blocks of this name."""
        out: dict[str, list[Event]] = {}
        for event in self._events_of(event_block):
            if event.is_delegated_op and not show_delegated_ops:
                continue
            for op in dict.fromkeys(event.op_types):
                out.setdefault(op, []).append(event)
        return out

    def _events_of(self, event_block: str) -> Iterator[Event]:
        return (event for block in self.event_blocks if block.name == event_block for event in block.events)

    def get_exported_program(self, graph: str | None = None) -> Any:
        """A graph of the record: the edge dialect of its first method, or an extra one by name. None without a record.

        Needs ExecuTorch's package, which makes an ExportedProgram of it."""
        if self._etrecord is None:
            return None
        try:
            from executorch.devtools import parse_etrecord  # noqa: PLC0415  (only this method needs it)
        except ImportError as cause:
            raise Error(
                "get_exported_program: an ExportedProgram needs ExecuTorch's package",
                reason="python.installation",
                hint="pip install executorch",
            ) from cause
        record = parse_etrecord(self._etrecord)
        found = record.edge_dialect_program if graph is None else (record.graph_map or {}).get(graph)
        if isinstance(found, Mapping):  # by method
            return found.get("forward", next(iter(found.values()), None))
        return found

    def calculate_numeric_gap(
        self,
        distance: str | Any,
        disable_debug_handle_valdiation: bool = False,
        reference_graph: str | None = None,
        *,
        model: str | os.PathLike[str] | None = None,
        inputs: Sequence[Any] | None = None,
    ) -> pandas.DataFrame:
        """How far the recorded values are from those of the model, node by node: numeric_gap_rows as a data frame."""
        return _frame(self.numeric_gap_rows(distance, disable_debug_handle_valdiation, reference_graph, model=model, inputs=inputs))

    def numeric_gap_rows(
        self,
        distance: str | Any,
        disable_debug_handle_valdiation: bool = False,
        reference_graph: str | None = None,
        *,
        model: str | os.PathLike[str] | None = None,
        inputs: Sequence[Any] | None = None,
    ) -> list[dict[str, Any]]:
        """The rows of ExecuTorch's numeric gap: debug handles, ops and values of both sides, gap, stack traces.

        The model runs here node by node. Each node reads the recorded values, so an earlier error is not a later node's.

        distance: "MSE", "L1", "SNR", "COSINE", "MAX_ABS", "MAX_REL", or an object with element_compare(a, b) -> float,
            such as a NumericalComparatorBase.
        disable_debug_handle_valdiation, reference_graph: accepted, as the nodes are those of the model.
        model: the archive (.pt2) that the program was compiled from; not needed if the record has weights.
        inputs: arrays of the recorded run; without them the representative inputs of the record.
        """
        del disable_debug_handle_valdiation, reference_graph
        if self._etrecord is None or self._buffer_path is None:
            raise Error(
                "calculate_numeric_gap needs etrecord and debug_buffer_path of the Inspector",
                reason="python.argument",
                hint="a record without weights needs model='model.pt2', too, the archive that the program was compiled from",
            )
        files = [f"--etrecord={self._etrecord}", f"--debug-buffer={self._buffer_path}"]
        words = ["eager", self._profile, *files, *([] if model is None else [f"--model={text_of(model, 'model')}"])]
        return gap_rows(distance, words, inputs, self)

    def get_vgf_neural_statistics(self) -> list[dict[str, Any]]:
        """Returns the statistics that ExecuTorch's VGF backend recorded, with the bytes of each blob as "raw_data"."""
        events = (event for block in self.event_blocks for event in block.events)
        return [record for event in events for record in statistics_of(event.raw_delegate_debug_metadatas)]


def compare_results(
    reference_output: Sequence[Any], run_output: Sequence[Any], metrics: Iterable[str] = ("snr", "mse", "cosine_similarity")
) -> dict[str, list[float]]:
    """Distances between outputs in pairs: signal-to-noise ratio in dB, mean squared error, cosine similarity."""
    if len(reference_output) != len(run_output):
        raise Error(f"{len(run_output)} outputs, expected {len(reference_output)}", reason="python.argument")
    functions = {"snr": _snr, "mse": _mse, "cosine_similarity": _cosine}
    if unknown := [name for name in metrics if name not in functions]:
        raise Error(f"metrics: '{unknown[0]}', expected one of {', '.join(functions)}", reason="python.argument")
    pairs = [(_flat(expected), _flat(found)) for expected, found in zip(reference_output, run_output)]
    return {name: [functions[name](expected, found) for expected, found in pairs] for name in metrics}


def _flat(value: Any) -> np.ndarray[Any, Any]:
    return np.asarray(value, dtype=np.float64).reshape(-1)


def _mse(expected: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> float:
    return float(np.mean((expected - found) ** 2))


def _snr(expected: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> float:
    noise = _mse(expected, found)
    return float("inf") if noise == 0 else float(10 * np.log10(np.mean(expected**2) / noise))


def _cosine(expected: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> float:
    length = float(np.linalg.norm(expected) * np.linalg.norm(found))
    return float(expected @ found) / length if length else 1.0


def _shortened(items: Sequence[str]) -> str:
    return f"['{items[0]}', '{items[1]}' ... '{items[-1]}'] ({len(items)} total)"


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _frame(rows: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    try:
        import pandas  # noqa: PLC0415  (only data frames need it)
    except ImportError as cause:
        raise Error("a data frame needs pandas", reason="python.installation", hint="pip install pandas") from cause
    return pandas.DataFrame(list(rows))


__all__ = ["Event", "EventBlock", "Inspector", "NumericalComparatorBase", "PerfData", "TimeScale", "compare_results"]
