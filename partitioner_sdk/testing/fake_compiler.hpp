// SPDX-License-Identifier: Apache-2.0
// A compiler for tests: claims the ops listed, and returns payloads that describe their contents.
#pragma once

#include <set>

#include "etb/aot.h"
#include "etb/cpp/graph_view.hpp"
#include "partitioner_sdk/partition/compiler.hpp"

namespace etb::partition {

class FakeCompiler final : public Compiler {
 public:
  FakeCompiler(std::string name, std::set<std::string, std::less<>> ops, uint32_t flags = 0)
      : Compiler(name, name + "Backend"), ops_(std::move(ops)), flags_(flags) {}

  Result<std::vector<std::string>> preserved_ops() override { return std::vector<std::string>{}; }

  Result<Answers> partition(const graph::ImageBytes& method) override {
    ETB_ASSIGN(const graph::View view, graph::View::open(method.span()));
    Answers answers;
    for (uint32_t g = 0; g < view.graph_count(); ++g) {
      for (const graph::Node node : view.graph(g).nodes()) {
        if (ops_.count(node.op_name()) != 0) {
          answers.claims.push_back({{node.id()}, flags_, group, 10});
        } else {
          answers.rejects.push_back({{node.id()}, "op", std::string(node.op_name())});
        }
      }
    }
    return answers;
  }

  Result<Compiled> compile(std::span<const graph::ImageBytes* const> regions, const ConstantKeys&) override {
    if (fails_to_compile) return make_error(Code::INTERNAL, "no tools");
    Compiled out;
    for (const graph::ImageBytes* image : regions) {
      ETB_ASSIGN(const graph::View view, graph::View::open(image->span()));
      std::string text;
      const graph::Graph graph = view.method();
      for (uint32_t i = 0; i < graph.inputs().size(); ++i) {
        const etb_graph_input input = graph.input(i);
        text += input.constant == ETB_GRAPH_NONE
                    ? "in "
                    : "constant " + std::string(view.constant(input.constant).key) + " ";
      }
      for (const graph::Node node : graph.nodes()) text += std::string(node.op_name()) + " ";
      text += "out" + std::to_string(graph.outputs().size());
      if (!rejected_text.empty() && text.find(rejected_text) != std::string::npos)
        return make_error(Code::NOT_SUPPORTED, "no " + rejected_text);
      Artifact artifact;
      for (const char c : text) artifact.payload.push_back(static_cast<std::byte>(c));
      for (uint32_t i = 0; i < graph.inputs().size(); ++i) {
        if (graph.input(i).constant == ETB_GRAPH_NONE) continue;
        const std::string key = view.constant(graph.input(i).constant).key;
        artifact.named_keys.push_back(key);
        bool is_new = true;
        for (const NamedBlob& blob : out.blobs) is_new = is_new && blob.key != key;
        if (is_new) out.blobs.push_back({key, {}, key, 0});
      }
      out.artifacts.push_back(std::move(artifact));
    }
    return out;
  }

  uint32_t group = 0;
  bool fails_to_compile = false;
  std::string rejected_text;  // compilation fails for a region whose payload would contain it

 private:
  std::set<std::string, std::less<>> ops_;
  uint32_t flags_;
};

}  // namespace etb::partition
