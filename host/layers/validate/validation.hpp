// SPDX-License-Identifier: Apache-2.0
// Validation, the validate layer: checks both sides of a plugin's tables and reports
// violations of the C ABI's rules.
//
//   Validation validation({.strict = true});
//   start_plugin(library, table, {.layers = {validation.layer()}, ...});
//   for (const Violation& v : validation.take()) print(format_violation(v));
//
// An application enables it by naming it in a chain, never by an environment variable or a search
// (ABI-LAYER-01).
//
// Limits: a handle that is NULL or not of this layer is rejected with an error, but not collected,
// because it leads to no Validation. The layer sees a plugin's own threads only where they access guarded
// memory or call the host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/layers/layer.hpp"

namespace etb::host {

enum class Side { HOST, PLUGIN };

struct Violation {
  std::string rule;      // id in api/include/etb/rules.def, "ABI-OWN-03"
  Side side;             // side that broke it
  std::string function;  // function of the call, "delegate.execute"
  std::string text;      // value found and value expected
};

// "ABI-OWN-03: plugin, delegate.create: the release callback was called twice"
std::string format_violation(const Violation& violation);

struct ValidateOptions {
  // Rejects the call that breaks a rule: the host's before it reaches the plugin, the plugin's
  // with ETB_INTERNAL. Without it, rejects only calls that cannot continue: a dead handle, a NULL
  // that would be dereferenced.
  bool strict = false;

  enum class Memory {
    // Pattern bytes around copies of the bytes that the plugin writes: cheap, detects writes after the call.
    CANARIES,
    // Pages without access around copies of all data: also detects reads outside and accesses after the call.
    GUARD_PAGES,
  };
  Memory memory = Memory::CANARIES;

  // Also compares signal handlers, locale, working directory and environment around each call, and counts
  // threads. Correct only while no other thread of the process changes them or starts threads.
  bool whole_process = false;

  size_t max_violations = 1000;  // later ones are only counted
};

namespace validate {
class State;
}

// Collects the violations of any number of plugins. Outlives them and their threads.
class Validation {
 public:
  explicit Validation(const ValidateOptions& options = {});
  ~Validation();
  Validation(const Validation&) = delete;
  Validation& operator=(const Validation&) = delete;

  // "validate"
  Layer layer() const noexcept;

  // Returns the violations since the last call, in order.
  std::vector<Violation> take();

  // Number of all violations, kept or not.
  uint64_t violation_count() const;

 private:
  std::unique_ptr<validate::State> state_;
};

}  // namespace etb::host
