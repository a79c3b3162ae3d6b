// SPDX-License-Identifier: Apache-2.0
// Reports one profiling event for each operator that XNNPACK ran.
#pragma once

#include <string>
#include <vector>

#include "etb/cpp/run.hpp"
#include "plugins/xnnpack/payload/payload.hpp"
#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {

// Returns the operator name of node `position`, as used in events and in the compiler's debug map.
std::string event_name(const XnnNode& node, size_t position);

class OperatorEvents {
 public:
  // For a runtime created with XNN_FLAG_BASIC_PROFILING. Matches its operators with the payload's nodes,
  // which have the same order. A node may have several operators. It has none if no output needs it or if
  // XNNPACK fused it. An operator without a matching node keeps XNNPACK's name.
  [[nodiscard]] static Result<OperatorEvents> make(xnn_runtime_t runtime, const XnnPayload& payload);

  // Reports the events of the run that began at `begin_ns` of the host's clock. XNNPACK counts in
  // microseconds.
  [[nodiscard]] Status put(const Run& run, xnn_runtime_t runtime, uint64_t begin_ns);

 private:
  struct Operator {
    std::string name, kind;
  };
  std::vector<Operator> operators_;
  std::vector<uint64_t> micros_;
};

}  // namespace etb::xnnpack
