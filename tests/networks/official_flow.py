# SPDX-License-Identifier: Apache-2.0
"""The official flow on one archive."""
import pathlib
import sys

import executorch.kernels.quantized  # noqa: F401  (registers the kernels of quantised graphs)
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools.backend_debug import get_delegation_info
from executorch.exir import to_edge_transform_and_lower

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peer"))
import source_nodes  # noqa: E402

torch.set_num_threads(1)


def lower(archive, program, backend):
    partitioners = [XnnpackPartitioner()] if backend == "xnnpack" else []
    exported = torch.export.load(str(archive))
    names = source_nodes.names_by_handle(exported)
    lowered = to_edge_transform_and_lower(exported, partitioner=partitioners)
    graph = lowered.exported_program().graph_module
    info = get_delegation_info(graph)
    with open(program, "wb") as file:
        lowered.to_executorch().write_to_file(file)
    left = sorted(source_nodes.left_officially(graph) & set(names)) if names else None
    return {"regions": info.num_delegated_subgraphs, "delegated": info.num_delegated_nodes, "left": info.num_non_delegated_nodes, "names": names, "names_left": left}
