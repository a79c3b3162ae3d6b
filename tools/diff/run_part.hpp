// SPDX-License-Identifier: Apache-2.0
// Compiles a method, runs it once, and returns its tensors.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"
#include "partitioner_sdk/ir/module.hpp"
#include "tools/compile/backends.hpp"
#include "tools/diff/metrics.hpp"

namespace etb::diff {

// How a method is compiled.
struct CompileTarget {
  std::span<const std::unique_ptr<partition::Compiler>> compilers = {};  // plugins, in order
  host::DelegateResolver* delegates = nullptr;                           // runs what they compiled
  bool folds_constants = true;
  std::vector<std::string> kernel_libraries = {};
};

// Nodes of one call of a plugin.
struct DelegatedRegion {
  uint32_t compiler = 0;
  std::vector<uint32_t> nodes;  // of the main graph, ascending
};

// A compiled method, loaded.
class CompiledMethod {
 public:
  // `module` is in the edge dialect. An error of a plugin is an error here.
  [[nodiscard]] static Result<std::unique_ptr<CompiledMethod>> make(ir::Module module,
                                                                    const CompileTarget& target);
  ~CompiledMethod();

  const std::vector<DelegatedRegion>& regions() const { return regions_; }
  [[nodiscard]] Result<host::MethodMeta> meta() const;
  // Returns the outputs; a number is a tensor of rank 0.
  [[nodiscard]] Result<std::vector<TensorData>> run(std::span<const host::EValue> inputs);
  [[nodiscard]] Result<std::vector<TensorData>> run(std::span<const TensorData* const> inputs);

 private:
  CompiledMethod() = default;
  struct Memory;
  std::unique_ptr<Memory> memory_;
  std::vector<DelegatedRegion> regions_;
};

// Asks the plugins for their regions, as compilation does, without compiling the rest.
[[nodiscard]] Result<std::vector<DelegatedRegion>> find_regions(ir::Module module,
                                                                const CompileTarget& target);

// Copies a value, with its dim order.
TensorData copy_of(const host::EValue& value);

}  // namespace etb::diff
