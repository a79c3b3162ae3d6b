// SPDX-License-Identifier: Apache-2.0
// One of the two sides of a comparison: it computes nodes of a graph in its own way.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/judge/contract.hpp"
#include "host/registry/registry.hpp"
#include "tools/diff/model.hpp"
#include "tools/diff/part.hpp"
#include "tools/diff/run_part.hpp"

namespace etb::diff {

enum class SideKind : uint8_t {
  kEager,     // each node is one call of a portable kernel
  kPortable,  // compiled for the portable kernels
  kPlugins,   // compiled with plugins, which may leave nodes to the portable kernels
  kReal,      // a quantised model without the rounding of activations to codes
  kOutputs,   // knows the method's outputs only: a program, or arrays
  kRecorded,  // knows tensors that a run wrote to its profile
  kArchive,   // knows tensors of another archive of the network, such as the float network of a quantised model
};

// Returns the outputs of the method for its inputs.
using ComputeOutputs =
    std::function<Result<std::vector<TensorData>>(const std::vector<host::EValue>& inputs)>;

// Splits "a+b" into "a" and "b".
std::vector<std::string> split_side(const std::string& text);

struct SideOptions {
  host::RegistryOptions registry = {};
  std::vector<std::string> kernel_libraries = {};
  std::vector<std::pair<std::string, std::string>> specs = {};  // compile specs
};

class Side {
 public:
  // `text`: eager, portable, real, or plugins joined by "+": a name, or the path of a manifest or library.
  [[nodiscard]] static Result<std::unique_ptr<Side>> open(const std::string& text,
                                                          const SideOptions& options);
  static std::unique_ptr<Side> of_outputs(const std::string& name, ComputeOutputs compute);

  const std::string& name() const { return name_; }
  SideKind kind() const { return kind_; }
  // Name or path of the only plugin, for commands that repeat a failure; "" if there are several or none.
  std::string plugin() const { return plugins_.size() == 1 ? plugins_[0] : ""; }
  // Id of that plugin.
  std::string plugin_id() const;
  // Precision that its plugins declare.
  const conformance::PrecisionContract& contract() const { return contract_; }
  [[nodiscard]] Result<std::vector<std::string>> preserved_ops() const;

  // Regions of the plugins in a method; none for other kinds.
  [[nodiscard]] Result<std::vector<DelegatedRegion>> find_regions(const ir::Module& whole) const;

  struct Run {
    std::map<ir::ValueId, TensorData>
        results;  // those that nodes outside need; of recorded sides those that are known
    size_t delegated_nodes = 0;
  };
  // Compiles the nodes as a method of their own, and runs them on values of their operands. Not of kOutputs.
  [[nodiscard]] Result<Run> run(const Model& model, std::span<const uint32_t> nodes,
                                std::span<const TensorData* const> inputs) const;
  // The tensors of kRecorded or kArchive.
  static std::unique_ptr<Side> of_recording(const std::string& name, SideKind kind);
  // As "eager", with the model's name.
  static std::unique_ptr<Side> of_model(const std::string& archive);
  bool is_recorded() const { return kind_ == SideKind::kRecorded || kind_ == SideKind::kArchive; }
  void set_recording(std::map<ir::ValueId, TensorData> values) { recorded_ = std::move(values); }
  const std::map<ir::ValueId, TensorData>& recording() const { return recorded_; }
  // Returns the outputs of the whole method. Only of kOutputs.
  [[nodiscard]] Result<std::vector<TensorData>> outputs(const std::vector<host::EValue>& inputs) const {
    return compute_outputs_(inputs);
  }

 private:
  Side() = default;
  Status open_plugins(const SideOptions& options);
  CompileTarget target() const;

  std::string name_;
  SideKind kind_ = SideKind::kEager;
  std::vector<std::string> plugins_;
  std::vector<std::string> kernel_libraries_;
  ComputeOutputs compute_outputs_;
  std::map<ir::ValueId, TensorData> recorded_;
  conformance::PrecisionContract contract_;
  // In order of life.
  std::unique_ptr<host::Registry> registry_;
  tools::Backends backends_;
  std::unique_ptr<host::PluginDelegates> delegates_;
};

}  // namespace etb::diff
