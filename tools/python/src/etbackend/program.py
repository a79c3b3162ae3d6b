# SPDX-License-Identifier: Apache-2.0
"""A compiled program."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._files import write_file
from .reports import CompileReport
from .runtime import Runtime


@dataclass(frozen=True)
class Program:
    """A program file (.pte) in memory, with the report of its compilation."""

    buffer: bytes = field(repr=False)
    report: CompileReport = field(repr=False)
    external_data: Path | None = None  # file of the weights, if compile() wrote one

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the program file and returns its path. The file gets its name when it is complete."""
        return write_file(path, self.buffer, "program")

    def load(self, **options: Any) -> Runtime:
        """Loads the program; `options` are those of Runtime.load."""
        return Runtime.load(self, **options)
