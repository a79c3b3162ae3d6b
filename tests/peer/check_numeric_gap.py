# SPDX-License-Identifier: Apache-2.0
"""Compares the numeric gap of the official Inspector with that of etbackend.Inspector, on files of the official run time.

    python tests/peer/check_numeric_gap.py

Needs the executorch wheel, pandas and the etbackend package. Both must have the same columns, the same operators of the run
time in the same order, and the last node of each in common; here a node may have more nodes that no instruction has, such as
a flatten. The gaps must be below 1e-10. Ends with 1 if a row differs or no row is compared.
"""

import os
import sys
import tempfile

import etbackend
import torch
from executorch.devtools import Inspector
from executorch.exir import to_edge
from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4 * 6 * 6, 5)

    def forward(self, x):
        x = torch.sigmoid(torch.relu(self.conv(x))) * 2
        return self.fc(x.flatten(1))


def write_files():
    torch.manual_seed(0)
    inputs = (torch.rand(1, 3, 6, 6),)
    exported = torch.export.export(Net().eval(), inputs)
    torch.export.save(exported, "net.pt2")
    program = to_edge(exported, generate_etrecord=True).to_executorch()
    record = program.get_etrecord()
    record.update_representative_inputs(list(inputs))
    record.save("net.etrecord")
    loaded = _load_for_executorch_from_buffer(program.buffer, enable_etdump=True, debug_buffer_size=1 << 20)
    loaded.forward(inputs)
    loaded.write_etdump_result_to_file("net.etdp", "net.bin")


def is_small(gap):
    """True for distances of a row, at least one; not for NaN."""
    return len(gap) > 0 and all(distance < 1e-10 for distance in gap)


def main():
    files = {"etdump_path": "net.etdp", "etrecord": "net.etrecord", "debug_buffer_path": "net.bin"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_files()
        theirs = Inspector(**files).calculate_numeric_gap("MSE")
        ours = etbackend.Inspector(**files).calculate_numeric_gap("MSE", model="net.pt2")
        os.chdir("/")
    has_same_columns = list(theirs.columns) == list(ours.columns)
    equal = 0
    for (_, one), (_, other) in zip(theirs.iterrows(), ours.iterrows()):
        is_equal = one["runtime_ops"] == other["runtime_ops"] and one["aot_ops"][-1] == other["aot_ops"][-1]
        is_equal = is_equal and set(one["aot_debug_handle"]) <= set(other["aot_debug_handle"])
        is_equal = is_equal and is_small(one["gap"]) and is_small(other["gap"])
        equal += is_equal
        print(one["runtime_ops"], one["aot_ops"], one["gap"], other["aot_ops"], other["gap"], "equal" if is_equal else "DIFFERENT")
    print(f"{equal} of {len(theirs)} rows are equal; {len(ours)} here; the columns are {'equal' if has_same_columns else 'DIFFERENT'}")
    return 0 if has_same_columns and equal == len(theirs) == len(ours) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
