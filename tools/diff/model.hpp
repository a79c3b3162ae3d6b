// SPDX-License-Identifier: Apache-2.0
// A model in the edge dialect, the form that both sides compile, and the values of one run of it node by node.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/module/module.hpp"
#include "partitioner_sdk/ir/module.hpp"
#include "tools/compile/extensions.hpp"
#include "tools/diff/metrics.hpp"

namespace etb::diff {

struct ModelOptions {
  std::string model;  // name, in an archive of several
  std::map<std::string, int64_t> bounds = {};
  const tools::Extensions* extensions = nullptr;
  std::set<std::string, std::less<>> preserved_ops = {};  // of the plugins that compile it
  bool keeps_quantized_constants = false;                 // as plugins see them
  std::vector<std::string> kernel_libraries = {};
};

// Sets the inputs of a method.
using SetInputs = std::function<Result<std::vector<host::EValue>>(const host::MethodMeta& meta)>;

class Model {
 public:
  [[nodiscard]] static Result<Model> open(const std::string& archive, const ModelOptions& options);

  // Runs the whole graph node by node on the portable kernels, and keeps every tensor.
  [[nodiscard]] Status run(const SetInputs& set_inputs);

  const ir::Module& module() const { return module_; }
  // The same graph, with the sizes of the run instead of symbols.
  const ir::Module& fixed_module() const { return *fixed_; }
  // Inputs of the run. Tensors belong to the caller of run().
  const std::vector<host::EValue>& inputs() const { return inputs_; }
  // A tensor of the run; null if the value has none.
  const TensorData* find_value(ir::ValueId id) const;
  const std::string& name_of(ir::ValueId id) const { return names_[id]; }
  // Name of a node: that of its first result.
  std::string node_name(uint32_t node) const;
  const std::string& op_of(uint32_t node) const { return module_.op(module_.main().nodes[node]).name; }
  uint32_t node_count() const { return static_cast<uint32_t>(module_.main().nodes.size()); }

 private:
  Model() = default;
  Status keep_state();

  ir::Module module_;
  std::optional<ir::Module> fixed_;
  std::vector<std::string> names_;
  std::vector<host::EValue> inputs_;
  std::vector<std::optional<TensorData>> values_;
  std::vector<std::string> kernel_libraries_;
};

}  // namespace etb::diff
