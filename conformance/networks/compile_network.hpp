// SPDX-License-Identifier: Apache-2.0
// Compiles a network with the plugin under test, as `etbackend compile` does: the plugin's claims become
// delegates of a program, the rest are portable kernels.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/subject/subject.hpp"
#include "host/portable_backend/graph_executor.hpp"
#include "partitioner_sdk/emit/program_memory.hpp"
#include "partitioner_sdk/partition/partition.hpp"
#include "partitioner_sdk/passes/fold_constants.hpp"

namespace etb::conformance {

// A graph with the constants that it names.
struct NetworkGraph {
  graph::ImageBytes image;
  std::shared_ptr<const partition::ConstantKeys> constants;

  // Valid as long as the graph.
  host::ConstantBytes reader() const;
};

struct CompiledNetwork {
  std::optional<emit::ProgramMemory> program;
  std::vector<NetworkGraph> regions;  // the graph of delegate i
  std::vector<std::string> faults;    // faults of the plugin: calls that failed, claims that did not compile
  size_t claimed_nodes = 0, left_nodes = 0;  // numbers of nodes of the graph that the plugin saw
};

// `evaluate` folds constants.
[[nodiscard]] Result<CompiledNetwork> compile_network(ir::Module module, Subject& subject,
                                                      const passes::Evaluate& evaluate);

// Returns the graph that a plugin sees which preserves no ops, for the reference.
[[nodiscard]] Result<NetworkGraph> make_network_graph(ir::Module module, const passes::Evaluate& evaluate);

}  // namespace etb::conformance
