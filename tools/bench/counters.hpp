// SPDX-License-Identifier: Apache-2.0
// Counters of the processor and of the system, such as instructions and page faults (perf_event_open).
#pragma once

#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::bench {

// Names that Counters::open accepts, as `perf list` has them.
const std::vector<std::string>& counter_names();

class Counters {
 public:
  Counters() = default;

  // Opens a counter for this process and each thread that it starts afterwards. Errors: the machine lacks it, or
  // the user may not count.
  [[nodiscard]] static Result<Counters> open(const std::vector<std::string>& names);

  // The counts since open, in the order of the names. A counter that shared the processor's registers with others
  // is scaled to the whole time.
  std::vector<double> read() const;

  // True if the system does not allow to count its own work, so that the counts are those of user code alone.
  bool is_user_only() const { return is_user_only_; }

 private:
  std::vector<host::FileDescriptor> events_;
  bool is_user_only_ = false;
};

}  // namespace etb::bench
