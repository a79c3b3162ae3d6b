// SPDX-License-Identifier: Apache-2.0
// Graphs for tests of claims and compilation.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "api/format/graph_builder.hpp"
#include "etb/cpp/compile.hpp"

namespace etb::gpu {

// A method with one result. Constants have their bytes in the image.
class Model {
 public:
  uint32_t input(etb_dtype dtype, const std::vector<int64_t>& sizes) {
    return graph_.add_input(graph::tensor(name(), builder_.add_spec({dtype, sizes})));
  }
  template <class T>
  uint32_t constant(etb_dtype dtype, const std::vector<int64_t>& sizes, const std::vector<T>& numbers) {
    const std::string key = name();
    const uint32_t of = builder_.add_spec({dtype, sizes});
    const auto* first = reinterpret_cast<const uint8_t*>(numbers.data());
    std::vector<uint8_t> bytes(first, first + numbers.size() * sizeof(T));
    const uint32_t made = builder_.add_constant({.key = key, .spec = of, .data = std::move(bytes)});
    return graph_.add_input(graph::tensor(key, of), ETB_GRAPH_INPUT_PARAMETER, key, made);
  }
  uint32_t node(const std::string& op, std::vector<graph::ArgumentDesc> args,
                const std::vector<int64_t>& sizes, etb_dtype dtype = ETB_DTYPE_FLOAT32,
                uint32_t debug_handle = 0) {
    return graph_.add_node({.op = op,
                            .args = std::move(args),
                            .outputs = {graph::tensor(name(), builder_.add_spec({dtype, sizes}))},
                            .debug_handle = debug_handle});
  }
  graph::ImageBytes finish(uint32_t result) {
    graph_.add_output(result);
    auto made = builder_.finish();
    EXPECT_TRUE(made) << made.error().message;
    return made ? *std::move(made) : graph::ImageBytes();
  }

 private:
  std::string name() { return "v" + std::to_string(++count_); }

  graph::Builder builder_{"forward"};
  graph::GraphBuilder& graph_ = builder_.add_graph("forward");
  uint32_t count_ = 0;
};

// Returns for each node "" for a claim, else reason and text. `claim_all`: claim_nodes for a target, or claim_official_nodes.
template <class ClaimAll>
std::vector<std::string> claims_by(const graph::ImageBytes& image, const ClaimAll& claim_all) {
  const auto view = graph::View::open(image.to_c());
  std::map<uint32_t, std::string> answers;
  const etb_partition_sink raw = {
      ETB_INIT_SIZE(etb_partition_sink), 0, &answers,
      [](void* ctx, const etb_claim* claim) -> etb_status {
        EXPECT_EQ(claim->group, 0u) << "regions copy only nodes without a group";
        (*static_cast<std::map<uint32_t, std::string>*>(ctx))[claim->node_ids[0]] = "";
        return ETB_OK;
      },
      [](void* ctx, const etb_reject* reject) -> etb_status {
        (*static_cast<std::map<uint32_t, std::string>*>(ctx))[reject->node_ids[0]] =
            std::string(reject->reason) + ": " + reject->text;
        return ETB_OK;
      }};
  EXPECT_TRUE(claim_all(view->graph(0), PartitionSink(raw)));
  std::vector<std::string> out;
  for (const auto& [node, answer] : answers) out.push_back(answer);
  return out;
}

inline Result<Artifact> compile_by(const graph::ImageBytes& image,
                                   Result<Artifact> (*compile_one)(const Region&),
                                   const CompileRequest& request = CompileRequest()) {
  const auto view = graph::View::open(image.to_c());
  etb_compile_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_compile_args);
  args.graph_count = 1;
  const Graph graph = view->graph(0);
  return compile_one(Region(graph, CompileSpecs(), request, args));
}

}  // namespace etb::gpu
