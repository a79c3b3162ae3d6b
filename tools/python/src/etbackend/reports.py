# SPDX-License-Identifier: Apache-2.0
"""The report of a compilation: which node runs where, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Refusal:
    """A plugin's reason against a node. reason: "op", "dtype", "rank" and the like (docs/compiling.md)."""

    plugin: str
    reason: str
    text: str


@dataclass(frozen=True)
class Node:
    """A node of the compiled graph. region: index into CompileReport.regions, None for portable kernels."""

    name: str
    op: str
    spec: str
    source: str
    region: int | None
    refusals: tuple[Refusal, ...]


@dataclass(frozen=True)
class Region:
    """A call of a plugin in the program."""

    plugin: str
    backend_id: str
    method: str
    node_count: int
    operand_count: int
    result_count: int
    payload_nbytes: int
    constant_nbytes: int


@dataclass(frozen=True)
class OpCount:
    op: str
    delegated: int
    not_delegated: int


@dataclass(frozen=True)
class MethodReport:
    name: str
    instructions: int
    delegate_calls: int
    arena_nbytes: int
    arena_lower_bound_nbytes: int
    least_arena_nbytes: int
    own_kernels: tuple[str, ...]


@dataclass(frozen=True)
class Fault:
    """A plugin that was skipped, or a rule or claim of it that failed."""

    plugin: str
    text: str


@dataclass(frozen=True)
class CompileReport:
    methods: tuple[MethodReport, ...]
    regions: tuple[Region, ...]
    nodes: tuple[Node, ...]
    ops: tuple[OpCount, ...]
    delegated_nodes: int
    other_nodes: int
    faults: tuple[Fault, ...]
    warnings: tuple[str, ...]
    data: Mapping[str, Any] = field(repr=False)  # the summary and, under "report", the whole report as JSON

    def summary(self) -> str:
        """The three lines of the official get_delegation_info."""
        return (
            f"Total delegated subgraphs: {len(self.regions)}\n"
            f"Number of delegated nodes: {self.delegated_nodes}\n"
            f"Number of non-delegated nodes: {self.other_nodes}\n"
        )

    @staticmethod
    def _of(summary: Mapping[str, Any], given: Mapping[str, Any] | None) -> CompileReport:
        nothing = {"regions": [], "graphs": [], "ops": [], "delegated_nodes": 0}
        report = given or {**nothing, "non_delegated_nodes": summary["delegation"]["nodes"]}
        methods = tuple(
            MethodReport(**{**row, "own_kernels": tuple(row["own_kernels"])}) for row in summary["methods"]
        )
        faults = tuple(Fault(row["plugin"], row["text"]) for row in summary["delegation"]["errors"])
        return CompileReport(
            methods,
            tuple(_region(row) for row in report["regions"]),
            tuple(_node(row) for graph in report["graphs"] for row in graph["nodes"]),
            tuple(OpCount(**row) for row in report["ops"]),
            report["delegated_nodes"],
            report["non_delegated_nodes"],
            faults,
            tuple(summary["warnings"]),
            {**summary, "report": report},
        )


def _region(row: Mapping[str, Any]) -> Region:
    return Region(**{name: row[name] for name in Region.__dataclass_fields__})


def _node(row: Mapping[str, Any]) -> Node:
    refusals = tuple(Refusal(**refusal) for refusal in row["refusals"])
    return Node(row["name"], row["op"], row["spec"], row.get("source", ""), row["region"], refusals)
