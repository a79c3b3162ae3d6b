# SPDX-License-Identifier: Apache-2.0
"""Pytrees of a method's inputs and outputs, as torch.export writes them into a program.

The text is `[1, {"type": ..., "context": ..., "children_spec": [...]}]`. Containers of Python are handled here, so
that a machine without PyTorch has them too. Any other type (a cache of transformers, a registered dataclass) needs
the package that registered it with torch.utils._pytree.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import Error

_MOST_LEVELS = 64  # a hostile program could nest deeper than Python's stack

_TUPLES = ("builtins.tuple", "collections.namedtuple")
_SEQUENCES = (*_TUPLES, "builtins.list", "collections.deque")
_MAPPINGS = ("builtins.dict", "collections.OrderedDict", "collections.defaultdict")


@dataclass(frozen=True)
class Tree:
    """One node of a pytree. type: name of the container; "" for a leaf."""

    type: str
    keys: tuple[Any, ...]  # of a mapping
    children: tuple[Tree, ...]
    leaf_count: int
    spec: str  # the node as PyTorch reads it

    @property
    def is_leaf(self) -> bool:
        return self.type == ""

    @property
    def is_flat_tuple(self) -> bool:
        return self.type == "builtins.tuple" and all(child.is_leaf for child in self.children)


def parse_tree(text: str) -> Tree | None:
    """The tree of a text; None for a program that has none, or one of another version."""
    try:
        version, node = json.loads(text)
        return _parse(node, 0) if version == 1 else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _parse(node: dict[str, Any], level: int) -> Tree:
    if level > _MOST_LEVELS:
        raise ValueError("too many levels")
    children = tuple(_parse(child, level + 1) for child in node["children_spec"])
    kind = node["type"]
    if kind is None:
        return Tree("", (), (), 1, "")
    keys: tuple[Any, ...] = ()
    if kind in _MAPPINGS:
        context = json.loads(node["context"])
        keys = tuple(context["dict_context"] if kind == "collections.defaultdict" else context)
        if len(keys) != len(children):
            raise ValueError("keys and children differ")
    return Tree(kind, keys, children, sum(child.leaf_count for child in children), json.dumps([1, node]))


def describe(tree: Tree) -> str:
    """The tree for people: `(*, {"x": *})`."""
    if tree.is_leaf:
        return "*"
    parts = [describe(child) for child in tree.children]
    if tree.type in _MAPPINGS:
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(tree.keys, parts)) + "}"
    if tree.type in _TUPLES:
        return "(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")"
    name = "" if tree.type == "builtins.list" else tree.type
    return f"{name}[" + ", ".join(parts) + "]"


def flatten(tree: Tree, value: Any, where: str) -> Iterator[Any]:
    """Leaves of a value, in the order of the program's inputs."""
    if tree.is_leaf:
        yield value
    elif tree.type in _SEQUENCES:
        if not isinstance(value, (list, tuple, collections.deque)) or len(value) != len(tree.children):
            raise _mismatch(tree, value, where)
        for index, (child, item) in enumerate(zip(tree.children, value)):
            yield from flatten(child, item, f"{where}[{index}]")
    elif tree.type in _MAPPINGS:
        if not isinstance(value, Mapping) or set(value) != set(tree.keys):
            raise _mismatch(tree, value, where)
        for key, child in zip(tree.keys, tree.children):
            yield from flatten(child, value[key], f"{where}[{key!r}]")
    else:
        yield from _flatten_registered(tree, value, where)


def unflatten(tree: Tree, leaves: Iterator[Any]) -> Any:
    """The value of a tree whose leaves come from `leaves`."""
    if tree.is_leaf:
        return next(leaves)
    if tree.type in ("builtins.list", "collections.deque"):
        items = [unflatten(child, leaves) for child in tree.children]
        return items if tree.type == "builtins.list" else collections.deque(items)
    if tree.type == "builtins.tuple":
        return tuple(unflatten(child, leaves) for child in tree.children)
    if tree.type in _MAPPINGS:
        pairs = [(key, unflatten(child, leaves)) for key, child in zip(tree.keys, tree.children)]
        return collections.OrderedDict(pairs) if tree.type == "collections.OrderedDict" else dict(pairs)
    return _unflatten_registered(tree, [next(leaves) for _ in range(tree.leaf_count)])


def _mismatch(tree: Tree, value: Any, where: str) -> Error:
    found = type(value).__name__
    if isinstance(value, Mapping):
        found += f" with keys {sorted(map(repr, value))}"
    elif isinstance(value, Sequence) and not isinstance(value, str):
        found += f" of {len(value)}"
    return Error(
        f"{where}: {found}, expected {describe(tree)} (* is one array or number)",
        reason="python.tree",
        hint="pass the arguments as the model's forward() takes them, or all leaves in order to Method.run",
    )


def _torch_spec(tree: Tree) -> tuple[Any, Any]:
    try:
        from torch.utils import _pytree  # noqa: PLC0415  (only programs with such types need PyTorch)

        return _pytree, _pytree.treespec_loads(tree.spec)
    except (ImportError, ValueError, NotImplementedError, KeyError) as cause:
        raise Error(
            f"the program's inputs or outputs have the type '{tree.type}', which is not registered here: {cause}",
            reason="python.tree",
            hint="import the package that defines the type, or pass and take leaves with Method.run",
        ) from cause


def _flatten_registered(tree: Tree, value: Any, where: str) -> Iterator[Any]:
    pytree, spec = _torch_spec(tree)
    leaves, found = pytree.tree_flatten(value)
    if found != spec:
        raise _mismatch(tree, value, where)
    yield from leaves


def _unflatten_registered(tree: Tree, leaves: list[Any]) -> Any:
    try:
        pytree, spec = _torch_spec(tree)
    except Error:
        if tree.type in _TUPLES:  # a named tuple of a class that is not here
            items = iter(leaves)
            return tuple(unflatten(child, items) for child in tree.children)
        raise
    return pytree.tree_unflatten(leaves, spec)
