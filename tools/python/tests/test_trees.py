# SPDX-License-Identifier: Apache-2.0
"""Trees, and the reader of program files, on hostile texts and bytes."""

from __future__ import annotations

import json
import random

import pytest
from conftest import DATA, program

from etbackend import Error
from etbackend._program_file import read_trees
from etbackend._trees import describe, flatten, parse_tree, unflatten

LEAF = {"type": None, "context": None, "children_spec": []}


def text_of(kind: str, context: object, *children: object) -> str:
    return json.dumps([1, {"type": kind, "context": json.dumps(context), "children_spec": list(children)}])


@pytest.mark.parametrize(
    "text",
    ["", "7", "[]", "[2, {}]", "[1, 5]", "[1, {}]", '[1, {"type": 3, "context": 1, "children_spec": 1}]', "[" * 100000,
     text_of("builtins.dict", ["a"]), text_of("builtins.dict", 7, LEAF), text_of("collections.defaultdict", [], LEAF)],
)
def test_a_text_that_is_no_tree_is_none(text: str) -> None:
    assert parse_tree(text) is None


def test_a_tree_that_is_too_deep_is_none() -> None:
    node: object = LEAF
    for _ in range(100):
        node = {"type": "builtins.list", "context": "null", "children_spec": [node]}
    assert parse_tree(json.dumps([1, node])) is None


def test_every_container_of_python() -> None:
    cases = [
        (text_of("builtins.tuple", None, LEAF, LEAF), (1, 2), "(*, *)"),
        (text_of("builtins.tuple", None, LEAF), (1,), "(*,)"),
        (text_of("builtins.list", None, LEAF, LEAF), [1, 2], "[*, *]"),
        (text_of("builtins.dict", ["b", "a"], LEAF, LEAF), {"b": 1, "a": 2}, "{'b': *, 'a': *}"),
        (text_of("collections.OrderedDict", ["b"], LEAF), {"b": 1}, "{'b': *}"),
        (text_of("builtins.dict", [1, 2], LEAF, LEAF), {1: 1, 2: 2}, "{1: *, 2: *}"),
    ]
    for text, value, shown in cases:
        tree = parse_tree(text)
        assert tree is not None and describe(tree) == shown
        leaves = list(flatten(tree, value, "x"))
        assert leaves == [1, 2][: tree.leaf_count] and unflatten(tree, iter(leaves)) == value


def test_a_type_that_is_not_here_is_named() -> None:
    tree = parse_tree(text_of("somewhere.Cache", None, LEAF))
    assert tree is not None
    for use in (lambda: list(flatten(tree, 1, "x")), lambda: unflatten(tree, iter([1]))):
        with pytest.raises(Error, match="somewhere.Cache") as caught:
            use()
        assert caught.value.reason == "python.tree" and caught.value.hint


def test_trees_of_a_program_file() -> None:
    content = (DATA / "tree.pte").read_bytes()
    (trees,) = [read_trees(lambda offset, count: content[offset : offset + count])]
    inputs = parse_tree(trees["forward"][0])
    assert inputs is not None and inputs.leaf_count == 4


@pytest.mark.parametrize("name", ["add", "methods"])
def test_damaged_files_have_no_trees_or_others(name: str) -> None:
    original = program(name).read_bytes()
    numbers = random.Random(7)
    for _ in range(3000):
        content = bytearray(original)
        for _ in range(numbers.randint(1, 4)):
            content[numbers.randrange(len(content))] = numbers.randrange(256)
        del content[numbers.randrange(len(content)) if numbers.random() < 0.3 else len(content) :]
        frozen = bytes(content)
        for inputs, outputs in read_trees(lambda offset, count: frozen[offset : offset + count]).values():
            parse_tree(inputs), parse_tree(outputs)
