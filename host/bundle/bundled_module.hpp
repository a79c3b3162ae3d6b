// SPDX-License-Identifier: Apache-2.0
// BundledModule: a module with the test cases of its program.
//
//   ETB_ASSIGN(auto bundled, etb::host::BundledModule::open("model.bpte"));
//   ETB_TRY(bundled.execute("forward", 0));
//   ETB_ASSIGN(const auto verified, bundled.verify_method_outputs("forward", 0, {.rtol = 1e-3, .atol = 1e-5}));
//   if (!verified.is_close()) report(verified.difference());
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/bundle/bundle_file.hpp"
#include "host/bundle/bundled_inputs.hpp"
#include "host/bundle/compare_values.hpp"

namespace etb::host {

// The outputs of a run beside the expected ones.
struct Verification {
  std::vector<ValueComparison> outputs;  // one for each output of the method

  bool is_close() const noexcept;
  // "output 1: element 3 is 1.5, expected 1, at most 0.1 off" of the first output that differs, "" if none does.
  std::string difference() const;
  // Returns the errors of all outputs together.
  ErrorStats stats() const noexcept;
};

// Compares the outputs of the latest run of a method with those that a test case expects. INVALID_STATE: the method has
// not run, or the case expects no outputs; INVALID_DATA: it expects another number of outputs than the method has.
[[nodiscard]] Result<Verification> verify_method_outputs(const Module& module,
                                                         const format::BundledProgramView& bundle,
                                                         std::string_view method, uint64_t index,
                                                         const Tolerances& tolerances = {});

// The statistics alone. Errors: those of verify_method_outputs.
[[nodiscard]] Result<ErrorStats> compute_error_stats(const Module& module,
                                                     const format::BundledProgramView& bundle,
                                                     std::string_view method, uint64_t index);

class BundledModule {
 public:
  [[nodiscard]] static Result<BundledModule> open(const std::string& path, ModuleOptions options = {});
  // `bytes` outlive the module and start on a 16-byte boundary.
  [[nodiscard]] static Result<BundledModule> from_bytes(std::span<const std::byte> bytes,
                                                        ModuleOptions options = {});

  BundledModule(BundledModule&&) noexcept = default;
  BundledModule& operator=(BundledModule&&) = delete;

  const format::BundledProgramView& bundle() const noexcept { return file_.view(); }
  Module& module() noexcept { return module_; }

  // Sets the inputs of a test case, for run() of the module.
  [[nodiscard]] Status load_bundled_input(std::string_view method, uint64_t index);
  // Sets the inputs of a test case and runs the method. A method keeps its state between runs; unload_method of the
  // module ends it.
  [[nodiscard]] Result<std::vector<EValue>> execute(std::string_view method, uint64_t index,
                                                    const RunLimits& limits = {});
  [[nodiscard]] Result<Verification> verify_method_outputs(std::string_view method, uint64_t index,
                                                           const Tolerances& tolerances = {}) const {
    return host::verify_method_outputs(module_, bundle(), method, index, tolerances);
  }
  [[nodiscard]] Result<ErrorStats> compute_error_stats(std::string_view method, uint64_t index) const {
    return host::compute_error_stats(module_, bundle(), method, index);
  }

 private:
  BundledModule(BundleFile file, Module module) : file_(std::move(file)), module_(std::move(module)) {}
  static Result<BundledModule> make(BundleFile file, ModuleOptions options);

  // In order of life: the module borrows the file and the inputs.
  BundleFile file_;
  std::map<std::string, BundledInputs, std::less<>> inputs_;  // by method
  Module module_;
};

}  // namespace etb::host
