# SPDX-License-Identifier: Apache-2.0
"""Compile and run models of the ExecuTorch world on plugins behind one stable C ABI.

    import etbackend

    program = etbackend.compile("model.pt2", backends=["xnnpack"])
    program.save("model.pte")
    y = etbackend.Runtime.load("model.pte").forward(x)

etbackend.executorch has the shape of ExecuTorch's own Python API.
"""

from __future__ import annotations

from . import _native
from .compiler import compile
from .errors import Error
from .inspector import Event, EventBlock, Inspector, NumericalComparatorBase, PerfData, TimeScale, compare_results
from .registry import Candidate, Device, Explanation, Plugin, devices, explain, plugins
from .program import Program
from .reports import CompileReport, Fault, MethodReport, Node, OpCount, Refusal, Region
from .runtime import Decision, Method, MethodInfo, Runtime, ValueInfo

__version__ = _native.version()

__all__ = [
    "Candidate",
    "CompileReport",
    "Decision",
    "Device",
    "Error",
    "Event",
    "EventBlock",
    "Explanation",
    "Fault",
    "Inspector",
    "Method",
    "MethodInfo",
    "MethodReport",
    "Node",
    "NumericalComparatorBase",
    "OpCount",
    "PerfData",
    "Plugin",
    "Program",
    "Refusal",
    "Region",
    "Runtime",
    "TimeScale",
    "ValueInfo",
    "__version__",
    "compare_results",
    "compile",
    "devices",
    "explain",
    "plugins",
]
