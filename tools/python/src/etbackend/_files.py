# SPDX-License-Identifier: Apache-2.0
"""Writing files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .errors import Error


def write_file(path: str | os.PathLike[str], content: bytes, what: str) -> Path:
    """Writes a file, which gets its name when it is complete."""
    target = Path(path)
    try:
        descriptor, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                os.fchmod(file.fileno(), 0o666 & ~_umask())
            os.replace(part, target)
        except BaseException:
            os.unlink(part)
            raise
    except OSError as cause:
        raise Error(f"cannot write {what} '{target}': {cause.strerror}", reason="python.file") from cause
    return target


def _umask() -> int:
    """The process's umask, read without a change where the system allows it."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            return next(int(line.split()[1], 8) for line in status if line.startswith("Umask:"))
    except (OSError, StopIteration, ValueError):
        return 0o022
