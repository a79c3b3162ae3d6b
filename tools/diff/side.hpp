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
#include "tools/diff/worker.hpp"

namespace etb::diff {

enum class SideKind : uint8_t {
  kEager,     // each node is one call of a portable kernel
  kPortable,  // compiled for the portable kernels
  kPlugins,   // compiled with plugins, which may leave nodes to the portable kernels
  kReal,      // a quantised model without the rounding of activations to codes
  kOutputs,   // knows the method's outputs only: a program, or arrays
  kRecorded,  // knows tensors that a run wrote to its profile
  kArchive,  // knows tensors of another archive of the network, such as the float network of a quantised model
};

struct MethodOutputs {
  std::vector<TensorData> values;
  std::string death;  // not empty: why the process that computes them ended before it had values
};
// Returns the outputs of the method for its inputs.
using ComputeOutputs = std::function<Result<MethodOutputs>(const std::vector<host::EValue>& inputs)>;

// Splits "a+b" into "a" and "b".
std::vector<std::string> split_side(const std::string& text);

struct SideOptions {
  host::RegistryOptions registry = {};
  std::vector<std::string> kernel_libraries = {};
  std::vector<std::pair<std::string, std::string>> specs = {};  // compile specs
  bool is_isolated = false;                                     // code of plugins runs in a child process
  uint64_t timeout_ms = 60000;                                  // of one answer of that process; 0: none
};

class Side {
 public:
  // `text`: eager, portable, real, or plugins joined by "+": a name, or the path of a manifest or library.
  [[nodiscard]] static Result<std::unique_ptr<Side>> open(const std::string& text,
                                                          const SideOptions& options);
  static std::unique_ptr<Side> of_outputs(const std::string& name, ComputeOutputs compute);
  // As of_outputs; the name is the program's file.
  static std::unique_ptr<Side> of_program(const std::string& path, const SideOptions& options,
                                          ComputeOutputs compute);
  bool is_program() const { return is_program_; }
  const SideOptions& options() const { return options_; }

  const std::string& name() const { return name_; }
  SideKind kind() const { return kind_; }
  // Name or path of the only plugin, for commands that repeat a failure; "" if there are several or none.
  std::string plugin() const { return plugins_.size() == 1 ? plugins_[0] : ""; }
  // Id of that plugin.
  const std::string& plugin_id() const { return plugin_id_; }
  // Precision that its plugins declare.
  const conformance::PrecisionContract& contract() const { return contract_; }
  const std::vector<std::string>& preserved_ops() const { return preserved_ops_; }

  // Regions of the plugins in the model; none for other kinds.
  [[nodiscard]] Result<std::vector<DelegatedRegion>> find_regions(const Model& model) const;

  struct Run {
    std::map<ir::ValueId, TensorData>
        results;  // those that nodes outside need; of recorded sides those that are known
    size_t delegated_nodes = 0;
    std::string death;  // not empty: why the plugin's process ended before it had results
  };
  // Compiles the nodes as a method of their own, and runs them on values of their operands. Not of kOutputs.
  [[nodiscard]] Result<Run> run(const Model& model, std::span<const uint32_t> nodes,
                                std::span<const TensorData* const> inputs) const;
  // The tensors of kRecorded or kArchive.
  static std::unique_ptr<Side> of_recording(const std::string& name, SideKind kind);
  // As "eager", with the model's name.
  static std::unique_ptr<Side> of_model(const std::string& archive);
  bool is_recorded() const { return kind_ == SideKind::kRecorded || kind_ == SideKind::kArchive; }
  void set_recording(std::map<ir::ValueId, TensorData> values,
                     std::map<ir::ValueId, std::string> instructions = {}) {
    recorded_ = std::move(values);
    instructions_ = std::move(instructions);
  }
  // Instruction that computed a value of the recording; "" if unknown.
  std::string instruction_of(ir::ValueId value) const;
  const std::map<ir::ValueId, TensorData>& recording() const { return recorded_; }
  // Returns the outputs of the whole method. Only of kOutputs.
  [[nodiscard]] Result<MethodOutputs> outputs(const std::vector<host::EValue>& inputs) const {
    return compute_outputs_(inputs);
  }

 private:
  Side() = default;
  // Loads the plugins into this process.
  Status open_plugins();
  Status open_worker();
  Status read_facts();
  // Runs in the plugin's process.
  Result<std::string> answer(std::string_view request);
  Result<std::string> ask_about(const Model& model, const std::string& request) const;
  Result<Run> run_here(const Model& model, std::span<const uint32_t> nodes,
                       std::span<const TensorData* const> inputs) const;
  CompileTarget target() const;

  std::string name_;
  SideKind kind_ = SideKind::kEager;
  std::vector<std::string> plugins_;
  ComputeOutputs compute_outputs_;
  std::map<ir::ValueId, TensorData> recorded_;
  std::map<ir::ValueId, std::string> instructions_;
  bool is_program_ = false;
  conformance::PrecisionContract contract_;
  SideOptions options_;
  std::string plugin_id_;
  std::vector<std::string> preserved_ops_;
  mutable std::unique_ptr<Worker> worker_;  // of an isolated side
  mutable const Model* model_ = nullptr;    // that the worker knows
  // In order of life.
  std::unique_ptr<host::Registry> registry_;
  tools::Backends backends_;
  std::unique_ptr<host::PluginDelegates> delegates_;
};

}  // namespace etb::diff
