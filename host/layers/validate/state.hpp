// SPDX-License-Identifier: Apache-2.0
// State: the internals of a Validation: the reports, and objects that must outlive their use so
// that a late use is detected.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "etb/plugin.h"
#include "host/layers/validate/guarded_bytes.hpp"
#include "host/layers/validate/rule.hpp"
#include "host/layers/validate/validation.hpp"

namespace etb::host::validate {

inline constexpr char kService[] = "etbackend.validate/1";

// The table of the service with the id above.
struct Service {
  uint32_t struct_size;
  uint32_t flags;
  State* state;
};

class State {
 public:
  explicit State(const ValidateOptions& options);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  // True while the Validation is destroyed: objects that were never ended are destroyed now, and
  // borrowed data may be gone.
  bool is_ending() const noexcept { return is_ending_; }

  const ValidateOptions& options() const noexcept { return options_; }
  const Service* service() const noexcept { return &service_; }

  void report(Rule rule, Side side, const char* function, std::string text);
  std::vector<Violation> take();
  uint64_t violation_count() const;

  // Counts init and deinit calls into one plugin. begin_init returns true for the only one.
  bool begin_init(const etb_plugin_table* plugin);
  void end_init(const etb_plugin_table* plugin);

  // Keeps an object that the other side has a pointer to.
  void adopt(std::shared_ptr<void> object);

  // Ends an object's life, but keeps it until many others have ended after it, so that a late use finds it.
  void retire(const void* object);

  // Watches memory that must not be accessed any more. The next sweep reports an access.
  void watch(std::unique_ptr<GuardedBytes> bytes, Rule rule, Side side, const char* function,
             std::string what);
  void sweep();

 private:
  struct Watched {
    std::unique_ptr<GuardedBytes> bytes;
    Rule rule;
    Side side;
    const char* function;
    std::string what;
  };

  const ValidateOptions options_;
  bool is_ending_ = false;
  Service service_;
  std::unique_ptr<GuardedBytes> sentinel_;  // keeps the fault handler installed between calls

  mutable std::mutex report_mutex_;
  std::vector<Violation> violations_;
  uint64_t violation_count_ = 0;

  std::mutex mutex_;  // guards the members below
  std::map<const etb_plugin_table*, int> inits_;
  std::unordered_map<const void*, std::shared_ptr<void>> adopted_;
  std::deque<std::shared_ptr<void>> retired_;
  std::deque<Watched> watched_of_runs_;
  std::deque<Watched> watched_;  // arguments of other, rarer calls; a later run may touch them
  uint64_t swept_fault_count_ = 0;
};

}  // namespace etb::host::validate
