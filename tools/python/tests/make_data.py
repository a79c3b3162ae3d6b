# SPDX-License-Identifier: Apache-2.0
"""Writes the files in data/; run it in this folder. Needs torch 2.13 and executorch 1.5.1.

tree.pt2, tree.pte: a model with nested inputs and outputs, as an archive and as a program of the official exporter.
passed.pt2: returns its input and one more.
"""

import torch
from executorch.exir import to_edge


class Nested(torch.nn.Module):
    def forward(self, first, pair, *, scale):
        return {"sum": first + pair["x"], "rest": (first * scale, [pair["y"][0] - first])}


class Passed(torch.nn.Module):
    def forward(self, x):
        return x, x + 1


def main() -> None:
    # One tensor each: the exporter merges arguments that are the same object.
    arguments = (torch.ones(3), {"x": torch.ones(3), "y": [torch.ones(3)]})
    exported = torch.export.export(Nested(), arguments, {"scale": torch.ones(3)})
    torch.export.save(exported, "data/tree.pt2")
    with open("data/tree.pte", "wb") as file:
        file.write(to_edge(exported).to_executorch().buffer)
    torch.export.save(torch.export.export(Passed(), (torch.ones(2, 3),)), "data/passed.pt2")


if __name__ == "__main__":
    main()
