# SPDX-License-Identifier: Apache-2.0
"""Which nodes of an exported program a side leaves to portable kernels: a count that is the same on both sides.

One node of the exported program is several edge nodes on one side and one on the other, so neither side's own count of delegated
nodes says much about the other's. Both remember which exported node each of theirs comes from. An exported node is left when at
least one node that comes from it lies outside of all delegates. One that left no node at all (folded, merged, of no use) is not.
"""
import operator


def is_node(node):
    return node.op == "call_function" and node.target is not operator.getitem


def subgraphs(module, node):
    """The graph modules that a node of control flow runs, in the order of its arguments."""
    for argument in node.all_input_nodes:
        if argument.op == "get_attr":
            inner = getattr(module, str(argument.target), None)
            if hasattr(inner, "graph") and not hasattr(inner, "original_module"):
                yield inner


def names_by_handle(exported):
    """Names of the exported program's nodes in the order in which etbackend numbers them: handle 1 is the first. None of a program with
    blocks for autocast or gradients, whose nodes torch does not tell apart once it has put them in line."""
    if any("wrap_with" in str(node.target) for node in exported.graph.nodes):
        return None

    def visit(module):
        for node in module.graph.nodes:
            if is_node(node):
                yield node.name
                for inner in subgraphs(module, node):
                    yield from visit(inner)

    return list(visit(exported.graph_module))


def origin(node):
    """The exported node that one of torch's passes made this one of."""
    name, chain = None, node.meta.get("from_node")
    while chain:
        name, chain = chain[-1].name, chain[-1].from_node
    return name


def left_officially(module):
    left = set()
    for node in module.graph.nodes:
        if is_node(node) and "call_delegate" not in str(node.target):
            left.add(origin(node))
            for inner in subgraphs(module, node):
                left |= left_officially(inner)
    return left


def left_here(report, names):
    """`report` is what --report-json wrote."""
    handles = {node["debug_handle"] for graph in report["graphs"] for node in graph["nodes"]
               if node["region"] is None and "debug_handle" in node}
    return {names[handle - 1] for handle in handles}
