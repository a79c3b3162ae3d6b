// SPDX-License-Identifier: Apache-2.0
// For tests: a quantised network with the codes between its layers, compiled for a plugin or for portable kernels, and run.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "conformance/networks/compile_network.hpp"
#include "conformance/networks/recording_delegates.hpp"
#include "host/module/module.hpp"
#include "partitioner_sdk/import/import.hpp"
#include "tools/portable_target.hpp"
#include "tools/verify/find_subject.hpp"

namespace etb::tools {

using Codes = std::vector<int8_t>;
using TensorList = std::vector<conformance::TensorData>;

enum class Cut : uint8_t {
  kNone,     // the network as it is
  kExposed,  // the codes of each layer are outputs, after those of the network
  kCut       // and each layer reads inputs instead of codes of other layers
};

// Imports an archive, and cuts it. Codes are results of `quantize`, in the order of their nodes; inputs have the same order.
inline Result<ir::Module> import_cut(const std::string& archive, Cut cut) {
  ETB_ASSIGN(ir::Module module, pt2::import_archive(archive));
  module.name = "forward";
  if (cut == Cut::kNone) return module;
  ir::Graph& graph = module.main();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (module.op(graph.nodes[i]).name != "quantized_decomposed.quantize_per_tensor.default") continue;
    const ir::ValueId codes = graph.nodes[i].outputs[0];
    graph.outputs.push_back({ir::ValueRef{codes}, ir::OutputKind::kUser, ""});
    if (cut == Cut::kExposed) continue;
    ir::Value copy = graph.values[codes];
    copy.name += "_input";
    const ir::ValueId input = graph.add_value(std::move(copy));
    graph.inputs.push_back({input, ir::InputKind::kUser, "", ir::kNone});
    for (ir::Node& node : graph.nodes)
      for (ir::Argument& argument : node.args)
        ir::for_each_value(argument, [&](ir::ValueId& id) { id = id == codes ? input : id; });
  }
  return module;
}

// A compiled network. The subject outlives it.
class CodedNetwork {
 public:
  // `subject`: the plugin; null: portable kernels only, where weights are float constants.
  static Result<std::unique_ptr<CodedNetwork>> make(const std::string& archive, Cut cut,
                                                    conformance::Subject* subject) {
    auto made = std::make_unique<CodedNetwork>();
    ETB_ASSIGN(ir::Module module, import_cut(archive, cut));
    host::ModuleOptions options;
    if (subject != nullptr) {
      ETB_ASSIGN(made->compiled,
                 conformance::compile_network(std::move(module), *subject, portable_pipeline().evaluate));
      made->delegates_ = std::make_unique<conformance::RecordingDelegates>(*subject);
      options.delegates = made->delegates_.get();
    } else {
      ETB_ASSIGN(made->compiled.program, emit_portable(module));
    }
    ETB_ASSIGN(host::Module program, host::Module::from_bytes(made->compiled.program->bytes(), options));
    made->module_.emplace(std::move(program));
    return made;
  }

  Result<TensorList> run(const TensorList& inputs) {
    std::vector<host::OwnedTensor> tensors;
    std::vector<host::EValue> values;
    for (const conformance::TensorData& input : inputs) {
      tensors.emplace_back(static_cast<host::Dtype>(input.shape.dtype), input.shape.sizes);
      std::copy(input.bytes.begin(), input.bytes.end(), tensors.back().bytes().begin());
      values.push_back(tensors.back().value());
    }
    ETB_ASSIGN(const std::vector<host::EValue> outputs, module_->execute("forward", values));
    if (delegates_ != nullptr) calls = delegates_->take_calls().size();
    TensorList results;
    for (const host::EValue& output : outputs) results.push_back(conformance::copy_of(output.tensor()));
    return results;
  }

  conformance::CompiledNetwork compiled;  // without regions for portable kernels
  size_t calls = 0;                       // of delegates, in the latest run

 private:
  static Result<emit::ProgramMemory> emit_portable(ir::Module& module) {
    const passes::PipelineOptions pipeline = portable_pipeline();
    ETB_TRY(passes::to_edge(module, pipeline));
    ETB_TRY(passes::simplify(module, pipeline));
    ETB_TRY(passes::to_portable(module, pipeline));
    ETB_ASSIGN(const emit::Program program, emit::emit({&module, 1}));
    return emit::ProgramMemory::make(program);
  }

  std::unique_ptr<conformance::RecordingDelegates> delegates_;
  std::optional<host::Module> module_;
};

// Opens a plugin of the build, behind the layer that checks its calls.
inline Result<std::unique_ptr<conformance::Subject>> open_plugin(const std::string& manifest) {
  std::ostringstream out;
  ETB_ASSIGN(const conformance::SubjectSpec spec, find_subject(manifest, "", Session{out, out, {}}));
  return conformance::Subject::open(spec);
}

inline Codes codes_of(const conformance::TensorData& tensor) {
  Codes out(tensor.bytes.size());
  std::memcpy(out.data(), tensor.bytes.data(), out.size());
  return out;
}

}  // namespace etb::tools
