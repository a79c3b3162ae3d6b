# SPDX-License-Identifier: Apache-2.0
"""The part of a program file (.pte) that the C API does not report: the trees of inputs and outputs of each method.

The file is a FlatBuffer (api/schema/program.fbs). It is not trusted: every offset is checked, and a file that does
not fit has no trees. The library has verified the file before; these reads can only miss, never fail.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

# Reads `count` bytes at an offset; fewer at the end.
Read = Callable[[int, int], bytes]

# Slots, in the order of the fields of program.fbs.
_PROGRAM_METHODS = 1
_METHOD_NAME, _METHOD_CONTAINER = 0, 1
_CONTAINER_INPUTS, _CONTAINER_OUTPUTS = 0, 1

_MOST_METHODS = 65536
_MOST_TEXT = 1 << 24


class _Table:
    """A table at a position of the file."""

    def __init__(self, read: Read, position: int) -> None:
        self.read, self.position = read, position
        self.vtable = position - self._number("<i", position)
        self.vtable_nbytes = self._number("<H", self.vtable)

    def _number(self, form: str, position: int) -> int:
        if position < 0:
            raise ValueError("offset before the file")
        (value,) = struct.unpack(form, self.read(position, struct.calcsize(form)))
        return int(value)

    def target(self, slot: int) -> int | None:
        """Position of the object that a field refers to."""
        entry = 4 + 2 * slot
        if entry + 2 > self.vtable_nbytes:
            return None
        offset = self._number("<H", self.vtable + entry)
        if offset == 0:
            return None
        field = self.position + offset
        return field + self._number("<I", field)

    def table(self, slot: int) -> _Table | None:
        position = self.target(slot)
        return None if position is None else _Table(self.read, position)

    def text(self, slot: int) -> str:
        position = self.target(slot)
        if position is None:
            return ""
        count = self._number("<I", position)
        if count > _MOST_TEXT:
            raise ValueError("text too long")
        return self.read(position + 4, count).decode("utf-8", "surrogateescape")

    def tables(self, slot: int) -> list[_Table]:
        position = self.target(slot)
        if position is None:
            return []
        count = self._number("<I", position)
        if count > _MOST_METHODS:
            raise ValueError("too many methods")
        entries = [position + 4 + 4 * i for i in range(count)]
        return [_Table(self.read, entry + self._number("<I", entry)) for entry in entries]


def read_trees(read: Read) -> dict[str, tuple[str, str]]:
    """Texts of the input and output tree, by method."""
    try:
        head = read(0, 8)
        if head[4:8] != b"ET12":
            return {}
        (root,) = struct.unpack("<I", head[:4])
        trees = {}
        for method in _Table(read, root).tables(_PROGRAM_METHODS):
            container = method.table(_METHOD_CONTAINER)
            if container is not None:
                trees[method.text(_METHOD_NAME)] = (container.text(_CONTAINER_INPUTS), container.text(_CONTAINER_OUTPUTS))
        return trees
    except (struct.error, ValueError, OSError):
        return {}
