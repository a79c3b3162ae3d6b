// The validate layer: watches both sides of a plugin's tables and reports what breaks a rule of the C ABI.
//
//   Validation validation({.strict = true});
//   start_plugin(library, table, {.layers = {validation.layer()}, ...});
//   for (const Violation& v : validation.take()) print(format_violation(v));
//
// It is switched on by naming it in a chain, never by an environment variable or by being found (ABI-LAYER-01).
//
// What it does not see: a handle that is NULL or that this layer never gave is refused with a text, but not collected,
// because nothing leads from it to a Validation. What a plugin does on threads of its own is seen only where it touches
// guarded memory or calls the host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/layers/layer.hpp"

namespace etb::host {

enum class Side { HOST, PLUGIN };

struct Violation {
  std::string rule;      // of api/include/etb/rules.def, "ABI-OWN-03"
  Side side;             // who broke it
  std::string function;  // during which call, "delegate.execute"
  std::string text;      // what was found, what was expected
};

// "ABI-OWN-03: plugin, delegate.create: the release callback was called twice"
std::string format_violation(const Violation& violation);

struct ValidateOptions {
  // Refuse the call that breaks a rule: the host's before it reaches the plugin, the plugin's by answering ETB_INTERNAL.
  // Without it only what must not go on is refused: a dead handle, a NULL that would be followed.
  bool strict = false;

  enum class Memory {
    CANARIES,  // pattern bytes around copies of what the plugin writes: cheap, sees writes when the call is over
    GUARD_PAGES,  // pages of no access around copies of all it sees: also reads outside and touches after the call
  };
  Memory memory = Memory::CANARIES;

  // Also compare signal handlers, locale, working directory and environment around each call, and count threads: only
  // right while no other thread of the process changes them or starts threads.
  bool whole_process = false;

  size_t max_violations = 1000;  // later ones are counted only
};

namespace validate {
class State;
}

// Collects for any number of plugins; outlives them, and their threads.
class Validation {
 public:
  explicit Validation(const ValidateOptions& options = {});
  ~Validation();
  Validation(const Validation&) = delete;
  Validation& operator=(const Validation&) = delete;

  // "validate"
  Layer layer() const noexcept;

  // Hands over what was found since the last time, in order.
  std::vector<Violation> take();

  // How many were ever found, kept or not.
  uint64_t violation_count() const;

 private:
  std::unique_ptr<validate::State> state_;
};

}  // namespace etb::host
