// What a Validation is inside: the reports, and the things that must outlive their use so that a late use is seen.
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

// What the service id above stands for.
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

  // Whether the Validation is going: objects that were never ended die now, and what they borrowed may be gone.
  bool is_ending() const noexcept { return is_ending_; }

  const ValidateOptions& options() const noexcept { return options_; }
  const Service* service() const noexcept { return &service_; }

  void report(Rule rule, Side side, const char* function, std::string text);
  std::vector<Violation> take();
  uint64_t violation_count() const;

  // Counts calls of init and deinit into one plugin: begin answers whether it is the only one.
  bool begin_init(const etb_plugin_table* plugin);
  void end_init(const etb_plugin_table* plugin);

  // Keeps an object that the other side holds a pointer to.
  void adopt(std::shared_ptr<void> object);

  // Its life is over, but a late use must still find it: it is kept until many others ended after it.
  void retire(const void* object);

  // Memory that must not be touched any more; a touch is reported by the next sweep.
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

  std::mutex mutex_;  // guards what follows
  std::map<const etb_plugin_table*, int> inits_;
  std::unordered_map<const void*, std::shared_ptr<void>> adopted_;
  std::deque<std::shared_ptr<void>> retired_;
  std::deque<Watched> watched_;
  uint64_t swept_fault_count_ = 0;
};

}  // namespace etb::host::validate
