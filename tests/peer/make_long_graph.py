#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes archives of N nodes for N given: a chain of adds, muls and products with a few weights, as torch.export.save would.

usage: make_long_graph.py OUT_DIR N [N ...]

torch.export itself takes minutes for 10^5 nodes, so the archive of a short chain is exported and its JSON is repeated.
"""
import copy
import io
import json
import pathlib
import sys
import zipfile

import torch
from torch import nn


class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.fc(x)) * 0.5 + x



def lengthen(model, count):
    """The nodes of forward again and again, each round on the result of the one before."""
    graph = model["graph_module"]["graph"]
    first, values = graph["nodes"], graph["tensor_values"]
    made = {output["as_tensor"]["name"] for node in first for output in node["outputs"]}
    last, source = first[-1]["outputs"][0]["as_tensor"]["name"], "x"
    nodes, step = list(first), 0
    while len(nodes) < count:
        step += 1
        names = {name: f"{name}_r{step}" for name in made}
        names[source] = last if step == 1 else f"{last}_r{step - 1}"
        for node in first:
            node = copy.deepcopy(node)
            for item in node["inputs"]:
                tensor = item["arg"].get("as_tensor")
                if tensor:
                    tensor["name"] = names.get(tensor["name"], tensor["name"])
            for item in node["outputs"]:
                old = item["as_tensor"]["name"]
                item["as_tensor"]["name"] = names[old]
                values[names[old]] = values[old]
            nodes.append(node)
    graph["nodes"] = nodes
    result = nodes[-1]["outputs"][0]["as_tensor"]["name"]
    graph["outputs"][0]["as_tensor"]["name"] = result
    model["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = result


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.export.save(torch.export.export(Step().eval(), (torch.randn(1, 8),)), buffer)
    for count in map(int, sys.argv[2:]):
        with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(out / f"chain_{count}.pt2", "w", zipfile.ZIP_STORED) as new:
            for name in old.namelist():
                data = old.read(name)
                if name.endswith("models/model.json"):
                    model = json.loads(data)
                    lengthen(model, count)
                    data = json.dumps(model).encode()
                new.writestr(name, data)


if __name__ == "__main__":
    main()
